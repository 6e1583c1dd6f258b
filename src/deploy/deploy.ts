// One deploy from its first effect to its kept receipt: the runner, with its lines and its receipt folded from each turn.

import type { Budgets } from "#core/budgets.ts";
import type { Build, Without } from "#core/drain.ts";
import { deployOf, withSteps, type DeployMode, type DeployState, type Steps } from "#core/rolloutState.ts";
import type { Instant } from "#core/time.ts";
import type { WatchFrame } from "#wire/fleet.ts";
import type { Receipt } from "#wire/receipt.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import { endingLines } from "#deploy/endings.ts";
import { wordsOf } from "#deploy/facts.ts";
import type { BotDoor, FleetDoor } from "#deploy/fleetDoor.ts";
import type { FleetPortParts } from "#deploy/fleetPort.ts";
import { info, type Line } from "#deploy/line.ts";
import { openingLines, SILENT, tell, withoutWords } from "#deploy/lines.ts";
import type { DeployPort } from "#deploy/port.ts";
import { quietWatch, type FedWatch } from "#deploy/quietWatch.ts";
import { finishReceipt, noteTurn, receiptOf } from "#deploy/receipt.ts";
import { keepReceipt } from "#deploy/receiptFile.ts";
import type { PartSteps } from "#deploy/rollEffects.ts";
import { runDeploy, type DeployTurn, type Interrupts } from "#deploy/run.ts";
import type { StepShape } from "#deploy/shapes.ts";
import { shapeLine } from "#deploy/stepLines.ts";
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
  /** The bot of this stack; null where none is part of it. */
  readonly bot: BotDoor | null;
  /** Keeps a receipt in the ledger too; null where none is part of this stack. */
  readonly keepInLedger: ((receipt: Receipt) => Promise<unknown>) | null;
  readonly watch: WatchSource | null;
  readonly clock: { now(): Instant; sleep(ms: number, signal?: AbortSignal): Promise<void> };
  readonly budgets: Budgets;
  /** The fleet's own step, whether it is swapped or not. */
  readonly step: DeployStep;
  readonly parts: PartSteps;
  /** What is swapped, in its order, and as the machine takes it. */
  readonly shapes: readonly StepShape[];
  readonly steps: Steps;
  /** The builds that are served, started anew. */
  readonly restart: boolean;
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

/** The receipt in the ledger beside the file, where that answers: a deploy that has ended is never failed by it. */
async function keepToo({ keepInLedger }: DeployGiven, receipt: Receipt): Promise<Line[]> {
  try {
    await keepInLedger?.(receipt);
    return [];
  } catch (error) {
    return [info(`the receipt is kept in this folder alone: the ledger does not take it (${wordsOf(error)})`)];
  }
}

/** Runs a deploy and keeps its receipt, also when it is refused or fails. */
export async function deploy(given: DeployGiven): Promise<DeployEnded> {
  const { clock, mode, steps, shapes, restart, without, asker, paths, from, to, drainId } = given;
  const startedAt = clock.now();
  let receipt = receiptOf({ shapes, restart, mode, without, drainId, ...asker, to, startedAt });
  let telling = SILENT;
  let file = keepReceipt(paths, receipt);
  let signalled = false;
  const watch = quietWatch();
  const stopWatch = fed(watch, given.watch);
  const say = (lines: readonly Line[]): void => lines.forEach((line) => given.onLine(line, clock.now()));
  const leaving = withoutWords(without);

  const { fleet, bot, step, parts, budgets, mint } = given;
  const port = given.makePort({
    fleet,
    bot,
    watch,
    step,
    parts,
    budgets,
    clock,
    mint,
    asker: { ...asker, build: steps.resident ? to : null },
    without,
    hurried: () => signalled,
    keep: (state, seen) => {
      receipt = finishReceipt(receipt, state, seen, clock.now());
      file = keepReceipt(paths, receipt);
    },
  });
  const onTurn = (turn: DeployTurn): void => {
    signalled ||= turn.fact.kind === "signal";
    const told = tell(telling, turn, { from, to, shapes });
    telling = told.telling;
    receipt = noteTurn(receipt, turn);
    if (!PASSING.includes(turn.fact.kind)) file = keepReceipt(paths, receipt);
    say(told.lines.map(({ level, text }) => ({ level, text: `${text}${leaving}` })));
    given.onTurn(turn, receipt);
  };

  say([...shapes.map(shapeLine), ...openingLines(mode, steps, without)]);
  try {
    const start = withSteps(deployOf(mode, drainId, budgets, startedAt), steps);
    const state = await runDeploy(start, { port, now: () => clock.now(), interrupts: given.interrupts, onTurn });
    await port.done(state, new AbortController().signal);
    say([...(await keepToo(given, receipt)), ...endingLines(state, receipt)]);
    return { state, receipt, file };
  } finally {
    stopWatch();
  }
}
