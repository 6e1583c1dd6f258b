// What is done to a whole container, in its resident: the shipped machine brings it onto the image, a rebuild renews it, it
// rolls by itself. A restart may meet no process, no registration and no workspace that is being made (invariant 11).

import type { CycleEffect, CycleFact } from "#core/cycle.ts";
import { move } from "./attachSteps.ts";
import type { Cell } from "./cell.ts";
import { cycleBegun, isHeldBy } from "./comingSteps.ts";
import { canonicalCycle, lookedInto, replaced, type Container, type Cycling, type Renewing } from "./container.ts";
import type { Drafted, Model } from "./model.ts";
import { broken, OLD, type Broken } from "./world.ts";

const FAILURE = { code: "RESIDENT_BUSY", detail: "", transient: false } as const;

/** What a restart of this resident's container would end, now: an admitted run that works is harm (invariant 4). */
function harmOfRestart(model: Model, cell: Cell, name: string): Broken | null {
  const alive = cell.alive[0] === undefined ? undefined : model.world.runs[cell.alive[0]]?.id;
  const running = cell.store.rows.find((row) => row.state === "running")?.runId;
  const making = cell.attaches.find((attach) => attach.work === "inside" && isHeldBy(cell, attach));
  const told = `the container of ${name} is restarted while`;
  if (alive !== undefined) return broken("4", `${told} ${alive}, which was admitted, works in it`);
  if (running !== undefined) return broken("11", `${told} ${running} is registered there`);
  return making === undefined
    ? null
    : broken("11", `${told} the workspace of ${making.state.ask.runId} is being made in it`);
}

/** The cell with the first turn of its container gone. */
function turned(cell: Cell, container: Container): Cell {
  return { ...cell, container: { ...container, turns: container.turns.slice(1) } };
}

/** The first turn after a fact. A word for the registry stays until the registry takes it; an attach goes on by itself. */
function cycled(model: Model, cell: Cell, cycling: Cycling, fact: CycleFact): Cell {
  const container = cell.container as Container;
  const state = canonicalCycle(model.core.nextCycle(cycling.state, fact));
  const { asker } = cycling;
  if (state.effect.do !== "answer" || asker.by === "registry") {
    const turns = [{ ...cycling, state }, ...container.turns.slice(1)];
    return { ...cell, container: { ...container, turns } };
  }
  const rest = turned(cell, container);
  if (asker.by === "nobody") return rest;
  const attaches = rest.attaches.map((one) =>
    one.run === asker.run && one.state.effect.do === "provision" ? { ...one, work: "cycled" as const } : one,
  );
  return { ...rest, attaches };
}

function probeSteps(model: Model, cell: Cell, cycling: Cycling, name: string): Drafted[] {
  const container = lookedInto(cell.container as Container);
  const { seen } = container;
  const fact: CycleFact =
    seen === null
      ? { kind: "absent" }
      : { kind: "inside", inside: { image: seen.image, bootId: "", live: cell.alive.length } };
  const label = `${name} looks into its container: ${seen?.image ?? "none"}`;
  return [{ label, cell: cycled(model, { ...cell, container }, cycling, fact), broken: null }];
}

/** A restart is carried out, in each way that this world allows. */
function restartSteps(model: Model, cell: Cell, cycling: Cycling, name: string): Drafted[] {
  const before = cell.container as Container;
  const { restarts } = model.world.allowed;
  const calm = model.world.calmSecond === true && name === "R2";
  const ends = calm ? [] : restarts;
  const harm = harmOfRestart(model, cell, name);
  const onto = (image: string | null): Cell => ({
    ...cell,
    alive: [],
    container: { ...before, image, seen: null },
  });
  const done = (image: string | null): Drafted => ({
    label: `the container of ${name} is restarted: ${image ?? "none"} runs then`,
    cell: cycled(model, onto(image), cycling, { kind: "restarted", killed: 0 }),
    broken: harm,
  });
  const failed = (stray: boolean): Drafted => ({
    label: `the restart of ${name} ${stray ? "is given up, and goes on" : "fails"}`,
    cell: cycled(model, { ...cell, container: { ...before, seen: null, stray: before.stray || stray } }, cycling, {
      kind: "unseen",
      why: "",
    }),
    broken: null,
  });
  return [
    done(before.platform),
    ...(ends.includes("old") ? [done(OLD)] : []),
    ...(ends.includes("gone") ? [done(null)] : []),
    ...(ends.includes("fails") ? [failed(false)] : []),
    ...(ends.includes("late") ? [failed(true)] : []),
  ];
}

