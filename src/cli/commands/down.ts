// `tidegate down`: ends the fleet of this folder. It closes the door first, so that its wait for the runs in flight ends.

import type { Command } from "commander";
import { CLOCK, REAL } from "#core/budgets.ts";
import { MINUTE } from "#core/time.ts";
import { Failure } from "#node/failure.ts";
import { findHostControl, type HostControl } from "#node/hostClient.ts";
import { liveSupervisor } from "#node/supervisorFile.ts";
import { isSameProcess } from "#node/processes.ts";
import type { FleetAccess } from "../access.ts";
import type { Cli } from "../cli.ts";
import { CliError, EXIT } from "../exit.ts";
import { mintDrainId } from "../ids.ts";
import { flightWords } from "../render/fleetBanner.ts";
import { problemWords } from "../render/problem.ts";

/** The drain of an end is short and renewed, so that it outlives neither this process nor the next start. */
const DRAIN_MINUTES = Math.ceil(CLOCK.pulseBoundMs / MINUTE);

interface Closing {
  renew(): Promise<void>;
  lift(): Promise<void>;
}

function closingOf(cli: Cli, { fleet, bearers, clock }: FleetAccess): Closing {
  const body = {
    minutes: DRAIN_MINUTES,
    by: cli.who,
    reason: "tidegate down",
    deploy: false,
    build: null,
    without: [],
  };
  // A lifted id closes nothing ever again: whoever slips in after the lift is waited for under a new one.
  let id = mintDrainId();
  let renewedAt: number | null = null;
  let told = bearers.drain !== "" || bearers.admin !== "";
  if (!told)
    cli.output.say(
      "tidegate: RESIDENT_DRAIN_TOKEN is not set: waiting without closing the door, so new runs may still start",
    );
  return {
    renew: async () => {
      if (!told || (renewedAt !== null && clock.now() - renewedAt < CLOCK.pulseMs)) return;
      renewedAt = clock.now();
      await fleet.drain({ ...body, id }).catch((error: unknown) => {
        told = false;
        cli.output.say(`tidegate: the door could not be closed (${problemWords(error).what}): waiting all the same`);
      });
    },
    lift: async () => {
      renewedAt = null;
      const lifted = id;
      id = mintDrainId();
      if (told) await fleet.undrain({ id: lifted, outcome: "none", force: false }).catch(() => undefined);
    },
  };
}

/** Waits until nothing is in flight, saying on whom at the start, at each change and each minute. */
async function waitForQuiet(cli: Cli, access: FleetAccess, closing: Closing, stop: AbortSignal): Promise<void> {
  const { fleet, clock, watch } = access;
  let said = "";
  let saidAt = 0;
  const letGo = watch.hold();
  try {
    for (;;) {
      await closing.renew();
      const residents = await fleet.residents({ signal: stop });
      if (residents.runs.length === 0 && residents.attaching === 0) return;
      const names = residents.runs.map((run) => `${run.runId} of ${run.threadKey}`).join(", ");
      const line = `waiting for ${flightWords(residents)}: ${names} — npx tidegate down --now ends them`;
      const key = names;
      if (key !== said || clock.now() - saidAt >= CLOCK.noteEveryMs) {
        cli.output.say(`tidegate: ${line}`);
        [said, saidAt] = [key, clock.now()];
      }
      const changed = new AbortController();
      const deaf = watch.subscribe(() => changed.abort());
      await clock.sleep(CLOCK.pulseMs, AbortSignal.any([stop, changed.signal])).catch(() => undefined);
      deaf();
      stop.throwIfAborted();
    }
  } finally {
    letGo();
  }
}

async function ended(cli: Cli, control: HostControl): Promise<void> {
  const { supervisor } = control.file;
  for (let waited = 0; isSameProcess(supervisor); waited += REAL.recheckMs) {
    if (waited > REAL.startMs)
      throw new CliError(
        `the supervisor (pid ${supervisor.pid}) has not ended`,
        `kill -9 ${supervisor.pid}; npx tidegate status`,
        EXIT.failed,
      );
    await cli.real.sleep(REAL.recheckMs);
  }
  if (cli.options().json) cli.output.data(JSON.stringify({ down: true, pid: supervisor.pid }));
  else
    cli.output.data(
      `the fleet is down (supervisor ${supervisor.pid}); everything it started has ended, its state stays`,
    );
}

async function quietly(cli: Cli, control: HostControl): Promise<void> {
  const access = cli.access();
  const closing = closingOf(cli, access);
  const { stop, release } = cli.interrupts.take(() => "tidegate: left at once; the drain of this wait ends by itself");
  try {
    for (;;) {
      await waitForQuiet(cli, access, closing, stop);
      await closing.lift();
      try {
        return await control.down(false);
      } catch (error) {
        if (!(error instanceof Failure) || error.code !== "IN_FLIGHT") throw error;
      }
    }
  } catch (error) {
    await closing.lift();
    throw error;
  } finally {
    release();
  }
}

async function down(cli: Cli, now: boolean): Promise<void> {
  const { paths } = cli.access();
  if (liveSupervisor(paths) === undefined)
    throw new CliError(`no fleet is up in ${paths.home}: there is nothing to end`, "npx tidegate status", EXIT.failed);
  const control = findHostControl(paths);
  try {
    if (now) await control.down(true);
    else await quietly(cli, control);
  } catch (error) {
    if (cli.interrupts.code() === 0) throw error;
    cli.output.say("tidegate: stopped waiting; the fleet stays up and is open");
    return cli.exit(cli.interrupts.code());
  }
  await ended(cli, control);
}

/** Adds the command. */
export function addDown(program: Command, cli: Cli): void {
  program
    .command("down")
    .description("end the fleet of this folder, once nothing is in flight")
    .option("--now", "end what is in flight too")
    .action((wishes: { now?: boolean }) => down(cli, wishes.now === true));
}
