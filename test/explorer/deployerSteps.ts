// What a deployer does next: the one effect that its machine names, carried out now, later, or without an answer.

import { CLOCK } from "#core/budgets.ts";
import type { FleetView } from "#core/preflight.ts";
import type { DeployFact, DeployState } from "#core/rolloutState.ts";
import { drainStep, liftStep, uploadAllowed } from "./bookSteps.ts";
import { isDrain } from "./book.ts";
import { answeredDrain, deployerHears, deployerHearsWhen, deployOfTuple } from "./deployer.ts";
import {
  BOOK,
  CELLS,
  cellNumber,
  changed,
  FLEET,
  looksOf,
  REGISTRY,
  type Emit,
  type Fleet,
  type Model,
  type Tuple,
} from "./model.ts";
import { reconcileArrives } from "./reconcileSteps.ts";
import { canonicalRegistry, type LateRequest } from "./registry.ts";
import { forsaken, sealArrives } from "./sealSteps.ts";
import { broken, type Broken } from "./world.ts";

const LATE_REQUESTS = 1;
const NO_ANSWER = { kind: "lost", why: "" } as const;

/** One deployer about to act. */
interface Acting {
  readonly model: Model;
  readonly tuple: Tuple;
  readonly deployer: number;
  readonly state: DeployState;
  readonly fleet: Fleet;
  readonly emit: Emit;
  readonly name: string;
}

/** A request that was carried out: its answer arrives, or is lost. */
function answered(
  acting: Acting,
  label: string,
  carried: { readonly tuple: Tuple; readonly broken: Broken | null },
  fact: DeployFact,
): void {
  const { model, deployer, emit, state } = acting;
  const { do: what } = state.effect;
  const kind = what === "lift" || what === "confirm" || what === "reconcile" ? what : "drain";
  emit(label, deployerHears(model, carried.tuple, deployer, fact), carried.broken);
  if (model.world.allowed.lost.includes(kind))
    emit(`${label}, and its answer is lost`, deployerHears(model, carried.tuple, deployer, NO_ANSWER), carried.broken);
}

/** A request that its asker gives up on, and that will be carried out some time later. */
function postponed(acting: Acting, label: string, request: LateRequest): void {
  const { model, tuple, deployer, emit } = acting;
  const registry = model.registries.at(tuple[REGISTRY] as number);
  if (!model.world.allowed.late.includes(request.kind) || registry.late.length >= LATE_REQUESTS) return;
  const late = model.registries.number(canonicalRegistry({ ...registry, late: [...registry.late, request] }, 0));
  emit(
    `${label}: no answer, the request is still on its way`,
    deployerHears(model, changed(tuple, REGISTRY, late), deployer, NO_ANSWER),
    null,
  );
}

function viewOf(model: Model, tuple: Tuple): FleetView {
  const book = model.books.at(tuple[BOOK] as number);
  const drainBook = { drains: book.drains, tombstones: book.tombstones, attempts: book.attempts };
  const sum = model.core.sumOf(CELLS.map((place) => model.cells.at(tuple[place] as number).entry));
  const busy = sum.runsInFlight + sum.attaching;
  return {
    protocol: 1,
    now: 0,
    drains: model.core
      .liveDrains(drainBook, 0)
      .map(({ id, deploy, phase }) => ({ ...answeredDrain(phase), id, deploy })),
    unreadableDrains: model.core.unreadableDrains(drainBook),
    runs: [],
    attaching: busy,
    quietBy: null,
    unreadable: [],
    botInFlight: 0,
  };
}

/** A look asks the residents afresh that the sum calls busy. */
function afresh(model: Model, tuple: Tuple): Tuple {
  let next = tuple;
  for (const place of CELLS) {
    const cell = model.cells.at(next[place] as number);
    if (!model.world.allowed.words || model.core.isQuiet(model.core.sumOf([cell.entry]))) continue;
    const word = model.core.wordOf(cell.entry.resource, cell.store, looksOf(cell));
    const store = model.core.toldStep(cell.store, word.incarnation, word.seq);
    next = changed(next, place, cellNumber(model, { ...cell, store, entry: model.core.applyWord(cell.entry, word) }));
  }
  return next;
}

