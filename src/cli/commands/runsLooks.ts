// `runs show` and `runs watch`: one run as it is, and as it goes on.

import type { RunDetail } from "#wire/bot.ts";
import { keepAsking, untilStopped } from "../botCalls.ts";
import type { Cli } from "../cli.ts";
import { runPage } from "../render/runPage.ts";
import { runIdOf, unknownRun } from "../runId.ts";
import { leftAloneWords, watchRun } from "../watchRun.ts";

async function detailOf(cli: Cli, id: string, signal: AbortSignal): Promise<RunDetail> {
  const { client } = cli.access().bot;
  const again = `npx tidegate runs show ${id}`;
  return await keepAsking(cli, { signal, again }, (stop) => client.run(id, stop)).catch(async (error: unknown) => {
    throw await unknownRun(cli, id, error);
  });
}

/** `runs show`: everything that is known of one ask. */
export async function runsShow(cli: Cli, typed: string): Promise<void> {
  await untilStopped(
    cli,
    () => "stopped asking",
    async (signal) => {
      const run = await detailOf(cli, await runIdOf(cli, typed, signal), signal);
      const { json, ndjson } = cli.options();
      if (json || ndjson) return cli.output.data(JSON.stringify(run, null, ndjson ? 0 : 2));
      for (const line of runPage(run, cli.access().clock.now())) cli.output.data(line);
    },
  );
}

/** `runs watch`: its output, its cards between, and its end as this process's own. */
export async function runsWatch(cli: Cli, typed: string, wishes: { readonly fromNow?: boolean }): Promise<void> {
  let id: string | null = null;
  const leaving = (): string => (id === null ? "stopped asking" : leftAloneWords(id));
  await untilStopped(cli, leaving, async (signal) => {
    const { id: found, output } = await detailOf(cli, await runIdOf(cli, typed, signal), signal);
    id = found;
    const now = { out: output.out.length, err: output.err.length };
    const from = wishes.fromNow === true ? now : { out: 0, err: 0 };
    await watchRun(cli, { id: found, from, shows: true }, signal);
  });
}
