// The one table of numbers (protocol.md, "Clocks"). No other file holds a duration, and the relations between
// them are asserted when a table is made, so that a number changed in one place cannot break a relation in another.

import { DAY, HOUR, MINUTE, SECOND, type Ms } from "./time.ts";

/** How long a run of each kind may live, by the kind's name. */
export type Leases = Readonly<Record<string, Ms>>;

/** The kinds that every fleet knows; `tidegate.jsonc` changes and adds to them. */
export const DEFAULT_LEASES: Leases = { shell: 45 * MINUTE, coding: 45 * MINUTE, review: 25 * MINUTE };

/** The numbers that do not depend on the configured kinds. */
export const CLOCK = {
  slackMs: 15 * MINUTE,
  marginMs: 5 * MINUTE,
  capFloorMs: 90 * MINUTE,
  undrainedWaitMs: 30 * MINUTE,
  pollMs: 30 * SECOND,
  lookMs: 60 * SECOND,
  reserveMs: 10 * MINUTE,
  noLeaseWaitMs: 60 * MINUTE,
  wakeWaitMs: 3 * MINUTE,
  wakePollMs: 5 * SECOND,
  /** Three tries over this long in which a registered run is not heard are a standing transport failure. */
  standingMs: 60 * SECOND,
  pulseMs: 30 * SECOND,
  pulseBoundMs: 2 * MINUTE,
  swapBoundMs: 15 * MINUTE,
  uploadCutMs: 2 * MINUTE,
  cycleBoundMs: 10 * MINUTE,
  /** How often a resident that is held, or was deferred, is asked again by the registry. */
  holdAskMs: 30 * SECOND,
  graceMs: 2 * MINUTE,
  ledgerLeaseMs: 30 * SECOND,
  heartbeatMs: 10 * SECOND,
  /** How long a bot that is asked to end waits for its runs before it hands them off. */
  botHoldMs: 15 * MINUTE,
  sweepIdleMs: 60 * MINUTE,
  keepDirtyMs: 7 * DAY,
  tombstoneMs: 1 * DAY,
  suspectAfterMs: 2 * MINUTE,
  noteEveryMs: 1 * MINUTE,
  stopGraceMs: 10 * SECOND,
  retryMs: 5 * SECOND,
  outboxRetryMs: 5 * SECOND,
} as const;

/** How many of a thing, and how long a text may be. */
export const LIMIT = {
  provisioningSlots: 4,
  fanOut: 16,
  byChars: 80,
  reasonChars: 200,
  askChars: 20_000,
  threadKeyChars: 200,
  bodyBytes: 256 * 1024,
  fileBytes: 4 * 1024 * 1024,
  /** How much of a body that is too large is read on, so that its sender hears the refusal. */
  discardBytes: 8 * 1024 * 1024,
  auditRows: 10_000,
  /** What has been asked and has not ended, with all their texts; runs that have, of which the newest keep their output. */
  ledgerEntries: 2_000,
  ledgerChars: 16_000_000,
  historyRuns: 5_000,
  outputRuns: 500,
  endedKeys: 50_000,
  /** An ask with all that was added to it, which must still be one argument of a command; its bytes as in a JSON body. */
  joinedChars: 60_000,
  joinedBytes: 120_000,
  /** The most that the kernel takes as one argument or variable of a process, its end counted. */
  argumentBytes: 128 * 1024,
  commandChars: 64 * 1024,
  /** What of the body of an /exec is not the ask: ids, the kind's own variables. */
  execRestBytes: 20_000,
  /** The platform's bounds: what an object answers at once, its memory, and one value that it stores. */
  answerBytes: 32 * 1024 * 1024,
  isolateBytes: 128 * 1024 * 1024,
  storedBytes: 2 * 1024 * 1024,
  /** An entry whole, and as one line of all that have not ended. */
  entryBytes: 1024 * 1024,
  lineBytes: 4 * 1024,
  /** How many entries go to a bot in one answer; it asks again for the rest. */
  reclaimedAtOnce: 30,
  /** The beginning of a text, as a list shows it. */
  shownChars: 200,
  writeUpChars: 20_000,
  messages: 500,
  noteChars: 1_000,
  notesARun: 200,
  /** What is kept of one stream of a run: its head, and the last part of what comes behind. */
  outputHeadBytes: 256 * 1024,
  outputTailBytes: 256 * 1024,
  /** The most that is appended at once, or read. */
  outputPartBytes: 128 * 1024,
  /** Small appends share a row of this size. */
  outputRowBytes: 16 * 1024,
  receipts: 200,
  receiptsPageBytes: 8 * 1024 * 1024,
  /** What an embedded host keeps on its disk, but for what is in use: bundles of three parts, images, logs of agents. */
  bundlesOnDisk: 30,
  imagesOnDisk: 5,
  logsOnDisk: 20,
  /** Cards in the ledger; who follows them resumes within these. */
  cards: 10_000,
  /** Cards, notes and tellings that a bot sends in one request. */
  wordsAtOnce: 100,
  /** How often a run is begun at most: the first time, and each resume after its container was replaced. */
  runTries: 5,
  rowsAPage: 200,
  /** The kinds of `tidegate.jsonc` as JSON, which the bot is given as one variable, and its deployer sends in one body. */
  kindsBytes: 96 * 1024,
  /** What of the variable of a bot's settings is not its kinds. */
  settingsRestBytes: 16 * 1024,
  /** Asks that a deploy's receipt names of those that waited in the bot's queue. */
  queuedNamed: 50,
  unreadableLooks: 3,
  tries: 3,
} as const;

