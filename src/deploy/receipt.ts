// The receipt as a fold over the turns of a deploy: each field is written by the turn, the answer or the audit row that
// is its source, and stays `unknown` without one.

import type { Build, Drain, Without } from "#core/drain.ts";
import type { DeployEffectName, DeployMode, DeployState } from "#core/rolloutState.ts";
import type { Instant } from "#core/time.ts";
import type { AuditRow, Residents } from "#wire/fleet.ts";
import {
  RECEIPT_FORMAT,
  type KilledProcess,
  type Receipt,
  type ReceiptPhase,
  type ReceiptRun,
  type RunEnd,
} from "#wire/receipt.ts";
import { exitCodeOf, whyOf } from "#deploy/endings.ts";
import type { Seen } from "#deploy/port.ts";
import {
  killedByRestarts,
  noteHoldEnds,
  noteReconciled,
  residentsAfter,
  residentsBefore,
} from "#deploy/receiptResidents.ts";
import { noteSteps, overallOutcome, receiptStepsOf } from "#deploy/receiptSteps.ts";
import { gaveUpIn, holdEndIn, noteQueued, opened, waitedIn } from "#deploy/receiptWaited.ts";
import type { DeployTurn } from "#deploy/run.ts";
import type { StepShape } from "#deploy/shapes.ts";
import type { Uploaded } from "#deploy/steps.ts";

/** What is known before the first effect. */
export interface ReceiptStart {
  readonly shapes: readonly StepShape[];
  readonly restart: boolean;
  readonly mode: DeployMode;
  readonly without: readonly Without[];
  readonly drainId: string;
  readonly by: string;
  readonly reason: string;
  /** What the fleet is to serve, whether it is swapped or not. */
  readonly to: Build;
  readonly startedAt: Instant;
}

/** A receipt on which nothing has happened yet. */
export function receiptOf(start: ReceiptStart): Receipt {
  const { shapes, restart, mode, without, drainId, by, reason, to, startedAt } = start;
  return {
    format: RECEIPT_FORMAT,
    step: shapes.map((one) => one.step).join(", "),
    steps: receiptStepsOf(shapes),
    restart,
    drainId,
    drainIds: [drainId],
    mode,
    without: [...without],
    by,
    reason,
    startedAt,
    endedAt: null,
    result: "underWay",
    why: null,
    outcome: "none",
    exitCode: null,
    build: { from: "unknown", to, imageChanged: "unknown" },
    generation: { from: "unknown", to: null },
    closed: null,
    phases: [],
    inFlight: [],
    waited: "unknown",
    queued: null,
    residents: "unknown",
    unreconciled: null,
    cut: null,
    killed: 0,
    killedProcesses: [],
    reopened: null,
    closedMs: null,
    effects: [],
  };
}

const factWhy = ({ fact }: DeployTurn): string | null => {
  if (fact.kind === "uploaded") return fact.why === "" ? fact.outcome : `${fact.outcome}: ${fact.why}`;
  return "why" in fact ? fact.why : null;
};

/** Phases by the effects that make them; a phase grows with each of its effects, waits included. */
function phaseOf(turn: DeployTurn): ReceiptPhase["phase"] | undefined {
  const { before, fact } = turn;
  const effect = before.effect.do === "pause" ? before.effect.then : before.effect.do;
  switch (effect) {
    case "drain":
      return "close";
    case "look":
    case "pulse":
      return "wait";
    case "roll":
    case "rollGate":
      return "roll";
    case "seal":
    case "confirm":
      return fact.kind === "notSealed" || fact.kind === "lost" ? "wait" : "seal";
    case "upload":
    case "readBack":
      return "swap";
    case "liveGate":
      return "live";
    case "reconcile":
      return "reconcile";
    case "lift":
      return "reopen";
    case "holds":
      return "hold";
    default:
      return undefined;
  }
}

function withPhase(phases: readonly ReceiptPhase[], turn: DeployTurn): ReceiptPhase[] {
  const phase = phaseOf(turn);
  if (phase === undefined) return [...phases];
  const known = phases.find((one) => one.phase === phase);
  if (known === undefined) return [...phases, { phase, since: turn.since, until: turn.until }];
  return phases.map((one) => (one === known ? { ...one, until: turn.until } : one));
}

function withRuns(receipt: Receipt, residents: Residents): readonly ReceiptRun[] {
  const { runs, now } = residents;
  const fresh = runs.filter((run) => !receipt.inFlight.some((known) => known.runId === run.runId));
  const met = fresh.map(({ runId, resource, threadKey, leaseUntil }): ReceiptRun => ({
    runId,
    resource,
    threadKey,
    leaseUntil,
    seenAt: now,
    endedAt: null,
    how: "inFlight",
  }));
  return endedIn(
    [...receipt.inFlight, ...met],
    runs.map((run) => run.runId),
    now,
  );
}

