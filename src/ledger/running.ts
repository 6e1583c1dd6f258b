// Runs: what their bot says of them while it holds them, how they go from one bot to the next, and their end.

import type { Scope } from "#core/scopes.ts";
import {
  endRunStep,
  entryOf,
  handOffStep,
  heartbeatStep,
  progressStep,
  reclaimStep,
  toldStep,
  withoutEntry,
  type LedgerStore,
} from "#core/ledger.ts";
import { raise } from "#wire/errors.ts";
import type {
  CardAnswer,
  CardBody,
  Done,
  EndAnswer,
  EndBody,
  EntryAnswer,
  HeldAnswer,
  NoteBody,
  OutputAnswer,
  OutputBody,
  ProgressBody,
  ReclaimAnswer,
  ToldBody,
} from "#wire/ledger.ts";
import type { Word, WordsAnswer, WordsBody } from "#wire/ledgerWords.ts";
import { appendOf, keptOutputOf, refuseFenced, refuseTaken, refuseUnheld, refuseUnsaid } from "#wire/ledgerAnswers.ts";
import { answered, botStep, bury, refuseUnreadable, type Ledger } from "./ledgerParts.ts";

/** Notes how far a run is. */
export function progress(ledger: Ledger, { id, generation, ...said }: ProgressBody): EntryAnswer {
  return botStep(ledger, generation, (store, now) => {
    refuseUnreadable(ledger, id);
    refuseUnsaid(store, said.delivered);
    const { store: moved, found } = progressStep(store, id, generation, said);
    return { store: moved, found: { now, entry: found ?? refuseUnheld(store, id) } };
  });
}

/** Appends to a run's output, and notes how far its process was read in the same step. */
export function output(ledger: Ledger, body: OutputBody): OutputAnswer {
  const { id, generation, stream, offset, data, reading } = body;
  const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
  return botStep(ledger, generation, (store, now) => {
    refuseUnreadable(ledger, id);
    const { store: moved, found } = progressStep(store, id, generation, reading === undefined ? {} : { reading });
    if (found === null) return refuseUnheld(store, id);
    const length = ledger.outputs.length({ id, stream });
    const append = appendOf(length, offset, bytes.length);
    if (append !== null) ledger.outputs.append({ id, stream }, bytes.subarray(append.skip));
    return { store: moved, found: { now, ...keptOutputOf(append?.length ?? length) } };
  });
}

/** A bot lives. */
export function heartbeat(ledger: Ledger, generation: number): HeldAnswer {
  return botStep(ledger, generation, (store, now) => {
    const { store: held, found } = heartbeatStep(store, generation, now);
    return { store: held, found: { now, ids: [...found] } };
  });
}

/** A bot ends and leaves its runs to the next one, or hands off in the name of those since that number, which have ended. */
export function handOff(ledger: Ledger, generation: number, since?: number): HeldAnswer {
  const answer = botStep(ledger, generation, (store, now) => {
    const { store: left, found } = handOffStep(store, generation, since);
    return { store: left, found: { now, ids: [...found] } };
  });
  ledger.root.log("info", "a bot hands off", { botGeneration: generation, runs: answer.ids.length });
  return answer;
}

/** A bot takes what is free. */
export function reclaim(ledger: Ledger, generation: number): ReclaimAnswer {
  const answer = botStep(ledger, generation, (store, now) => {
    const { store: taken, found } = reclaimStep(store, generation, now);
    return { store: taken, found: { now, entries: [...found] } };
  });
  const runs = answer.entries.map((entry) => entry.ask.id);
  if (runs.length > 0) ledger.root.log("info", "a bot reclaims", { botGeneration: generation, runs });
  return answer;
}

