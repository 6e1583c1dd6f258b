// The deploy's effects as the fleet carries them out: each request becomes the one fact that its answer is (facts.ts), and
// a pause ends early by the one word of the watch that its deploy waits for.

import { CLOCK, REAL, type Budgets } from "#core/budgets.ts";
import { mayUpload, type Build, type Without } from "#core/drain.ts";
import type { DeployFact, DeployState, Served } from "#core/rolloutState.ts";
import type { Instant } from "#core/time.ts";
import type { WatchFrame } from "#wire/fleet.ts";
import { beatsOf, drain, pulse } from "#deploy/drainEffects.ts";
import { factOfBlindness, factOfFailure, flightIn, lookAtBot, viewOf, within, wordsOf } from "#deploy/facts.ts";
import type { BotDoor, FleetDoor, QuietWatch } from "#deploy/fleetDoor.ts";
import { holds, lift, reconcile } from "#deploy/holdEffects.ts";
import type { DeployPort, Performed, Seen } from "#deploy/port.ts";
import { roll, rollGate, type PartSteps } from "#deploy/rollEffects.ts";
import type { DeployStep, Uploaded } from "#deploy/steps.ts";

/** What the port of one deploy is made of. */
export interface FleetPortParts {
  readonly fleet: FleetDoor;
  /** The bot of this stack; null where none is part of it. */
  readonly bot: BotDoor | null;
  readonly watch: QuietWatch;
  /** The fleet's own step, whose generation every deploy reads. */
  readonly step: DeployStep;
  /** The ledger and the bot, as far as this stack has them. */
  readonly parts: PartSteps;
  readonly budgets: Budgets;
  readonly clock: { now(): Instant; sleep(ms: number, signal?: AbortSignal): Promise<void> };
  readonly mint: () => string;
  /** `build`: what this deploy brings the fleet; null when it is not the fleet that it swaps. */
  readonly asker: { readonly by: string; readonly reason: string; readonly build: Build | null };
  /** Residents that are left out of quiet, seal and hold. */
  readonly without: readonly Without[];
  /** Whether a signal has been taken: what is left to do is then bounded more tightly. */
  readonly hurried: () => boolean;
  /** Keeps the receipt once everything is known. */
  readonly keep: (state: DeployState, seen: readonly Seen[]) => void;
}

async function look(parts: FleetPortParts, fresh: boolean, signal: AbortSignal): Promise<Performed> {
  try {
    const bound = within(REAL.requestMs, signal);
    const [residents, served, bot] = await Promise.all([
      parts.fleet.residents(fresh, bound),
      parts.step.live(bound),
      lookAtBot(parts.bot, bound),
    ]);
    const fact: DeployFact = { kind: "viewed", view: viewOf(residents, parts.without, bot), served };
    return { fact, seen: [{ kind: "residents", residents }] };
  } catch (error) {
    return { fact: factOfBlindness(error) };
  }
}

/** Which frame of the watch ends a pause: quiet, under a handoff nobody attaching, or a hold that fell. */
function newsFor({ without }: FleetPortParts, state: DeployState): ((frame: WatchFrame) => boolean) | null {
  const { effect, mode, drainId, held } = state;
  if (effect.do !== "pause") return null;
  switch (effect.then) {
    case "look":
    case "pulse":
      return (frame) => {
        const { runs, attaching } = flightIn(frame, without);
        return attaching === 0 && (runs === 0 || mode === "handoff");
      };
    case "holds":
      return ({ drains }) => (drains.find((drain) => drain.id === drainId)?.holds.length ?? 0) < held.length;
    default:
      return null;
  }
}

/** Whether all that a look found was in the bot's hands, of which the fleet's watch says nothing. */
const waitsForBot = ({ effect, view }: DeployState): boolean =>
  effect.do === "pause" &&
  (effect.then === "look" || effect.then === "pulse") &&
  view !== null &&
  view.botInFlight > 0 &&
  view.runs.length + view.attaching === 0;

