// What happens to the whole fleet: the swap lands or fails, the registry is lost for a while or restarts, late requests
// arrive, a person closes and opens, and time passes to the next end.

import type { Drain } from "#core/drain.ts";
import { CLOCK } from "#core/budgets.ts";
import { endsInBook, liveRaw } from "./book.ts";
import { agedBook, drainStep, liftStep, pulsedBook, settleStep } from "./bookSteps.ts";
import { cellAfter, endsInCell } from "./cell.ts";
import { booted } from "./cellSteps.ts";
import { deployerHears, deployOfTuple } from "./deployer.ts";
import { harmAt } from "./deployerSteps.ts";
import { BOOK, CELLS, cellNumber, changed, FLEET, REGISTRY, type Emit, type Model, type Tuple } from "./model.ts";
import { canonicalRegistry, type LateRequest } from "./registry.ts";
import { forsakenAsks, reconcileArrives } from "./reconcileSteps.ts";
import { sealArrives } from "./sealSteps.ts";
import { imageOf, PERSON } from "./world.ts";

const NO_ANSWER = { kind: "lost", why: "" } as const;

/** The registry's isolate starts anew: what it was in the middle of is gone, and whoever waited hears nothing. */
function registryBoots(model: Model, tuple: Tuple): Tuple {
  const registry = model.registries.at(tuple[REGISTRY] as number);
  let next = tuple;
  for (const deployer of [0, 1]) {
    const waits = registry.machines.some((machine) => machine.client === deployer);
    if (waits && deployOfTuple(model, next, deployer)?.effect.do === "seal")
      next = deployerHears(model, next, deployer, NO_ANSWER);
  }
  const anew = model.numbers.get(`booted|${tuple[REGISTRY]}`, () =>
    model.registries.number(canonicalRegistry({ ...registry, machines: [] }, 0)),
  );
  return changed(forsakenAsks(model, next), REGISTRY, anew);
}

/** The object that stays of the generation before for a while, if any. */
type Lagging = "the registry" | "R1" | null;

/**
 * The swap: every isolate ends and starts over the same storage. Whatever works in a container is gone, which is what the
 * seals are there for; the containers themselves stay, and the next starts are of the new image.
 */
function landed(model: Model, tuple: Tuple, id: string, lagging: Lagging): Tuple {
  const fleet = model.fleets.at(tuple[FLEET] as number);
  const registryId = lagging === "the registry" ? fleet.registryId : id;
  const served = { ...fleet, servedId: id, registryId, generation: fleet.generation + 1, upload: null };
  let next = changed(tuple, FLEET, model.fleets.number(served));
  for (const at of [0, 1] as const) {
    const cell = model.cells.at(next[CELLS[at]] as number);
    const anew = { ...booted(cell), store: model.core.bootStep(cell.store), alive: [] };
    const platform = imageOf(model.world, id);
    const pinned = lagging === "R1" && at === 0 ? anew.container?.pinned : platform;
    const container = anew.container === null ? null : { ...anew.container, platform, pinned: pinned ?? platform };
    next = changed(next, CELLS[at], cellNumber(model, { ...anew, container }));
  }
  return registryBoots(model, next);
}

/** What was of the generation before comes to be of the new one too. */
function laggingSteps(model: Model, tuple: Tuple, emit: Emit): void {
  if (!model.world.allowed.lag) return;
  const fleet = model.fleets.at(tuple[FLEET] as number);
  if (fleet.registryId !== fleet.servedId) {
    const caughtUp = model.fleets.number({ ...fleet, registryId: fleet.servedId });
    emit("the registry's object is of the new generation", registryBoots(model, changed(tuple, FLEET, caughtUp)), null);
  }
  const cell = model.cells.at(tuple[CELLS[0]] as number);
  if (cell.container === null || cell.container.pinned === cell.container.platform) return;
  const anew = { ...booted(cell), store: model.core.bootStep(cell.store) };
  const container = anew.container === null ? null : { ...anew.container, pinned: cell.container.platform };
  emit(
    "the object of R1 is of the new generation",
    changed(tuple, CELLS[0], cellNumber(model, { ...anew, container })),
    null,
  );
}

