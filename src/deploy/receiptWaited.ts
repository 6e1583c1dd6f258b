// A receipt's waits: who met the fleet's closed door, by the registry, and who waited in the bot's queue behind it, by the bot.
// Whoever is in both is named once, with the bot's word, which counts from the ask.

import { LIMIT } from "#core/budgets.ts";
import type { Instant, Ms } from "#core/time.ts";
import type { QueuedAsk, QueuedUnder } from "#wire/bot.ts";
import type { AuditRow, Residents } from "#wire/fleet.ts";
import type { Receipt, ReceiptAsk } from "#wire/receipt.ts";

interface Wait {
  readonly resource: string;
  readonly since: Instant;
  readonly waitedMs: Ms | "unknown";
}

type OpenAt = (resource: string) => Instant | null;

const asksIn = ({ queued }: Receipt): readonly ReceiptAsk[] =>
  queued === null || queued === "unknown" ? [] : queued.asks;

/** Those at the fleet's door who are not named as asks of the bot's queue. */
function besides(waited: Receipt["waited"], asks: readonly ReceiptAsk[]): Receipt["waited"] {
  return waited === "unknown" ? waited : waited.filter((one) => !asks.some((ask) => ask.id === one.runId));
}

/** Who met the closed door so far; one that is listed stays, since it leaves the registry's list when it comes in. */
export function waitedIn(receipt: Receipt, { waiting }: Residents): Receipt {
  const before = receipt.waited === "unknown" ? [] : receipt.waited;
  const fresh = waiting.filter((one) => !before.some((listed) => listed.runId === one.runId));
  const all = [...before, ...fresh.map((one) => ({ ...one, waitedMs: "unknown" as const, gaveUp: false }))];
  return { ...receipt, waited: besides(all, asksIn(receipt)) };
}

function howOf({ leftAt, ended }: QueuedAsk): ReceiptAsk["how"] {
  if (leftAt === null) return "queued";
  return ended ? "ended" : "started";
}

/** One ask as the bot tells it. Asked before the deploy closed, it waited for something else until then. */
function askOf(told: QueuedAsk, known: ReceiptAsk | undefined, closedAt: Instant): ReceiptAsk {
  const { id, resource, threadKey, by, cause, askedAt, leftAt } = told;
  const since = known?.since ?? Math.max(askedAt, closedAt);
  const waitedMs = leftAt === null ? "unknown" : Math.max(0, leftAt - since);
  return { id, resource, threadKey, by, cause, askedAt, since, waitedMs, how: howOf(told) };
}

/** One that the bot named before and does not know any more: it left the queue, and nobody says how. */
const forgotten = (ask: ReceiptAsk): ReceiptAsk => (ask.how === "queued" ? { ...ask, how: "unknown" } : ask);

/** Who waits in the bot's queue. The last word counts, and whoever was named once stays: a bot's own word does not outlive it. */
export function noteQueued(receipt: Receipt, told: QueuedUnder | null): Receipt {
  const { queued } = receipt;
  if (told === null) return queued === null ? { ...receipt, queued: "unknown" } : receipt;
  const before = asksIn(receipt);
  const count = before.length + (queued === null || queued === "unknown" ? 0 : queued.more);
  const closedAt = receipt.closed?.since ?? 0;
  const named = told.asks.map((one) =>
    askOf(
      one,
      before.find(({ id }) => id === one.id),
      closedAt,
    ),
  );
  const isWhole = told.total === told.asks.length;
  const kept = before.filter(({ id }) => !named.some((one) => one.id === id));
  const all = [...kept.map((one) => (isWhole ? forgotten(one) : one)), ...named].toSorted(
    (a, b) => a.askedAt - b.askedAt,
  );
  const asks = all.slice(0, LIMIT.queuedNamed);
  const more = Math.max(count, told.total, all.length) - asks.length;
  return { ...receipt, queued: { asks, more }, waited: besides(receipt.waited, asks) };
}

const waitedTo = <T extends Wait>(one: T, openAt: OpenAt): T => {
  const at = one.waitedMs === "unknown" ? openAt(one.resource) : null;
  return at === null ? one : { ...one, waitedMs: Math.max(0, at - one.since) };
};

/** The door opens for all who are still there, but for those at a resident that is held: theirs opens with its hold's end. */
export function opened(receipt: Receipt, openAt: OpenAt): Receipt {
  const { waited, queued } = receipt;
  const door = waited === "unknown" ? waited : waited.map((one) => waitedTo(one, openAt));
  if (queued === null || queued === "unknown") return { ...receipt, waited: door };
  const asks = queued.asks.map((one) => (one.how === "queued" ? waitedTo(one, openAt) : one));
  return { ...receipt, waited: door, queued: { ...queued, asks } };
}

/** When each resident that was held opened. */
export function holdEndIn({ residents }: Receipt): OpenAt {
  const known = residents === "unknown" ? [] : residents;
  return (resource) => known.find((one) => one.resource === resource)?.holdEndedAt ?? null;
}

/** Those who left the fleet's door before, by the registry's log. */
export function gaveUpIn(receipt: Receipt, rows: readonly AuditRow[]): Receipt {
  if (receipt.waited === "unknown") return receipt;
  const waited = receipt.waited.map((one) => {
    const left = rows.find((row) => row.what === "gaveUp" && row.runId === one.runId);
    return left === undefined ? one : { ...one, waitedMs: left.at - one.since, gaveUp: true };
  });
  return { ...receipt, waited };
}