/** Resolves once the bot has nothing in hand; rejects with the signal. */
async function botQuiet({ bot, clock }: FleetPortParts, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(CLOCK.retryMs, signal);
    const look = await lookAtBot(bot, within(REAL.requestMs, signal));
    if (look?.kind === "read" && look.inFlight === 0) return;
  }
}

/** Waits for the pause's end, or for word of what the deploy waits for: a frame of the watch, or of the bot alone its own. */
async function pause(parts: FleetPortParts, state: DeployState, signal: AbortSignal): Promise<Performed> {
  const { effect } = state;
  if (effect.do !== "pause") return { fact: { kind: "woke", quiet: false } };
  const ended = new AbortController();
  const bound = AbortSignal.any([signal, ended.signal]);
  const slept = parts.clock.sleep(effect.at - parts.clock.now(), bound).then(() => false);
  const isNews = newsFor(parts, state);
  const told = [
    ...(isNews === null ? [] : [parts.watch.until(isNews, bound)]),
    ...(waitsForBot(state) ? [botQuiet(parts, bound)] : []),
  ].map((word) => word.then(() => true));
  try {
    const quiet = await Promise.race([slept, ...told].map((one) => one.catch(() => false)));
    return { fact: { kind: "woke", quiet }, seen: parts.watch.taken() };
  } finally {
    ended.abort(new Error("the pause is over"));
  }
}

async function seal(parts: FleetPortParts, state: DeployState, signal: AbortSignal): Promise<Performed> {
  try {
    parts.watch.mark();
    const body = { id: state.drainId, handoff: state.mode === "handoff" };
    const { drain, now } = await parts.fleet.seal(body, within(REAL.sealMs, signal));
    return { fact: { kind: "sealed", drain, leftMs: Math.max(0, (drain.phaseUntil ?? now) - now) } };
  } catch (error) {
    return { fact: factOfFailure(error) };
  }
}

/** Asks the registry right before the upload whether it may begin, judged by the registry's own clock. */
async function confirm(parts: FleetPortParts, state: DeployState, signal: AbortSignal): Promise<Performed> {
  try {
    const { drains, now } = await parts.fleet.drains(within(REAL.requestMs, signal));
    return { fact: mayUpload(drains, state.drainId, now) ? { kind: "confirmed" } : { kind: "over" } };
  } catch (error) {
    return { fact: factOfFailure(error) };
  }
}

const uploadedFact = ({ outcome, why }: Uploaded): DeployFact => ({ kind: "uploaded", outcome, why });

/** The upload, ended by its deployer two minutes before the swap bound: what is then not answered is unknown. */
async function upload(parts: FleetPortParts, state: DeployState, signal: AbortSignal): Promise<Performed> {
  const { clock, step } = parts;
  const bound = state.swapUntil === 0 ? clock.now() + CLOCK.swapBoundMs : state.swapUntil;
  const left = bound - CLOCK.uploadCutMs - clock.now();
  if (left <= 0) {
    return { fact: { kind: "uploaded", outcome: "none", why: "the swap bound is too near to begin an upload" } };
  }
  const cut = new AbortController();
  const ended = new AbortController();
  const late = clock.sleep(left, ended.signal).then((): Uploaded => {
    cut.abort(new Error("two minutes before the swap bound"));
    return { outcome: "unknown", why: "no answer two minutes before the swap bound", killed: null, ms: null };
  });
  const asked = step.swap.upload({ drainId: state.drainId, mode: state.mode }, AbortSignal.any([signal, cut.signal]));
  try {
    const uploaded = await Promise.race([asked, late]);
    return { fact: uploadedFact(uploaded), seen: [{ kind: "uploaded", uploaded }] };
  } finally {
    ended.abort(new Error("the upload has its answer"));
    late.catch(() => undefined);
  }
}

const isOurs = (state: DeployState, served: Served): boolean =>
  served.drainId === state.drainId && served.generation > state.fromGeneration;

/** What the fleet serves. When it is this upload, its lost answer and the residents' own reports are read too. */
async function serves(parts: FleetPortParts, state: DeployState, signal: AbortSignal): Promise<Performed> {
  const bound = within(REAL.requestMs, signal);
  let served: Served;
  try {
    served = await parts.step.live(bound);
  } catch (error) {
    return { fact: { kind: "unreadable", why: wordsOf(error) } };
  }
  const fact: DeployFact = { kind: "serves", served };
  if (!isOurs(state, served)) return state.effect.do === "readBack" ? ended(parts, state, fact, bound) : { fact };
  return { fact, seen: await aftermath(parts, state, bound) };
}

