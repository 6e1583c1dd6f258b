// Closing and keeping closed: the registry's drain first, since only it can refuse, then the bot's copy under the same id.
// While something else is waited for the same renewal goes on as a beat, so that a long swap keeps its door closed.

import { CLOCK, REAL, type Budgets } from "#core/budgets.ts";
import { pulseMinutes, type Build, type Without } from "#core/drain.ts";
import type { DeployFact, DeployState } from "#core/rolloutState.ts";
import { MINUTE, type Instant } from "#core/time.ts";
import type { DrainBody } from "#wire/drain.ts";
import { factOfFailure, within, wordsOf } from "#deploy/facts.ts";
import type { BotDoor, FleetDoor } from "#deploy/fleetDoor.ts";
import type { Performed, Seen } from "#deploy/port.ts";

/** What closes with. */
export interface DrainParts {
  readonly fleet: Pick<FleetDoor, "drain">;
  /** The bot of this stack; null where none is part of it. */
  readonly bot: BotDoor | null;
  readonly budgets: Budgets;
  readonly clock: { now(): Instant; sleep(ms: number, signal?: AbortSignal): Promise<void> };
  /** `build`: what this deploy brings the fleet; null when it is not the fleet that it swaps. */
  readonly asker: { readonly by: string; readonly reason: string; readonly build: Build | null };
  readonly without: readonly Without[];
}

/**
 * What a bot that could not be closed means: only a bearer that may not is an answer. Any other refusal speaks of a copy of
 * another drain, which the registry, having just granted this one, will have it drop: it is asked again like a silent bot.
 */
export function factOfBot(error: unknown): DeployFact {
  const fact = factOfFailure(error);
  const why = `the bot: ${"why" in fact ? fact.why : wordsOf(error)}`;
  return fact.kind === "denied" ? { kind: "denied", why } : { kind: "lost", why };
}

/**
 * What the bot's refusal comes to behind the registry's grant. A bot for which this very drain is over was stalled for the
 * pulse's bound, or opened by an admin: no renewal brings its copy back, and by the registry's word its doors are closed.
 */
function refusedByBot(granted: DeployFact, error: unknown): Performed {
  if (factOfFailure(error).kind !== "over") return { fact: factOfBot(error) };
  return { fact: granted, seen: [{ kind: "botDoor", closed: false, why: wordsOf(error) }] };
}

/**
 * The copy's end is asked for as far as every bot takes it, whichever leases it was started with: a pulse moves it on, and of a
 * drain that the registry tells it is the registry's end that counts.
 */
const copyOf = (body: DrainBody): DrainBody => ({
  ...body,
  minutes: Math.min(body.minutes, CLOCK.capFloorMs / MINUTE),
});

async function ask(parts: DrainParts, state: DeployState, minutes: number, signal: AbortSignal): Promise<Performed> {
  const { by, reason, build } = parts.asker;
  const id = state.drainId;
  const body: DrainBody = { id, minutes, by, reason, deploy: true, build, without: [...parts.without] };
  let fact: DeployFact;
  try {
    fact = { kind: "drained", drain: (await parts.fleet.drain(body, within(REAL.requestMs, signal))).drain };
  } catch (error) {
    return { fact: factOfFailure(error) };
  }
  if (parts.bot === null) return { fact };
  try {
    const { queued } = await parts.bot.drain(copyOf(body), within(REAL.requestMs, signal));
    const seen: Seen[] = [
      { kind: "botDoor", closed: true, why: null },
      { kind: "asksQueued", queued },
    ];
    return { fact, seen };
  } catch (error) {
    return refusedByBot(fact, error);
  }
}

/** `POST /drain` for the whole wait and its margin. */
export function drain(parts: DrainParts, state: DeployState, signal: AbortSignal): Promise<Performed> {
  return ask(parts, state, Math.ceil(parts.budgets.drainMs / MINUTE), signal);
}

/** `POST /drain` again, which moves the pulse's bound and never the drain's stated end. */
export function pulse(parts: DrainParts, state: DeployState, signal: AbortSignal): Promise<Performed> {
  const { budgets, clock } = parts;
  const until = state.drain?.until ?? clock.now();
  return ask(parts, state, pulseMinutes(until, clock.now(), budgets), signal);
}

/** The renewals that go on beside a swap. */
export interface Beats {
  /** Renews when a pulse is due; answers whether the drain turned out to be over. */
  beat(state: DeployState, signal: AbortSignal): Promise<"over" | "goesOn">;
  /** Renews at each pulse until the signal fires; never rejects. */
  keepOn(state: DeployState, signal: AbortSignal): Promise<void>;
  /** What the renewals saw since this was last asked, for the receipt: of the bot its last word on its queue. */
  taken(): readonly Seen[];
}

/** The beats of one deploy. One that is not answered is made up for by the next. */
export function beatsOf(parts: DrainParts): Beats {
  let last = Number.NEGATIVE_INFINITY;
  let queued: readonly Seen[] = [];
  const beat: Beats["beat"] = async (state, signal) => {
    const now = parts.clock.now();
    if (!state.asked || now - last < CLOCK.pulseMs) return "goesOn";
    last = now;
    const { fact, seen = [] } = await pulse(parts, state, signal);
    const told = seen.filter((one) => one.kind === "asksQueued");
    if (told.length > 0) queued = told;
    return fact.kind === "over" ? "over" : "goesOn";
  };
  return {
    beat,
    taken() {
      const taken = queued;
      queued = [];
      return taken;
    },
    async keepOn(state, signal) {
      while (!signal.aborted) {
        await parts.clock.sleep(CLOCK.pulseMs, signal).catch(() => undefined);
        if (!signal.aborted) await beat(state, signal);
      }
    },
  };
}
