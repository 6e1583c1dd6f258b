// Time passes to the next end of anything. All the while whoever lives beats, renews and hears; whoever is silent is not
// heard, and what nobody renews ends.

import { CLOCK } from "#core/budgets.ts";
import type { Ms } from "#core/time.ts";
import { bookAfter, endsInBook, type Book } from "../book.ts";
import { drainBookOf } from "../bookSteps.ts";
import { closingId, drainBot, drainRegistry } from "./closing.ts";
import { doorsAfter, frameOf, nextOpeningOf, told } from "./doors.ts";
import { poked } from "./inHand.ts";
import { beaten, endsInLedger, isLive, ledgerAfter } from "./ledgerPart.ts";
import { OVER } from "./lives.ts";
import type { BotModel } from "./botModel.ts";
import { BOTS, LEDGER, OUTSIDE, REGISTRY, type Bot, type LedgerPart, type Step } from "./parts.ts";

const at = (tuple: readonly number[], place: number): number => tuple[place] as number;

/** Whether a bot beats: it lives, does not stand still, and no newer one has begun. */
const beats = (bot: Bot): boolean => (bot.mode === "live" || bot.mode === "ending") && !bot.stalled;

/** Everything before an instant that may be waited for. */
interface Now {
  readonly bots: readonly Bot[];
  readonly ledger: LedgerPart;
  readonly registry: Book;
  readonly closing: string | null;
  readonly readable: boolean;
}

function endsOf(model: BotModel, { bots, ledger, registry, closing, readable }: Now): readonly Ms[] {
  const renewed = (id: string): boolean => id === closing && readable;
  const kept = { ...registry, drains: registry.drains.filter((drain) => !renewed(idIn(drain))) };
  const held = endsInLedger(ledger, (holder) => {
    const bot = bots[holder - 1];
    return ledger.up && bot !== undefined && beats(bot) && holder === ledger.store.generation;
  });
  const doors = bots
    .filter((bot) => bot.mode === "live" || bot.mode === "ending")
    .map((bot) => nextOpeningOf(model, bot, beats(bot) ? renewed : () => false));
  return [...endsInBook(kept), ...held, ...doors.filter((end) => end !== null)].filter((end) => end > 0);
}

const idIn = (drain: unknown): string =>
  typeof drain === "object" && drain !== null && "id" in drain && typeof drain.id === "string" ? drain.id : "";

/** The registry `by` ms later: what has ended by itself is buried, as its alarm does, and a deployer that lives renews. */
function registryAfter(model: BotModel, number: number, now: Now, by: Ms): number {
  const { closing, readable } = now;
  const renews = closing !== null && readable;
  const step = renews ? Math.min(by, CLOCK.pulseMs) : by;
  const first = model.registries.at(number);
  const later = bookAfter(first, drainBookOf(first), step).book;
  const passed = model.registries.number(bookAfter(later, model.core.settle(drainBookOf(later), 0).book, 0).book);
  const renewed = renews ? drainRegistry(model, passed, closing).registry : passed;
  return step < by ? registryAfter(model, renewed, now, by - step) : renewed;
}

/** The doors of a bot `by` ms later, renewed at each pulse. */
function pulsed(model: BotModel, bot: Bot, now: Now, by: Ms): Bot {
  if (now.closing === null || !now.readable) return doorsAfter(model, bot, by);
  const step = Math.min(by, CLOCK.pulseMs);
  const renewed = drainBot(model, doorsAfter(model, bot, step), now.closing).bot;
  return step < by ? pulsed(model, renewed, now, by - step) : renewed;
}

/** A bot after a while: it has beaten and heard all along, or it has been still. */
function botAfter(
  model: BotModel,
  bot: Bot,
  now: Now,
  after: { readonly by: Ms; readonly frame: Book | null; readonly isNewest: boolean },
): Bot {
  const { by, frame, isNewest } = after;
  if (bot.mode === "absent" || bot.mode === "over") return bot;
  if (!beats(bot)) {
    const silentMs = now.ledger.up ? Math.min(CLOCK.ledgerLeaseMs, bot.silentMs + by) : bot.silentMs;
    return { ...doorsAfter(model, bot, by), silentMs };
  }
  // A newer bot has begun, and the next heartbeat says so.
  if (!isNewest && now.ledger.up) return OVER;
  const heard = told(model, pulsed(model, bot, now, by), frame);
  const awake: Bot = { ...heard, owes: false };
  return poked({ ...awake, silentMs: 0, beat: awake.mode === "live" && hasFree(now.ledger, bot, by) });
}

/** Whether something of a silent bot is free then. */
function hasFree(ledger: LedgerPart, bot: Bot, by: Ms): boolean {
  const lapsed = ledger.store.entries.some(
    (entry) =>
      isLive(entry) && entry.holder < ledger.store.generation && (entry.state === "handedOff" || entry.heldUntil <= by),
  );
  return ledger.up && (bot.beat || lapsed);
}

/** Time passes, unless somebody who lives has not done yet what he does at each heartbeat. */
export function passingSteps(model: BotModel, tuple: readonly number[]): readonly Step[] {
  if (!model.world.allowed.time) return [];
  const outside = model.outsides.at(at(tuple, OUTSIDE));
  const bots = BOTS.map((place) => model.bots.at(at(tuple, place)));
  if (bots.some((bot) => bot.mode === "begun" || (beats(bot) && bot.beat))) return [];
  const { readable } = outside;
  const closing = closingId(model, outside);
  const ledger = model.ledgers.at(at(tuple, LEDGER));
  const registry = model.registries.at(at(tuple, REGISTRY));
  const now: Now = { bots, ledger, registry, closing, readable };
  const ends = endsOf(model, now);
  if (ends.length === 0) return [];
  const by = Math.min(...ends);
  const book = registryAfter(model, at(tuple, REGISTRY), now, by);
  const later: Now = { ...now, registry: model.registries.at(book) };
  const frame = readable ? frameOf(later.registry) : null;
  const { generation } = ledger.store;
  const next = bots.map((bot, n) => botAfter(model, bot, later, { by, frame, isNewest: n + 1 === generation }));
  const passed = ledgerAfter(ledger, by);
  const newest = bots[generation - 1];
  const isHeard = ledger.up && newest !== undefined && beats(newest);
  const changes = [
    LEDGER,
    model.ledgers.number(isHeard ? ledgerAfter(beaten(model, passed, generation), 0) : passed),
    REGISTRY,
    book,
    ...BOTS.flatMap((place, n) => [place, model.bots.number(next[n] ?? OVER)]),
  ];
  return [{ label: `${Math.round(by / 1000)} s pass to the next end`, changes, broken: null }];
}