function cyclingSteps(model: Model, cell: Cell, cycling: Cycling, name: string): Drafted[] {
  const effect: CycleEffect = cycling.state.effect;
  switch (effect.do) {
    case "probe":
      return probeSteps(model, cell, cycling, name);
    case "begin": {
      const { own } = cycling.state.ask;
      const { store, found } = model.core.cycleStep(cell.store, { own, live: effect.inside.live });
      const label = `${name} may ${found.kind === "begun" ? "" : "not "}restart its container`;
      return [{ label, cell: cycled(model, { ...cell, store }, cycling, found), broken: null }];
    }
    case "restart":
      return restartSteps(model, cell, cycling, name);
    case "end": {
      const store = model.core.cycledStep(cell.store);
      const label = `${name} is restarted no more: ${effect.word.state}`;
      return [{ label, cell: cycled(model, { ...cell, store }, cycling, { kind: "ended" }), broken: null }];
    }
    case "answer":
      return [];
  }
}

function renewingSteps(model: Model, cell: Cell, renewing: Renewing, name: string): Drafted[] {
  const container = cell.container as Container;
  const runId = model.world.runs[renewing.run]?.id as string;
  const attach = cell.attaches.find(({ run, state }) => run === renewing.run && state.effect.do === "provision");
  const at = (next: Renewing["at"], change: Partial<Container>): Container => ({
    ...container,
    ...change,
    turns: [{ ...renewing, at: next }, ...container.turns.slice(1)],
  });
  if (renewing.at === "begin") {
    const { store, found } = model.core.cycleStep(cell.store, { own: runId, live: 0 });
    if (found.kind === "begun")
      return [
        {
          label: `${runId} may renew the container`,
          cell: { ...cell, store, container: at("renew", {}) },
          broken: null,
        },
      ];
    const rest = turned(cell, container);
    const failed =
      attach === undefined
        ? { cell: rest, broken: null }
        : move(model, rest, attach, model.core.nextAttach(attach.state, { kind: "notProvisioned", why: FAILURE }));
    return [{ label: `${runId} may not renew the container: somebody works in it`, ...failed }];
  }
  if (renewing.at === "renew") {
    const renewed = { ...cell, alive: [], container: at("end", { image: null, seen: null }) };
    return [{ label: `${runId} renews the container`, cell: renewed, broken: harmOfRestart(model, cell, name) }];
  }
  const ended = { ...turned(cell, container), store: model.core.cycledStep(cell.store) };
  const attaches = ended.attaches.map((one) => (one === attach ? { ...one, work: "renewed" as const } : one));
  return [{ label: `${runId} has its new container`, cell: { ...ended, attaches }, broken: null }];
}

/** The object looks by itself, and begins what it then finds to be wanted: nobody is registered, the image is another. */
export function lookedAfter(model: Model, cell: Cell): Cell {
  if (cell.container === null || cell.container.image === null) return cell;
  const container = lookedInto(cell.container);
  const { seen, pinned, turns } = container;
  const wanted = seen !== null && seen.image !== pinned && cell.store.rows.length === 0 && turns.length === 0;
  const after = wanted ? cycleBegun(model, container, { by: "nobody" }, { wanted: null, own: null }) : container;
  return { ...cell, container: after };
}

function selfSteps(model: Model, cell: Cell, container: Container, name: string): Drafted[] {
  const { roll, restarts, refresh } = model.world.allowed;
  const found: Drafted[] = [];
  if (container.stray) {
    const late = { ...replaced(container, container.platform), stray: false };
    found.push({
      label: `the restart of ${name} for which nobody waits is carried out`,
      cell: { ...cell, alive: [], container: late },
      broken: harmOfRestart(model, cell, name),
    });
  }
  if (model.world.calmSecond === true && name === "R2") return found;
  if (refresh && container.image !== null)
    found.push({ label: `${name} looks after its container by itself`, cell: lookedAfter(model, cell), broken: null });
  if (!roll || container.image === null) return found;
  const images = new Set([container.platform, ...(restarts.includes("old") ? [OLD] : [])]);
  for (const image of images) {
    const rolled = { ...cell, alive: [], container: replaced(container, image) };
    found.push({ label: `the container of ${name} rolls by itself onto ${image}`, cell: rolled, broken: null });
  }
  return found;
}

/** Every step of this resident's container. */
export function cycleSteps(model: Model, cell: Cell, name: string): Drafted[] {
  const { container } = cell;
  if (container === null) return [];
  const [turn] = container.turns;
  const own =
    turn === undefined
      ? []
      : turn.kind === "cycle"
        ? cyclingSteps(model, cell, turn, name)
        : renewingSteps(model, cell, turn, name);
  return [...own, ...selfSteps(model, cell, container, name)];
}
