// Who closes doors: a deployer, who closes the registry first and then the bot under the same id, rolls the bot, lifts in
// that same order and may die anywhere; and a person, who asks the registry alone.

import type { DrainAsk, DrainBook } from "#core/drain.ts";
import { beginHandoff } from "#core/seal.ts";
import { bookAfter, liveRaw, type Book } from "../book.ts";
import { drainBookOf } from "../bookSteps.ts";
import { OLD, PERSON, RESOURCES, type Broken } from "../world.ts";
import { drained, lifted } from "./doors.ts";
import { letGo } from "./inHand.ts";
import { isServing } from "./lives.ts";
import type { BotModel } from "./botModel.ts";
import { BOTS, OUTSIDE, REGISTRY, type Bot, type Deploy, type Outside, type Step } from "./parts.ts";

const BUILD = { commit: "", bundle: "", image: OLD };
/** What a deploy asks its drain for: longer than its pulse bound, and no longer than a search can afford. */
const DEPLOY_MINUTES = 3;

/** The ask of a drain, as both the registry and the bot get it. */
function askOf(model: BotModel, id: string): DrainAsk {
  const deploy = id !== PERSON;
  const minutes = deploy ? DEPLOY_MINUTES : model.world.personMinutes;
  return { id, minutes, by: "", reason: "", deploy, build: deploy ? BUILD : null, without: [], principal: "" };
}

/** What a step of the registry's book came to. */
interface Registered {
  readonly registry: number;
  readonly kind: string;
  readonly broken: Broken | null;
}

function registered(
  model: BotModel,
  before: Book,
  answer: { readonly kind: string; readonly book?: DrainBook },
): Registered {
  const after = bookAfter(before, answer.book ?? drainBookOf(before), 0);
  return { registry: model.registries.number(after.book), kind: answer.kind, broken: after.broken };
}

/** The registry's book after the renewals of a deployer that lives, or after it was asked for the first time. */
export function drainRegistry(model: BotModel, number: number, id: string): Registered {
  const before = model.registries.at(number);
  return registered(model, before, model.core.decideDrain(drainBookOf(before), askOf(model, id), 0));
}

function liftRegistry(model: BotModel, number: number, id: string, isSwapped: boolean): Registered {
  const before = model.registries.at(number);
  const ask = { id, outcome: isSwapped ? "landed" : "none", force: false } as const;
  return registered(model, before, model.core.decideLift(drainBookOf(before), ask, isSwapped ? id : null, 0));
}

/** A renewal reaches a bot: its copy is made or goes on. */
export function drainBot(model: BotModel, bot: Bot, id: string) {
  return drained(model, bot, askOf(model, id));
}

/** The drain that the deployer has closed under, while it closes. */
export function closingId(model: BotModel, { deploy }: Outside): string | null {
  const { n, at } = deploy;
  const closes =
    at === "registry" ||
    at === "closed" ||
    at === "rolling" ||
    at === "rolled" ||
    at === "swapped" ||
    at === "reconciled";
  return closes ? (model.world.allowed.deploys[n] ?? null) : null;
}

/** Everything outside, at one state. */
class Outsider {
  readonly model: BotModel;
  readonly tuple: readonly number[];
  readonly outside: Outside;
  readonly registry: number;
  readonly steps: Step[] = [];

  constructor(model: BotModel, tuple: readonly number[]) {
    this.model = model;
    this.tuple = tuple;
    this.outside = model.outsides.at(tuple[OUTSIDE] as number);
    this.registry = tuple[REGISTRY] as number;
  }

  get book(): Book {
    return this.model.registries.at(this.registry);
  }

  /** The bot that would answer a request now. */
  serving(): { readonly place: number; readonly n: number; readonly bot: Bot } | undefined {
    return BOTS.map((place, n) => ({ place, n, bot: this.model.bots.at(this.tuple[place] as number) })).findLast(
      ({ bot }) => (bot.mode === "live" || bot.mode === "ending") && !bot.stalled,
    );
  }

  add(label: string, outside: Partial<Outside>, changes: readonly number[], broken: Broken | null = null): void {
    const next = this.model.outsides.number({ ...this.outside, ...outside });
    this.steps.push({ label, changes: [OUTSIDE, next, ...changes], broken });
  }

  deploy(at: Deploy["at"]): Partial<Outside> {
    return { deploy: { ...this.outside.deploy, at } };
  }
}

function closes(who: Outsider, id: string): void {
  const { model, outside } = who;
  const { at } = outside.deploy;
  if (at === "before" && outside.readable) {
    const { registry, kind, broken } = drainRegistry(model, who.registry, id);
    const next = kind === "created" ? who.deploy("registry") : kind === "busy" ? {} : who.deploy("done");
    who.add(`the deploy asks for its drain ${id}: ${kind}`, next, [REGISTRY, registry], broken);
  }
  const bot = who.serving();
  if (at === "before" || bot === undefined || closingId(model, outside) === null) return;
  const made = drainBot(model, bot.bot, id);
  const isNews = at === "registry" || made.bot.doors !== bot.bot.doors;
  if (!isNews) return;
  const next = at === "registry" ? who.deploy("closed") : {};
  who.add(
    `the deploy closes bot ${bot.n + 1} under ${id}: ${made.kind}`,
    next,
    [bot.place, model.bots.number(made.bot)],
    made.broken,
  );
}