/**
 * Bounds of machinery, in real milliseconds whatever the scale of a stack's clock: how long a request on loopback,
 * a process that was killed or a socket may take before it counts as failed.
 */
export const REAL = {
  connectMs: 2 * SECOND,
  requestMs: 10 * SECOND,
  /** How long a bot that ends waits for what it is about, before the rest is the next one's. */
  leaveMs: 4 * SECOND,
  sealAskMs: 5 * SECOND,
  processGoneMs: 10 * SECOND,
  /** A bot that answers nobody for this long, look after look, is ended and replaced. */
  silentMs: 60 * SECOND,
  logLookMs: 60 * SECOND,
  startMs: 20 * SECOND,
  /** How long a resident may take to answer while it restarts its container. */
  cycleMs: 40 * SECOND,
  /** How long the answer to a reconcile waits for the residents' first words. */
  firstWordsMs: 2 * SECOND,
  heartbeatMs: 5 * SECOND,
  watchPingMs: 10 * SECOND,
  frontHoldMs: 30 * SECOND,
  recheckMs: 200,
  liftWithinMs: 8 * SECOND,
  liftTryMs: 3_500,
  sealMs: 60 * SECOND,
  /** How often a condition without an event (a pid, a file that another process writes) is looked at. */
  lookEveryMs: 10,
  imageSetupMs: 30 * MINUTE,
  /** A repository's setup, such as an install of its packages. */
  repositorySetupMs: 30 * MINUTE,
  /** A fetch, a clone or a push. */
  gitMs: 10 * MINUTE,
  /** How long runs may take to heed SIGTERM when their container stops. */
  containerGraceMs: 2 * SECOND,
  /** How long a long operation's first line is held back, so that a refusal still has its real status. */
  statusHoldMs: 500,
  /** The first and the longest pause between two looks at processes that are ending. */
  endLookMs: 5,
  endLookLongestMs: 50,
  toolVersionMs: 10 * SECOND,
  restartFirstMs: 250,
  restartLongestMs: 10 * SECOND,
  /** The longest that one timer can be set for; a longer sleep is taken in parts. */
  timerLongestMs: 24 * DAY,
} as const;

/** The table for a fleet: what is fixed, and what follows from the leases of its kinds. */
export interface Budgets {
  readonly leases: Leases;
  readonly longestLeaseMs: Ms;
  readonly shortestLeaseMs: Ms;
  /** The deploy's drained wait: outlasts the longest lease that a run in flight can hold. */
  readonly deployWaitMs: Ms;
  /** What a deploy asks its drain for. */
  readonly drainMs: Ms;
  /** The longest a drain may be asked for, in ms; a person's forgotten drain costs this much. */
  readonly capMs: Ms;
  readonly capMinutes: number;
}

/** Computes the table for the configured kinds (protocol.md, "Clocks": the wait and the cap are computed). */
export function budgetsOf(leases: Leases): Budgets {
  const all = Object.values(leases);
  const longestLeaseMs = Math.max(...all);
  const deployWaitMs = Math.max(HOUR, longestLeaseMs + CLOCK.slackMs);
  const capMs = Math.max(CLOCK.capFloorMs, deployWaitMs + CLOCK.swapBoundMs + CLOCK.cycleBoundMs);
  return {
    leases,
    longestLeaseMs,
    shortestLeaseMs: Math.min(...all),
    deployWaitMs,
    drainMs: deployWaitMs + CLOCK.marginMs,
    capMs,
    capMinutes: Math.floor(capMs / MINUTE),
  };
}

/** Between what every configured lease lies, both exclusive: all that follows from leases keeps its relations then. */
export const LEASE_BETWEEN = {
  moreThanMs: CLOCK.reserveMs,
  lessThanMs: CLOCK.tombstoneMs - CLOCK.slackMs - CLOCK.swapBoundMs - CLOCK.cycleBoundMs,
} as const;

/** A relation between clocks, in words, and whether a table keeps it. */
export interface Relation {
  readonly says: string;
  readonly holds: boolean;
}

/** The most bytes that JSON makes of one character that is one UTF-16 unit: a control character. */
const DEAREST = 6;
/** A variable's name beside its value. */
const NAME_BYTES = 64;

