// A bot's runs at their residents, and what happens there by itself. The gate is the registry's shipped answer, and so is
// whether something is done under a registration; a resident knows its rows, its processes and the inbox that stands in
// each worktree.

import { entryOf } from "#core/ledger.ts";
import { EMPTY_RESIDENT, type TouchFound } from "#core/resident.ts";
import { RESOURCES, broken, type Broken } from "../world.ts";
import { closesRaw, liveRaw, type Book } from "../book.ts";
import { drainBookOf } from "../bookSteps.ts";
import { keyOf } from "./botWorld.ts";
import { taught } from "./doors.ts";
import { hasEnded, isChildIn } from "./ledgerPart.ts";
import { closing, deliverOn, inboxOf, lastSteer, leftAsIs, moved, NOWHERE, poked } from "./inHand.ts";
import type { BotModel } from "./botModel.ts";
import {
  BOTS,
  FLEET,
  LEDGER,
  OUTSIDE,
  put,
  REGISTRY,
  type AtResident,
  type Bot,
  type FleetPart,
  type LedgerPart,
  type Proc,
  type Run,
  type Step,
} from "./parts.ts";

const NONE: Omit<AtResident, "id" | "cell" | "thread"> = {
  row: null,
  procs: [],
  inbox: [],
  shown: [],
  released: false,
};

function atResident(fleet: FleetPart, { id, cell, thread }: Pick<Run, "id" | "cell" | "thread">): AtResident {
  return fleet.runs.find((one) => one.id === id) ?? { id, cell, thread, ...NONE };
}

const withRun = (fleet: FleetPart, run: AtResident): FleetPart => ({ ...fleet, runs: put(fleet.runs, run) });

/** What a step of one run makes of its bot and of the fleet. */
interface Made {
  readonly label: string;
  readonly bot: Bot;
  readonly fleet: FleetPart;
  readonly broken?: Broken | null;
}

/** Where the runs of a bot stand: at which fleet, under which registry, and what the ledger has of them. */
interface There {
  readonly n: number;
  readonly bot: Bot;
  readonly fleet: FleetPart;
  readonly registry: Book;
  readonly readable: boolean;
  readonly ledger: LedgerPart;
}

/** What the registry says of an attach that is no registered run's. */
function look({ core }: BotModel, { registry, readable, fleet }: There, run: Run, parent: string | null) {
  const isRegistered = parent !== null && fleet.runs.some(({ id, row }) => id === parent && row !== null);
  if (!readable) return { kind: "open" } as const;
  const ask = {
    resource: RESOURCES[run.cell],
    runId: run.id,
    look: { incarnation: 0, n: 0 },
    seal: null,
    kind: "run",
  } as const;
  return core.decideLook(drainBookOf(registry), { ...ask, parentUntil: isRegistered ? 1 : null }, 0);
}

/** A run that starts although something that closes its resident lives, and it is no part of a run in flight. */
function startedTooEarly({ registry, readable, fleet }: There, run: Run, parent: string | null): Broken | null {
  const closing = liveRaw(registry).find((drain) => closesRaw(drain, RESOURCES[run.cell]));
  const isPart = fleet.runs.some(({ id, row }) => id === parent && row !== null);
  if (!readable || closing === undefined || isPart) return null;
  return broken("8", `${run.id} starts at R${run.cell + 1}, which ${closing.id} closes`);
}

/**
 * A run that starts before one that came earlier and was let in too, but has not started: whoever stands at the door, and
 * whoever nobody has in hand because an answer was lost or its bot is gone.
 */
function startedOutOfTurn({ ledger, fleet, bot }: There, run: Run): Broken | null {
  const { store } = ledger;
  const mine = entryOf(store, run.id);
  if (mine === undefined || isChildIn(store, mine.ask) || hasStarted(fleet, run.id)) return null;
  const before = store.entries.find(
    ({ ask, state, place }) =>
      ask.resource === mine.ask.resource &&
      state !== "queued" &&
      place < mine.place &&
      !isChildIn(store, ask) &&
      !hasStarted(fleet, ask.id) &&
      !bot.runs.some(({ id, at }) => id === ask.id && (at === "verdict" || at === "detach" || at === "seal")),
  );
  return before === undefined ? null : broken("order", `${run.id} starts before ${before.ask.id}, which came earlier`);
}

