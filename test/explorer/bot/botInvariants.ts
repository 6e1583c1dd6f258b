// What holds in every state, judged by a state's own words and, where a promise is about the future, by what the shipped
// functions say at that future instant with nobody's help.

import { CLOCK } from "#core/budgets.ts";
import { entryOf } from "#core/ledger.ts";
import { liveRaw } from "../book.ts";
import { drainBookOf } from "../bookSteps.ts";
import { broken, RESOURCES, type Broken } from "../world.ts";
import { closedBy, closingRaw, doorsIn, fleetOf, refusesChildRaw } from "./doors.ts";
import { runOf } from "./inHand.ts";
import { cellOf, isChildIn, isLive, untoldIn } from "./ledgerPart.ts";
import { isIdle, isServing } from "./lives.ts";
import type { BotModel } from "./botModel.ts";
import { BOTS, FLEET, LEDGER, notedOf, type Bot, type FleetPart, type LedgerPart } from "./parts.ts";
import { isHeldElsewhere, queuedCard } from "./pump.ts";
import { judgedInbox } from "./said.ts";

/** Each invariant that is judged here, in words. */
export const BOT_INVARIANTS: Readonly<Record<string, string>> = {
  "7": "an id that is over never closes again, at the registry or at the bot",
  "8": "a waiting ask starts once what held it back is over, and never through a closed door",
  "12": "every ask is dispatched exactly once, or ended with a cause",
  "13": "the bot's door is open again within the pulse bound, whoever dies",
  "14": "every wait is on its card, with its cause, and so is its end",
  stuck: "no ask is stuck: what may start, and what nobody has in hand, is taken up",
  order:
    "asks of one repository are let in, and start at its resident, in the order of arrival, of those that may start",
  thread: "one live run a thread",
  beside: "no process of a run is started beside another one of it",
  fenced: "what an older bot writes is refused",
  held: "a run is taken from a bot only when it was left, or the ledger has not heard of it for a whole lease",
  copy: "the bot's copy closes nothing once the registry has said that its id lives no more",
  row: "no registration is left behind by bots that rest",
  lost: "what was said to a run is lost by nobody, and comes in its order",
  twice: "what was said to a run comes once",
};

function ledgerWrong(part: LedgerPart): Broken | null {
  const { store } = part;
  const live = store.entries.filter(isLive);
  const beside = live.find(({ ask }, n) => live.findIndex((one) => one.ask.threadKey === ask.threadKey) !== n);
  if (beside !== undefined) return broken("thread", `${beside.ask.id} lives in a thread in which another run lives`);
  const unasked = live.find(({ ask }) => !part.out.includes(ask.id));
  return unasked === undefined ? null : broken("12", `${unasked.ask.id} lives, and was never let out of the queue`);
}

function fleetWrong(fleet: FleetPart): Broken | null {
  const twice = fleet.runs.find(({ procs }) => procs.filter(([, state]) => state === "alive").length > 1);
  return twice === undefined ? null : broken("beside", `two processes of ${twice.id} are alive at once`);
}

function inboxWrong(part: LedgerPart, fleet: FleetPart): Broken | null {
  for (const run of fleet.runs) {
    const entry = entryOf(part.store, run.id);
    const wrong = entry === undefined ? null : judgedInbox(entry, run);
    if (wrong !== null) return wrong;
  }
  return null;
}

/** The deployer dead since now, and nobody to say anything: at the pulse bound the bot's own copy closes nothing. */
function closedForGood(model: BotModel, bot: Bot, n: number): Broken | null {
  const { copy, met } = doorsIn(model, bot);
  const stands = liveRaw(copy, CLOCK.pulseBoundMs).find(({ deploy }) => deploy);
  const facts = { copy: drainBookOf(copy), fleet: [], told: [], met: met[0], resource: RESOURCES[0] };
  const closed = model.core.doorOf(facts, CLOCK.pulseBoundMs);
  const by = stands?.id ?? closed?.drainId;
  return by === undefined
    ? null
    : broken("13", `the door of bot ${n + 1} is still closed by ${by} when the pulse bound is over`);
}

/** What the registry was seen to know, and says no more, closes nothing in the copy. */
function copyStands(model: BotModel, bot: Bot, n: number): Broken | null {
  const doors = doorsIn(model, bot);
  if (doors.frame === null) return null;
  const alive = fleetOf(doors)
    .filter(({ phase }) => phase !== "reopening")
    .map(({ id }) => id);
  const over = liveRaw(doors.copy).find(({ id }) => doors.seen.includes(id) && !alive.includes(id));
  return over === undefined
    ? null
    : broken("copy", `the door of bot ${n + 1} is closed by its copy of ${over.id}, which is over`);
}