/** Whatever is taken can be started, stored and told: the relations between sizes. */
const SIZES: readonly Relation[] = [
  {
    says: "an ask of the dearest characters is no more than a joined one",
    holds: DEAREST * LIMIT.askChars <= LIMIT.joinedBytes,
  },
  {
    says: "a joined ask is one argument, and one variable",
    holds: LIMIT.joinedBytes + NAME_BYTES <= LIMIT.argumentBytes,
  },
  { says: "a joined ask is one argument of an /exec", holds: LIMIT.joinedChars <= LIMIT.commandChars },
  {
    says: "a joined ask twice, as argument and variable, and the rest of an /exec are one body",
    holds: 2 * LIMIT.joinedBytes + LIMIT.execRestBytes <= LIMIT.bodyBytes,
  },
  {
    says: "all texts that a ledger keeps, of two bytes a character, are a quarter of its memory",
    holds: 2 * LIMIT.ledgerChars <= LIMIT.isolateBytes / 4,
  },
  { says: "a line of every entry is one answer", holds: LIMIT.ledgerEntries * LIMIT.lineBytes <= LIMIT.answerBytes },
  {
    says: "entries taken over at once are one answer",
    holds: LIMIT.reclaimedAtOnce * LIMIT.entryBytes <= LIMIT.answerBytes,
  },
  {
    says: "the kinds are one variable, with the rest of a bot's settings",
    holds: LIMIT.kindsBytes + LIMIT.settingsRestBytes <= LIMIT.argumentBytes,
  },
  { says: "an entry, with its end, is one stored value", holds: 2 * LIMIT.entryBytes <= LIMIT.storedBytes },
  {
    says: "a page of receipts and one more are one answer",
    holds: 2 * (LIMIT.receiptsPageBytes + LIMIT.bodyBytes) <= LIMIT.answerBytes,
  },
];

/** Every relation of protocol.md's "Clocks", judged over one table; `docs/clocks.md` prints them. */
export function relationsOf(budgets: Budgets): readonly Relation[] {
  const b = budgets;
  return [
    { says: "deploy wait ≥ longest lease + slack", holds: b.deployWaitMs >= b.longestLeaseMs + CLOCK.slackMs },
    { says: "drain asked = deploy wait + margin", holds: b.drainMs === b.deployWaitMs + CLOCK.marginMs },
    { says: "cap ≥ 90 minutes", holds: b.capMs >= CLOCK.capFloorMs },
    {
      says: "cap ≥ deploy wait + swap bound + cycle bound",
      holds: b.capMs >= b.deployWaitMs + CLOCK.swapBoundMs + CLOCK.cycleBoundMs,
    },
    { says: "cap ≥ drain asked", holds: b.capMs >= b.drainMs },
    { says: "cap is whole minutes or is rounded down", holds: b.capMinutes * MINUTE <= b.capMs },
    { says: "lease reserve < shortest lease", holds: CLOCK.reserveMs < b.shortestLeaseMs },
    { says: "pulse bound ≥ 3 pulses", holds: CLOCK.pulseBoundMs >= 3 * CLOCK.pulseMs },
    { says: "pulse < pulse bound − one request", holds: CLOCK.pulseMs + REAL.requestMs < CLOCK.pulseBoundMs },
    { says: "ledger lease ≥ 3 heartbeats", holds: CLOCK.ledgerLeaseMs >= 3 * CLOCK.heartbeatMs },
    { says: "3 × ask of a held resident < cycle bound", holds: 3 * CLOCK.holdAskMs < CLOCK.cycleBoundMs },
    { says: "a bot leaves and hands off before it is killed", holds: 2 * REAL.leaveMs < REAL.processGoneMs },
    { says: "upload cut < swap bound", holds: CLOCK.uploadCutMs < CLOCK.swapBoundMs },
    { says: "wake poll < wake wait", holds: CLOCK.wakePollMs < CLOCK.wakeWaitMs },
    { says: "a standing failure's silence < wake wait", holds: CLOCK.standingMs < CLOCK.wakeWaitMs },
    {
      says: "its tries fit into that silence, each a silent stream and a pause",
      holds:
        LIMIT.tries * 3 * REAL.heartbeatMs <= CLOCK.standingMs && LIMIT.tries * CLOCK.wakePollMs < CLOCK.standingMs,
    },
    { says: "stop grace < grace after a lease", holds: CLOCK.stopGraceMs < CLOCK.graceMs },
    { says: "two tries of a lift fit into 8 s", holds: 2 * REAL.liftTryMs < REAL.liftWithinMs },
    { says: "a tombstone outlives every drain", holds: CLOCK.tombstoneMs > b.capMs },
    ...SIZES,
  ];
}

/** The relations a table breaks, in words; empty when it is sound. A composition root refuses to start on any. */
export function brokenRelations(budgets: Budgets): readonly string[] {
  return relationsOf(budgets)
    .filter((relation) => !relation.holds)
    .map((relation) => relation.says);
}
