// `tidegate repo rebuild`: a resident gets a new container and a fresh mirror, its commands kept. Runs in flight there
// refuse it, each by name; with --force they are named first, and ended only when somebody has said yes.

import { clockOf } from "#core/time.ts";
import { shortNameOf } from "#wire/names.ts";
import type { Residents, RunRow } from "#wire/fleet.ts";
import type { Cli } from "../cli.ts";
import type { Confirm } from "../confirm.ts";
import { CliError, EXIT } from "../exit.ts";
import { resolveRepo } from "../repoName.ts";

/** What was typed. */
export interface RebuildWishes {
  readonly force?: boolean;
  readonly yes?: boolean;
}

const runWords = ({ runId, threadKey, leaseUntil }: RunRow): string =>
  `${runId} (${threadKey}) until ${clockOf(leaseUntil)}`;

/** The runs that a rebuild would end; one that is being provisioned counts too. */
function inFlightOn(resource: string, { runs }: Residents): readonly RunRow[] {
  return runs.filter((run) => run.resource === resource);
}

function refuse(name: string, runs: readonly RunRow[]): never {
  throw new CliError(
    `${name} has in flight: ${runs.map(runWords).join(", ")}`,
    `wait for them, or end them with it: npx tidegate repo rebuild ${name} --force`,
    EXIT.refused,
  );
}

/** Names the runs that end with the old container, and goes on only when somebody has said yes. */
async function consented(
  cli: Cli,
  ask: { readonly name: string; readonly runs: readonly RunRow[]; readonly yes: boolean },
  confirm: Confirm,
  stop: AbortSignal,
): Promise<void> {
  const { name, runs, yes } = ask;
  if (runs.length === 0) return;
  cli.output.say("tidegate: --force ends:");
  for (const run of runs) cli.output.say(`  ${runWords(run)}`);
  if (yes) return;
  const answer = await confirm(`Rebuild ${name} over them?`, stop);
  if (answer === undefined)
    throw new CliError(
      "--force wants --yes where nobody can be asked",
      `npx tidegate repo rebuild ${name} --force --yes`,
    );
  if (!answer)
    throw new CliError("not rebuilt; they end by their leases at the latest", "npx tidegate status", EXIT.refused);
}

/** Rebuilds a resident and says how it goes on. */
export async function repoRebuild(cli: Cli, typed: string, wishes: RebuildWishes, confirm: Confirm): Promise<void> {
  const force = wishes.force === true;
  if (wishes.yes === true && !force)
    throw new CliError("--yes: answers what only --force asks", `npx tidegate repo rebuild ${typed} --force --yes`);
  const { fleet } = cli.access();
  const { stop, release } = cli.interrupts.take(() => "");
  try {
    const residents = await fleet.residents({ fresh: true, signal: stop });
    const resource = resolveRepo(
      typed,
      residents.residents.map((row) => row.resource),
    );
    const [name, runs] = [shortNameOf(resource), inFlightOn(resource, residents)];
    if (runs.length > 0 && !force) refuse(name, runs);
    await consented(cli, { name, runs, yes: wishes.yes === true }, confirm, stop);
    const onProgress = (line: string): void => {
      if (!cli.options().quiet) cli.output.say(`tidegate: ${line}`);
    };
    const made = await fleet.rebuild({ resource, force }, { signal: stop, onProgress });
    const ended = runs.map((run) => run.runId);
    if (cli.options().json) cli.output.data(JSON.stringify({ ...made, ended }));
    else cli.output.data(`${resource} has a new container, its mirror at ${made.ref} ${made.commit.slice(0, 12)}`);
  } catch (error) {
    if (!stop.aborted) throw error;
    cli.output.say(`tidegate: stopped waiting; the fleet may still be rebuilding ${typed}: npx tidegate repo list`);
    cli.exit(cli.interrupts.code());
  } finally {
    release();
  }
}