/** A bot that has nothing to do leaves nobody waiting whom it could let in, and has in hand what the ledger says is its. */
function stuck(model: BotModel, bot: Bot, part: LedgerPart): Broken | null {
  const { entries, generation: number } = part.store;
  for (const entry of entries) {
    const { id, threadKey, resource } = entry.ask;
    if (isLive(entry)) {
      const isMine = entry.holder === number && entry.state !== "handedOff";
      if (isMine && runOf(bot, id) === undefined)
        return broken("stuck", `${id} is bot ${number}'s, which does not know it`);
      continue;
    }
    if (isHeldElsewhere(entries, cellOf(resource), number)) continue;
    const isFree = !entries.some((one) => isLive(one) && one.ask.threadKey === threadKey);
    const [doors, cell] = [doorsIn(model, bot), cellOf(resource)];
    const passes = isChildIn(part.store, entry.ask) && !refusesChildRaw(doors, cell);
    const isOpen = closingRaw(doors, cell).length === 0 || passes;
    if (isFree && isOpen) return broken("stuck", `${id} may start, and bot ${number} rests`);
  }
  return null;
}

/** A registration that nobody will give back holds up every deploy until its lease ends. */
function orphaned(part: LedgerPart, fleet: FleetPart): Broken | null {
  const left = fleet.runs.find(({ id, row }) => {
    const entry = entryOf(part.store, id);
    return row !== null && (entry === undefined || !isLive(entry));
  });
  return left === undefined ? null : broken("row", `${left.id} is registered at its resident, and nobody has it`);
}

/** Whoever is over reads so on its card. */
function untold(part: LedgerPart): Broken | null {
  const [id] = untoldIn(part);
  return id === undefined ? null : broken("14", `${id} has ended, its card says "${notedOf(part.cards, id)}"`);
}

/** Whoever waits reads on its card what for, as it is now. */
function unsaid(model: BotModel, bot: Bot, part: LedgerPart): Broken | null {
  const { entries } = part.store;
  for (const entry of entries.filter((one) => !isLive(one))) {
    const { id, threadKey, resource } = entry.ask;
    const closed = closedBy(model, bot, cellOf(resource));
    const busy = entries.some((one) => isLive(one) && one.ask.threadKey === threadKey);
    const card = queuedCard(closed, busy ? "thread" : "queue");
    const told = notedOf(part.cards, id) ?? "nothing";
    if (told !== card) return broken("14", `${id} waits, its card says "${told}" and not "${card}"`);
  }
  return null;
}

/** What is wrong with a state, or null. */
export function brokenBotState(model: BotModel, tuple: readonly number[]): Broken | null {
  const at = (place: number): number => tuple[place] as number;
  const ledger = at(LEDGER);
  const part = model.ledgers.at(ledger);
  const first =
    model.verdicts.get(`ledger|${ledger}`, () => ledgerWrong(part)) ??
    model.verdicts.get(`fleet|${at(FLEET)}`, () => fleetWrong(model.fleets.at(at(FLEET))));
  if (first !== null) return first;
  const said = model.world.sayings.length > 0;
  const inbox = said
    ? model.verdicts.get(`inbox|${ledger}|${at(FLEET)}`, () => inboxWrong(part, model.fleets.at(at(FLEET))))
    : null;
  if (inbox !== null) return inbox;
  for (const [n, place] of BOTS.entries()) {
    const number = at(place);
    const bot = model.bots.at(number);
    if (bot.mode === "absent" || bot.mode === "over") continue;
    const wrong = model.verdicts.get(
      `bot|${n}|${number}`,
      () => closedForGood(model, bot, n) ?? copyStands(model, bot, n),
    );
    if (wrong !== null) return wrong;
    if (!part.up || !isServing(bot) || n + 1 !== part.store.generation || !isIdle(bot)) continue;
    const rests = model.verdicts.get(
      `rests|${n}|${number}|${ledger}`,
      () => stuck(model, bot, part) ?? unsaid(model, bot, part),
    );
    if (rests !== null) return rests;
    const mayBeBehind = model.world.allowed.stall;
    const after = model.verdicts.get(`after|${at(FLEET)}|${ledger}`, () => {
      const row = mayBeBehind ? null : orphaned(part, model.fleets.at(at(FLEET)));
      return row ?? untold(part);
    });
    if (after !== null) return after;
  }
  return null;
}
