// The fourth stage: the run gets its workspace. It has no drain budget: a resident that refuses it by a drain gives it back
// to the queue at its old place, at once, with nothing of its lease spent.

import { knownOf, type AttachAsk, type Attached, type WaitNote } from "#client/attach.ts";
import type { Verdict } from "#client/work.ts";
import { refusedVerdict } from "#client/run.ts";
import { isUnreachable } from "#client/transport.ts";
import { REAL } from "#core/budgets.ts";
import { problemIn } from "#wire/errors.ts";
import type { ReturnAnswer } from "#wire/ledger.ts";
import { attachingCard, waitingCard } from "../cards.ts";
import type { LiveRun } from "../runs.ts";
import type { Desk } from "./desk.ts";

export type Provisioned =
  | { readonly kind: "attached"; readonly attached: Attached }
  /** It waits again, or was told to stop meanwhile and waits no more. */
  | { readonly kind: "returned"; readonly answer: ReturnAnswer }
  | { readonly kind: "left" }
  /** It will not run; `mayBeIn`: its registration may stand all the same. */
  | { readonly kind: "over"; readonly verdict: Verdict; readonly mayBeIn: boolean };

/** What the run is at the fleet. */
export function attachAskOf({ number }: Desk, { entry }: LiveRun): AttachAsk {
  const { id, resource, threadKey, kind, parent, ref } = entry.ask;
  const nobody = { by: "nobody" } as const;
  return { resource, runId: id, threadKey, generation: number, runKind: kind, parent, replace: nobody, ref };
}

/** The run that holds the thread at the resident, where the ledger knows that it has ended. */
async function endedHolder(desk: Desk, error: unknown): Promise<string | null> {
  const problem = problemIn(error);
  const holder = problem?.code === "THREAD_BUSY" ? problem["runId"] : undefined;
  if (typeof holder !== "string") return null;
  const known = await desk.steady.do((ledger) => ledger.run(holder).catch(unlessUnknown));
  return known !== null && known.ended !== null ? holder : null;
}

/** A ledger that does not know a run says so; any other refusal is one, and one that is away is asked again. */
function unlessUnknown(error: unknown): null {
  if (problemIn(error)?.code === "NO_SUCH_RUN") return null;
  throw error;
}

async function attach(desk: Desk, run: LiveRun, signal: AbortSignal): Promise<Attached> {
  const { parts, cards } = desk;
  const ask = attachAskOf(desk, run);
  const onWait = ({ cause, since, bound }: WaitNote): void => {
    if (cause === "transient") cards.tell(waitingCard(run.entry, cards.last(run.id), { since, bound }));
  };
  const { leaseUntil, reading } = run.entry;
  // Who is at work has the lease that it was let in with, whatever is configured by now.
  const longestUntil = reading === null ? parts.clock.now() + parts.budgets.longestLeaseMs : Number.POSITIVE_INFINITY;
  const wishes = {
    leaseUntil: leaseUntil === null ? null : Math.min(leaseUntil, longestUntil),
    signal,
    onWait,
    onDoor: () => run.move("provision"),
    again: reading !== null,
    wait: false,
  };
  try {
    return await parts.attach(ask, wishes);
  } catch (error) {
    // The thread's last run has ended by the ledger's word: what is left of it there is ended first.
    const holder = await endedHolder(desk, error);
    if (holder === null) throw error;
    return await parts.attach({ ...ask, replace: { by: "ledger", runId: holder } }, wishes);
  }
}

async function refused(desk: Desk, run: LiveRun, error: unknown, version: number): Promise<Provisioned> {
  const isInFlight = run.entry.reading !== null;
  if (run.leave.signal.aborted) return { kind: "left" };
  if (run.stop.signal.aborted) return { kind: "over", verdict: { kind: "stopped" }, mayBeIn: true };
  const known = knownOf(error);
  if (known !== null && !isInFlight) {
    desk.doors.met(run.entry.ask, known, version);
    const { id } = run;
    const answer = await desk.steady.do((ledger) =>
      ledger.giveBack({ id, generation: desk.number, closedBy: known.id }),
    );
    return { kind: "returned", answer };
  }
  const code = problemIn(error)?.code;
  if (code === "OLD_GENERATION") return { kind: "left" };
  if (code === "LEASE_SPENT") return { kind: "over", verdict: { kind: "leaseSpent" }, mayBeIn: true };
  // Of a run in flight it is the transport that failed, and never the run: one whose registration is gone, too.
  if (isInFlight && (known !== null || isUnreachable(error)))
    return { kind: "over", verdict: { kind: "replaced", by: "transport" }, mayBeIn: true };
  return { kind: "over", verdict: refusedVerdict(error), mayBeIn: isInFlight || isUnreachable(error) };
}

/** Fires once what was told to stop has had its time to be heard, or with `over` never. */
function longAfter(stop: AbortSignal, { real }: Desk["parts"], over: AbortSignal): AbortSignal {
  const late = new AbortController();
  const begin = (): void => {
    const lateBy = real.sleep(REAL.processGoneMs, over);
    void lateBy.then(
      () => late.abort(new Error("stopped")),
      () => undefined,
    );
  };
  if (stop.aborted) begin();
  else stop.addEventListener("abort", begin, { once: true, signal: over });
  return late.signal;
}

/**
 * Attaches once, over a container that rolls but over no drain. A stop ends the attach of a newcomer at once, and that of a run
 * in flight only after a while: how far it came, or how it ended by itself, is heard first.
 */
export async function provision(desk: Desk, run: LiveRun): Promise<Provisioned> {
  const over = new AbortController();
  const isNew = run.entry.reading === null;
  const stopped = isNew ? run.stop.signal : longAfter(run.stop.signal, desk.parts, over.signal);
  const { version } = desk.doors;
  if (isNew) desk.cards.tell(attachingCard(run.entry, desk.cards.last(run.id)));
  try {
    const attached = await attach(desk, run, AbortSignal.any([stopped, run.leave.signal]));
    return { kind: "attached", attached };
  } catch (error) {
    return await refused(desk, run, error, version);
  } finally {
    over.abort();
  }
}
