// A seal under way in the registry: it asks the residents, hears them or does not, finishes or takes it all back.

import { CLOCK } from "#core/budgets.ts";
import type { Seal } from "#core/resident.ts";
import type { SealFact, SealReply } from "#core/seal.ts";
import { abandonStep, beginSealStep, finishSealStep } from "./bookSteps.ts";
import { deployerHears } from "./deployer.ts";
import {
  BOOK,
  CELLS,
  cellNumber,
  changed,
  looksOf,
  REGISTRY,
  type Sealed,
  type Emit,
  type Model,
  type Tuple,
} from "./model.ts";
import { canonicalRegistry, type Registry, type Sealing } from "./registry.ts";
import { RESOURCES } from "./world.ts";

const registryOf = (model: Model, tuple: Tuple): Registry => model.registries.at(tuple[REGISTRY] as number);

/** The registry's number with another machine in this one's place; `what` names everything that it becomes by. */
function withMachine(
  model: Model,
  tuple: Tuple,
  old: Sealing | null,
  become: { readonly what: string; readonly next: () => Sealing | null },
): number {
  const number = tuple[REGISTRY] as number;
  const registry = registryOf(model, tuple);
  const place = old === null ? -1 : registry.machines.indexOf(old);
  return model.numbers.get(`machine|${number}|${place}|${become.what}`, () => {
    const next = become.next();
    const rest = registry.machines.filter((one) => one !== old);
    const machines = next === null ? rest : [...rest, next];
    return model.registries.number(canonicalRegistry({ ...registry, machines }, 0));
  });
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
  const { answer } = begun;
  const next = (): Sealing => {
    const fresh: Sealing = { client, state: model.core.sealOf(id), replies: [] };
    return moved(model, fresh, { kind: "begun", begun: answer, residents: [...RESOURCES] });
  };
  const asks = answer.kind === "asking" ? `${answer.attempt} ${answer.until}` : answer.kind;
  const registry = withMachine(model, tuple, null, { what: `begun ${id} ${client} ${asks}`, next });
  return { next: changed(tuple, BOOK, begun.book, REGISTRY, registry), says: begun.answer.kind, broken: begun.broken };
}

function withReply(model: Model, tuple: Tuple, machine: Sealing, reply: SealReply): number {
  const next = (): Sealing => {
    const replies = [...machine.replies, reply];
    const { effect } = machine.state;
    const all = effect.do === "ask" && replies.length === effect.resources.length;
    return all ? moved(model, machine, { kind: "asked", replies }) : { ...machine, replies };
  };
  return withMachine(model, tuple, machine, { what: `${reply.resource} ${reply.word.kind}`, next });
}

function sealed(model: Model, at: 0 | 1, number: number, seal: Seal): Sealed {
  return model.seals.get(`${at}|${number}|${seal.drainId}|${seal.attempt}|${seal.until}`, () => {
    const cell = model.cells.at(number);
    const { store, found } = model.core.sealStep(cell.store, seal);
    const word = model.core.wordOf(RESOURCES[at], store, looksOf(cell));
    const entry = model.core.applyWord(cell.entry, word);
    return {
      kind: found.kind,
      heard: cellNumber(model, { ...cell, store, entry }),
      unheard: cellNumber(model, { ...cell, store }),
      later: cell.lateAsks.length === 0 ? cellNumber(model, { ...cell, lateAsks: [seal] }) : null,
    };
  });
}

function askSteps(model: Model, tuple: Tuple, machine: Sealing, emit: Emit): void {
  const { effect, id } = machine.state;
  if (effect.do !== "ask") return;
  const { lost, late } = model.world.allowed;
  for (const resource of effect.resources) {
    if (machine.replies.some((reply) => reply.resource === resource)) continue;
    const at = RESOURCES[0] === resource ? 0 : 1;
    const { attempt, until } = effect;
    const { kind, heard, unheard, later } = sealed(model, at, tuple[CELLS[at]] as number, {
      drainId: id,
      attempt,
      until,
    });
    const word: SealReply["word"] = kind === "busy" ? { kind, runIds: [] } : { kind };
    const label = `R${at + 1} is asked to seal (${id}, attempt ${attempt}): ${kind}`;
    const told = withReply(model, tuple, machine, { resource, word });
    emit(label, changed(tuple, CELLS[at], heard, REGISTRY, told), null);
    if (model.world.calmSecond === true && at === 1) continue;
    const silent = withReply(model, tuple, machine, { resource, word: { kind: "unreadable" } });
    if (lost.includes("ask")) {
      emit(`${label}, and its answer is lost`, changed(tuple, CELLS[at], unheard, REGISTRY, silent), null);
    }
    if (late.includes("ask") && later !== null) {
      const says = `R${at + 1} does not answer the ask to seal, which is still on its way`;
      emit(says, changed(tuple, CELLS[at], later, REGISTRY, silent), null);
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
  const next = (): Sealing => moved(model, machine, { kind: "unsealed" });
  const registry = withMachine(model, tuple, machine, { what: "unsealed", next });
  let told = changed(tuple, BOOK, abandoned.book, REGISTRY, registry);
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
    const next = (): Sealing => moved(model, machine, { kind: "finished", finished: finished.answer });
    const registry = withMachine(model, tuple, machine, { what: `finished ${finished.answer.kind}`, next });
    emit(
      `the seal of ${id} (attempt ${effect.attempt}) is finished: ${finished.answer.kind}`,
      changed(tuple, BOOK, finished.book, REGISTRY, registry),
      finished.broken,
    );
  }
  if (effect.do === "unseal") unseal(model, tuple, machine, emit);
  if (effect.do !== "answer") return;
  const { result } = effect;
  const gone = changed(tuple, REGISTRY, withMachine(model, tuple, machine, { what: "heard", next: () => null }));
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
  const number = tuple[REGISTRY] as number;
  const next = model.numbers.get(`forsaken|${number}|${client}`, () => {
    const registry = model.registries.at(number);
    const machines = registry.machines.map((one) => (one.client === client ? { ...one, client: null } : one));
    return model.registries.number(canonicalRegistry({ ...registry, machines }, 0));
  });
  return changed(tuple, REGISTRY, next);
}