function uploadSteps(model: Model, tuple: Tuple, emit: Emit): void {
  const fleet = model.fleets.at(tuple[FLEET] as number);
  const { upload } = fleet;
  if (upload === null) return;
  const { deployer, id } = upload;
  const waits = deployOfTuple(model, tuple, deployer)?.effect.do === "upload";
  const hears = (next: Tuple, outcome: "landed" | "failed"): Tuple =>
    waits ? deployerHears(model, next, deployer, { kind: "uploaded", outcome, why: "" }) : next;
  const after = landed(model, tuple, id, null);
  const failed = changed(tuple, FLEET, model.fleets.number({ ...fleet, upload: null }));
  const words = waits ? "lands" : "lands without its deployer";
  emit(`the upload of ${id} ${words}: the swap`, hears(after, "landed"), harmAt(model, tuple, id));
  emit(`the upload of ${id} fails`, hears(failed, "failed"), null);
  for (const lagging of model.world.allowed.lag ? (["the registry", "R1"] as const) : [])
    emit(
      `the upload of ${id} ${words}: the swap, but ${lagging} stays of the generation before`,
      hears(landed(model, tuple, id, lagging), "landed"),
      harmAt(model, tuple, id),
    );
  if (waits && model.world.allowed.lost.includes("upload")) {
    emit(
      `the upload of ${id} lands: the swap, and its answer is lost`,
      deployerHears(model, after, deployer, NO_ANSWER),
      harmAt(model, tuple, id),
    );
  }
}

function carriedOut(
  model: Model,
  tuple: Tuple,
  request: LateRequest,
): { readonly next: Tuple; readonly says: string; readonly broken: ReturnType<typeof drainStep>["broken"] } {
  const book = tuple[BOOK] as number;
  if (request.kind === "seal") return sealArrives(model, tuple, request.id, null);
  if (request.kind === "reconcile") return reconcileArrives(model, tuple, request.id);
  if (request.kind === "drain") {
    const step = drainStep(model, book, request.id, request.deploy);
    return { next: changed(tuple, BOOK, step.book), says: step.answer, broken: step.broken };
  }
  const { registryId: servedId } = model.fleets.at(tuple[FLEET] as number);
  const step = liftStep(model, book, request.id, { outcome: request.outcome, servedId });
  return { next: changed(tuple, BOOK, step.book), says: step.answer.kind, broken: step.broken };
}

function registrySteps(model: Model, tuple: Tuple, emit: Emit): void {
  const { allowed } = model.world;
  const fleet = model.fleets.at(tuple[FLEET] as number);
  const registry = model.registries.at(tuple[REGISTRY] as number);
  if (allowed.unreadable) {
    const number = tuple[FLEET] as number;
    const toggled = model.numbers.get(`toggled|${number}`, () =>
      model.fleets.number({ ...fleet, readable: !fleet.readable }),
    );
    emit(
      fleet.readable ? "the registry cannot be read any more" : "the registry can be read again",
      changed(tuple, FLEET, toggled),
      null,
    );
  }
  const anew = allowed.registryRestart ? registryBoots(model, tuple) : tuple;
  if (anew.some((number, place) => number !== tuple[place]))
    emit("isolate restart of the registry: what it was in the middle of is lost", anew, null);
  if (!fleet.readable) return;
  registry.late.forEach((request, index) => {
    if (request.kind === "seal" && model.books.at(tuple[BOOK] as number).attempts >= model.world.attempts) return;
    const late = registry.late.filter((_, other) => other !== index);
    const rest = changed(tuple, REGISTRY, model.registries.number(canonicalRegistry({ ...registry, late }, 0)));
    const carried = carriedOut(model, rest, request);
    emit(`a late request arrives: ${request.kind} ${request.id}: ${carried.says}`, carried.next, carried.broken);
  });
  if (allowed.late.length > 0) {
    const settled = settleStep(model, tuple[BOOK] as number);
    if (settled.book !== tuple[BOOK])
      emit("the registry's alarm buries what has ended", changed(tuple, BOOK, settled.book), settled.broken);
  }
}

function personSteps(model: Model, tuple: Tuple, emit: Emit): void {
  if (!model.world.allowed.person || !model.fleets.at(tuple[FLEET] as number).readable) return;
  const book = tuple[BOOK] as number;
  const { over } = model.books.at(book);
  const { registryId: servedId } = model.fleets.at(tuple[FLEET] as number);
  const closed = drainStep(model, book, PERSON, false);
  if (!over.includes(PERSON))
    emit(`a person closes the fleet: ${closed.answer}`, changed(tuple, BOOK, closed.book), closed.broken);
  const opened = liftStep(model, book, PERSON, { outcome: "none", servedId });
  if (liveRaw(model.books.at(book)).some((drain) => drain.id === PERSON))
    emit(`a person opens the fleet: ${opened.answer.kind}`, changed(tuple, BOOK, opened.book), opened.broken);
}

