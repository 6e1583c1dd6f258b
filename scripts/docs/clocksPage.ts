// docs/clocks.md: the one table of numbers in words, what follows from it, and every relation with its result.

import { budgetsOf, CLOCK, DEFAULT_LEASES, LIMIT, REAL, relationsOf } from "#core/budgets.ts";
import { formatDuration, SECOND } from "#core/time.ts";
import { opening, page, table } from "./markdown.ts";

const CLOCK_SAYS: Readonly<Record<keyof typeof CLOCK, string>> = {
  slackMs: "what a deploy waits beyond the longest lease",
  marginMs: "how much longer than its wait a deploy asks its drain for",
  capFloorMs: "the least that the cap of a drain is",
  undrainedWaitMs: "how long a deploy without a drain bearer waits for a quiet look",
  pollMs: "how often a waiting run asks again while it has no watch",
  lookMs: "how often a waiting deploy reads the fleet, whatever its watch says",
  reserveMs: "how much of its lease a waiting run keeps for its work",
  noLeaseWaitMs: "how long a caller without a lease waits at a closed door",
  wakeWaitMs: "how long a caller waits for a container that rolls",
  wakePollMs: "how often it asks again meanwhile",
  standingMs: "a registered run that several tries over this long do not hear is resumed by attaching again",
  pulseMs: "how often a deploy renews its drain",
  pulseBoundMs: "without a renewal for this long a deploy's drain is over",
  swapBoundMs: "how long a swap may take from the seal on",
  uploadCutMs: "an upload begins only with at least this much of the swap bound left",
  cycleBoundMs: "how long a reopening waits for a container to report the image, from the reconcile on",
  holdAskMs: "how often a resident that is held, or was deferred, is asked again",
  graceMs: "after a lease's end, before its resident ends the run by itself",
  ledgerLeaseMs: "without a heartbeat for this long a bot's runs are the next one's",
  heartbeatMs: "how often a bot says that it lives",
  botHoldMs: "how long a bot that ends waits for its runs before it hands them off",
  sweepIdleMs: "a clean worktree that nobody used for this long goes; also how often that is looked at",
  keepDirtyMs: "how long a worktree with uncommitted files is kept",
  tombstoneMs: "how long a lifted drain's id is remembered as over",
  suspectAfterMs: "how old a row without any process is when it is called suspect",
  noteEveryMs: "how often a wait is said again",
  stopGraceMs: "between SIGTERM and SIGKILL when a run is stopped",
  retryMs: "between two tries of a request whose answer was lost, and between two readings of what is served",
  outboxRetryMs: "between two tries of a resident to tell the registry what changed",
};

const LIMIT_SAYS: Readonly<Record<keyof typeof LIMIT, string>> = {
  provisioningSlots: "workspaces that one resident makes at once; containers that a swap replaces at once",
  fanOut: "residents that the registry asks at once",
  byChars: "characters of a drain's `by`",
  reasonChars: "characters of a drain's `reason`",
  askChars: "characters of one ask or of what is said to a run",
  threadKeyChars: "characters of a thread key or a resource",
  bodyBytes: "bytes of a body",
  fileBytes: "bytes of a file that is read or written through the fleet",
  auditRows: "rows of the audit log; older ones go",
  ledgerEntries: "asks and runs in the ledger that have not ended; one more ask is refused",
  ledgerChars: "characters of all their texts, which are kept in memory; one more is refused",
  historyRuns: "runs of the ledger's history; older ones go, with their notes",
  outputRuns: "runs of the history whose output is kept",
  endedKeys: "keys of ended asks and of what was said to them, so that saying it again is known",
  joinedChars: "characters of an ask with all that was added to it, and of all that was said to one run",
  joinedBytes: "bytes of the same, as they are in a JSON body",
  argumentBytes: "bytes of one argument or variable of a process, with the end of it: the kernel's bound",
  commandChars: "characters of one argument of an /exec",
  execRestBytes: "bytes of the body of an /exec beside the ask: names, and the variables of its kind",
  answerBytes: "bytes of what an object of the platform answers at once: its own bound",
  isolateBytes: "bytes of memory of what its objects run in: its own bound",
  storedBytes: "bytes of one value that it stores: its own bound",
  entryBytes: "bytes of one entry of the ledger, with everything that was said to it",
  lineBytes: "bytes of one entry as one line of all that have not ended",
  reclaimedAtOnce: "runs that a bot takes over by one answer; it asks until there is no more",
  shownChars: "characters of a text that a list shows",
  writeUpChars: "characters of a run's write-up",
  messages: "messages of one run",
  noteChars: "characters of a note",
  notesARun: "notes of one run; older ones go",
  outputHeadBytes: "bytes that are kept from the beginning of one stream of a run's output",
  outputTailBytes: "bytes that are kept from its end, once it is longer than its head",
  outputPartBytes: "bytes of output that are appended or read at once",
  outputRowBytes: "bytes up to which small appends of output are kept as one row",
  receiptsPageBytes: "bytes after which a page of receipts ends",
  receipts: "receipts of deploys, in the ledger and in a state folder; older ones go",
  bundlesOnDisk: "bundles in a state folder, of fleet, ledger and bot together; older ones go unless they are in use",
  imagesOnDisk: "images in a state folder; older ones go unless they are in use",
  logsOnDisk: "logs of agents in a state folder; older ones go once their container was removed",
  cards: "cards that the ledger keeps; older ones go",
  wordsAtOnce: "cards, notes and tellings that a bot sends the ledger in one request",
  runTries: "how often a run is begun at most, each resume after a replaced container counted",
  rowsAPage: "rows of one page of the history or of receipts",
  kindsBytes: "bytes of all `kinds` of a configuration as JSON, which a bot is given in one variable",
  settingsRestBytes: "bytes of that variable for what is not kinds",
  queuedNamed: "asks that the bot and a deploy's receipt name of those that waited in its queue; the rest are counted",
  discardBytes: "bytes of a body that is too large which are read on, so that its sender hears the refusal",
  unreadableLooks: "looks in a row that may fail before a deploy that has closed the fleet gives up",
  tries:
    "tries of a request whose answer was lost; tries that make a transport failure a standing one, and how often it attaches again",
};

