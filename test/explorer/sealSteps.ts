// A seal under way in the registry: it asks the residents, hears them or does not, finishes or takes it all back.

import { CLOCK } from "#core/budgets.ts";
import type { SealFact, SealReply } from "#core/seal.ts";
import { abandonStep, beginSealStep, finishSealStep } from "./bookSteps.ts";
import type { Cell } from "./cell.ts";
import { deployerHears } from "./deployer.ts";
import { BOOK, CELLS, cellNumber, changed, REGISTRY, type Emit, type Model, type Tuple } from "./model.ts";
import { canonicalRegistry, type Registry, type Sealing } from "./registry.ts";
import { RESOURCES } from "./world.ts";

const registryOf = (model: Model, tuple: Tuple): Registry => model.registries.at(tuple[REGISTRY] as number);

function withMachine(model: Model, registry: Registry, old: Sealing | null, next: Sealing | null): number {
  const machines = registry.machines.filter((one) => one !== old);
  return model.registries.number(
    canonicalRegistry({ ...registry, machines: next === null ? machines : [...machines, next] }, 0),
  );
}

/** The machine after a fact, asking afresh. */
const moved = (model: Model, machine: Sealing, fact: SealFact): Sealing => ({
  client: machine.client,
  state: model.core.nextSeal(machine.state, fact),
  replies: [],
});

/** A `POST /seal` arrives at the registry: an attempt is minted in that same step. */
export function sealArrives(
  model: Model,
  tuple: Tuple,
  id: string,
  client: number | null,
): { readonly next: Tuple; readonly says: string; readonly broken: ReturnType<typeof beginSealStep>["broken"] } {
  const begun = beginSealStep(model, tuple[BOOK] as number, id);
  const fresh: Sealing = { client, state: model.core.sealOf(id), replies: [] };
  const machine = moved(model, fresh, { kind: "begun", begun: begun.answer, residents: [...RESOURCES] });
  const registry = withMachine(model, registryOf(model, tuple), null, machine);
  return { next: changed(tuple, BOOK, begun.book, REGISTRY, registry), says: begun.answer.kind, broken: begun.broken };
}

function withReply(model: Model, tuple: Tuple, machine: Sealing, reply: SealReply): number {
  const replies = [...machine.replies, reply];
  const { effect } = machine.state;
  const all = effect.do === "ask" && replies.length === effect.resources.length;
  const next = all ? moved(model, machine, { kind: "asked", replies }) : { ...machine, replies };
  return withMachine(model, registryOf(model, tuple), machine, next);
}

function askSteps(model: Model, tuple: Tuple, machine: Sealing, emit: Emit): void {
  const { effect, id } = machine.state;
  if (effect.do !== "ask") return;
  const { lost, late } = model.world.allowed;
  for (const resource of effect.resources.filter((one) => !machine.replies.some((reply) => reply.resource === one))) {
    const at = RESOURCES[0] === resource ? 0 : 1;
    const cell = model.cells.at(tuple[CELLS[at]] as number);
    const seal = { drainId: id, attempt: effect.attempt, until: effect.until };
    const { store, found } = model.core.sealStep(cell.store, seal);
    const word = model.core.wordOf(resource, store, {
      last: cell.lastLook,
      open: cell.attaches.flatMap(({ look }) => (look === null ? [] : [look])),
    });
    const heard: Cell = { ...cell, store, entry: model.core.applyWord(cell.entry, word) };
    const said: SealReply = {
      resource,
      word: found.kind === "busy" ? { kind: "busy", runIds: [] } : { kind: found.kind },
    };
    const label = `R${at + 1} is asked to seal (${id}, attempt ${effect.attempt}): ${found.kind}`;
    emit(
      label,
      changed(tuple, CELLS[at], cellNumber(model, heard), REGISTRY, withReply(model, tuple, machine, said)),
      null,
    );
    const silence: SealReply = { resource, word: { kind: "unreadable" } };
    if (model.world.calmSecond === true && at === 1) continue;
    const unheard = withReply(model, tuple, machine, silence);
    if (lost.includes("ask"))
      emit(
        `${label}, and its answer is lost`,
        changed(tuple, CELLS[at], cellNumber(model, { ...cell, store }), REGISTRY, unheard),
        null,
      );
    if (late.includes("ask") && cell.lateAsks.length === 0) {
      const later = cellNumber(model, { ...cell, lateAsks: [seal] });
      emit(
        `R${at + 1} does not answer the ask to seal, which is still on its way`,
        changed(tuple, CELLS[at], later, REGISTRY, unheard),
        null,
      );
    }
  }
}

