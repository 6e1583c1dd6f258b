// What a bot is before anything and after everything.

import { NO_DOORS, type Bot } from "./parts.ts";

/** A bot that is not there yet. */
export const ABSENT: Bot = {
  mode: "absent",
  stalled: false,
  silentMs: 0,
  doors: NO_DOORS,
  pump: { at: "idle" },
  again: false,
  owes: false,
  beat: false,
  letGo: false,
  asks: [],
  says: [],
  runs: [],
  told: [],
  touched: [],
  left: [],
  last: [],
  words: [],
  pending: [],
};

/** A bot that has ended, however: it knows nothing any more. */
export const OVER: Bot = { ...ABSENT, mode: "over" };

/** Whether it answers the API and works on its queue. */
export const isServing = ({ mode, stalled }: Bot): boolean => mode === "live" && !stalled;

/** Whether anything of it is under way. */
export const isIdle = ({ pump, again, owes, beat, asks, says, words, pending, runs }: Bot): boolean =>
  pump.at === "idle" &&
  !again &&
  !owes &&
  !beat &&
  asks.length + says.length + words.length + pending.length === 0 &&
  runs.every(({ at, delivery }) => at === "work" && delivery === null);
