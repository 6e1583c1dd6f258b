// Who asks, who says something, and the lives of bots and of the ledger: begun, asked to end, killed, standing still.

import { closedBy, doorsIn, frameOf, judgedDoor, judgedPassing, passesChild, told } from "./doors.ts";
import { letGo, passedIn, poked } from "./inHand.ts";
import { booted, hasEnded, ledgerAfter } from "./ledgerPart.ts";
import { asked } from "./closing.ts";
import { ABSENT, OVER } from "./lives.ts";
import { entryOf } from "#core/ledger.ts";
import type { BotModel } from "./botModel.ts";
import {
  BOTS,
  LEDGER,
  OUTSIDE,
  REGISTRY,
  type Asking,
  type Bot,
  type LedgerPart,
  type Outside,
  type Step,
} from "./parts.ts";

const at = (tuple: readonly number[], place: number): number => tuple[place] as number;

/** A number of a list one higher. */
const counted = (all: readonly number[], n: number): readonly number[] =>
  all.map((one, i) => (i === n ? one + 1 : one));

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1);

/** Somebody asks a bot that serves; the door is read in the step in which the question leaves for the ledger. */
function askerSteps(model: BotModel, tuple: readonly number[], n: 0 | 1 | 2, outside: Outside): readonly Step[] {
  const bot = model.bots.at(at(tuple, BOTS[n]));
  return model.world.askers.flatMap(({ id, cell, times = 1, parent }, i): readonly Step[] => {
    const asks = outside.asked[i] ?? 0;
    if (asks >= times || (parent !== undefined && !lives(model, tuple, parent))) return [];
    const name = asks === 0 ? id : `${id}'`;
    const closed = closedBy(model, bot, cell);
    const by = closed === null ? null : { cause: closed.cause, drainId: closed.drainId };
    const [passes, passed] = [passesChild(model, bot, cell), passedIn(bot, cell)];
    const asking: Asking = { id: name, open: closed === null, passesChild: passes, passed, closedBy: by };
    const next = model.bots.number({ ...bot, asks: [...bot.asks, asking].toSorted(byId) });
    const changes = [BOTS[n], next, OUTSIDE, model.outsides.number({ ...outside, asked: counted(outside.asked, i) })];
    const label = `${name} is asked of bot ${n + 1} (${closed === null ? "open" : `closed by ${closed.drainId}`})`;
    const doors = doorsIn(model, bot);
    const wrong = judgedDoor(doors, cell, closed) ?? (parent === undefined ? null : judgedPassing(doors, cell, passes));
    return [{ label, changes, broken: wrong }];
  });
}

/** A child is asked for by a run at work. */
function lives(model: BotModel, tuple: readonly number[], parent: string): boolean {
  const entry = entryOf(model.ledgers.at(at(tuple, LEDGER)).store, parent);
  return entry?.state === "running";
}

/** Something is said to whoever the ledger knows. */
function sayingSteps(model: BotModel, tuple: readonly number[], n: 0 | 1 | 2, outside: Outside): readonly Step[] {
  const number = at(tuple, BOTS[n]);
  const bot = model.bots.at(number);
  const ledger = model.ledgers.at(at(tuple, LEDGER));
  return model.world.sayings.flatMap(({ key, to, kind, times = 1 }, i): readonly Step[] => {
    const said = outside.said[i] ?? 0;
    const isKnown = entryOf(ledger.store, to) !== undefined || hasEnded(ledger, to);
    if (said >= times || !isKnown || bot.says.includes(key)) return [];
    const next = model.bots.number({ ...bot, says: [...bot.says, key].toSorted() });
    const changes = [BOTS[n], next, OUTSIDE, model.outsides.number({ ...outside, said: counted(outside.said, i) })];
    return [{ label: `${kind} ${key} is said to ${to} at bot ${n + 1}`, changes, broken: null }];
  });
}

/** The next bot is numbered, once the one before it is over, or stands still and is believed to be. */
function begins(model: BotModel, tuple: readonly number[], n: 0 | 1 | 2): readonly Step[] {
  const ledger = model.ledgers.at(at(tuple, LEDGER));
  const before = n === 0 ? OVER : model.bots.at(at(tuple, BOTS[(n - 1) as 0 | 1]));
  if (n >= model.world.generations || !ledger.up || (before.mode !== "over" && !before.stalled)) return [];
  const { store } = model.core.generationStep(ledger.store);
  const frame = model.outsides.at(at(tuple, OUTSIDE)).readable
    ? frameOf(model.registries.at(at(tuple, REGISTRY)))
    : null;
  const bot: Bot = { ...ABSENT, mode: "begun", beat: true };
  const changes = [
    LEDGER,
    model.ledgers.number(ledgerAfter({ ...ledger, store }, 0)),
    BOTS[n],
    model.bots.number({ ...told(model, bot, frame), again: false }),
  ];
  return [{ label: `bot ${n + 1} begins`, changes, broken: null }];
}