const hasStarted = ({ runs }: FleetPart, id: string): boolean => runs.some((one) => one.id === id);

function attached(there: There, run: Run, at: AtResident, label: string): Made {
  const boot = there.fleet.boots[run.cell];
  // Whoever attaches again after a cut follows on; whoever has just taken the run begins, if only to find it begun.
  const on: Run = { ...run, at: run.boot === NOWHERE || run.reading === null ? "begin" : "exec", boot };
  const fleet = withRun(there.fleet, { ...at, row: there.n + 1 });
  return { label: `attaches ${run.id}: ${label}`, bot: poked(moved(there.bot, on)), fleet };
}

function attach(model: BotModel, there: There, run: Run): Made {
  const { fleet, bot, n } = there;
  const at = atResident(fleet, run);
  if (at.row !== null && at.row > n + 1)
    return { label: `attaches ${run.id}: old generation`, bot: leftAsIs(bot, run.id), fleet };
  if (at.row !== null) return attached(there, run, at, "registered");
  const other = fleet.runs.find((one) => one.thread === run.thread && one.row !== null);
  if (other !== undefined && !hasEnded(there.ledger, other.id))
    return { label: `attaches ${run.id}: thread busy`, bot: ending(bot, run), fleet };
  const spec = model.world.askers.find(({ id }) => id === keyOf(run.id));
  const answer = look(model, there, run, spec?.parent ?? null);
  if (answer.kind === "open") {
    const early = startedTooEarly(there, run, spec?.parent ?? null) ?? startedOutOfTurn(there, run);
    if (spec?.brief === true)
      return {
        label: `attaches ${run.id}: new, and done`,
        bot: poked(moved(bot, { ...run, at: "seal" })),
        fleet: withRun(fleet, at),
        broken: early,
      };
    const freed = other === undefined ? there : { ...there, fleet: withRun(fleet, ended({ ...other, row: null })) };
    return { ...attached(freed, run, at, "new"), broken: early };
  }
  const label = `attaches ${run.id}: closed by ${answer.drain.id}`;
  // A run in flight does not go back to the queue: it ends, replaced by its transport.
  if (run.reading !== null) return { label, bot: ending(bot, run), fleet };
  const back = moved(bot, { ...run, at: "back" });
  return { label, bot: taught(model, back, run, answer.drain), fleet };
}

const ending = (bot: Bot, run: Run): Bot => poked(moved(bot, { ...closing(run), at: "verdict" }));

/** A run's resident with every process of it over. */
function ended(at: AtResident): AtResident {
  return { ...at, procs: at.procs.map(([n, state]): Proc => [n, state === "alive" ? "over" : state]) };
}

/** A process begins, and finds what stands in its inbox. */
const withProc = (at: AtResident, n: number): AtResident => ({
  ...shownTo(at),
  procs: [...at.procs.filter(([one]) => one !== n), [n, "alive"] as const].toSorted(([a], [b]) => a - b),
});

/** What the resident says of something that a bot of this number does under the run's registration. */
function touched({ core }: BotModel, { id, thread, row }: AtResident, generation: number): TouchFound["kind"] {
  const one = { runId: id, threadKey: thread, kind: "run", state: "running", seq: 0, since: 0, leaseUntil: 1 } as const;
  const rows = row === null ? [] : [{ ...one, generation: row, parent: null }];
  return core.touchStep({ ...EMPTY_RESIDENT, rows }, { runId: id, threadKey: thread, generation }).found.kind;
}

/** The process is there. What stood before it began has reached it; what else was written is written once more. */
function found(bot: Bot, run: Run): Bot {
  const reached = Math.max(run.reached, run.standing);
  const written = Math.min(run.written, reached);
  return moved(bot, deliverOn({ ...run, at: "work", heard: true, standing: 0, reached, written }));
}

/**
 * Starts the process, or finds it. In a container that is another one than it was meant for it is not started: the bot
 * attaches again, asks after it there, and starts it only where it is sure that nobody has.
 */