/** Runs that are in flight no more: by then they had ended, and how is for the audit log to say. */
function endedIn(known: readonly ReceiptRun[], runIds: readonly string[], at: Instant): ReceiptRun[] {
  return known.map((run) =>
    run.how === "inFlight" && run.endedAt === null && run.seenAt < at && !runIds.includes(run.runId)
      ? { ...run, endedAt: at, how: "unknown" }
      : run,
  );
}

function withResidents(receipt: Receipt, turn: DeployTurn, residents: Residents): Receipt {
  const effect = turn.before.effect.do;
  return withFleet(waitedIn(receipt, residents), effect, residents);
}

/** Every process of a run streams its output to somebody: what a handoff cuts, as the residents count it themselves. */
function cutBy({ mode, cut }: Receipt, { residents }: Residents): Receipt["cut"] {
  return mode === "handoff" ? residents.reduce((sum, row) => sum + row.opsInFlight, 0) : cut;
}

const swapsFleet = ({ steps }: Receipt): boolean => steps.some((one) => one.step === "resident");

function withFleet(before: Receipt, effect: DeployEffectName, residents: Residents): Receipt {
  if (effect === "liveGate") return residentsAfter(before, residents);
  const inFlight = [...withRuns(before, residents)];
  const receipt = { ...before, cut: cutBy(before, residents) };
  if (effect !== "preflight") return { ...receipt, inFlight };
  const { build: from, generation } = residents;
  return {
    ...receipt,
    inFlight,
    residents: residentsBefore(residents),
    build: { ...receipt.build, from, imageChanged: swapsFleet(receipt) && from.image !== receipt.build.to.image },
    generation: { ...receipt.generation, from: generation },
  };
}

function killedOf(receipt: Receipt, uploaded: Uploaded): KilledProcess[] {
  return (uploaded.killed ?? []).map(({ pid, startTicks, resource, threadKey, command }) => {
    const run = receipt.inFlight.find((one) => one.resource === resource && one.threadKey === threadKey);
    return { pid, startTicks, resource, threadKey: threadKey ?? "unknown", runId: run?.runId ?? "unknown", command };
  });
}

/** Whose processes died: a thread has one live run, and a process without a mark counts for itself. */
function runsOf(killed: readonly KilledProcess[]): number {
  const marked = killed.filter((one) => one.threadKey !== "unknown");
  const threads = new Set(marked.map((one) => `${one.resource} ${one.threadKey}`));
  return threads.size + killed.length - marked.length;
}

function withUpload(receipt: Receipt, uploaded: Uploaded, at: Instant): Receipt {
  if (uploaded.killed === null) return { ...receipt, killed: "unknown" };
  const killedProcesses = killedOf(receipt, uploaded);
  const ids = new Set(killedProcesses.map((one) => one.runId));
  const inFlight = receipt.inFlight.map((run): ReceiptRun =>
    ids.has(run.runId) ? { ...run, endedAt: at, how: "killed" } : run,
  );
  return { ...receipt, killedProcesses, killed: runsOf(killedProcesses) + killedByRestarts(receipt), inFlight };
}

const remainingOf = (drains: readonly Drain[]) =>
  drains.map(({ id, by, reason, until, deploy }) => ({ id, by, reason, until, deploy }));

function withSeen(receipt: Receipt, turn: DeployTurn, seen: Seen): Receipt {
  switch (seen.kind) {
    case "residents":
      return withResidents(receipt, turn, seen.residents);
    case "inFlight":
      return { ...receipt, inFlight: endedIn(receipt.inFlight, seen.runIds, seen.at) };
    case "uploaded":
      return withUpload(receipt, seen.uploaded, turn.until);
    // A swap of the ledger or the bot ends no container: its runs live on in theirs.
    case "rolled":
    case "botDoor":
      return receipt;
    case "asksQueued":
      return noteQueued(receipt, seen.queued);
    case "lifted": {
      const { fact } = turn;
      if (fact.kind !== "lifted") return receipt;
      const openAt = (resource: string): Instant | null => (fact.held.includes(resource) ? null : seen.at);
      const closedMs = receipt.closed === null ? null : seen.at - receipt.closed.since;
      return {
        ...opened(receipt, openAt),
        closedMs,
        reopened: { at: seen.at, cause: "unknown", stillClosedBy: remainingOf(seen.remaining) },
      };
    }
    case "reconciled":
      return noteReconciled(receipt, seen.answer);
    case "audit":
      return noteHoldEnds(receipt, seen.rows);
  }
}

/** Behind a seal nobody is in flight, but for those who live on: every run under a handoff, and who was left out. */
function endedBySeal({ inFlight, mode, without }: Receipt): ReceiptRun[] {
  return inFlight.map((run) => {
    const livesOn = mode === "handoff" || without.some((one) => one.resource === run.resource);
    return run.how === "inFlight" && !livesOn ? { ...run, endedAt: "unknown", how: "unknown" } : run;
  });
}