/** What may become of one bot. */
function livesOn(model: BotModel, tuple: readonly number[], n: 0 | 1 | 2): readonly Step[] {
  const bot = model.bots.at(at(tuple, BOTS[n]));
  const { kill, ends, stall } = model.world.allowed;
  const isLast = n + 1 >= model.world.generations;
  const step = (label: string, next: Bot): Step => ({
    label,
    changes: [BOTS[n], model.bots.number(next)],
    broken: null,
  });
  if (bot.mode === "over" || bot.mode === "absent") return [];
  if (bot.stalled) return [step(`bot ${n + 1} goes on`, { ...bot, stalled: false })];
  return [
    ...(kill && !isLast ? [step(`bot ${n + 1} is killed`, OVER)] : []),
    ...(stall && !isLast ? [step(`bot ${n + 1} stands still`, { ...bot, stalled: true })] : []),
    ...(ends !== null && !isLast && bot.mode === "live"
      ? [step(`bot ${n + 1} is asked to end`, asked(bot, ends))]
      : []),
    ...(bot.mode === "ending" && !bot.letGo ? [step(`the hold of bot ${n + 1} is over`, letGo(bot))] : []),
  ];
}

/** What was not answered is made good by the look of the next heartbeat. */
function looksAgain(model: BotModel, tuple: readonly number[], n: 0 | 1 | 2): readonly Step[] {
  const bot = model.bots.at(at(tuple, BOTS[n]));
  if (!bot.owes || bot.mode !== "live" || bot.stalled) return [];
  const next = model.bots.number(poked({ ...bot, owes: false }));
  return [{ label: `bot ${n + 1} beats and looks again`, changes: [BOTS[n], next], broken: null }];
}

/** The watch of a bot tells what the registry has. */
export function watchSteps(model: BotModel, tuple: readonly number[], n: 0 | 1 | 2): readonly Step[] {
  const { readable } = model.outsides.at(at(tuple, OUTSIDE));
  const key = `watch|${n}|${at(tuple, BOTS[n])}|${at(tuple, REGISTRY)}|${readable}`;
  return known(model, key, () => watched(model, tuple, n, readable));
}

function watched(model: BotModel, tuple: readonly number[], n: 0 | 1 | 2, readable: boolean): readonly Step[] {
  const bot = model.bots.at(at(tuple, BOTS[n]));
  if (bot.stalled || (bot.mode !== "live" && bot.mode !== "ending")) return [];
  const frame = readable ? frameOf(model.registries.at(at(tuple, REGISTRY))) : null;
  if (JSON.stringify(frame) === JSON.stringify(doorsIn(model, bot).frame)) return [];
  const label = frame === null ? `the watch of bot ${n + 1} is down` : `the watch of bot ${n + 1} tells`;
  return [{ label, changes: [BOTS[n], model.bots.number(told(model, bot, frame))], broken: null }];
}

/** The ledger's process ends and begins again. */
function ledgerSteps(model: BotModel, tuple: readonly number[], outside: Outside): readonly Step[] {
  const ledger = model.ledgers.at(at(tuple, LEDGER));
  const step = (label: string, part: LedgerPart, more: readonly number[] = []): Step => ({
    label,
    changes: [LEDGER, model.ledgers.number(part), ...more],
    broken: null,
  });
  if (!ledger.up) return [step("the ledger begins again", booted(model, ledger))];
  if (outside.restarts >= model.world.allowed.ledgerRestarts) return [];
  const next = model.outsides.number({ ...outside, restarts: outside.restarts + 1 });
  return [step("the ledger ends", { ...ledger, up: false }, [OUTSIDE, next])];
}

/** Steps that depend on these parts of a state alone. */
function known(model: BotModel, key: string, compute: () => readonly Step[]): readonly Step[] {
  return model.steps.get(key, compute);
}

function stepsOf(model: BotModel, tuple: readonly number[], n: 0 | 1 | 2): readonly Step[] {
  const number = at(tuple, BOTS[n]);
  const { mode, stalled, owes } = model.bots.at(number);
  const [out, ledger] = [at(tuple, OUTSIDE), at(tuple, LEDGER)];
  if (mode === "over") return [];
  if (mode === "absent") return begins(model, tuple, n);
  const outside = model.outsides.at(out);
  const serves = mode === "live" && !stalled;
  const hears = !stalled && (mode === "live" || mode === "ending");
  return [
    ...(serves
      ? known(model, `asker|${n}|${number}|${out}|${ledger}`, () => askerSteps(model, tuple, n, outside))
      : []),
    ...(hears ? known(model, `says|${n}|${number}|${out}|${ledger}`, () => sayingSteps(model, tuple, n, outside)) : []),
    ...watchSteps(model, tuple, n),
    ...(owes ? looksAgain(model, tuple, n) : []),
    ...known(model, `lives|${n}|${number}`, () => livesOn(model, tuple, n)),
  ];
}

/** Every step of lives. */
export function livingSteps(model: BotModel, tuple: readonly number[]): readonly Step[] {
  const outside = model.outsides.at(at(tuple, OUTSIDE));
  const ofBots = ([0, 1, 2] as const).flatMap((n) => stepsOf(model, tuple, n));
  return [...ofBots, ...ledgerSteps(model, tuple, outside)];
}
