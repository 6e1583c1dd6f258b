// `POST /asks`, and what is said to a run: whoever asks is answered at once, with the words that a person reads.

import type { Entry } from "#core/ask.ts";
import { answerWords, type CardCause, type CardEvent } from "#core/card.ts";
import { askBodySchema, messageBodySchema, stopBodySchema, type AskAnswer, type AskBody } from "#wire/bot.ts";
import { raise } from "#wire/errors.ts";
import { cardOfEntry, endedCard } from "../cards.ts";
import type { Admission } from "../dispatcher/admission.ts";
import type { Desk } from "../dispatcher/desk.ts";
import { ask } from "../dispatcher/pipeline.ts";
import { say } from "../messages.ts";
import { cardOfWait } from "../waitCard.ts";
import { runIdIn, type Asked, type Handler } from "./asked.ts";
import { parsed } from "#wire/parse.ts";

/** A bot that ends takes nothing more: whoever asks again in a moment is answered by the next one. */
function refuseWhileEnding({ front }: Asked): void {
  if (front.isEnding()) raise("ROLLING", "the bot is being replaced: ask again in a few seconds");
}

/** The card of an ask that has not ended: as it was told last, or as it stands. */
function cardNow(desk: Desk, entry: Entry, { closed }: Pick<Admission, "closed">, position: number): CardEvent {
  if (entry.state !== "queued") return desk.cards.last(entry.ask.id) ?? cardOfEntry(entry);
  return cardOfWait(desk, entry, { closed, behind: desk.told.get(entry.ask.id)?.behind ?? "queue", position });
}

/** An ask and its card. */
interface Carded {
  readonly entry: Entry;
  readonly card: CardEvent;
}

/** An ask that has ended: the same key was asked before. */
async function endedOne(desk: Desk, id: string): Promise<Carded> {
  const { entry, ended, card } = await desk.steady.once((ledger) => ledger.run(id));
  if (ended === null) return { entry, card: cardOfEntry(entry) };
  return { entry, card: endedCard(entry, card ?? undefined, { verdict: ended.verdict, at: ended.endedAt }) };
}

/** What it waits for: its thread, its door, or who came before it. */
function causesOf({ answer, closed }: Admission, card: CardEvent): CardCause[] {
  if (card.state !== "queued") return [];
  const door = closed === null ? [] : [closed.cause];
  if (answer.kind === "queued" && answer.behind === "thread") return ["thread", ...door];
  if (door.length > 0) return door;
  return card.cause === null ? [] : [card.cause];
}

/** Whether a key stands for another text than this one. What was added to an ask is a part of it, behind its own text. */
function hasOtherText({ ask, messages }: Entry, { key, text }: AskBody): boolean {
  if (ask.key === key) return ask.text !== text && !ask.text.startsWith(`${text}\n`);
  return messages.some((one) => one.key === key && one.text !== text);
}

/** What the run is, whatever the ask wants that was added to it or that has its key. */
const standingOf = ({ ask: { kind, ref, leaseMs, by } }: Entry): AskAnswer["run"] => ({ kind, ref, leaseMs, by });

async function answerOf(desk: Desk, body: AskBody, admitted: Admission): Promise<AskAnswer> {
  const { answer, closed } = admitted;
  const now = desk.parts.clock.now();
  const position = "position" in answer ? answer.position : 0;
  const id = answer.kind === "known" ? answer.id : answer.entry.ask.id;
  const { entry, card } =
    answer.entry === null
      ? await endedOne(desk, id)
      : { entry: answer.entry, card: cardNow(desk, answer.entry, { closed }, position) };
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
    run: standingOf(entry),
    otherText: answer.kind === "known" && hasOtherText(entry, body),
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
  return Response.json(await answerOf(desk, body, admitted));
};

/** `POST /runs/:id/steer`. */
export const steer: Handler = async (asked) => {
  const { front, given } = asked;
  const id = runIdIn(asked);
  const { now, kind } = await say(front.desk, front.queue, { id, ...parsed(messageBodySchema, given) });
  return Response.json({ now, id, kind });
};

/** `POST /runs/:id/stop`. */
export const stop: Handler = async (asked) => {
  const { front, given } = asked;
  const id = runIdIn(asked);
  const { key } = parsed(stopBodySchema, given);
  const { now, kind } = await say(front.desk, front.queue, { id, key, kind: "stop", text: "" });
  return Response.json({ now, id, kind });
};
