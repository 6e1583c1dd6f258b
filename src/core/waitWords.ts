// The words of a wait, one for each thing that is waited for: whoever shows one calls this, and writes none of its own.

import { minutesLeft, SECOND, type Instant, type Ms } from "./time.ts";

const WORDS = {
  deploy: "waiting for the deploy to finish",
  drain: "waiting for the fleet to reopen",
  thread: "waiting for the run of this thread to end",
  queue: "waiting for its turn",
  resident: "waiting for the container to come back",
  /** Behind others at a resident's door. */
  line: "waiting for its turn at the resident",
  /** A fleet that does not answer. */
  fleet: "waiting for the fleet to answer",
} as const;

/** What is waited for. */
export type WaitedFor = keyof typeof WORDS;

/** The line of a wait, with the minutes to when it is expected to end where somebody can say: `waiting for … · 12 min`. */
export function waitWords(waitedFor: WaitedFor, expected: Instant | null, now: Instant): string {
  const left = expected === null ? "" : ` · ${minutesLeft(expected, now)} min`;
  return `${WORDS[waitedFor]}${left}`;
}

/** What a wait was for once it is over: whatever kept the resident, or others of the bot's own queue. */
const WAITED = { resident: "the resident", thread: "the run of its thread", queue: "its turn" } as const;

/** The opening line of a run that waited so long for its workspace: `after waiting 1410s for the resident`. */
export function waitedWords(waitedMs: Ms, waitedFor: keyof typeof WAITED = "resident"): string {
  return `after waiting ${Math.floor(waitedMs / SECOND)}s for ${WAITED[waitedFor]}`;
}
