// The agent's own bounds in real milliseconds, and how many of a thing it keeps. They belong into core/budgets.ts.

export const AGENT_BOUNDS = {
  /** A fetch, a clone or a push. */
  gitMs: 600_000,
  /** A repository's setup, such as an install of its packages. */
  setupMs: 1_800_000,
  /** How long runs may take to heed SIGTERM when the container stops. */
  shutdownGraceMs: 2_000,
  /** How long a long operation's first line is held back, so that a refusal still has its real status. */
  realStatusMs: 500,
  /** The first and the longest pause between two looks at processes that are ending. */
  goneLookMs: 5,
  goneLookMaxMs: 50,
} as const;

export const AGENT_LIMITS = {
  preparedKept: 3,
  statusAtOnce: 4,
  frameBytes: 48 * 1024,
  toolOutputBytes: 64 * 1024 * 1024,
  toolErrorBytes: 64 * 1024,
  setupTailLines: 20,
} as const;
