// The receipt as a fold over the turns of a deploy: each field is written by the turn, the answer or the audit row that
// is its source, and stays `unknown` without one.

import type { Build, Drain } from "#core/drain.ts";
import type { DeployEffectName, DeployMode, DeployState } from "#core/rollout.ts";
import type { Instant } from "#core/time.ts";
import type { AuditRow, Residents } from "#wire/fleet.ts";
import {
  RECEIPT_FORMAT,
  type KilledProcess,
  type Receipt,
  type ReceiptPhase,
  type ReceiptResident,
  type ReceiptRun,
  type RunEnd,
} from "#wire/receipt.ts";
import { exitCodeOf, whyOf } from "#deploy/endings.ts";
import type { Seen } from "#deploy/port.ts";
import type { DeployTurn } from "#deploy/run.ts";
import type { Uploaded } from "#deploy/steps.ts";

/** What is known before the first effect. */
export interface ReceiptStart {
  readonly step: string;
  readonly mode: DeployMode;
  readonly drainId: string;
  readonly by: string;
  readonly reason: string;
  readonly to: Build;
  readonly startedAt: Instant;
}

/** A receipt on which nothing has happened yet. */
export function receiptOf(start: ReceiptStart): Receipt {
  const { step, mode, drainId, by, reason, to, startedAt } = start;
  return {
    format: RECEIPT_FORMAT,
    step,
    drainId,
    drainIds: [drainId],
    mode,
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
    residents: "unknown",
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
    case "seal":
    case "confirm":
      return fact.kind === "notSealed" || fact.kind === "lost" ? "wait" : "seal";
    case "upload":
    case "readBack":
      return "swap";
    case "liveGate":
      return "live";
    case "lift":
      return "reopen";
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

const word = (value: string | null | undefined): string => value ?? "unknown";

function residentsBefore(residents: Residents): ReceiptResident[] {
  return residents.residents.map(({ resource, image, bootId }) => ({
    resource,
    imageBefore: word(image),
    imageAfter: "unknown",
    bootBefore: word(bootId),
    bootAfter: "unknown",
  }));
}

/** A boot that is older than the swap of the image reports what was there before it, so what it says of now is unknown. */
function residentsAfter(receipt: Receipt, residents: Residents): ReceiptResident[] {
  const before = receipt.residents === "unknown" ? [] : receipt.residents;
  return residents.residents.map(({ resource, image, bootId }) => {
    const known = before.find((one) => one.resource === resource);
    const imageBefore = known?.imageBefore ?? "unknown";
    const bootBefore = known?.bootBefore ?? "unknown";
    const isOld = receipt.build.imageChanged !== false && word(bootId) === bootBefore;
    const now = isOld ? { image: null, bootId: null } : { image, bootId };
    return { resource, imageBefore, imageAfter: word(now.image), bootBefore, bootAfter: word(now.bootId) };
  });
}

function withResidents(receipt: Receipt, turn: DeployTurn, residents: Residents): Receipt {
  const effect = turn.before.effect.do;
  const waited = waitedIn(receipt.waited, residents);
  return withFleet({ ...receipt, waited }, effect, residents);
}

/** Who met the closed door so far; one that is listed stays, since it leaves the registry's list when it comes in. */
function waitedIn(known: Receipt["waited"], { waiting }: Residents): Receipt["waited"] {
  const before = known === "unknown" ? [] : known;
  const fresh = waiting.filter((one) => !before.some((listed) => listed.runId === one.runId));
  return [...before, ...fresh.map((one) => ({ ...one, waitedMs: "unknown" as const, gaveUp: false }))];
}

/** The door opens for all who are still there. */
function waitedUntil(waited: Receipt["waited"], at: Instant): Receipt["waited"] {
  if (waited === "unknown") return waited;
  return waited.map((one) => (one.waitedMs === "unknown" ? { ...one, waitedMs: at - one.since } : one));
}

/** Those who left before, by the registry's log. */
function gaveUpIn(waited: Receipt["waited"], rows: readonly AuditRow[]): Receipt["waited"] {
  if (waited === "unknown") return waited;
  return waited.map((one) => {
    const left = rows.find((row) => row.what === "gaveUp" && row.runId === one.runId);
    return left === undefined ? one : { ...one, waitedMs: left.at - one.since, gaveUp: true };
  });
}

function withFleet(receipt: Receipt, effect: DeployEffectName, residents: Residents): Receipt {
  if (effect === "liveGate") return { ...receipt, residents: residentsAfter(receipt, residents) };
  const inFlight = [...withRuns(receipt, residents)];
  if (effect !== "preflight") return { ...receipt, inFlight };
  const { build: from, generation } = residents;
  return {
    ...receipt,
    inFlight,
    residents: residentsBefore(residents),
    build: { ...receipt.build, from, imageChanged: from.image !== receipt.build.to.image },
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
  return { ...receipt, killedProcesses, killed: runsOf(killedProcesses), inFlight };
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
    case "lifted": {
      if (turn.fact.kind !== "lifted") return receipt;
      const closedMs = receipt.closed === null ? null : seen.at - receipt.closed.since;
      return {
        ...receipt,
        closedMs,
        waited: waitedUntil(receipt.waited, seen.at),
        reopened: { at: seen.at, cause: "unknown", stillClosedBy: remainingOf(seen.remaining) },
      };
    }
    case "audit":
      return receipt;
  }
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
      return {
        ...receipt,
        inFlight: receipt.inFlight.map((run) =>
          run.how === "inFlight" ? { ...run, endedAt: "unknown", how: "unknown" } : run,
        ),
      };
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
  const noted = {
    ...receipt,
    outcome: turn.after.outcome,
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
function withAudit(receipt: Receipt, rows: readonly AuditRow[]): Receipt {
  const reopen = rows.findLast((row) => row.what === "reopen" && row.drainId === receipt.drainId);
  const inFlight = receipt.inFlight.map((run) => endedBy(run, rows));
  const waited = gaveUpIn(receipt.waited, rows);
  if (reopen === undefined) return { ...receipt, inFlight, waited };
  const stillClosedBy = receipt.reopened?.stillClosedBy ?? "unknown";
  const closedMs = receipt.closed === null ? receipt.closedMs : reopen.at - receipt.closed.since;
  return {
    ...receipt,
    inFlight,
    waited,
    closedMs,
    reopened: { at: reopen.at, cause: reopen.cause ?? "unknown", stillClosedBy },
  };
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
    outcome: state.outcome,
    result: state.stop?.kind ?? "failed",
    why: whyOf(state),
    exitCode: exitCodeOf(state),
  };
}