/** The bot is asked to end under the drain; the next one is proven by serving. */
function rolls(who: Outsider): void {
  const { model, outside } = who;
  const { at } = outside.deploy;
  const roll = model.world.allowed.rolls;
  const bot = who.serving();
  if (at === "closed" && roll !== null && bot?.bot.mode === "live" && bot.n + 1 < model.world.generations) {
    const ends = asked(bot.bot, roll);
    who.add(`the deploy asks bot ${bot.n + 1} to end`, who.deploy("rolling"), [bot.place, model.bots.number(ends)]);
  }
  if (at === "rolling" && bot !== undefined && isServing(bot.bot))
    who.add(`the deploy finds bot ${bot.n + 1} serving`, who.deploy("rolled"), []);
}

/** Asked to end: it takes no more, and lets go at once or when its hold is over. */
export function asked(bot: Bot, how: "drain" | "handoff"): Bot {
  const ends: Bot = { ...bot, mode: "ending", again: false };
  return how === "handoff" ? letGo(ends) : ends;
}

function swaps(who: Outsider, id: string): void {
  const { model, outside, book } = who;
  const { at } = outside.deploy;
  if (!model.world.allowed.holds) return;
  if (at === "closed" || at === "rolled") {
    const { registry, kind, broken } = registered(model, book, beginHandoff(drainBookOf(book), id, BUILD, 0));
    if (kind === "sealed")
      who.add(`the deploy swaps the fleet under ${id}`, who.deploy("swapped"), [REGISTRY, registry], broken);
  }
  if (at === "swapped") {
    const ask = { id, servedId: id, build: BUILD, residents: [RESOURCES[0]] };
    const { registry, kind, broken } = registered(model, book, model.core.beginReconcile(drainBookOf(book), ask, 0));
    if (kind === "begun")
      who.add("the deploy reconciles: R1 is held", who.deploy("reconciled"), [REGISTRY, registry], broken);
  }
}

function lifts(who: Outsider, id: string): void {
  const { model, outside } = who;
  const { at, n } = outside.deploy;
  const lifting = at === "closed" || at === "registry" || at === "rolled" || at === "reconciled";
  if (lifting && outside.readable) {
    const { registry, kind, broken } = liftRegistry(model, who.registry, id, at === "reconciled");
    who.add(`the deploy lifts ${id}: ${kind}`, who.deploy("half"), [REGISTRY, registry], broken);
  }
  if (at !== "half") return;
  const late = model.world.allowed.late && outside.late === null ? { late: id } : {};
  const more = n + 1 < model.world.allowed.deploys.length;
  const next: Partial<Outside> = { deploy: more ? { n: n + 1, at: "before" } : { n, at: "done" }, ...late };
  who.add(`the deploy does not reach the bot with its lift of ${id}`, next, []);
  const bot = who.serving();
  if (bot === undefined) return;
  const made = lifted(model, bot.bot, id);
  who.add(`the deploy opens bot ${bot.n + 1} of ${id}: ${made.kind}`, next, [bot.place, model.bots.number(made.bot)]);
}

/** A deployer may be gone anywhere; what it asked of the bot may come late. */
function dies(who: Outsider, id: string): void {
  const { model, outside } = who;
  const { n, at } = outside.deploy;
  if (!model.world.allowed.immortal && at !== "before" && at !== "done") {
    const more = n + 1 < model.world.allowed.deploys.length;
    const late = model.world.allowed.late && outside.late === null ? { late: id } : {};
    who.add("the deployer dies", { deploy: more ? { n: n + 1, at: "before" } : { n, at: "done" }, ...late }, []);
  }
  const bot = who.serving();
  if (outside.late === null || outside.late === "" || bot === undefined) return;
  const made = drainBot(model, bot.bot, outside.late);
  who.add(
    `a late renewal of ${outside.late} reaches bot ${bot.n + 1}: ${made.kind}`,
    { late: "" },
    [bot.place, model.bots.number(made.bot)],
    made.broken,
  );
}

function person(who: Outsider): void {
  const { model, outside } = who;
  if (!model.world.allowed.person || !outside.readable) return;
  if (outside.person === "before") {
    const { registry, kind, broken } = drainRegistry(model, who.registry, PERSON);
    who.add(`a person closes the fleet: ${kind}`, { person: "closed" }, [REGISTRY, registry], broken);
  }
  if (outside.person === "closed") {
    const { registry, kind, broken } = liftRegistry(model, who.registry, PERSON, false);
    who.add(`a person opens the fleet: ${kind}`, { person: "done" }, [REGISTRY, registry], broken);
  }
}

/** What a held resident reports frees it. */
function reports(who: Outsider): void {
  const { model, book } = who;
  if (!liveRaw(book).some(({ phase, holds }) => phase === "reopening" && holds.includes(RESOURCES[0]))) return;
  const freeing = model.core.noteReport(drainBookOf(book), { resource: RESOURCES[0], image: OLD }, 0);
  const { registry, broken } = registered(model, book, { kind: "reported", book: freeing.book });
  who.add("R1 reports its image: its hold falls", {}, [REGISTRY, registry], broken);
}

/** Every step of who closes and opens. */
export function closingSteps(model: BotModel, tuple: readonly number[]): readonly Step[] {
  const parts = [OUTSIDE, REGISTRY, ...BOTS].map((place) => tuple[place]);
  return model.steps.get(`closing|${parts.join("|")}`, () => closedOutside(model, tuple));
}

function closedOutside(model: BotModel, tuple: readonly number[]): readonly Step[] {
  const who = new Outsider(model, tuple);
  const { deploys, unreadable } = model.world.allowed;
  const id = deploys[who.outside.deploy.n];
  if (id !== undefined) {
    closes(who, id);
    rolls(who);
    swaps(who, id);
    lifts(who, id);
    dies(who, id);
  }
  person(who);
  reports(who);
  if (unreadable)
    who.add(
      who.outside.readable ? "the registry cannot be read any more" : "the registry can be read again",
      { readable: !who.outside.readable },
      [],
    );
  return who.steps;
}