function looks(acting: Acting): void {
  const { model, tuple, deployer, emit, fleet, name, state } = acting;
  const fresh = afresh(model, tuple);
  const served = { drainId: fleet.servedId, generation: fleet.generation };
  if (!fleet.readable)
    return emit(
      `${name} cannot read the fleet`,
      deployerHears(model, tuple, deployer, { kind: "unreadable", why: "" }),
      null,
    );
  const fact: DeployFact = { kind: "viewed", view: viewOf(model, fresh), served };
  emit(`${name} reads the fleet (${state.effect.do})`, deployerHears(model, fresh, deployer, fact), null);
}

function drains(acting: Acting): void {
  const { model, tuple, fleet, state, name, emit, deployer } = acting;
  const label = `${name} ${state.effect.do === "pulse" ? "pulses" : "asks for its drain"} ${state.drainId}`;
  if (!fleet.readable) return emit(`${label}: no answer`, deployerHears(model, tuple, deployer, NO_ANSWER), null);
  const step = drainStep(model, tuple[BOOK] as number, state.drainId, true);
  const carried = { tuple: changed(tuple, BOOK, step.book), broken: step.broken };
  const facts: Record<typeof step.answer, DeployFact> = {
    created: { kind: "drained", drain: answeredDrain("draining") },
    renewed: { kind: "drained", drain: answeredDrain("draining") },
    over: { kind: "over" },
    busy: { kind: "busy", drain: answeredDrain("draining") },
  };
  answered(acting, `${label}: ${step.answer}`, carried, facts[step.answer]);
  postponed(acting, label, { kind: "drain", id: state.drainId, deploy: true });
}

function seals(acting: Acting): void {
  const { model, tuple, fleet, state, name, emit, deployer } = acting;
  const registry = model.registries.at(tuple[REGISTRY] as number);
  const gaveUp = forsaken(model, tuple, deployer);
  if (registry.machines.some((machine) => machine.client === deployer)) {
    if (model.world.allowed.lost.includes("seal"))
      emit(`${name} gives up waiting for its seal`, deployerHears(model, gaveUp, deployer, NO_ANSWER), null);
    return;
  }
  if (!fleet.readable)
    return emit(`${name} asks to seal: no answer`, deployerHears(model, tuple, deployer, NO_ANSWER), null);
  if (model.books.at(tuple[BOOK] as number).attempts >= model.world.attempts) return;
  const arrived = sealArrives(model, tuple, state.drainId, deployer);
  emit(`${name} asks to seal the fleet for ${state.drainId}: ${arrived.says}`, arrived.next, arrived.broken);
  postponed(acting, `${name} asks to seal the fleet for ${state.drainId}`, { kind: "seal", id: state.drainId });
}

function confirms(acting: Acting): void {
  const { model, tuple, fleet, state, name, emit, deployer } = acting;
  if (!fleet.readable)
    return emit(`${name} confirms: no answer`, deployerHears(model, tuple, deployer, NO_ANSWER), null);
  const allowed = uploadAllowed(model, tuple[BOOK] as number, state.drainId);
  const fact: DeployFact = allowed.answer ? { kind: "confirmed" } : { kind: "over" };
  answered(acting, `${name} confirms its swap: ${fact.kind}`, { tuple, broken: allowed.broken }, fact);
}

/** The upload begins, if the registry still says so at the supervisor's very last act; what has begun lands within the bound. */
function uploads(acting: Acting): void {
  const { model, tuple, fleet, state, name, emit, deployer } = acting;
  if (fleet.upload !== null && fleet.upload.deployer === deployer) {
    if (model.world.allowed.lost.includes("upload"))
      emit(`${name} hears nothing of its upload`, deployerHears(model, tuple, deployer, NO_ANSWER), null);
    return;
  }
  if (fleet.upload !== null) return;
  const allowed = uploadAllowed(model, tuple[BOOK] as number, state.drainId);
  if (!fleet.readable || !allowed.answer) {
    return emit(
      `the upload of ${name} is refused`,
      deployerHears(model, tuple, deployer, { kind: "uploaded", outcome: "refused", why: "" }),
      null,
    );
  }
  const until =
    model.books.at(tuple[BOOK] as number).drains.flatMap((stored) => boundOf(stored, state.drainId))[0] ?? 0;
  const next = model.fleets.number({ ...fleet, upload: { deployer, id: state.drainId, until } });
  emit(`the upload of ${name} (${state.drainId}) begins`, changed(tuple, FLEET, next), allowed.broken);
}