/** An entry that cannot be read is ended by an admin alone, with whatever can be said of it. */
function endUnreadable(ledger: Ledger, { id, verdict, writeUp }: EndBody, scope: Scope): EndAnswer {
  if (scope !== "admin") refuseUnreadable(ledger, id);
  const now = ledger.root.now();
  ledger.entries.step((store) => {
    const entry = entryOf(store, id);
    // One whose id an ended run has too leaves that one's end as it is.
    if (entry !== undefined && !ledger.history.has(id)) bury(ledger, entry, { verdict, leftId: null, writeUp }, now);
    return { store: withoutEntry(store, id), found: null };
  });
  ledger.root.log("warn", "an entry that cannot be read was ended by an admin", { id });
  return { now, kind: "ended", left: null };
}

/** A run has ended. */
export function end(ledger: Ledger, body: EndBody, scope: Scope): EndAnswer {
  const { id, generation, verdict, leftId, writeUp } = body;
  if (ledger.entries.unreadable().includes(id)) return endUnreadable(ledger, body, scope);
  return botStep(ledger, generation, (store, now): { store: typeof store; found: EndAnswer } => {
    if (ledger.history.has(id)) return { store, found: { now, kind: "already", left: null } };
    refuseTaken(entryOf(store, leftId) !== undefined || ledger.history.has(leftId), leftId);
    const { store: rest, found } = endRunStep(store, id, { generation, leftId }, now);
    if (found === null) return refuseUnheld(store, id);
    // How it ended was noted before anything of it was given back, and stands.
    const how = found.entry.verdict ?? verdict;
    bury(ledger, found.entry, { verdict: how, writeUp, leftId: found.left?.ask.id ?? null }, now);
    return { store: rest, found: { now, kind: "ended", left: found.left } };
  });
}

function refuseUnknown(ledger: Ledger, store: LedgerStore, id: string): void {
  if (entryOf(store, id) === undefined && !ledger.history.has(id)) raise("NO_SUCH_RUN", id);
}

/** A remark on a run, live or ended. */
export function note(ledger: Ledger, { generation, ...said }: NoteBody): Done {
  return botStep(ledger, generation, (store, now) => {
    refuseUnknown(ledger, store, said.id);
    ledger.history.note(said, now);
    return { store, found: { now } };
  });
}

/** The card of an ask changes, live or ended. What comes late, behind its end, changes nothing: the end stays its newest. */
export function card(ledger: Ledger, { id, generation, event }: CardBody): CardAnswer {
  return botStep(ledger, generation, (store, now) => {
    refuseUnknown(ledger, store, id);
    const isOver = entryOf(store, id) === undefined;
    if (isOver && event.state !== "ended") return { store, found: { now, n: ledger.cards.newest(id) } };
    if (isOver) ledger.history.told(id);
    return { store, found: { now, n: ledger.cards.add(event, now) } };
  });
}

/** What an ask waits for was told to it under this drain; one that has ended meanwhile is told nothing any more. */
export function told(ledger: Ledger, { id, generation, drainId }: ToldBody): Done {
  return botStep(ledger, generation, (store, now) => {
    refuseUnreadable(ledger, id);
    refuseUnknown(ledger, store, id);
    return { store: toldStep(store, id, drainId), found: { now } };
  });
}

function word(ledger: Ledger, generation: number, said: Word): void {
  switch (said.word) {
    case "card":
      return void card(ledger, { id: said.event.id, generation, event: said.event });
    case "note":
      return void note(ledger, { ...said, generation });
    case "told":
      return void told(ledger, { ...said, generation });
  }
}

/** Many words at once: what one is refused with says nothing of the others, and what was heard before is heard no more. */
export function words(ledger: Ledger, { generation, first, words: all }: WordsBody): WordsAnswer {
  refuseFenced(ledger.entries.now(), generation);
  const known = ledger.heard.upTo(generation);
  const refused = all.flatMap((said, at) => {
    if (first + at <= known) return [];
    const heard = answered(ledger, () => word(ledger, generation, said));
    return heard.ok ? [] : [{ at, problem: heard.error }];
  });
  ledger.heard.hear(generation, Math.max(known, first + all.length - 1));
  return { now: ledger.root.now(), refused };
}
