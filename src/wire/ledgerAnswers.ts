// What a step over the ledger's store found, as it is answered. Which problem a refusal is, and what an answer shows of
// the store, is picked here, for every filling of the ledger's port.

import type { Entry, SeenEntry, Verdict } from "#core/ask.ts";
import type { Full } from "#core/askSize.ts";
import { LIMIT } from "#core/budgets.ts";
import type { CardEvent } from "#core/card.ts";
import {
  entryOf,
  isFenced,
  positionOf,
  type AskFound,
  type LedgerStore,
  type MessageFound,
  type ReturnFound,
} from "#core/ledger.ts";
import { decideAppend, keptOf } from "#core/keptOutput.ts";
import type { Instant } from "#core/time.ts";
import { raise } from "./errors.ts";
import type { EndedRow, KeptOutput, LedgerAskAnswer, LedgerMessageAnswer, ReturnAnswer } from "./ledger.ts";

/** Refuses what a bot writes that is not the newest. */
export function refuseFenced(store: LedgerStore, generation: number): void {
  if (isFenced(store, generation))
    raise("FENCED", `generation ${generation} writes nothing: the newest is ${store.generation}`);
}

/** Refuses what is said of a run by a bot that does not hold it. */
export function refuseUnheld(store: LedgerStore, id: string): never {
  const entry = entryOf(store, id);
  if (entry === undefined) return raise("NO_SUCH_RUN", id);
  const how = entry.state === "queued" ? "is queued" : `is ${entry.state} under generation ${entry.holder}`;
  return raise("RUN_NOT_HELD", `${id} ${how}`);
}

/** Refuses one text more, and says how much there would be with it, or how much is kept of all that has not ended. */
function refuseMore(what: string, full: Full): never {
  const most = `${LIMIT.ledgerEntries} asks and runs that have not ended, and ${LIMIT.ledgerChars} characters of theirs`;
  if (full.of === "ledger") return raise("LEDGER_FULL", `it keeps ${most}`);
  const { chars, bytes, messages } = full.size;
  const limits = `${LIMIT.joinedBytes} bytes, ${LIMIT.joinedChars} characters, ${LIMIT.messages} messages`;
  const detail = `text: with it ${what} would have ${bytes} bytes, ${chars} characters, ${messages} messages; it takes ${limits}`;
  return raise("TOO_LARGE", detail, { field: "text" });
}

/** The answer to what was asked before, by an ask that has ended. */
export const knownOf = (id: string, now: Instant): LedgerAskAnswer => ({
  now,
  kind: "known",
  id,
  entry: null,
  position: 0,
});

/** The answer to an ask, over the store that its step left; refuses one that finds no room. */
export function askAnswerOf(store: LedgerStore, found: AskFound, now: Instant): LedgerAskAnswer {
  switch (found.kind) {
    case "known": {
      const entry = entryOf(store, found.id) ?? null;
      return { now, kind: "known", id: found.id, entry, position: positionOf(store, found.id) };
    }
    case "full":
      return refuseMore("the ask that waits in this thread", found);
    case "fenced":
      return raise("FENCED", `the newest generation is ${store.generation}`);
    case "admitted":
    case "queued":
    case "added":
      return { now, ...found };
  }
}

/** The answer to a run that came back from a closed door, over the store that its step left. */
export function returnAnswerOf(store: LedgerStore, { kind, entry }: ReturnFound, now: Instant): ReturnAnswer {
  return { now, kind, entry, position: positionOf(store, entry.ask.id) };
}

/** What a step that found nothing to send back means: it was done before, or is not this bot's to do. */
export function returnedBefore(store: LedgerStore, id: string, ended: Entry | undefined): ReturnFound {
  const entry = entryOf(store, id);
  if (entry?.state === "queued") return { kind: "queued", entry };
  if (entry === undefined && ended !== undefined) return { kind: "ended", entry: ended };
  return refuseUnheld(store, id);
}

/** How a run ended, as the history keeps it. */
export interface RunEnd {
  readonly verdict: Verdict;
  readonly leftId: string | null;
  readonly writeUp: string;
}

/** The end of an ask that was stopped before it ran. */
export const STOPPED_WAITING: RunEnd = {
  verdict: { ending: "stopped", exit: null, by: null, why: "stopped before it ran" },
  leftId: null,
  writeUp: "",
};

/** Refuses an id for what is left of a run that is somebody's already: it would take that one's place. */
export function refuseTaken(isTaken: boolean, leftId: string): void {
  if (isTaken) raise("BAD_FIELD", `leftId: ${leftId} is another ask's`, { field: "leftId" });
}

/** Refuses a message count beyond what was ever said: what comes later would never be told. */
export function refuseUnsaid(store: LedgerStore, delivered: number | undefined): void {
  if (delivered !== undefined && delivered >= store.nextSeq)
    raise("BAD_FIELD", `delivered: the last message is ${store.nextSeq - 1}`, { field: "delivered" });
}

/** Refuses to read from behind the end of what there is. */
export function refuseBeyond(length: number, from: number): void {
  if (from > length) raise("BAD_FIELD", `from: there are ${length} bytes so far`, { field: "from" });
}

/** The answer to a message; refuses one that finds no room. */
export function messageAnswerOf(found: MessageFound, now: Instant): LedgerMessageAnswer {
  if (found.kind === "full") return refuseMore("the run", found);
  return { now, kind: found.kind, entry: found.kind === "over" ? null : found.entry };
}

/** How much there is of a stream of this length. */
export function keptOutputOf(length: number): KeptOutput {
  return { length, truncated: keptOf(length).cut };
}

/** What is new of an append, null for nothing; refuses one that would leave a gap, with the length that there is. */
export function appendOf(
  length: number,
  offset: number,
  size: number,
): { readonly skip: number; readonly length: number } | null {
  const found = decideAppend(length, offset, size);
  if (found.kind === "gap")
    return raise("OUTPUT_GAP", `${offset} is behind the ${length} bytes that there are`, { length });
  return found.kind === "append" ? found : null;
}

/** Whether a card says what the one before it said: then nothing has changed. */
export function isSameCard(before: CardEvent, event: CardEvent): boolean {
  return JSON.stringify(before) === JSON.stringify(event);
}

/** An entry as one line. */
export function lineOf({ ask, messages, ...entry }: Entry): SeenEntry {
  const { id, threadKey, resource, kind, text, by, channel, parent } = ask;
  const { askedAt, place, state, holder, heldUntil, admittedAt, leaseUntil, tries, reading, delivered, toldOf } = entry;
  const shown = { id, threadKey, resource, kind, text: text.slice(0, LIMIT.shownChars), by, channel, parent };
  const line = { askedAt, place, state, holder, heldUntil, admittedAt, leaseUntil, tries, reading, delivered, toldOf };
  return { ...line, ask: shown, said: messages.length };
}

/** An ended run as a list shows it. */
export function endedRowOf(entry: Entry, end: Pick<EndedRow, "n" | "endedAt" | "verdict" | "leftId">): EndedRow {
  const { id, resource, threadKey, kind, by, channel, text } = entry.ask;
  const { askedAt, admittedAt, tries } = entry;
  const shown = { id, resource, threadKey, kind, by, channel, text: text.slice(0, LIMIT.shownChars) };
  return { ...end, ...shown, askedAt, admittedAt, tries };
}