const boundOf = (stored: unknown, id: string): number[] =>
  typeof stored === "object" &&
  stored !== null &&
  "phaseUntil" in stored &&
  "id" in stored &&
  stored.id === id &&
  typeof stored.phaseUntil === "number"
    ? [stored.phaseUntil]
    : [];

function proves(acting: Acting): void {
  const { model, tuple, fleet, state, name, emit, deployer } = acting;
  const served = { drainId: fleet.servedId, generation: fleet.generation };
  const ours = fleet.servedId === state.drainId;
  const fact: DeployFact = { kind: "serves", served };
  emit(
    `${name} asks what the fleet serves: ${ours ? "its upload" : "another"}`,
    deployerHears(model, tuple, deployer, fact),
    null,
  );
  if (!ours)
    emit(
      `${name} gives its upload up at the swap bound`,
      deployerHearsWhen(model, tuple, deployer, { fact, due: { swapUntil: 0 } }),
      null,
    );
}

const heldWords = (held: number): string => (held > 0 ? `, ${held} held` : "");

/** An answer that the registry is too old for it, or that nothing was swapped, says no more than none: it is asked again. */
function reconciles(acting: Acting): void {
  const { model, tuple, fleet, state, name, emit, deployer } = acting;
  const label = `${name} reconciles ${state.drainId}`;
  emit(
    `${name} gives its reconcile up at the cycle bound`,
    deployerHearsWhen(model, tuple, deployer, { fact: NO_ANSWER, due: { reconcileUntil: 0 } }),
    null,
  );
  if (!fleet.readable) return emit(`${label}: no answer`, deployerHears(model, tuple, deployer, NO_ANSWER), null);
  const { next, says, held, broken } = reconcileArrives(model, tuple, state.drainId);
  const carriedOut = says === "begun" || says === "again";
  const drain = answeredDrain("reconciling");
  const fact: DeployFact = carriedOut
    ? { kind: "reconciling", drain, leftMs: 0 }
    : says === "over"
      ? { kind: "over" }
      : NO_ANSWER;
  answered(acting, `${label}: ${says}${heldWords(held)}`, { tuple: next, broken }, fact);
  postponed(acting, label, { kind: "reconcile", id: state.drainId });
}

/** The others are open: a deployer that watches who is held still changes nothing any more. */
function watches(acting: Acting): void {
  const { model, tuple, fleet, state, name, emit, deployer } = acting;
  const { drains } = model.books.at(tuple[BOOK] as number);
  const held = drains.filter(isDrain).find((drain) => drain.id === state.drainId)?.holds ?? [];
  const fact: DeployFact = { kind: "heldBy", held, stale: [] };
  if (fleet.readable)
    emit(`${name} reads who is held: ${held.length}`, deployerHears(model, tuple, deployer, fact), null);
  emit(
    `${name} waits for nobody held any longer`,
    deployerHearsWhen(model, tuple, deployer, { fact: NO_ANSWER, due: { holdUntil: -CLOCK.lookMs } }),
    null,
  );
}

function lifts(acting: Acting): void {
  const { model, tuple, fleet, state, name, emit, deployer } = acting;
  const { effect } = state;
  if (effect.do !== "lift") return;
  const label = `${name} lifts ${state.drainId} (upload ${effect.outcome})`;
  if (!fleet.readable) return emit(`${label}: no answer`, deployerHears(model, tuple, deployer, NO_ANSWER), null);
  const step = liftStep(model, tuple[BOOK] as number, state.drainId, {
    outcome: effect.outcome,
    servedId: fleet.registryId,
  });
  const carried = { tuple: changed(tuple, BOOK, step.book), broken: step.broken };
  const { kind, held } = step.answer;
  const fact: DeployFact = kind === "deferred" ? { kind, at: 0 } : { kind: "lifted", held, leftMs: 0 };
  answered(acting, `${label}: ${kind}${heldWords(held.length)}`, carried, fact);
  postponed(acting, label, { kind: "lift", id: state.drainId, outcome: effect.outcome });
}

