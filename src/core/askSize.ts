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
