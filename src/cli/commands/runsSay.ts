// What is said to a run: a stop, or words. It reaches a run in flight at any time, drain or not, and an ask that waits; sent
// again over a roll it carries the same key, so that it is said once.

import type { MessageKind } from "#core/ask.ts";
import { messageBodySchema, type MessageAnswer } from "#wire/bot.ts";
import { shortNameOf } from "#wire/names.ts";
import { parseWith } from "#wire/parse.ts";
import { keepAsking, untilStopped } from "../botCalls.ts";
import type { Cli } from "../cli.ts";
import { CliError, EXIT } from "../exit.ts";
import { mintShortId } from "../ids.ts";
import { watchCommand } from "../render/cardLines.ts";
import { textTyped } from "../textTyped.ts";
import { runIdOf, unknownRun } from "../runId.ts";

/** One message as it was typed. */
interface Said {
  readonly typed: string;
  readonly key: string;
  readonly again: string;
  readonly send: (id: string, signal: AbortSignal) => Promise<MessageAnswer>;
  readonly words: (id: string, kind: MessageAnswer["kind"]) => string;
  /** What to type when the run was over before it could hear. */
  readonly whenOver: ((id: string) => Promise<string>) | null;
}

async function say(cli: Cli, said: Said): Promise<void> {
  const leaving = (): string => `stopped asking; it may have arrived: ${said.again} says it once`;
  await untilStopped(cli, leaving, async (signal) => {
    const id = await runIdOf(cli, said.typed, signal);
    const { again } = said;
    const answer = await keepAsking(cli, { signal, again }, (stop) => said.send(id, stop)).catch(
      async (error: unknown) => {
        throw await unknownRun(cli, id, error);
      },
    );
    if (answer.kind === "over" && said.whenOver !== null)
      throw new CliError(said.words(id, "over"), await said.whenOver(id), EXIT.refused);
    if (cli.options().json) return cli.output.data(JSON.stringify({ ...answer, key: said.key }));
    cli.output.data(said.words(id, answer.kind));
  });
}

function stopWords(id: string, kind: MessageAnswer["kind"]): string {
  switch (kind) {
    case "ended":
      return `run ${id} is out of the queue, and its place is free`;
    case "over":
      return `run ${id} had ended already`;
    case "taken":
    case "added":
    case "known":
      return `run ${id} is told to stop; ${watchCommand(id)} shows its end`;
  }
}

/** `runs stop`. */
export async function runsStop(cli: Cli, typed: string): Promise<void> {
  const { client } = cli.access().bot;
  const key = mintShortId("stop");
  await say(cli, {
    typed,
    key,
    again: `npx tidegate runs stop ${typed}`,
    send: (id, signal) => client.stop(id, key, signal),
    words: stopWords,
    whenOver: null,
  });
}

function steerWords(id: string, kind: MessageAnswer["kind"], as: Exclude<MessageKind, "stop">): string {
  switch (kind) {
    case "taken":
      return as === "steer"
        ? `said to run ${id}`
        : `kept for the end of run ${id}: it becomes an ask of its thread, unless a stop is said later`;
    case "added":
      return `run ${id} waits still, and this is added to what was asked`;
    case "known":
      return `said to run ${id}, once under this key`;
    case "ended":
    case "over":
      return `run ${id} has ended, and hears nothing more; an ask of its thread goes on where it ended`;
  }
}

/** The options of `runs steer`. */
export interface SteerWishes {
  readonly followUp?: boolean;
  readonly key?: string;
}

/** `runs steer`. */
export async function runsSteer(cli: Cli, typed: string, words: readonly string[], wishes: SteerWishes): Promise<void> {
  const { client } = cli.access().bot;
  const kind = wishes.followUp === true ? "followUp" : "steer";
  const next = `npx tidegate runs steer ${typed} "what is to change"`;
  const text = await textTyped(cli, words, next);
  const parsed = parseWith(messageBodySchema, { key: wishes.key ?? mintShortId("say"), text, kind });
  if (!parsed.ok) {
    const isKey = parsed.error.field === "key";
    const detail = parsed.error.detail.replace(/^\w+: /, "");
    throw new CliError(`${isKey ? "--key" : "<text>"}: ${detail}`, next);
  }
  const body = parsed.value;
  await say(cli, {
    typed,
    key: body.key,
    again: `the same command with --key ${body.key}`,
    send: (id, signal) => client.steer(id, body, signal),
    words: (id, answered) => steerWords(id, answered, kind),
    whenOver: async (id) => {
      const { resource, threadKey } = await client.run(id);
      return `npx tidegate ask "…" --repo ${shortNameOf(resource)} --thread ${threadKey}`;
    },
  });
}