function pauses(acting: Acting): void {
  const { model, tuple, state, name, emit, deployer } = acting;
  const { effect } = state;
  if (effect.do !== "pause") return;
  const woke: DeployFact = { kind: "woke", quiet: false };
  emit(
    `${name} wakes to ${effect.then}`,
    deployerHearsWhen(model, tuple, deployer, { fact: woke, due: { nextLookAt: 0 } }),
    null,
  );
  if (effect.then === "look")
    emit(
      `${name} wakes to pulse`,
      deployerHearsWhen(model, tuple, deployer, { fact: woke, due: { nextPulseAt: 0 } }),
      null,
    );
  // A frame of the watch may be old by the time it is read, so it can say quiet whatever is true now.
  if (effect.then === "look")
    emit(
      `the watch tells ${name} that the fleet was quiet`,
      deployerHears(model, tuple, deployer, { kind: "woke", quiet: true }),
      null,
    );
  if (model.world.allowed.signal)
    emit(
      `the budget of ${name} is spent`,
      deployerHearsWhen(model, tuple, deployer, { fact: woke, due: { budgetUntil: 0 } }),
      null,
    );
}

function mints(acting: Acting): void {
  const { model, tuple, state, name, emit, deployer } = acting;
  const ids = model.world.deployers[deployer] ?? [];
  const id = ids[ids.indexOf(state.drainId) + 1];
  if (id !== undefined)
    emit(
      `${name} finds ${state.drainId} over and mints ${id}`,
      deployerHears(model, tuple, deployer, { kind: "minted", id }),
      null,
    );
}

const DOES: Readonly<Record<DeployState["effect"]["do"], (acting: Acting) => void>> = {
  preflight: looks,
  drain: drains,
  mint: mints,
  look: looks,
  pause: pauses,
  pulse: drains,
  // No world has a ledger or a bot to swap yet.
  roll: () => undefined,
  rollGate: () => undefined,
  seal: seals,
  confirm: confirms,
  upload: uploads,
  readBack: proves,
  liveGate: proves,
  reconcile: reconciles,
  lift: lifts,
  holds: watches,
  done: () => undefined,
};

/** Every next step of one deployer. That it takes none for ever is its death, and part of every state. */
export function deployerSteps(model: Model, tuple: Tuple, deployer: number, emit: Emit): void {
  const state = deployOfTuple(model, tuple, deployer);
  if (state === undefined || state.effect.do === "done") return;
  const fleet = model.fleets.at(tuple[FLEET] as number);
  const name = `deploy ${"AB"[deployer]}`;
  DOES[state.effect.do]({ model, tuple, deployer, state, fleet, emit, name });
  if (model.world.allowed.signal && state.effect.do !== "lift") {
    const left = forsaken(model, tuple, deployer);
    emit(
      `${name} is told to stop (${state.effect.do})`,
      deployerHears(model, left, deployer, { kind: "signal", signal: "SIGTERM" }),
      null,
    );
  }
}

/** A killed run or a cut workspace is harm; everything that the swap of a drained deploy may never meet. */
export function harmAt(model: Model, tuple: Tuple, id: string): Broken | null {
  for (const place of CELLS) {
    const cell = model.cells.at(tuple[place] as number);
    const row = cell.store.rows.find((kept) => kept.state === "running");
    const alive = cell.alive[0] === undefined ? undefined : model.world.runs[cell.alive[0]]?.id;
    const killed = alive ?? row?.runId;
    if (killed !== undefined)
      return broken(
        "4",
        `the swap of ${id} kills ${killed}, which was admitted and ${alive === undefined ? "registered" : "is working"}`,
      );
  }
  return null;
}
