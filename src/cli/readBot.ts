// The bot as a screen reads it: once, within a short bound. What cannot be read is said to be unknown, and a stack without a
// bot is no failure.

import { REAL } from "#core/budgets.ts";
import type { RunsQuery } from "#wire/bot.ts";
import type { FleetAccess } from "./access.ts";
import type { BotRead } from "./render/askTables.ts";
import { problemWords } from "./render/problem.ts";

/** What the bot has; `query` as in `GET /runs`. */
export async function readBot({ bot }: FleetAccess, query: Partial<RunsQuery> = {}): Promise<BotRead> {
  const url = bot.url();
  if (url === null) return { kind: "none" };
  try {
    return { kind: "read", url, list: await bot.client.runs(query, { boundMs: REAL.sealAskMs }) };
  } catch (error) {
    const { what, next } = problemWords(error);
    return { kind: "unknown", url, why: what, next };
  }
}
