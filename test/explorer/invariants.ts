// What holds in every state, judged over a state's own words and, where a promise is about the future, over what the
// shipped functions say at that future instant with nobody's help.

import { CLOCK } from "#core/budgets.ts";
import type { DrainPhase } from "#core/drain.ts";
import { closesRaw, liveRaw, swappingRaw, type Book } from "./book.ts";
import type { Cell } from "./cell.ts";
import { askOf, BOOK, CELLS, FLEET, type Model, type Tuple } from "./model.ts";
import { broken, RESOURCES, type Broken } from "./world.ts";

/** Each invariant that the explorer judges, in words. */
export const INVARIANTS: Readonly<Record<string, string>> = {
  "1": "no attach of a registered run is refused by a drain",
  "2": "while a resident is closed no new run but a registered run's child is let in there (registry readable)",
  "3": "from a successful seal to the swap nothing is in flight on any resident",
  "4": "no swap of a drained deploy ends a run that was admitted",
  "5": "no record past an end refuses; a seal outlives its drain only while the registry cannot be read",
  "6": "a record that this build cannot read closes nothing for a run",
  "7": "only its own id lifts a drain; an id that is over never closes, seals or uploads again",
  "8": "a waiting run starts only once the drain that held it back is over",
  "9": "a wait ends at its budget, and not before",
  "10": "a resident reopens by its own report, by a bound or by an end; one resident's hold closes no other",
  "11": "no container is restarted under a registration or an operation, and nothing comes into one meanwhile",
  "13": "a dead deployer's record ends within the pulse bound, within the swap bound once sealed, and then the fleet is open",
  "15": "no lease outlives its end by more than the grace, nor moves later, nor outlives its parent's",
  quiet: "the registry never says quiet while a run that it let in is in flight (performance.md, M3)",
  generation: "an older generation never ends a run that a newer one was told it holds",
  admitted: "nobody is told admitted without a registration",
};

function inFlightDuringSwap(model: Model, tuple: Tuple): Broken | null {
  const { servedId } = model.fleets.at(tuple[FLEET] as number);
  for (const drain of swappingRaw(model.books.at(tuple[BOOK] as number))) {
    if (drain.id === servedId) continue;
    for (const place of CELLS) {
      const cell = model.cells.at(tuple[place] as number);
      const row = cell.store.rows[0];
      if (row !== undefined)
        return broken(
          "3",
          `${row.runId} is in flight on ${cell.entry.resource} although ${drain.id} has sealed the fleet and its swap has not landed`,
        );
    }
  }
  return null;
}

/** How long a deploy's record may stand in each phase with nobody's help. */
const BOUNDS: Readonly<Record<DrainPhase, number>> = {
  draining: CLOCK.pulseBoundMs,
  swapping: CLOCK.swapBoundMs,
  reconciling: CLOCK.cycleBoundMs,
  reopening: CLOCK.cycleBoundMs,
};

function endsTooLate(book: Book): Broken | null {
  for (const drain of liveRaw(book).filter((one) => one.deploy)) {
    const bound = BOUNDS[drain.phase];
    const end = Math.min(drain.until, drain.phaseUntil ?? drain.until);
    if (end > bound)
      return broken("13", `drain ${drain.id} stands ${end / 60_000} min in phase ${drain.phase} with nobody's help`);
  }
  return null;
}

/** The fleet at the bound, the deployer dead since now: a new run is let in, also when the registry cannot be read then. */
function closedForGood(model: Model, book: Book, cell: Cell, at: 0 | 1): Broken | null {
  if (liveRaw(book).some((drain) => !drain.deploy) || cell.store.rows.length > 0) return null;
  const resource = RESOURCES[at];
  const now = CLOCK.swapBoundMs;
  const drainBook = { drains: book.drains, tombstones: book.tombstones, attempts: book.attempts };
  const seal = cell.store.seal?.attempt ?? null;
  const answer = model.core.decideLook(
    drainBook,
    { resource, runId: "later", look: { incarnation: 0, n: 0 }, parentUntil: null, seal, kind: "run" },
    now,
  );
  if (answer.kind === "closed")
    return broken("13", `${resource} is still closed by ${answer.drain.id} when the swap bound is over`);
  const ask = askOf({ id: "later", thread: "later", cell: at }, 1);
  const { parentUntil, sealStands } = answer;
  const open = model.core.rowStep(
    cell.store,
    { ask, look: { kind: "open", parentUntil, sealStands, asked: seal } },
    model.budgets,
    now,
  );
  const blind = model.core.rowStep(cell.store, { ask, look: { kind: "unreadable" } }, model.budgets, now);
  const holds = open.found.kind !== "written" || blind.found.kind !== "written";
  return holds ? broken("13", `${resource} still holds a seal against everybody when the swap bound is over`) : null;
}

/**
 * Whom the holds close, now and at each bound of theirs: a resident that is held by no live record, and that no other
 * record closes, is open to a new run.
 */
function closedUnheld(model: Model, book: Book): Broken | null {
  const holding = liveRaw(book).filter(({ phase }) => phase === "reconciling" || phase === "reopening");
  const bounds = holding.map(({ phaseUntil, until }) => Math.min(phaseUntil ?? until, until));
  const { drains, tombstones, attempts } = book;
  for (const now of holding.length === 0 ? [] : [0, ...bounds]) {
    for (const resource of RESOURCES) {
      if (liveRaw(book, now).some((drain) => closesRaw(drain, resource))) continue;
      const ask = { resource, runId: "later", look: { incarnation: 0, n: 0 }, parentUntil: null, seal: null };
      const answer = model.core.decideLook({ drains, tombstones, attempts }, { ...ask, kind: "run" }, now);
      if (answer.kind === "open") continue;
      const when = now === 0 ? "" : `${now / 60_000} min later `;
      return broken("10", `${when}${resource} is closed by ${answer.drain.id}, which does not hold it`);
    }
  }
  return null;
}

/** What is wrong with a state, or null. */
export function brokenState(model: Model, tuple: Tuple): Broken | null {
  const book = tuple[BOOK] as number;
  const inFlight = inFlightDuringSwap(model, tuple);
  if (inFlight !== null) return inFlight;
  const late = model.verdicts.get(`book|${book}`, () => endsTooLate(model.books.at(book)));
  if (late !== null) return late;
  const unheld = model.verdicts.get(`unheld|${book}`, () => closedUnheld(model, model.books.at(book)));
  if (unheld !== null) return unheld;
  for (const at of [0, 1] as const) {
    const number = tuple[CELLS[at]] as number;
    const shut = model.verdicts.get(`shut|${book}|${number}`, () =>
      closedForGood(model, model.books.at(book), model.cells.at(number), at),
    );
    if (shut !== null) return shut;
  }
  return null;
}