const REAL_SAYS: Readonly<Record<keyof typeof REAL, string>> = {
  connectMs: "to a connection on this machine",
  requestMs: "a request on this machine",
  leaveMs: "how long a bot that ends waits for what it is about, and as long again for its hand-off",
  sealAskMs: "one resident's answer to a seal or a fresh look",
  processGoneMs: "for a killed process to be gone",
  logLookMs: "between two looks whether a log has grown large",
  silentMs: "a bot that answers nobody for this long is ended and replaced",
  startMs: "for workerd or a container to answer",
  cycleMs: "a resident's answer while it restarts its container",
  firstWordsMs: "how long the answer to a reconcile waits for the residents' first words",
  heartbeatMs: "between two heartbeat lines of a stream",
  watchPingMs: "between two pings of a watch; two missed ones and it is down",
  frontHoldMs: "how long a new connection is held while workerd is swapped",
  recheckMs: "the first pause before a watch connects again",
  liftWithinMs: "how soon after a signal a deploy has lifted its drain or said that it could not",
  liftTryMs: "one try of that lift",
  sealMs: "a whole request to seal",
  lookEveryMs: "between two looks at what gives no event, such as a pid or a file that another process writes",
  imageSetupMs: "an image's setup; also how long another builder of images is waited for",
  repositorySetupMs: "a repository's setup, such as an install of its packages",
  gitMs: "a fetch, a clone or a push of the agent",
  containerGraceMs: "how long runs may take to heed SIGTERM when their container stops",
  statusHoldMs: "how long a long operation's first line is held back, so that a refusal still has its real status",
  endLookMs: "the first pause between two looks at processes that are ending",
  endLookLongestMs: "the longest pause between two looks at processes that are ending",
  toolVersionMs: "a tool's answer to `--version`",
  restartFirstMs: "the first pause before a workerd that ended by itself is started again",
  restartLongestMs: "the longest such pause",
  timerLongestMs: "the longest that one timer is set for; longer sleeps are taken in parts",
};

const isSpan = (name: string): boolean => name.endsWith("Ms");
const valueOf = (name: string, value: number): string => {
  if (!isSpan(name)) return value.toLocaleString("en-US");
  return value < SECOND || value % SECOND !== 0 ? `${value} ms` : formatDuration(value);
};

function numbers<T extends Record<string, number>>(
  values: T,
  says: Readonly<Record<keyof T & string, string>>,
): string {
  return table(
    ["name", "value", "is"],
    Object.entries(values).map(([name, value]) => [`\`${name}\``, valueOf(name, value), says[name] ?? ""]),
  );
}

function computed(): string {
  const budgets = budgetsOf(DEFAULT_LEASES);
  return table(
    ["name", "value", "follows from"],
    [
      ["longest lease", formatDuration(budgets.longestLeaseMs), "the kinds"],
      ["shortest lease", formatDuration(budgets.shortestLeaseMs), "the kinds"],
      ["deploy wait", formatDuration(budgets.deployWaitMs), "at least 1h; longest lease + slack"],
      ["drain asked", formatDuration(budgets.drainMs), "deploy wait + margin"],
      ["cap of a drain", `${budgets.capMinutes} min`, "at least its floor; deploy wait + swap bound + cycle bound"],
    ],
  );
}

/** The whole document. */
export function clocksPage(): string {
  const leases = Object.entries(DEFAULT_LEASES).map(([kind, ms]) => [`\`${kind}\``, formatDuration(ms)]);
  const relations = relationsOf(budgetsOf(DEFAULT_LEASES)).map(({ says, holds }) => [says, holds ? "holds" : "BROKEN"]);
  return page(
    opening(
      "Clocks",
      `Every duration is in one table, [\`src/core/budgets.ts\`](../src/core/budgets.ts). Some numbers follow from the leases that
\`tidegate.jsonc\` configures; the relations between them are judged when a configuration is read, and one that breaks a
relation is refused by name before anything starts.`,
    ),
    "## Leases",
    "How long a run of each kind may live, where the configuration says nothing else.",
    table(["kind", "lease"], leases),
    "## What follows from them",
    computed(),
    "## Relations",
    "Judged here over the leases above.",
    table(["relation", "result"], relations),
    "## Spans",
    "On the stack's own clock, which a replay runs faster.",
    numbers(CLOCK, CLOCK_SAYS),
    "## Bounds of machinery",
    "In real time, whatever the scale of a stack's clock.",
    numbers(REAL, REAL_SAYS),
    "## How many",
    numbers(LIMIT, LIMIT_SAYS),
  );
}