function exec(model: BotModel, there: There, run: Run): Made {
  const { bot, fleet, n } = there;
  const at = atResident(fleet, run);
  const { reading } = run;
  if (reading === null) throw new RangeError(run.id);
  const touch = touched(model, at, n + 1);
  const atDoor = moved(bot, { ...run, at: "door" });
  if (touch === "unregistered") return { label: `finds ${run.id} not registered`, bot: atDoor, fleet };
  if (touch === "oldGeneration") return { label: `finds ${run.id} taken over`, bot: leftAsIs(bot, run.id), fleet };
  const isAskedAfter = reading.boot !== run.boot;
  if (!isAskedAfter && !model.core.mayStartIn(String(fleet.boots[run.cell]), String(reading.boot)))
    return { label: `finds another container under ${run.id}`, bot: atDoor, fleet };
  const proc = at.procs.find(([one]) => one === reading.n);
  if (proc !== undefined && proc[1] !== "gone")
    return { label: `finds the process of ${run.id}`, bot: found(bot, run), fleet };
  if (isAskedAfter) return proc === undefined && !run.heard ? anew(there, run) : replaced(model, there, run);
  const alive = at.procs.find(([, state]) => state === "alive");
  const twice = at.released
    ? broken("12", `bot ${n + 1} starts process ${reading.n} of ${run.id}, which has ended and was given back`)
    : alive !== undefined
      ? broken("beside", `bot ${n + 1} starts process ${reading.n} of ${run.id}, whose process ${alive[0]} is alive`)
      : proc !== undefined
        ? broken("12", `bot ${n + 1} starts process ${reading.n} of ${run.id} a second time`)
        : null;
  return {
    label: `starts process ${reading.n} of ${run.id}`,
    bot: found(bot, run),
    fleet: withRun(fleet, withProc(at, reading.n)),
    broken: twice,
  };
}

/** Nobody has ever heard of its process, which its own bot was about to begin in the container before. */
function anew({ bot, fleet }: There, run: Run): Made {
  const reading = { n: run.reading?.n ?? run.tries, boot: run.boot };
  return { label: `begins ${run.id} in another container`, bot: moved(bot, { ...run, at: "begin", reading }), fleet };
}

/** Its process is gone with its container: the run goes on by its resume, or ends. */
function replaced(model: BotModel, { bot, fleet }: There, run: Run): Made {
  const label = `finds ${run.id} replaced`;
  if (!model.world.allowed.resumes) return { label, bot: ending(bot, run), fleet };
  const tries = run.tries + 1;
  return {
    label: `${label}, and resumes it`,
    bot: moved(bot, { ...closing(run), at: "begin", tries, reading: { n: tries, boot: run.boot }, heard: false }),
    fleet,
  };
}

/** The process that is followed has ended, or is heard no more. */
function follow({ bot, fleet }: There, run: Run): Made | null {
  const state = atResident(fleet, run).procs.find(([n]) => n === run.reading?.n)?.[1];
  if (state === "over") return { label: `hears that ${run.id} has ended`, bot: ending(bot, run), fleet };
  return state === "gone"
    ? { label: `is cut off from ${run.id}`, bot: moved(bot, { ...run, at: "door" }), fleet }
    : null;
}

/** The file is written whole. It has reached somebody only where somebody is alive. */
function write(model: BotModel, { bot, fleet, n }: There, run: Run): Made {
  const at = atResident(fleet, run);
  const label = `writes the inbox of ${run.id}`;
  const touch = touched(model, at, n + 1);
  const last = lastSteer(run);
  const known: Run = { ...run, delivery: null, written: last };
  if (touch !== "touched") return { label: `${label}: ${touch}`, bot: moved(bot, deliverOn(known)), fleet };
  const live = at.procs.filter(([, state]) => state === "alive").length;
  const stands = { ...at, inbox: inboxOf(run) };
  const reached = model.core.isRead(live) ? Math.max(run.reached, last) : run.reached;
  return {
    label: live === 0 ? `${label}, for nobody` : label,
    bot: moved(bot, deliverOn({ ...known, reached })),
    fleet: withRun(fleet, live === 0 ? stands : shownTo(stands)),
  };
}

