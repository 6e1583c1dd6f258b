// The deploy's effects as the fleet carries them out: each request becomes the one fact that its answer is, told apart
// by the answer's code. What gives no answer is `lost`, since it may have been carried out all the same.

import { CLOCK, REAL, type Budgets } from "#core/budgets.ts";
import { mayUpload, pulseMinutes, type Build, type Drain } from "#core/drain.ts";
import type { FleetView } from "#core/preflight.ts";
import type { DeployFact, DeployState, Served } from "#core/rollout.ts";
import { MINUTE, type Instant } from "#core/time.ts";
import { drainsSchema } from "#wire/drain.ts";
import { problemIn, type Problem } from "#wire/errors.ts";
import type { Residents } from "#wire/fleet.ts";
import type { DeployPort, Performed, Seen } from "#deploy/port.ts";
import type { DeployStep, Uploaded } from "#deploy/steps.ts";
import type { FleetDoor, QuietWatch } from "#deploy/fleetDoor.ts";

/** What the port of one deploy is made of. */
export interface FleetPortParts {
  readonly fleet: FleetDoor;
  readonly watch: QuietWatch;
  readonly step: DeployStep;
  readonly budgets: Budgets;
  readonly clock: { now(): Instant; sleep(ms: number, signal?: AbortSignal): Promise<void> };
  readonly mint: () => string;
  readonly asker: { readonly by: string; readonly reason: string; readonly build: Build };
  /** Whether a signal has been taken: what is left to do is then bounded more tightly. */
  readonly hurried: () => boolean;
  /** Keeps the receipt once everything is known. */
  readonly keep: (state: DeployState, seen: readonly Seen[]) => void;
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const within = (ms: number, signal: AbortSignal): AbortSignal => AbortSignal.any([signal, AbortSignal.timeout(ms)]);

/** The fleet as a deployer judges it. */
export function viewOf(residents: Residents): FleetView {
  const { protocol, now, drains, unreadableDrains, runs, attaching, quietBy } = residents;
  const counted = Math.max(0, attaching - runs.filter((run) => run.state === "attaching").length);
  const unreadable = residents.residents.filter((row) => !row.readable).map((row) => row.resource);
  return { protocol, now, drains, unreadableDrains, runs, attaching: counted, quietBy, unreadable };
}

const SAYS_WHO: readonly string[] = ["NO_BEARER", "BAD_BEARER", "BEYOND_SCOPE"];

/** The drain that a refusal carries. */
function drainIn(problem: Problem): Drain | undefined {
  return drainsSchema.shape.draining.safeParse(problem["draining"]).data ?? undefined;
}

function unreadableIn(problem: Problem): string[] {
  const named = problem["unreadable"];
  return Array.isArray(named) ? named.filter((one) => typeof one === "string") : [];
}

/** What a request that failed says to the machine. */
export function factOfFailure(error: unknown): DeployFact {
  const problem = problemIn(error);
  if (problem === undefined) return { kind: "lost", why: wordsOf(error) };
  const why = `${problem.title}: ${problem.detail}`;
  const drain = drainIn(problem);
  if (SAYS_WHO.includes(problem.code)) return { kind: "denied", why };
  if (problem.code === "DRAIN_OVER") return { kind: "over" };
  if (problem.code === "DEPLOY_IN_PROGRESS" && drain !== undefined) return { kind: "busy", drain };
  if (problem.code === "SEAL_BUSY") return { kind: "notSealed", unreadable: unreadableIn(problem) };
  return { kind: "lost", why };
}

/** A read that failed: the fleet cannot be judged, unless it is the bearer that may not read. */
function factOfBlindness(error: unknown): DeployFact {
  const fact = factOfFailure(error);
  return fact.kind === "denied" ? fact : { kind: "unreadable", why: fact.kind === "lost" ? fact.why : wordsOf(error) };
}

async function look(parts: FleetPortParts, fresh: boolean, signal: AbortSignal): Promise<Performed> {
  try {
    const bound = within(REAL.requestMs, signal);
    const [residents, served] = await Promise.all([parts.fleet.residents(fresh, bound), parts.step.live(bound)]);
    const fact: DeployFact = { kind: "viewed", view: viewOf(residents), served };
    return { fact, seen: [{ kind: "residents", residents }] };
  } catch (error) {
    return { fact: factOfBlindness(error) };
  }
}

async function ask(
  parts: FleetPortParts,
  state: DeployState,
  minutes: number,
  signal: AbortSignal,
): Promise<Performed> {
  try {
    const { by, reason, build } = parts.asker;
    const body = { id: state.drainId, minutes, by, reason, deploy: true, build };
    const { drain } = await parts.fleet.drain(body, within(REAL.requestMs, signal));
    return { fact: { kind: "drained", drain } };
  } catch (error) {
    return { fact: factOfFailure(error) };
  }
}

/** Waits for the pause's end, or, where the deploy waits for quiet, for a frame of the watch that says it. */
async function pause(parts: FleetPortParts, state: DeployState, signal: AbortSignal): Promise<Performed> {
  const { effect } = state;
  if (effect.do !== "pause") return { fact: { kind: "woke", quiet: false } };
  const ended = new AbortController();
  const bound = AbortSignal.any([signal, ended.signal]);
  const slept = parts.clock.sleep(effect.at - parts.clock.now(), bound).then(() => false);
  const waitsForQuiet = effect.then === "look" || effect.then === "pulse";
  const told = waitsForQuiet ? [parts.watch.quiet(bound).then(() => true)] : [];
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
    const { drain, now } = await parts.fleet.seal(state.drainId, within(REAL.sealMs, signal));
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

async function lift(parts: FleetPortParts, state: DeployState): Promise<Performed> {
  const outcome = state.effect.do === "lift" ? state.effect.outcome : state.outcome;
  const bound = AbortSignal.timeout(parts.hurried() ? REAL.liftTryMs : REAL.requestMs);
  try {
    const answer = await parts.fleet.undrain({ id: state.drainId, outcome }, bound);
    const seen: Seen[] = [{ kind: "lifted", at: answer.now, remaining: answer.remaining }];
    if (answer.kind === "deferred" && answer.deferredUntil !== null) {
      return { fact: { kind: "deferred", at: answer.deferredUntil }, seen };
    }
    return { fact: { kind: "lifted" }, seen };
  } catch (error) {
    return { fact: factOfFailure(error) };
  }
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

/** The port of one deploy over a fleet. */
export function fleetPort(parts: FleetPortParts): DeployPort {
  const { budgets, clock } = parts;
  return {
    preflight: (_state, signal) => look(parts, true, signal),
    look: (_state, signal) => {
      parts.watch.mark();
      return look(parts, true, signal);
    },
    drain: (state, signal) => ask(parts, state, Math.ceil(budgets.drainMs / MINUTE), signal),
    mint: () => Promise.resolve({ fact: { kind: "minted", id: parts.mint() } }),
    pause: (state, signal) => pause(parts, state, signal),
    pulse: (state, signal) => {
      const until = state.drain?.until ?? clock.now();
      return ask(parts, state, pulseMinutes(until, clock.now(), budgets), signal);
    },
    seal: (state, signal) => seal(parts, state, signal),
    confirm: (state, signal) => confirm(parts, state, signal),
    upload: (state, signal) => upload(parts, state, signal),
    readBack: (state, signal) => serves(parts, state, signal),
    liveGate: (state, signal) => serves(parts, state, signal),
    lift: (state) => lift(parts, state),
    done: (state, signal) => done(parts, state, signal),
  };
}
