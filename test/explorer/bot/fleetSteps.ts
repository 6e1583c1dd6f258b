// A bot's runs at their residents, and what happens there by itself. The gate is the registry's shipped answer; a resident
// knows its rows, its processes and the inbox that stands in each worktree. What is done in a workspace names no bot's
// number, so worlds in which a bot stands still leave out what it may write or start there behind the next one.

import { RESOURCES, broken, type Broken } from "../world.ts";
import { closesRaw, liveRaw, type Book } from "../book.ts";
import { drainBookOf } from "../bookSteps.ts";
import { keyOf } from "./botWorld.ts";
import { taught } from "./doors.ts";
import { deliverOn, inboxOf, lastSteer, leftAsIs, moved, NOWHERE, poked } from "./inHand.ts";
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
  type Proc,
  type Run,
  type Step,
} from "./parts.ts";

const NONE: Pick<AtResident, "row" | "procs" | "inbox" | "shown"> = { row: null, procs: [], inbox: [], shown: [] };

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

/** Where the runs of a bot stand: at which fleet, under which registry, and what the ledger says of a run. */
interface There {
  readonly n: number;
  readonly bot: Bot;
  readonly fleet: FleetPart;
  readonly registry: Book;
  readonly readable: boolean;
  readonly isOver: (id: string) => boolean;
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
  if (other !== undefined && !there.isOver(other.id))
    return { label: `attaches ${run.id}: thread busy`, bot: ending(bot, run), fleet };
  const spec = model.world.askers.find(({ id }) => id === keyOf(run.id));
  const answer = look(model, there, run, spec?.parent ?? null);
  if (answer.kind === "open") {
    const early = startedTooEarly(there, run, spec?.parent ?? null);
    if (spec?.brief === true)
      return {
        label: `attaches ${run.id}: new, and done`,
        bot: poked(moved(bot, { ...run, at: "seal" })),
        fleet,
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

const ending = (bot: Bot, run: Run): Bot => poked(moved(bot, { ...run, at: "detach", delivery: null }));

/** A run's resident with every process of it over. */
function ended(at: AtResident): AtResident {
  return { ...at, procs: at.procs.map(([n, state]): Proc => [n, state === "alive" ? "over" : state]) };
}

const withProc = (at: AtResident, n: number): AtResident => ({
  ...at,
  procs: [...at.procs, [n, "alive"] as const].toSorted(([a], [b]) => a - b),
});

/** Starts the process, or finds it. One that was begun in another container is looked for there and never started anew. */
function exec(model: BotModel, there: There, run: Run): Made {
  const { bot, fleet, n } = there;
  const at = atResident(fleet, run);
  const { reading } = run;
  if (reading === null) throw new RangeError(run.id);
  if (at.row === null)
    return { label: `finds ${run.id} not registered`, bot: moved(bot, { ...run, at: "door" }), fleet };
  const proc = at.procs.find(([one]) => one === reading.n);
  const follows = moved(bot, { ...run, at: "work" });
  if (proc !== undefined && proc[1] !== "gone") return { label: `finds the process of ${run.id}`, bot: follows, fleet };
  if (reading.boot !== run.boot) return replaced(model, there, run);
  const alive = at.procs.find(([, state]) => state === "alive");
  const twice =
    alive !== undefined
      ? broken("12", `bot ${n + 1} starts process ${reading.n} of ${run.id}, whose process ${alive[0]} is alive`)
      : proc !== undefined
        ? broken("12", `bot ${n + 1} starts process ${reading.n} of ${run.id} a second time`)
        : null;
  const started = withProc({ ...at, procs: at.procs.filter(([one]) => one !== reading.n) }, reading.n);
  return {
    label: `starts process ${reading.n} of ${run.id}`,
    bot: follows,
    fleet: withRun(fleet, started),
    broken: twice,
  };
}

/** Its process is gone with its container: the run goes on by its resume, or ends. */
function replaced(model: BotModel, { bot, fleet }: There, run: Run): Made {
  const label = `finds ${run.id} replaced`;
  if (!model.world.allowed.resumes) return { label, bot: ending(bot, run), fleet };
  const tries = run.tries + 1;
  return {
    label: `${label}, and resumes it`,
    bot: moved(bot, { ...run, at: "begin", tries, reading: { n: tries, boot: run.boot }, delivery: null }),
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

function write({ bot, fleet }: There, run: Run): Made {
  const at = atResident(fleet, run);
  const label = `writes the inbox of ${run.id}`;
  if (at.row === null)
    return {
      label: `${label}: not registered`,
      bot: moved(bot, deliverOn({ ...run, delivery: null, written: lastSteer(run) })),
      fleet,
    };
  const last = lastSteer(run);
  const known: Run = { ...run, written: last, delivery: last > run.delivered ? "tell" : null };
  const next = known.delivery === null ? deliverOn(known) : known;
  return { label, bot: moved(bot, next), fleet: withRun(fleet, written(at, inboxOf(run))) };
}

/** The file is written whole; what is new in it comes behind what was there. */
function written(at: AtResident, inbox: readonly number[]): AtResident {
  return { ...at, inbox, shown: [...at.shown, ...inbox.filter((seq) => !at.shown.includes(seq))] };
}

/** The registration is given back; an older bot's word is not heard once a newer one has attached. */
function detach({ bot, fleet, n }: There, run: Run): Made {
  const at = atResident(fleet, run);
  const sealing = moved(bot, { ...run, at: "seal", delivery: null });
  if (at.row === null || at.row > n + 1) return { label: `detaches ${run.id}: not its own`, bot: sealing, fleet };
  return { label: `detaches ${run.id}`, bot: sealing, fleet: withRun(fleet, ended({ ...at, row: null })) };
}

function stepsOfRun(model: BotModel, there: There, run: Run): readonly Made[] {
  const writes = run.delivery === "write" ? [write(there, run)] : [];
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
      return [detach(there, run)];
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
    const isOver = (id: string): boolean => model.ledgers.at(at(LEDGER)).ended.some((one) => one.id === id);
    const registry = model.registries.at(at(REGISTRY));
    const there: There = { n, bot, fleet: model.fleets.at(at(FLEET)), registry, readable, isOver };
    return bot.runs.flatMap((run) =>
      stepsOfRun(model, there, run).map((made): Step => {
        const changes = [BOTS[n], model.bots.number(made.bot), FLEET, model.fleets.number(made.fleet)];
        return { label: `bot ${n + 1} ${made.label}`, changes, broken: made.broken ?? null };
      }),
    );
  });
}

/** Whether a bot is between its attach and its process: what is replaced then is left out, since exec names no boot. */
const begins = ({ runs }: Bot): boolean =>
  runs.some(({ at, reading }) => reading !== null && (at === "begin" || at === "inbox" || at === "exec"));

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
  if (
    outside.replaced >= model.world.allowed.replaced ||
    BOTS.some((place) => begins(model.bots.at(tuple[place] as number)))
  )
    return ends;
  const runs = fleet.runs.map((run): AtResident => {
    if (run.cell !== 0) return run;
    return { ...run, inbox: [], procs: run.procs.map(([n, state]): Proc => [n, state === "alive" ? "gone" : state]) };
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
