// Steps that one resident takes by itself: attaches arriving and going on, releases, its boot, its container's roll,
// its words. Each performs the one effect that the shipped machine names and hands the fact back.

import { attachSteps, beginSteps } from "./attachSteps.ts";
import type { Cell } from "./cell.ts";
import { cellAfter } from "./cell.ts";
import { rebooted } from "./container.ts";
import { cycleSteps } from "./cycleSteps.ts";
import { cellNumber, looksOf, type CellStep, type Drafted, type Model } from "./model.ts";
import { releaseSteps } from "./releaseSteps.ts";
import { broken, type Broken } from "./world.ts";

const WORDS_UNDER_WAY = 2;

/** A new boot of the object: what was under way there is lost, but for a restart that it has asked for. */
export function booted(cell: Cell): Cell {
  const container = cell.container === null ? null : rebooted(cell.container);
  return { ...cell, attaches: [], releases: [], lastLook: 0, container };
}

function bootSteps(model: Model, cell: Cell, name: string): Drafted[] {
  const { restart, roll } = model.world.allowed;
  const found: Drafted[] = [];
  if (model.world.calmSecond === true && name === "R2") return found;
  if (restart) {
    const store = model.core.bootStep(cell.store);
    const next = { ...booted(cell), store };
    found.push({
      label: `isolate restart of ${name}: what was being attached or released there is lost`,
      cell: next,
      broken: null,
    });
  }
  if (roll && cell.container === null && cell.alive.length > 0) {
    found.push({
      label: `the container of ${name} rolls by itself: its processes die, its rows stay`,
      cell: { ...cell, alive: [] },
      broken: null,
    });
  }
  return found;
}

function wordSteps(model: Model, cell: Cell, name: string): Drafted[] {
  const { core, world } = model;
  if (!world.allowed.words) return [];
  const found: Drafted[] = [];
  const word = core.wordOf(cell.entry.resource, cell.store, looksOf(cell));
  const sent = cellAfter({ ...cell, words: [...cell.words, word] }, 0).words;
  const isNew = new Set(sent.map((one) => JSON.stringify(one))).size === cell.words.length + 1;
  const owed = cell.store.told < cell.store.seq || cell.entry.counted.length > 0;
  if (owed && isNew && cell.words.length < WORDS_UNDER_WAY) {
    found.push({ label: `${name} sends its word`, cell: { ...cell, words: [...cell.words, word] }, broken: null });
  }
  cell.words.forEach((arriving, index) => {
    const words = cell.words.filter((_, other) => other !== index);
    const entry = core.applyWord(cell.entry, arriving);
    const store = core.toldStep(cell.store, arriving.incarnation, arriving.seq);
    found.push({
      label: `a word of ${name} reaches the registry (${arriving.rows.length} rows)`,
      cell: { ...cell, entry, store, words },
      broken: null,
    });
    if (world.allowed.lost.includes("word")) {
      found.push({
        label: `a word of ${name} reaches the registry, its acknowledgement is lost`,
        cell: { ...cell, entry, words },
        broken: null,
      });
    }
  });
  return found;
}

/** What arrives at the resident after its sender has given up on it. */
function lateSteps(model: Model, cell: Cell, name: string): Drafted[] {
  const asks = cell.lateAsks.map((seal, index): Drafted => {
    const { store, found } = model.core.sealStep(cell.store, seal);
    const lateAsks = cell.lateAsks.filter((_, other) => other !== index);
    return {
      label: `an ask to seal ${name} arrives late (attempt ${seal.attempt}): ${found.kind}`,
      cell: { ...cell, store, lateAsks },
      broken: null,
    };
  });
  const unseals = cell.lateUnseals.map((attempt, index): Drafted => {
    const lateUnseals = cell.lateUnseals.filter((_, other) => other !== index);
    const store = model.core.unsealStep(cell.store, attempt);
    return {
      label: `${name} takes back its seal of attempt ${attempt}`,
      cell: { ...cell, store, lateUnseals },
      broken: null,
    };
  });
  return [...asks, ...unseals];
}

/** The registry's sum may not say quiet while a run that it let in is in flight (performance.md, M3). */
function falseQuiet(model: Model, cell: Cell, name: string): Broken | null {
  if (!model.core.isQuiet(model.core.sumOf([cell.entry]))) return null;
  const seen = cell.store.rows.find((row) => !cell.blind.some((run) => model.world.runs[run]?.id === row.runId));
  const told = cell.attaches.find(({ state }) => state.effect.do === "row" && state.effect.look.kind === "open");
  const runId = seen?.runId ?? told?.state.ask.runId;
  return runId === undefined
    ? null
    : broken("quiet", `the registry calls ${name} quiet while ${runId}, which it let in, is in flight there`);
}

function compute(model: Model, at: 0 | 1, number: number): readonly CellStep[] {
  const cell = model.cells.at(number);
  const name = `R${at + 1}`;
  const drafted = [
    ...beginSteps(model, cell, at),
    ...attachSteps(model, cell, name),
    ...releaseSteps(model, cell, at),
    ...cycleSteps(model, cell, name),
    ...bootSteps(model, cell, name),
    ...wordSteps(model, cell, name),
    ...lateSteps(model, cell, name),
  ];
  return drafted.map((step) => {
    const next = cellNumber(model, step.cell);
    return { label: step.label, cell: next, broken: step.broken ?? falseQuiet(model, model.cells.at(next), name) };
  });
}

/** Every step that this resident can take by itself. */
export function cellSteps(model: Model, at: 0 | 1, number: number): readonly CellStep[] {
  return model.cellSteps.get(`${at}|${number}`, () => compute(model, at, number));
}
