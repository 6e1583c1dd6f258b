// What was said to a run, followed to where it came: into its inbox, into its own text, into the ask that is left of it, or
// behind a stop, which answers all that was said before. None is lost, none comes twice, and each in its order.

import type { Entry, Message } from "#core/ask.ts";
import { broken, type Broken } from "../world.ts";
import type { AtResident } from "./parts.ts";

const textsIn = (entry: Entry | null): readonly string[] => entry?.ask.text.split("\n") ?? [];

/** How often a message comes: in the text that the run was started with, in its inbox, in what is left of it. */
function comings(message: Message, entry: Entry, inbox: readonly number[], left: Entry | null): readonly string[] {
  const times = (texts: readonly string[]): number => texts.filter((text) => text === message.text).length;
  return [
    ...Array.from({ length: times(textsIn(entry)) }, () => "its ask"),
    ...inbox.filter((seq) => seq === message.seq).map(() => "its inbox"),
    ...Array.from({ length: times(textsIn(left)) }, () => "what is left of it"),
  ];
}

/** Whether these messages of a run come in the order in which they were said. */
function outOfOrder(messages: readonly Message[], inbox: readonly number[], left: Entry | null): boolean {
  const said = messages.map(({ text }) => text);
  const places = textsIn(left).map((text) => said.indexOf(text));
  const isSorted = (all: readonly number[]): boolean => all.every((one, n) => n === 0 || (all[n - 1] ?? 0) < one);
  return !isSorted(inbox) || !isSorted(places.filter((place) => place !== -1));
}

/** What is wrong with the end of a run: every message of it has come to exactly one place, or a stop has answered it. */
export function judgedEnd(entry: Entry, inbox: readonly number[], left: Entry | null): Broken | null {
  const { id } = entry.ask;
  const { messages } = entry;
  const lastStop = messages.findLastIndex(({ kind }) => kind === "stop");
  if (new Set(messages.map(({ key }) => key)).size < messages.length)
    return broken("twice", `${id} ends, and something was said to it twice under one key`);
  for (const [n, message] of messages.entries()) {
    if (message.kind === "stop") continue;
    const where = comings(message, entry, inbox, left);
    // What a bot had no time to tell of before it was gone may come as an ask too: nobody can say whether it was read.
    const isTold = message.seq <= entry.delivered || !inbox.includes(message.seq);
    if (where.length > 1 && isTold)
      return broken("twice", `"${message.key}" comes twice: to ${where.join(" and to ")} of ${id}`);
    if (where.length === 0 && n > lastStop)
      return broken("lost", `"${message.key}" was said to ${id} and comes nowhere`);
  }
  return outOfOrder(messages, inbox, left) ? broken("lost", `what was said to ${id} comes in another order`) : null;
}

/** A run at work finds in its inbox whatever it counts as told. */
export function judgedInbox(entry: Entry, { inbox, procs }: Pick<AtResident, "inbox" | "procs">): Broken | null {
  if (!procs.some(([, state]) => state === "alive")) return null;
  const isMissing = ({ seq, kind }: Message): boolean =>
    kind === "steer" && seq <= entry.delivered && !inbox.includes(seq);
  const missing = entry.messages.find(isMissing);
  if (missing === undefined) return null;
  return broken("lost", `"${missing.key}" counts as told to ${entry.ask.id} and is not in its inbox`);
}
