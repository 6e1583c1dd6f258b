// How much an ask is, and what was said to it: whatever is kept can be started. The kernel counts the bytes of an argument
// and the fleet those of a JSON body, so a text is counted as JSON, where it is never shorter than as an argument.

import type { Entry } from "./ask.ts";
import { LIMIT } from "./budgets.ts";

/** A line's end, between one text and the next. */
const NEWLINE_BYTES = 2;

function bytesOfCharacter(character: string): number {
  if (character.length > 1) return 4;
  const unit = character.charCodeAt(0);
  if (unit < 0x20) return "\b\t\n\f\r".includes(character) ? 2 : 6;
  if (character === '"' || character === "\\") return 2;
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  return unit >= 0xd800 && unit <= 0xdfff ? 6 : 3;
}

/** The bytes of a text inside a JSON body: its UTF-8, with a backslash where JSON puts one. */
export function bytesOf(text: string): number {
  let bytes = 0;
  for (const character of text) bytes += bytesOfCharacter(character);
  return bytes;
}

/** What an entry holds; of its ask and of all that was said to it, which may become an ask, whichever is more. */
export interface Size {
  readonly chars: number;
  readonly bytes: number;
  readonly messages: number;
}

/** The size of an entry. */
export function sizeOf({ ask, messages }: Pick<Entry, "ask" | "messages">): Size {
  const said = messages.reduce((sum, { text }) => sum + bytesOf(text) + NEWLINE_BYTES, -NEWLINE_BYTES);
  const chars = messages.reduce((sum, { text }) => sum + text.length, 0);
  return {
    chars: Math.max(ask.text.length, chars),
    bytes: Math.max(bytesOf(ask.text), said),
    messages: messages.length,
  };
}

/** Whether an entry of this size is kept: its ask is one argument of a command, and what is left of its messages one ask. */
export function hasRoom({ chars, bytes, messages }: Size): boolean {
  return chars <= LIMIT.joinedChars && bytes <= LIMIT.joinedBytes && messages <= LIMIT.messages;
}

/** There is no room: in an ask or a run for one more text, or in the ledger for anything more. */
export type Full =
  | { readonly kind: "full"; readonly of: "entry"; readonly size: Size }
  | { readonly kind: "full"; readonly of: "ledger" };

/** The characters that an entry keeps in memory. */
const keptChars = ({ ask, messages }: Entry): number =>
  messages.reduce((sum, { text }) => sum + text.length, ask.text.length);

/** What keeps an entry from being kept, as it would be, in place of its like among these; undefined for nothing. */
export function fullBy(entry: Entry, entries: readonly Entry[]): Full | undefined {
  const size = sizeOf(entry);
  if (!hasRoom(size)) return { kind: "full", of: "entry", size };
  const others = entries.filter(({ ask }) => ask.id !== entry.ask.id);
  const chars = others.reduce((sum, other) => sum + keptChars(other), keptChars(entry));
  const isKept = others.length < LIMIT.ledgerEntries && chars <= LIMIT.ledgerChars;
  return isKept ? undefined : { kind: "full", of: "ledger" };
}
