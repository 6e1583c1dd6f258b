// How many of a thing the agent keeps, and how much of one it takes at once. Durations stand in core/budgets.ts.

export const AGENT_LIMITS = {
  preparedKept: 3,
  statusAtOnce: 4,
  frameBytes: 48 * 1024,
  toolOutputBytes: 64 * 1024 * 1024,
  toolErrorBytes: 64 * 1024,
  setupTailLines: 20,
} as const;
