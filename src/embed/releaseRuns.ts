// Runs that an end takes along are released: their callers are told, and their rows go. A row that stayed would hold up
// the next start's deploys until its lease's end, for a run that nobody has any more.

import { wordsOf } from "#node/failure.ts";
import { lookAtRuns } from "#node/fleetLook.ts";
import { logOf } from "#node/log.ts";
import type { Bearers } from "#node/tokens.ts";

const REASON = "the fleet was ended while it ran";

async function releaseOne(port: number, admin: string, runId: string, signal: AbortSignal): Promise<void> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/runs/release`, {
      method: "POST",
      headers: { authorization: `Bearer ${admin}`, "content-type": "application/json" },
      body: JSON.stringify({ runId, reason: REASON }),
      signal,
    });
    if (!response.ok) logOf("supervisor").warn("a run is not released", { runId, status: response.status });
    await response.body?.cancel();
  } catch (error) {
    logOf("supervisor").warn("a run is not released", { runId, error: wordsOf(error) });
  }
}

/** Releases every run in flight as admin, at most for `boundMs`; what is not released then ends with its lease. */
export async function releaseRuns(port: number | undefined, bearers: Bearers, boundMs: number): Promise<void> {
  if (port === undefined || bearers.admin === "") return;
  const bound = AbortSignal.timeout(boundMs);
  const look = await lookAtRuns(port, bearers);
  if (look.kind === "unreadable") return;
  await Promise.all(look.value.map((runId) => releaseOne(port, bearers.admin, runId, bound)));
}
