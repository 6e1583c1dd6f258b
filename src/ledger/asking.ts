// Asks: admitted with their run's row, or queued, each under a key that is known for as long as the history is kept.

import { askStep, dispatchStep, messageStep, returnStep, entryOf, generationStep } from "#core/ledger.ts";
import { raise } from "#wire/errors.ts";
import type {
  DispatchAnswer,
  DispatchBody,
  GenerationAnswer,
  LedgerAskAnswer,
  LedgerAskBody,
  LedgerMessageAnswer,
  LedgerMessageBody,
  ReturnAnswer,
  ReturnBody,
} from "#wire/ledger.ts";
import {
  askAnswerOf,
  knownOf,
  messageAnswerOf,
  returnAnswerOf,
  returnedBefore,
  STOPPED_WAITING,
} from "#wire/ledgerAnswers.ts";
import { botStep, bury, refuseUnreadable, type Ledger } from "./ledgerParts.ts";

/** A bot begins. */
export function begin(ledger: Ledger, by: string): GenerationAnswer {
  const generation = ledger.entries.step(generationStep);
  ledger.root.log("info", "a bot begins", { by, botGeneration: generation });
  return { now: ledger.root.now(), generation };
}

/** One ask (protocol.md, "The bot's door"). */
export function ask(ledger: Ledger, { ask: asked, doors }: LedgerAskBody): LedgerAskAnswer {
  return botStep(ledger, doors.generation, (store, now) => {
    const ended = ledger.history.byKey(asked.key) ?? (ledger.history.has(asked.id) ? asked.id : undefined);
    if (ended !== undefined) return { store, found: knownOf(ended, now) };
    const step = askStep(store, asked, doors, now);
    return { store: step.store, found: askAnswerOf(step.store, step.found, now) };
  });
}

/** The next of a repository's queue. */
export function dispatch(ledger: Ledger, { resource, doors }: DispatchBody): DispatchAnswer {
  return botStep(ledger, doors.generation, (store, now) => {
    const step = dispatchStep(store, resource, doors, now);
    return { store: step.store, found: { now, entry: step.found } };
  });
}

/** A run that met a closed door waits again. */
export function giveBack(ledger: Ledger, { id, generation, closedBy = null }: ReturnBody): ReturnAnswer {
  return botStep(ledger, generation, (store, now) => {
    refuseUnreadable(ledger, id);
    const step = returnStep(store, id, generation, closedBy);
    if (step.found?.kind === "ended") bury(ledger, step.found.entry, STOPPED_WAITING, now);
    const found = step.found ?? returnedBefore(store, id, ledger.history.of(id)?.entry);
    return { store: step.store, found: returnAnswerOf(step.store, found, now) };
  });
}

/** Something is said to a run in flight, or to an ask that waits. */
export function say(ledger: Ledger, { id, generation, ...said }: LedgerMessageBody): LedgerMessageAnswer {
  return botStep(ledger, generation, (store, now) => {
    refuseUnreadable(ledger, id);
    if (entryOf(store, id) === undefined) {
      if (!ledger.history.has(id)) raise("NO_SUCH_RUN", id);
      const kind = ledger.history.byKey(said.key) === id ? "known" : "over";
      return { store, found: { now, kind, entry: null } };
    }
    const step = messageStep(store, id, said, now);
    if (step.found.kind === "ended") bury(ledger, step.found.entry, STOPPED_WAITING, now);
    return { store: step.store, found: messageAnswerOf(step.found, now) };
  });
}
