// What is said to a run: it passes whatever is closed, as a row of the ledger first, and then on its way to the run if that
// is in hand here. A stop of an ask that waits takes it out of the queue.

import type { MessageKind } from "#core/ask.ts";
import type { LedgerMessageAnswer } from "#wire/ledger.ts";
import { STOPPED_WAITING } from "#wire/ledgerAnswers.ts";
import { endedCard } from "./cards.ts";
import type { Desk } from "./dispatcher/desk.ts";
import { noteDrainWait } from "./dispatcher/pipeline.ts";
import type { Queue } from "./queue.ts";

/** One message of one run. */
export interface Said {
  readonly id: string;
  readonly key: string;
  readonly kind: MessageKind;
  readonly text: string;
}

/** Says it; the answer is the ledger's. */
export async function say(desk: Desk, queue: Queue, { id, key, kind, text }: Said): Promise<LedgerMessageAnswer> {
  const { steady, number, runs, cards } = desk;
  const answer = await steady.once((ledger) => ledger.say({ id, generation: number, key, kind, text }));
  if (answer.entry === null) {
    // It is over, perhaps by this very message, whose first answer was lost: a look tells its card so.
    queue.poke();
    return answer;
  }
  if (answer.kind === "ended") {
    const { verdict } = STOPPED_WAITING;
    noteDrainWait(desk, answer.entry, answer.now);
    cards.tell(endedCard(answer.entry, cards.last(id), { verdict, at: answer.now }));
    queue.poke();
  }
  const run = runs.get(id);
  if (run !== undefined) run.learn(answer.entry);
  else if (answer.kind === "taken") queue.poke();
  return answer;
}
