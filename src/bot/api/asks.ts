// `POST /asks`, and what is said to a run: whoever asks is answered at once, with the words that a person reads.

import type { Entry } from "#core/ask.ts";
import { answerWords, type CardCause, type CardEvent } from "#core/card.ts";
import { askBodySchema, messageBodySchema, stopBodySchema, type AskAnswer } from "#wire/bot.ts";
import { raise } from "#wire/errors.ts";
import { idSchema } from "#wire/names.ts";
import { cardOfEntry, endedCard, queuedCard } from "../cards.ts";
import type { Admission } from "../dispatcher/admission.ts";
import type { Desk } from "../dispatcher/desk.ts";
import { ask } from "../dispatcher/pipeline.ts";
import { say } from "../messages.ts";
import type { Asked, Handler } from "./asked.ts";
import { parsed } from "./body.ts";

/** A bot that ends takes nothing more: whoever asks again in a moment is answered by the next one. */
function refuseWhileEnding({ front }: Asked): void {
  if (front.isEnding()) raise("ROLLING", "the bot is being replaced: ask again in a few seconds");
}

/** The card of an ask that has not ended: as it was told last, or as it stands. */
function cardNow(desk: Desk, entry: Entry, { closed }: Pick<Admission, "closed">, position: number): CardEvent {
  if (entry.state !== "queued") return desk.cards.last(entry.ask.id) ?? cardOfEntry(entry);
  const behind = desk.told.get(entry.ask.id)?.behind === "thread" ? "thread" : "queue";
  const quietBy = closed === null ? null : desk.doors.quietBy(closed);
  return queuedCard(entry, { closed, quietBy, behind, position });
}

/** The card of an ask that has ended: the same key was asked before. */
async function cardOfEnded(desk: Desk, id: string): Promise<CardEvent> {
  const { entry, ended, card } = await desk.steady.once((ledger) => ledger.run(id));
  if (ended === null) return cardOfEntry(entry);
  return endedCard(entry, card ?? undefined, { verdict: ended.verdict, at: ended.endedAt });
}

/** What it waits for: its thread, its door, or who came before it. */
function causesOf({ answer, closed }: Admission, card: CardEvent): CardCause[] {
  if (card.state !== "queued") return [];
  const door = closed === null ? [] : [closed.cause];
  if (answer.kind === "queued" && answer.behind === "thread") return ["thread", ...door];
  if (door.length > 0) return door;
  return card.cause === null ? [] : [card.cause];
}

async function answerOf(desk: Desk, admitted: Admission): Promise<AskAnswer> {
  const { answer, closed } = admitted;
  const now = desk.parts.clock.now();
  const entry = answer.entry;
  const position = "position" in answer ? answer.position : 0;
  const id = answer.kind === "known" ? answer.id : answer.entry.ask.id;
  const card = entry === null ? await cardOfEnded(desk, id) : cardNow(desk, entry, { closed }, position);
  return {
    now,
    id,
    kind: answer.kind,
    threadKey: card.threadKey,
    position: position === 0 ? null : position,
    waitingFor: causesOf(admitted, card),
    until: card.bound,
    card,
    says: answerWords(card, now),
  };
}

/** `POST /asks`. */
export const asks: Handler = async (asked) => {
  refuseWhileEnding(asked);
  const { desk } = asked.front;
  const body = parsed(askBodySchema, asked.given);
  const admitted = await ask(desk, body);
  const { answer } = admitted;
  const { queue } = asked.front;
  if (answer.entry?.state === "queued")
    queue.waits.answered(answer.entry, answer.kind === "queued" ? answer.behind : "queue");
  // Its door may have opened meanwhile, or the answer that let it in was lost.
  if (answer.kind !== "admitted") queue.poke();
  return Response.json(await answerOf(desk, admitted));
};

const idOf = ({ id }: Asked): string => parsed(idSchema, id);

/** `POST /runs/:id/steer`. */
export const steer: Handler = async (asked) => {
  const { front, given } = asked;
  const id = idOf(asked);
  const { now, kind } = await say(front.desk, front.queue, { id, ...parsed(messageBodySchema, given) });
  return Response.json({ now, id, kind });
};

/** `POST /runs/:id/stop`. */
export const stop: Handler = async (asked) => {
  const { front, given } = asked;
  const id = idOf(asked);
  const { key } = parsed(stopBodySchema, given);
  const { now, kind } = await say(front.desk, front.queue, { id, key, kind: "stop", text: "" });
  return Response.json({ now, id, kind });
};