function withFact(receipt: Receipt, { fact, after, before }: DeployTurn): Receipt {
  switch (fact.kind) {
    case "drained": {
      if (before.effect.do !== "drain") return receipt;
      const { since, by, principal, reason, until } = fact.drain;
      return { ...receipt, closed: { since, by, principal, reason, until } };
    }
    case "minted":
      return { ...receipt, drainId: fact.id, drainIds: [...receipt.drainIds, fact.id] };
    case "sealed":
      return { ...receipt, inFlight: endedBySeal(receipt) };
    case "lost":
    case "signal":
      return after.outcome === "unknown" && before.effect.do === "upload" ? { ...receipt, killed: "unknown" } : receipt;
    case "serves":
      return fact.served !== null && after.outcome === "landed"
        ? { ...receipt, generation: { ...receipt.generation, to: fact.served.generation } }
        : receipt;
    default:
      return receipt;
  }
}

/** The receipt after one more turn. */
export function noteTurn(receipt: Receipt, turn: DeployTurn): Receipt {
  const { before, fact, since, until } = turn;
  const effect = {
    effect: before.effect.do,
    fact: fact.kind,
    drainId: before.drainId,
    since,
    until,
    why: factWhy(turn),
  };
  const steps = noteSteps(receipt.steps, turn);
  const noted = {
    ...receipt,
    steps,
    outcome: overallOutcome({ steps }, turn.after),
    phases: withPhase(receipt.phases, turn),
    effects: [...receipt.effects, effect],
  };
  return turn.seen.reduce((rest, seen) => withSeen(rest, turn, seen), withFact(noted, turn));
}

const ENDS: Readonly<Record<string, RunEnd>> = {
  leaseEnded: "leaseEnded",
  releaseRun: "endedByAdmin",
  released: "released",
};

/**
 * How a run ended by the registry's log. A registration goes by its caller's word, by its lease or by an admin; where the
 * log reaches back to before the run was seen and names neither of the latter two, it was given back.
 */
function endedBy(run: ReceiptRun, rows: readonly AuditRow[]): ReceiptRun {
  if (run.how === "killed") return run;
  const ends = rows.filter((one) => one.runId === run.runId && one.at >= run.seenAt && ENDS[one.what] !== undefined);
  // Whoever ended it is told beside the release that came of it.
  const row = ends.findLast((one) => one.what !== "released") ?? ends.at(-1);
  const how = row === undefined ? undefined : ENDS[row.what];
  if (row !== undefined && how !== undefined) return { ...run, endedAt: row.at, how };
  const first = rows[0];
  const isWhole = first !== undefined && (first.id === 1 || first.at <= run.seenAt);
  return run.how === "unknown" && isWhole ? { ...run, how: "released" } : run;
}

/** What the registry's own log adds: how each run ended, who waited, and what reopened the fleet. */
function withAudit(before: Receipt, rows: readonly AuditRow[]): Receipt {
  const held = gaveUpIn(noteHoldEnds(before, rows), rows);
  const receipt = opened(held, holdEndIn(held));
  // The first one: behind a lift the record stands on for those it holds, and ends once more with the last of them.
  const reopen = rows.find((row) => row.what === "reopen" && row.drainId === receipt.drainId);
  const inFlight = receipt.inFlight.map((run) => endedBy(run, rows));
  if (reopen === undefined) return { ...receipt, inFlight };
  const stillClosedBy = receipt.reopened?.stillClosedBy ?? "unknown";
  const closedMs = receipt.closed === null ? receipt.closedMs : reopen.at - receipt.closed.since;
  return {
    ...receipt,
    inFlight,
    closedMs,
    reopened: { at: reopen.at, cause: reopen.cause ?? "unknown", stillClosedBy },
  };
}

/** Nothing was cut where nothing was swapped, and nobody knows it of an upload that is unknown. */
function cutFor({ cut }: Receipt, { outcome }: DeployState): Receipt["cut"] {
  if (cut === null || outcome === "landed") return cut;
  return outcome === "none" || outcome === "refused" ? 0 : "unknown";
}

/** The finished receipt: how the deploy ended, and what is known only afterwards. */
export function finishReceipt(receipt: Receipt, state: DeployState, seen: readonly Seen[], now: Instant): Receipt {
  const audited = seen.reduce((rest, one) => (one.kind === "audit" ? withAudit(rest, one.rows) : rest), receipt);
  const generation = {
    ...audited.generation,
    to: audited.generation.to ?? (state.outcome === "unknown" ? ("unknown" as const) : null),
  };
  const closedMs = audited.closed !== null && audited.reopened === null ? ("unknown" as const) : audited.closedMs;
  return {
    ...audited,
    generation,
    closedMs,
    endedAt: now,
    cut: cutFor(audited, state),
    unreconciled: state.unreconciled,
    outcome: overallOutcome(audited, state),
    result: state.stop?.kind ?? "failed",
    why: whyOf(state),
    exitCode: exitCodeOf(state),
  };
}