function endsOf(model: Model, tuple: Tuple): readonly number[] {
  const fleet = model.fleets.at(tuple[FLEET] as number);
  const registry = model.registries.at(tuple[REGISTRY] as number);
  const inBook = model.ends.get(`book|${tuple[BOOK]}`, () => endsInBook(model.books.at(tuple[BOOK] as number)));
  const inCells = CELLS.flatMap((place) =>
    model.ends.get(`cell|${tuple[place]}`, () => endsInCell(model.cells.at(tuple[place] as number))),
  );
  const asked = registry.machines.flatMap(({ state }) => (state.effect.do === "ask" ? [state.until] : []));
  const bound = registry.operation === null ? [] : [registry.operation.until];
  return [...inBook, ...inCells, ...asked, ...bound, ...(fleet.upload === null ? [] : [fleet.upload.until])];
}

/** What is due is carried out before the next end passes: an alarm fires and a kill ends, a waiter wakes, an upload lands. */
function isDue(model: Model, tuple: Tuple): boolean {
  const { machines } = model.registries.at(tuple[REGISTRY] as number);
  if (model.world.swiftSeals === true && machines.length > 0) return true;
  return CELLS.some((place) => {
    const cell = model.cells.at(tuple[place] as number);
    const overdue = cell.store.rows.some((row) => row.leaseUntil <= -CLOCK.graceMs);
    return overdue || cell.waits.some((wait) => wait !== null && wait.step.do === "pause" && wait.deadline <= 0);
  });
}

function aged(model: Model, tuple: Tuple, span: number, book: number): Tuple {
  const old = (kind: string, place: number, number: () => number): number =>
    model.numbers.get(`aged ${kind}|${tuple[place]}|${span}`, number);
  const cell = (place: number): number =>
    old("cell", place, () => model.cells.number(cellAfter(model.cells.at(tuple[place] as number), span)));
  const registry = old("registry", REGISTRY, () =>
    model.registries.number(canonicalRegistry(model.registries.at(tuple[REGISTRY] as number), span)),
  );
  const fleet = old("fleet", FLEET, () => {
    const before = model.fleets.at(tuple[FLEET] as number);
    const upload = before.upload === null ? null : { ...before.upload, until: before.upload.until - span };
    return model.fleets.number({ ...before, upload });
  });
  const [first, second] = CELLS;
  const moved = changed(tuple, BOOK, book, REGISTRY, registry, FLEET, fleet);
  return changed(moved, first, cell(first), second, cell(second));
}

const minutes = (span: number): string => `${span / 60_000} min`;

/** A deployer that lives and pulses keeps its drain over any stretch of time in which nothing else ends. */
function pulsing(model: Model, tuple: Tuple, drain: Drain, emit: Emit): void {
  const deployer = model.world.deployers.findIndex((ids) => ids.includes(drain.id));
  const state = deployer < 0 ? undefined : deployOfTuple(model, tuple, deployer);
  const waits =
    state !== undefined && state.drainId === drain.id && ["look", "pause", "pulse"].includes(state.effect.do);
  if (!waits || drain.phase !== "draining") return;
  const ends = endsOf(model, tuple).filter((end) => end > 0 && end !== drain.phaseUntil && end !== drain.until);
  const span = Math.min(...ends);
  if (!Number.isFinite(span) || span < (drain.phaseUntil ?? 0) || span >= drain.until) return;
  const step = pulsedBook(model, tuple[BOOK] as number, drain.id, span);
  emit(
    `${minutes(span)} pass, deploy ${"AB"[deployer]} pulses all the while`,
    aged(model, tuple, span, step.book),
    step.broken,
  );
}

function timeSteps(model: Model, tuple: Tuple, emit: Emit): void {
  if (!model.world.allowed.time || isDue(model, tuple)) return;
  const { upload } = model.fleets.at(tuple[FLEET] as number);
  const ends = endsOf(model, tuple).filter((end) => end > 0);
  const span = Math.min(...ends);
  if (!Number.isFinite(span)) return;
  // Assumption, said aloud: an upload that has begun lands or fails before its swap bound.
  if (upload !== null && span >= upload.until) return;
  const step = agedBook(model, tuple[BOOK] as number, span);
  emit(`${minutes(span)} pass to the next end`, aged(model, tuple, span, step.book), step.broken);
  if (upload === null)
    for (const drain of liveRaw(model.books.at(tuple[BOOK] as number))) pulsing(model, tuple, drain, emit);
}

/** Every next step that is nobody's own. */
export function fleetSteps(model: Model, tuple: Tuple, emit: Emit): void {
  uploadSteps(model, tuple, emit);
  laggingSteps(model, tuple, emit);
  registrySteps(model, tuple, emit);
  personSteps(model, tuple, emit);
  timeSteps(model, tuple, emit);
}