/** What stands in the inbox is shown to a process that is alive; what is new in it comes behind what was there. */
function shownTo(at: AtResident): AtResident {
  return { ...at, shown: [...at.shown, ...at.inbox.filter((seq) => !at.shown.includes(seq))] };
}

/** The registration is given back; an older bot's word is not heard once a newer one has attached. */
function detach({ bot, fleet, n }: There, run: Run): Made {
  const at = atResident(fleet, run);
  const sealing = moved(bot, { ...run, at: "seal" });
  if (at.row === null || at.row > n + 1) return { label: `detaches ${run.id}: not its own`, bot: sealing, fleet };
  return {
    label: `detaches ${run.id}`,
    bot: sealing,
    fleet: withRun(fleet, ended({ ...at, row: null, released: true })),
  };
}

function stepsOfRun(model: BotModel, there: There, run: Run): readonly Made[] {
  const writes = run.delivery === "write" ? [write(model, there, run)] : [];
  switch (run.at) {
    case "door": {
      const made = attach(model, there, run);
      if (!model.world.allowed.lost.includes("attach") || made.fleet === there.fleet) return [made];
      return [made, { ...made, label: `${made.label}, and its answer is lost`, bot: there.bot }];
    }
    case "exec":
      return [exec(model, there, run), ...writes];
    case "work": {
      const heard = follow(there, run);
      return heard === null ? writes : [heard, ...writes];
    }
    case "detach":
      return run.delivery === null ? [detach(there, run)] : [];
    default:
      return writes;
  }
}

/** Every step of one bot's runs at their residents. */
export function fleetSteps(model: BotModel, tuple: readonly number[], n: 0 | 1 | 2): readonly Step[] {
  const at = (place: number): number => tuple[place] as number;
  const bot = model.bots.at(at(BOTS[n]));
  if (bot.stalled || bot.runs.length === 0) return [];
  const { readable } = model.outsides.at(at(OUTSIDE));
  const isAtDoor = bot.runs.some((run) => run.at === "door");
  const beside = isAtDoor ? `${at(REGISTRY)}|${at(LEDGER)}|${readable}` : "";
  return model.steps.get(`fleet|${n}|${at(BOTS[n])}|${at(FLEET)}|${beside}`, () => {
    const registry = model.registries.at(at(REGISTRY));
    const ledger = model.ledgers.at(at(LEDGER));
    const there: There = { n, bot, fleet: model.fleets.at(at(FLEET)), registry, readable, ledger };
    return bot.runs.flatMap((run) =>
      stepsOfRun(model, there, run).map((made): Step => {
        const changes = [BOTS[n], model.bots.number(made.bot), FLEET, model.fleets.number(made.fleet)];
        return { label: `bot ${n + 1} ${made.label}`, changes, broken: made.broken ?? null };
      }),
    );
  });
}

/** What happens at residents by itself: a process ends, a container is replaced under its runs. */
export function ownSteps(model: BotModel, tuple: readonly number[]): readonly Step[] {
  const number = tuple[FLEET] as number;
  const fleet = model.fleets.at(number);
  const outside = model.outsides.at(tuple[OUTSIDE] as number);
  const ends = model.steps.get(`ends|${number}`, () =>
    fleet.runs
      .filter(({ procs }) => procs.some(([, state]) => state === "alive"))
      .map((run) => ({
        label: `the process of ${run.id} ends`,
        changes: [FLEET, model.fleets.number(withRun(fleet, ended(run)))],
        broken: null,
      })),
  );
  if (outside.replaced >= model.world.allowed.replaced) return ends;
  const runs = fleet.runs.map((run): AtResident => {
    if (run.cell !== 0) return run;
    // Its disk goes with it: what has ended there has no record any more either.
    return { ...run, inbox: [], procs: run.procs.map(([n]): Proc => [n, "gone"]) };
  });
  const boots = [fleet.boots[0] + 1, fleet.boots[1]] as const;
  const changes = [
    FLEET,
    model.fleets.number({ runs, boots }),
    OUTSIDE,
    model.outsides.number({ ...outside, replaced: outside.replaced + 1 }),
  ];
  return [...ends, { label: "the container of R1 is replaced", changes, broken: null }];
}
