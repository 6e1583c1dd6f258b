// What every stage of the dispatcher works with: one value, made once a bot.

import { LIMIT } from "#core/budgets.ts";
import type { Cards } from "../cards.ts";
import type { Doors } from "../doors.ts";
import type { Outbox } from "../outbox.ts";
import type { BotParts } from "../parts.ts";
import type { Runs } from "../runs.ts";
import type { Steady } from "../steady.ts";
import type { Wakes } from "../wakes.ts";
import type { Repositories } from "./repositories.ts";

/** What a queued ask was told: a drain in one of its two ways to end, or else its thread or its turn. */
export interface Told {
  readonly key: string;
  readonly drainId: string | null;
  readonly behind: "thread" | "queue";
}

export interface Desk {
  readonly parts: BotParts;
  /** The bot's number in the ledger: the fencing token of all that it writes, and its generation at the fleet. */
  readonly number: number;
  readonly steady: Steady;
  readonly outbox: Outbox;
  readonly doors: Doors;
  readonly runs: Runs;
  readonly cards: Cards;
  readonly wakes: Wakes;
  /** What each queued ask was told that it waits for. */
  readonly told: Map<string, Told>;
  readonly repositories: Repositories;
}

/** A remark on a run, told once whoever tells it again. */
export function note(
  desk: Desk,
  id: string,
  kind: string,
  said: { readonly text: string; readonly ms: number | null },
): void {
  const text = desk.parts.secrets.mask(said.text).slice(0, LIMIT.noteChars);
  desk.outbox.post({ word: "note", id, kind, text, ms: said.ms });
}
