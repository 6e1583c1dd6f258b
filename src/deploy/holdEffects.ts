// The effects behind the live gate: reconcile, lift, and the look at who is held still. What a resident's hold ended by is
// the registry's own log's to say, never inferred from the time.

import { REAL } from "#core/budgets.ts";
import type { DeployState } from "#core/rolloutState.ts";
import { problemIn } from "#wire/errors.ts";
import type { AuditRow } from "#wire/fleet.ts";
import { factOfFailure, within, wordsOf } from "#deploy/facts.ts";
import type { BotDoor, FleetDoor, QuietWatch } from "#deploy/fleetDoor.ts";
import type { Performed, Seen } from "#deploy/port.ts";

/** What these effects ask with. */
export interface HoldParts {
  readonly fleet: Pick<FleetDoor, "reconcile" | "reconciled" | "undrain" | "newestAudit">;
  /** The bot of this stack; null where none is part of it. */
  readonly bot: BotDoor | null;
  readonly watch: QuietWatch;
  /** Whether a signal has been taken: what is left to do is then bounded more tightly. */
  readonly hurried: () => boolean;
}

/** The end of a phase as a span, so that no two clocks are compared. */
const leftUntil = (until: number | null, now: number): number => Math.max(0, (until ?? now) - now);

/** `POST /reconcile`. What is not this drain's end or a bearer that may not is asked again by the machine, to its bound. */
export async function reconcile(parts: HoldParts, state: DeployState, signal: AbortSignal): Promise<Performed> {
  try {
    const answer = await parts.fleet.reconcile(state.drainId, within(REAL.requestMs, signal));
    const { drain, now } = answer;
    const seen: Seen[] = [{ kind: "reconciled", answer }];
    if (drain === null) return { fact: { kind: "over" }, seen };
    return { fact: { kind: "reconciling", drain, leftMs: leftUntil(drain.phaseUntil, now) }, seen };
  } catch (error) {
    return { fact: factOfFailure(error) };
  }
}

type LiftBody = Parameters<FleetDoor["undrain"]>[0];

/** `POST /undrain` to the registry, then to the bot, whose copy falls by itself where that cannot be reached. */
export async function lift(parts: HoldParts, state: DeployState): Promise<Performed> {
  const outcome = state.effect.do === "lift" ? state.effect.outcome : state.outcome;
  const body = { id: state.drainId, outcome };
  const bound = AbortSignal.timeout(parts.hurried() ? REAL.liftTryMs : REAL.requestMs);
  const { fact, seen = [] } = await liftFleet(parts, body, bound);
  if (parts.bot === null) return { fact, seen };
  const bot = await parts.bot.undrain(body, bound).then(
    ({ queued }) => ({ queued, why: null }),
    (error: unknown) => ({ queued: null, why: wordsOf(error) }),
  );
  const { queued, why } = bot;
  // Who waited is told before the reopening that ended their wait.
  return { fact, seen: [{ kind: "asksQueued", queued }, ...seen, { kind: "botDoor", closed: why !== null, why }] };
}

/** What remains is what others closed: this drain itself stands on only for the residents it holds. */
async function liftFleet(parts: HoldParts, body: LiftBody, bound: AbortSignal): Promise<Performed> {
  const { id: drainId } = body;
  try {
    const answer = await parts.fleet.undrain(body, bound);
    const { now, kind, deferredUntil, held, heldUntil } = answer;
    const remaining = answer.remaining.filter((drain) => drain.id !== drainId);
    const seen: Seen[] = [{ kind: "lifted", at: now, remaining }];
    if (kind === "deferred" && deferredUntil !== null) return { fact: { kind: "deferred", at: deferredUntil }, seen };
    return { fact: { kind: "lifted", held, leftMs: leftUntil(heldUntil, now) }, seen };
  } catch (error) {
    return { fact: factOfFailure(error) };
  }
}

/** The residents whose hold the bound has ended, by the registry's log. */
function staleIn(rows: readonly AuditRow[], drainId: string): string[] {
  const stale = rows.filter((row) => row.what === "stale" && row.drainId === drainId);
  return [...new Set(stale.flatMap((row) => (row.resource === null ? [] : [row.resource])))];
}

/** A reconcile of a later deploy has taken the place of this one: nobody is held by it any more. */
const isReplaced = (error: unknown): boolean => problemIn(error)?.code === "NOT_SWAPPED";

/** Who is held still; once somebody is not, the log says by what the hold ended. */
export async function holds(parts: HoldParts, state: DeployState, signal: AbortSignal): Promise<Performed> {
  const { drainId } = state;
  parts.watch.mark();
  try {
    const asked = await parts.fleet
      .reconciled(drainId, within(REAL.requestMs, signal))
      .catch((error: unknown) => (isReplaced(error) ? null : Promise.reject(error)));
    const held = asked?.held ?? [];
    const seen: Seen[] = asked === null ? [] : [{ kind: "reconciled", answer: asked }];
    if (held.length >= state.held.length) return { fact: { kind: "heldBy", held, stale: state.stale }, seen };
    const rows = await parts.fleet.newestAudit(within(REAL.requestMs, signal));
    const stale = staleIn(rows, drainId);
    return { fact: { kind: "heldBy", held, stale }, seen: [...seen, { kind: "audit", rows }] };
  } catch (error) {
    return { fact: factOfFailure(error) };
  }
}
