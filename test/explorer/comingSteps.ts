// How an attach comes to the container in which it makes its workspace, and what it finds there.

import type { Attaching, Cell } from "./cell.ts";
import { canonicalCycle, lookedInto, TURNS, type Asker, type Container } from "./container.ts";
import type { Drafted, Model } from "./model.ts";
import { broken, OLD } from "./world.ts";

/** Whether the run of this attach has a row here. */
export const isHeldBy = (cell: Cell, { state }: Attaching): boolean =>
  cell.store.rows.some((row) => row.runId === state.ask.runId);

/** A new turn of the shipped machine, behind those that are there; as many as the search allows. */
export function cycleBegun(
  model: Model,
  container: Container,
  asker: Asker,
  ask: { readonly wanted: string | null; readonly own: string | null },
): Container {
  const { pinned, turns } = container;
  const state = canonicalCycle(model.core.cycleOf({ pinned, ...ask }));
  return turns.length >= TURNS ? container : { ...container, turns: [...turns, { kind: "cycle", asker, state }] };
}

/** The attach with how far its work has come, and the container as it is then. */
const worked = (cell: Cell, attach: Attaching, work: Attaching["work"], container: Container): Cell => ({
  ...cell,
  container,
  attaches: cell.attaches.map((one) => (one === attach ? { ...one, work } : one)),
});

/** An attach finds this image in the container: a new run on another than the pinned one asks for a restart, once. */
function foundSteps(model: Model, cell: Cell, attach: Attaching, found: Container): Drafted {
  const { effect, ask } = attach.state;
  const again = effect.do === "provision" && effect.again;
  const asks = !again && attach.work === null && found.seen?.image !== found.pinned;
  const restarting = cell.store.cycling && isHeldBy(cell, attach);
  return {
    label: `${ask.runId} comes to the container: ${found.image}${asks ? ", which it asks to be restarted" : ""}`,
    cell: asks
      ? worked(
          cell,
          attach,
          null,
          cycleBegun(model, found, { by: "attach", run: attach.run }, { wanted: null, own: ask.runId }),
        )
      : worked(cell, attach, "inside", found),
    broken: restarting ? broken("11", `${ask.runId} comes into a container that is being restarted`) : null,
  };
}

/**
 * An attach that is to make its workspace comes to the container, which is started unless it runs. It waits for whatever
 * is done to the whole of it, also for a restart of which only the platform knows: it does one thing after another.
 */
export function comingSteps(model: Model, cell: Cell, attach: Attaching): Drafted[] {
  const { container } = cell;
  if (container === null || container.stray) return [];
  if (attach.work !== "cycled" && container.turns.length > 0) return [];
  const { run, state, work } = attach;
  if (model.world.runs[run]?.rebuild === true && work === null) {
    const turns = [...container.turns, { kind: "renew" as const, run, at: "begin" as const }];
    const label = `${state.ask.runId} asks for a new container`;
    return [{ label, cell: worked(cell, attach, null, { ...container, turns }), broken: null }];
  }
  const started = model.world.allowed.restarts.includes("old") ? [container.platform, OLD] : [container.platform];
  const images = new Set(container.image === null ? started : [container.image]);
  return [...images].map((image) => foundSteps(model, cell, attach, lookedInto({ ...container, image })));
}
