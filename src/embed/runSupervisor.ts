// The supervisor as a process of its own: what `tidegate up` runs. Ctrl-C ends everything it started, but while runs are in
// flight the first one names them and only the second ends them.

import { Failure, problemOf } from "#node/failure.ts";
import { startSupervisor, type Supervisor, type SupervisorOptions } from "#embed/supervisor.ts";

/** A run of the supervisor: what to do once it is up, and where words for a person go. */
export interface SupervisorRun extends Omit<SupervisorOptions, "signal"> {
  readonly onReady: (supervisor: Supervisor) => void;
  readonly say: (line: string) => void;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** A terminal or an npm that went away must not end a supervisor: neither by its word of it, nor by what is written to it. */
function survivesItsTerminal(): void {
  process.on("SIGHUP", () => undefined);
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

async function endOnSignal(supervisor: Supervisor, asked: number, say: (line: string) => void): Promise<void> {
  try {
    await supervisor.down(asked > 1);
  } catch (error) {
    const { code, detail } = problemOf(error);
    say(
      code === "IN_FLIGHT"
        ? `${detail}\nOnce more ends them; \`npx tidegate down\` waits for them.`
        : `${detail}\nOnce more ends everything.`,
    );
  }
}

/** Brings a stack up and stays until it has ended; throws a `Failure` when it does not come up. */
export async function runSupervisor(run: SupervisorRun): Promise<void> {
  survivesItsTerminal();
  const giveUp = new AbortController();
  let supervisor: Supervisor | undefined;
  let asked = 0;
  const onSignal = (): void => {
    asked += 1;
    if (supervisor === undefined) giveUp.abort(new Failure("INTERRUPTED", "the start was given up"));
    else void endOnSignal(supervisor, asked, run.say);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    supervisor = await startSupervisor({ ...run, signal: giveUp.signal });
    if (asked > 0) await endOnSignal(supervisor, 2, run.say);
    else run.onReady(supervisor);
    await supervisor.ended;
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, onSignal);
  }
}