/** Taking the promises back: the registry's own step, then a word to each resident, at once or late or never. */
function unseal(model: Model, tuple: Tuple, machine: Sealing, emit: Emit): void {
  const { effect } = machine.state;
  if (effect.do !== "unseal") return;
  const { attempt, resources } = effect;
  const late = model.world.allowed.late.includes("unseal");
  const abandoned = abandonStep(model, tuple[BOOK] as number, machine.state.id, attempt);
  const next = withMachine(model, registryOf(model, tuple), machine, moved(model, machine, { kind: "unsealed" }));
  let told = changed(tuple, BOOK, abandoned.book, REGISTRY, next);
  for (const at of [0, 1] as const) {
    if (!resources.includes(RESOURCES[at])) continue;
    const cell = model.cells.at(told[CELLS[at]] as number);
    const store = model.core.unsealStep(cell.store, attempt);
    const later = { ...cell, lateUnseals: [...new Set([...cell.lateUnseals, attempt])] };
    told = changed(told, CELLS[at], cellNumber(model, late ? later : { ...cell, store }));
  }
  emit(`the seal of ${machine.state.id} (attempt ${attempt}) is given up`, told, abandoned.broken);
}

function machineSteps(model: Model, tuple: Tuple, machine: Sealing, emit: Emit): void {
  const { effect, id } = machine.state;
  if (effect.do === "ask") askSteps(model, tuple, machine, emit);
  if (effect.do === "finish") {
    const finished = finishSealStep(model, tuple[BOOK] as number, id, effect.attempt);
    const next = moved(model, machine, { kind: "finished", finished: finished.answer });
    const registry = withMachine(model, registryOf(model, tuple), machine, next);
    emit(
      `the seal of ${id} (attempt ${effect.attempt}) is finished: ${finished.answer.kind}`,
      changed(tuple, BOOK, finished.book, REGISTRY, registry),
      finished.broken,
    );
  }
  if (effect.do === "unseal") unseal(model, tuple, machine, emit);
  if (effect.do !== "answer") return;
  const { result } = effect;
  const gone = changed(tuple, REGISTRY, withMachine(model, registryOf(model, tuple), machine, null));
  const unreadable =
    result.kind === "busy"
      ? result.residents.filter((one) => one.word.kind === "unreadable").map((one) => one.resource)
      : [];
  const fact =
    result.kind === "sealed"
      ? ({ kind: "sealed", drain: result.drain, leftMs: CLOCK.swapBoundMs } as const)
      : result.kind === "over"
        ? ({ kind: "over" } as const)
        : ({ kind: "notSealed", unreadable } as const);
  if (machine.client === null) emit(`nobody waits for the answer to the seal of ${id}`, gone, null);
  else
    emit(
      `deploy ${"AB"[machine.client]} hears of its seal: ${fact.kind}`,
      deployerHears(model, gone, machine.client, fact),
      null,
    );
}

/** Every next step of a seal under way. */
export function sealSteps(model: Model, tuple: Tuple, emit: Emit): void {
  for (const machine of registryOf(model, tuple).machines) machineSteps(model, tuple, machine, emit);
}

/** Nobody waits for this deployer's seal any more; what is under way goes on. */
export function forsaken(model: Model, tuple: Tuple, client: number): Tuple {
  const registry = registryOf(model, tuple);
  const machines = registry.machines.map((one) => (one.client === client ? { ...one, client: null } : one));
  return changed(tuple, REGISTRY, model.registries.number(canonicalRegistry({ ...registry, machines }, 0)));
}
