// What one search about the bot is about: who asks, what is said to runs, who deploys, and which kinds of step may happen.
// A world leaves steps out to afford others.

import type { MessageKind } from "#core/ask.ts";

/** Somebody who asks. Asks of one thread contend for it; a child names the run that it is a part of. */
export interface Asker {
  readonly id: string;
  readonly cell: 0 | 1;
  readonly thread: string;
  readonly parent?: string;
  /** How often it asks, under one key and each time with another id. */
  readonly times?: 2;
  /** Its run does all its work in the instant in which it has its workspace, and leaves nothing there. */
  readonly brief?: boolean;
}

/** What somebody says to a run, or to an ask that waits. */
export interface Saying {
  readonly key: string;
  readonly to: string;
  readonly kind: MessageKind;
  /** How often it is said, under one key. */
  readonly times?: 2;
}

/** What a bot asks of the ledger, and of a resident. */
export type RequestKind =
  | "reclaim"
  | "ask"
  | "look"
  | "dispatch"
  | "return"
  | "begin"
  | "reached"
  | "verdict"
  | "end"
  | "say"
  | "word"
  | "handOff"
  | "attach";

/** The kinds of step that a world allows beside the ordinary ones. */
export interface BotAllowed {
  /** A bot is killed anywhere. */
  readonly kill: boolean;
  /** A bot is asked to end, by nobody's deploy: it waits for its runs, or hands them off at once. */
  readonly ends: "drain" | "handoff" | null;
  /** A bot stands still, with all that it was about, and goes on later. */
  readonly stall: boolean;
  /** How often the ledger's process is started anew. */
  readonly ledgerRestarts: number;
  /** Questions whose answer may be lost after they were carried out. */
  readonly lost: readonly RequestKind[];
  /** Answers of the ledger travel: other things happen between a step there and its answer here. */
  readonly slow: boolean;
  /** A look at the queue is taken before anything else happens; what happens in between is other worlds' to show. */
  readonly eager: boolean;
  /** The watch tells a change before anything else happens, likewise. */
  readonly prompt: boolean;
  /** Time passes, from one end to the next. */
  readonly time: boolean;
  /** A deploy's drains, one after the other; each may roll the bot. */
  readonly deploys: readonly string[];
  readonly rolls: "drain" | "handoff" | null;
  /** A deploy may swap the fleet, so that a resident is held when it lifts. */
  readonly holds: boolean;
  /** A deployer that lives may not die. */
  readonly immortal: boolean;
  /** What a deployer asked of the bot may be carried out after it gave up. */
  readonly late: boolean;
  /** A person closes and opens the fleet too. */
  readonly person: boolean;
  /** The registry cannot be read for a while. */
  readonly unreadable: boolean;
  /** How often a container is replaced under its runs. */
  readonly replaced: number;
  /** Runs have a command to resume by. */
  readonly resumes: boolean;
}

export interface BotWorld {
  readonly name: string;
  /** What it covers, in words for the report. */
  readonly says: string;
  readonly askers: readonly Asker[];
  readonly sayings: readonly Saying[];
  /** How many bots there are, one after the other. */
  readonly generations: 1 | 2 | 3;
  /** How long a person closes the fleet for; a deploy asks for its usual time. */
  readonly personMinutes: number;
  readonly allowed: BotAllowed;
  readonly begins: readonly RegExp[];
}

const CALM: BotAllowed = {
  kill: false,
  ends: null,
  stall: false,
  ledgerRestarts: 0,
  lost: [],
  slow: false,
  eager: false,
  prompt: false,
  time: false,
  deploys: [],
  rolls: null,
  holds: false,
  immortal: false,
  late: false,
  person: false,
  unreadable: false,
  replaced: 0,
  resumes: false,
};

/** A world: what it is named and says, who is there, and which steps may happen beside the ordinary ones. */
export const botWorld = (
  name: string,
  says: string,
  rest: Partial<Omit<BotWorld, "allowed">>,
  allowed: Partial<BotAllowed>,
): BotWorld => ({
  askers: [],
  sayings: [],
  generations: 1,
  personMinutes: 3,
  begins: [],
  ...rest,
  name,
  says,
  allowed: { ...CALM, ...allowed },
});

/** What is asked under: asking again names another id and not another key. */
export const keyOf = (id: string): string => id.replace(/'$/, "");
