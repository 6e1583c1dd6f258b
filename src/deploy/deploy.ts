// One deploy from its first effect to its kept receipt: the runner, with its lines and its receipt folded from each turn.

import type { Budgets } from "#core/budgets.ts";
import type { Build, Without } from "#core/drain.ts";
import { deployOf, type DeployMode, type DeployState } from "#core/rolloutState.ts";
import type { Instant } from "#core/time.ts";
import type { WatchFrame } from "#wire/fleet.ts";
import type { Receipt } from "#wire/receipt.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import { endingLines } from "#deploy/endings.ts";
import type { FleetDoor } from "#deploy/fleetDoor.ts";
import type { FleetPortParts } from "#deploy/fleetPort.ts";
import type { Line } from "#deploy/line.ts";
import { openingLines, shapeLine, SILENT, tell, withoutWords } from "#deploy/lines.ts";
import type { DeployPort } from "#deploy/port.ts";
import { quietWatch, type FedWatch } from "#deploy/quietWatch.ts";
import { finishReceipt, noteTurn, receiptOf } from "#deploy/receipt.ts";
import { keepReceipt } from "#deploy/receiptFile.ts";
import { runDeploy, type DeployTurn, type Interrupts } from "#deploy/run.ts";
import type { DeployStep } from "#deploy/steps.ts";

/** The watch of a process, as a deploy uses it. */
export interface WatchSource {
  readonly frame: WatchFrame | null;
  hold(): () => void;
  subscribe(listener: () => void): () => void;
}

/** Everything that a deploy is given. */
export interface DeployGiven {
  readonly paths: StatePaths;
  readonly fleet: FleetDoor;
  readonly watch: WatchSource | null;
  readonly clock: { now(): Instant; sleep(ms: number, signal?: AbortSignal): Promise<void> };
  readonly budgets: Budgets;
  readonly step: DeployStep;
  readonly mode: DeployMode;
  /** Residents that a person leaves out of quiet, seal and hold. */
  readonly without: readonly Without[];
  readonly drainId: string;
  readonly asker: { readonly by: string; readonly reason: string };
  readonly from: Build | null;
  readonly to: Build;
  readonly mint: () => string;
  readonly interrupts: Interrupts;
  readonly makePort: (parts: FleetPortParts) => DeployPort;
  readonly onLine: (line: Line, at: Instant) => void;
  readonly onTurn: (turn: DeployTurn, receipt: Receipt) => void;
}

/** How a deploy ended. */
export interface DeployEnded {
  readonly state: DeployState;
  readonly receipt: Receipt;
  readonly file: string;
}

function fed(watch: FedWatch, source: WatchSource | null): () => void {
  if (source === null) return () => undefined;
  let last: WatchFrame | null = null;
  const stop = source.subscribe(() => {
    const { frame } = source;
    if (frame !== null && frame !== last) watch.feed(frame);
    last = frame;
  });
  const release = source.hold();
  return () => {
    stop();
    release();
  };
}

/** Facts that say nothing new of how far a deploy came: the receipt on disk is not written anew for them. */
const PASSING: readonly string[] = ["woke", "viewed"];

/** Runs a deploy and keeps its receipt, also when it is refused or fails. */
export async function deploy(given: DeployGiven): Promise<DeployEnded> {
  const { clock, mode, without, asker, paths, from, to } = given;
  const startedAt = clock.now();
  let receipt = receiptOf({ step: given.step.name, mode, without, drainId: given.drainId, ...asker, to, startedAt });
  let telling = SILENT;
  let file = keepReceipt(paths, receipt);
  let signalled = false;
  const watch = quietWatch();
  const stopWatch = fed(watch, given.watch);
  const say = (lines: readonly Line[]): void => lines.forEach((line) => given.onLine(line, clock.now()));
  const leaving = withoutWords(without);

  const port = given.makePort({
    fleet: given.fleet,
    watch,
    step: given.step,
    budgets: given.budgets,
    clock,
    mint: given.mint,
    asker: { ...asker, build: to },
    without,
    hurried: () => signalled,
    keep: (state, seen) => {
      receipt = finishReceipt(receipt, state, seen, clock.now());
      file = keepReceipt(paths, receipt);
    },
  });
  const onTurn = (turn: DeployTurn): void => {
    signalled ||= turn.fact.kind === "signal";
    const told = tell(telling, turn, { from, to });
    telling = told.telling;
    receipt = noteTurn(receipt, turn);
    if (!PASSING.includes(turn.fact.kind)) file = keepReceipt(paths, receipt);
    say(told.lines.map(({ level, text }) => ({ level, text: `${text}${leaving}` })));
    given.onTurn(turn, receipt);
  };

  say([shapeLine(given.step.name, from, to), ...openingLines(mode, without)]);
  try {
    const start = deployOf(mode, given.drainId, given.budgets, startedAt);
    const state = await runDeploy(start, { port, now: () => clock.now(), interrupts: given.interrupts, onTurn });
    await port.done(state, new AbortController().signal);
    say(endingLines(state, receipt));
    return { state, receipt, file };
  } finally {
    stopWatch();
  }
}
