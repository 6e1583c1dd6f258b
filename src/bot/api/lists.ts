// `GET /runs` and one run whole: what the ledger has, with each card in the words that every surface shows. A text is kept
// as it was said, since it is what runs; shown, every value that the bot knows as a secret is hidden in it.

import type { Entry, EntryLine } from "#core/ask.ts";
import { cardWords, type CardEvent } from "#core/card.ts";
import { runsQuerySchema, type AskRow, type RunDetail, type RunList } from "#wire/bot.ts";
import type { EndedRow, LedgerRun } from "#wire/ledger.ts";
import { cardOfEntry } from "../cards.ts";
import type { Desk } from "../dispatcher/desk.ts";
import { cardOfWait } from "../waitCard.ts";
import { runIdIn, type Handler } from "./asked.ts";
import { parsed } from "#wire/parse.ts";

interface Standing {
  /** Threads in which a run lives. */
  readonly busy: ReadonlySet<string>;
  /** Each queued ask's place in its repository's queue. */
  readonly places: ReadonlyMap<string, number>;
}

function standingOf(entries: readonly EntryLine[]): Standing {
  const [places, counts] = [new Map<string, number>(), new Map<string, number>()];
  for (const { ask } of entries.filter(({ state }) => state === "queued")) {
    const place = (counts.get(ask.resource) ?? 0) + 1;
    counts.set(ask.resource, place);
    places.set(ask.id, place);
  }
  const live = entries.filter(({ state }) => state !== "queued");
  return { busy: new Set(live.map(({ ask }) => ask.threadKey)), places };
}

/** The card of an entry as it stands now. */
function liveCard(desk: Desk, entry: EntryLine, { busy, places }: Standing): CardEvent {
  const { id, resource, threadKey } = entry.ask;
  if (entry.state !== "queued") return desk.cards.last(id) ?? cardOfEntry(entry);
  const behind = busy.has(threadKey) ? "thread" : "queue";
  return cardOfWait(desk, entry, { closed: desk.doors.closed(resource), behind, position: places.get(id) ?? 1 });
}

function liveRow({ parts }: Desk, entry: EntryLine, card: CardEvent): AskRow {
  const now = parts.clock.now();
  const { id, resource, threadKey, kind, by, channel, text } = entry.ask;
  const { askedAt, admittedAt, tries } = entry;
  const shown = { id, resource, threadKey, kind, by, channel, text: parts.secrets.mask(text) };
  return { ...shown, askedAt, admittedAt, tries, card, says: cardWords(card, now) };
}

function endedRow({ parts }: Desk, row: EndedRow): AskRow {
  const now = parts.clock.now();
  const { n: _, endedAt, verdict, leftId: __, ...shown } = row;
  const plain = { bound: null, cause: null, position: null, quietBy: null, waitedMs: null, by: null, reason: null };
  const { id, resource, threadKey, askedAt } = row;
  const card: CardEvent = { ...plain, id, resource, threadKey, askedAt, state: "ended", since: endedAt, verdict };
  return { ...shown, text: parts.secrets.mask(row.text), card, says: cardWords(card, now) };
}

/** `GET /runs`. */
export const runs: Handler = async ({ front, given }) => {
  const { desk } = front;
  const { before, limit, resource } = parsed(runsQuerySchema, given);
  const query = { limit, ...(before === undefined ? {} : { before }), ...(resource === undefined ? {} : { resource }) };
  const [{ entries, unreadable }, { runs: ended, next }] = await Promise.all([
    desk.steady.once((ledger) => ledger.look()),
    desk.steady.once((ledger) => ledger.history(query)),
  ]);
  const now = desk.parts.clock.now();
  const standing = standingOf(entries);
  const shown = before === undefined ? entries : [];
  const live = shown.filter(({ ask }) => resource === undefined || ask.resource === resource);
  const list: RunList = {
    now,
    live: live.map((entry) => liveRow(desk, entry, liveCard(desk, entry, standing))),
    unreadable,
    ended: ended.map((row) => endedRow(desk, row)),
    next,
  };
  return Response.json(list);
};

/** One run's card: as it ended, as it was told last, or as it stands. */
export function cardOfRun(desk: Desk, { entry, position, ended, card }: LedgerRun): CardEvent {
  if (ended !== null) {
    const plain = cardOfEntry(entry);
    const waitedMs = card?.waitedMs ?? null;
    return { ...plain, state: "ended", since: ended.endedAt, bound: null, waitedMs, verdict: ended.verdict };
  }
  if (entry.state !== "queued") return card ?? desk.cards.last(entry.ask.id) ?? cardOfEntry(entry);
  const behind = desk.told.get(entry.ask.id)?.behind ?? "queue";
  return cardOfWait(desk, entry, { closed: desk.doors.closed(entry.ask.resource), behind, position });
}

/** Whether a message has reached the run, or is a part of its ask. */
const hasReached = ({ seq, kind }: Entry["messages"][number], delivered: number): boolean =>
  seq <= delivered && kind !== "followUp";

/** `GET /runs/:id`. */
export const run: Handler = async (asked) => {
  const { desk } = asked.front;
  const id = runIdIn(asked);
  const known = await desk.steady.once((ledger) => ledger.run(id));
  const { entry, ended, notes, output } = known;
  const { text, ref, parent, ...ask } = entry.ask;
  const { askedAt, admittedAt, leaseUntil, tries, delivered } = entry;
  const { secrets } = desk.parts;
  const now = desk.parts.clock.now();
  const card = cardOfRun(desk, known);
  const endedAt = ended?.endedAt ?? null;
  const detail: RunDetail = {
    now,
    id: ask.id,
    resource: ask.resource,
    threadKey: ask.threadKey,
    kind: ask.kind,
    by: ask.by,
    channel: ask.channel,
    text: secrets.mask(text),
    ref,
    parent,
    askedAt,
    admittedAt,
    leaseUntil,
    endedAt,
    ranMs: admittedAt === null ? null : Math.max(0, (endedAt ?? now) - admittedAt),
    tries,
    card,
    says: cardWords(card, now),
    messages: entry.messages.map((message) => ({
      ...message,
      text: secrets.mask(message.text),
      reached: hasReached(message, delivered),
    })),
    notes,
    output,
    writeUp: ended?.writeUp ?? null,
    leftId: ended?.leftId ?? null,
  };
  return Response.json(detail);
};