/** The old release is served still. Whoever carried the upload out may know that it ended without landing. */
async function ended(
  parts: FleetPortParts,
  state: DeployState,
  fact: DeployFact,
  signal: AbortSignal,
): Promise<Performed> {
  const uploaded = await parts.step.swap.recall(state.drainId, signal).catch(() => undefined);
  const over = uploaded !== undefined && uploaded.outcome !== "landed" && uploaded.outcome !== "unknown";
  return over ? { fact: uploadedFact(uploaded), seen: [{ kind: "uploaded", uploaded }] } : { fact };
}

async function aftermath(parts: FleetPortParts, state: DeployState, signal: AbortSignal): Promise<Seen[]> {
  const isLive = state.effect.do === "liveGate";
  const residents = isLive ? parts.fleet.residents(true, signal).catch(() => undefined) : undefined;
  const recalled = isLive ? undefined : parts.step.swap.recall(state.drainId, signal).catch(() => undefined);
  const [seenResidents, uploaded] = await Promise.all([residents, recalled]);
  return [
    ...(seenResidents === undefined ? [] : [{ kind: "residents", residents: seenResidents } as const]),
    ...(uploaded === undefined ? [] : [{ kind: "uploaded", uploaded } as const]),
  ];
}

/** What the registry wrote down meanwhile; a receipt without it says `unknown` where it would have told. */
async function done(parts: FleetPortParts, state: DeployState, signal: AbortSignal): Promise<readonly Seen[]> {
  const seen = await parts.fleet.newestAudit(within(REAL.liftTryMs, signal)).then(
    (rows): Seen[] => [{ kind: "audit", rows }],
    () => [],
  );
  parts.keep(state, seen);
  return seen;
}

/** A new id for a drain that is over; the bot is told that the old one closes nothing there any more. */
async function mint(
  { bot, mint: next }: FleetPortParts,
  { drainId }: DeployState,
  signal: AbortSignal,
): Promise<Performed> {
  const bound = within(REAL.liftTryMs, signal);
  const told = await bot?.undrain({ id: drainId, outcome: "none" }, bound).catch(() => undefined);
  const seen: Seen[] = told === undefined ? [] : [{ kind: "asksQueued", queued: told.queued }];
  return { fact: { kind: "minted", id: next() }, seen };
}

/** The port of one deploy over a fleet. */
export function fleetPort(parts: FleetPortParts): DeployPort {
  const rolling = { ...parts, beats: beatsOf(parts) };
  const withBeats = async (rolled: Promise<Performed>): Promise<Performed> => {
    const { fact, seen = [] } = await rolled;
    return { fact, seen: [...rolling.beats.taken(), ...seen] };
  };
  return {
    preflight: (_state, signal) => look(parts, true, signal),
    look: (_state, signal) => {
      parts.watch.mark();
      return look(parts, true, signal);
    },
    drain: (state, signal) => drain(parts, state, signal),
    mint: (state, signal) => mint(parts, state, signal),
    pause: (state, signal) => pause(parts, state, signal),
    pulse: (state, signal) => pulse(parts, state, signal),
    roll: (state, signal) => withBeats(roll(rolling, state, signal)),
    rollGate: (state, signal) => withBeats(rollGate(rolling, state, signal)),
    seal: (state, signal) => seal(parts, state, signal),
    confirm: (state, signal) => confirm(parts, state, signal),
    upload: (state, signal) => upload(parts, state, signal),
    readBack: (state, signal) => serves(parts, state, signal),
    liveGate: (state, signal) => serves(parts, state, signal),
    reconcile: (state, signal) => reconcile(parts, state, signal),
    lift: (state) => lift(parts, state),
    holds: (state, signal) => holds(parts, state, signal),
    done: (state, signal) => done(parts, state, signal),
  };
}
