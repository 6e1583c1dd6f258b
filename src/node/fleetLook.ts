// The supervisor's own looks at the fleet, straight at workerd and never through the front: the last question before a
// swap, and what is in flight before an end. What cannot be read is said to be unreadable, never taken for nothing.

import * as z from "zod";
import { REAL } from "#core/budgets.ts";
import { mayRoll, mayUpload, otherDeploy } from "#core/drain.ts";
import { Failure, wordsOf } from "#node/failure.ts";
import type { Bearers } from "#node/tokens.ts";
import type { InFlight, SwapAsk } from "#wire/host.ts";

/** An answer of the fleet, or why there is none. */
export type Look<T> =
  | { readonly kind: "read"; readonly value: T }
  | { readonly kind: "unreadable"; readonly why: string };

const drainsSchema = z.object({ drains: z.array(z.unknown()), now: z.number() });

/** The live drains as stored, and the registry's instant by which they are to be judged. */
export type Drains = z.infer<typeof drainsSchema>;

// Only what is needed here: the fleet may be of another generation than this host.
const residentsSchema = z.object({
  residents: z.array(z.object({ resource: z.string(), runsInFlight: z.number(), attaching: z.number() })),
  runs: z.array(z.object({ resource: z.string(), runId: z.string(), threadKey: z.string() })),
});

async function ask<T>(port: number, bearers: Bearers, path: string, schema: z.ZodType<T>): Promise<Look<T>> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${bearers.read === "" ? bearers.admin : bearers.read}` },
      signal: AbortSignal.timeout(REAL.requestMs),
    });
    if (!response.ok) return { kind: "unreadable", why: `GET ${path} answered ${response.status}` };
    const parsed = schema.safeParse(await response.json());
    return parsed.success
      ? { kind: "read", value: parsed.data }
      : { kind: "unreadable", why: `GET ${path} answered another shape` };
  } catch (error) {
    return { kind: "unreadable", why: `GET ${path}: ${wordsOf(error)}` };
  }
}

/** Asks the registry for its drains. */
export function lookAtDrains(port: number, bearers: Bearers): Promise<Look<Drains>> {
  return ask(port, bearers, "/drain", drainsSchema);
}

/** Asks the registry what is in flight; residents with nothing are left out. */
export async function lookInFlight(port: number, bearers: Bearers): Promise<Look<InFlight[]>> {
  const look = await ask(port, bearers, "/residents", residentsSchema);
  if (look.kind === "unreadable") return look;
  const { residents, runs } = look.value;
  const busy = residents
    .map(({ resource, runsInFlight, attaching }) => ({
      resource,
      runs: runsInFlight + attaching,
      names: runs.filter((run) => run.resource === resource).map((run) => `${run.runId} of ${run.threadKey}`),
    }))
    .filter((one) => one.runs > 0);
  return { kind: "read", value: busy };
}

/** The ids of the runs in flight. */
export async function lookAtRuns(port: number, bearers: Bearers): Promise<Look<string[]>> {
  const look = await ask(port, bearers, "/residents", residentsSchema);
  return look.kind === "unreadable" ? look : { kind: "read", value: look.value.runs.map((run) => run.runId) };
}

/**
 * Throws unless the ledger or the bot may be swapped now. Under a drain: it is live, and not about to end. Otherwise: no
 * other deploy's drain stands. A registry that cannot be read stops every such swap but a forced one.
 */
export function judgeRoll(ask: SwapAsk, look: Look<Drains>): void {
  if (look.kind === "unreadable") {
    if (ask.mode === "forced") return;
    throw new Failure("REGISTRY_UNREADABLE", `the registry cannot confirm the drain: ${look.why}`);
  }
  const { drains, now } = look.value;
  const isDrained = ask.mode === "sealed" || ask.mode === "handoff";
  if (isDrained && !mayRoll(drains, ask.drainId, now))
    throw new Failure("SWAP_NOT_SEALED", `drain ${ask.drainId} is not live, or ends too soon`);
  const other = otherDeploy(drains, ask.drainId, now);
  if (other !== undefined)
    throw new Failure(
      "DEPLOY_IN_PROGRESS",
      `the drain of ${other.by} stands since ${new Date(other.since).toISOString()}`,
    );
}

/**
 * Throws unless a swap may begin now, by what the registry just said. Sealed or handed off: this drain is live and swapping. Otherwise:
 * no other deploy's drain stands. A registry that cannot be read stops every swap but a forced one.
 */
export function judgeSwap(ask: SwapAsk, look: Look<Drains>): void {
  if (look.kind === "unreadable") {
    if (ask.mode === "forced") return;
    throw new Failure("REGISTRY_UNREADABLE", `the registry cannot confirm the drain: ${look.why}`);
  }
  const { drains, now } = look.value;
  if (ask.mode === "sealed" || ask.mode === "handoff") {
    if (!mayUpload(drains, ask.drainId, now))
      throw new Failure("SWAP_NOT_SEALED", `drain ${ask.drainId} is not live and swapping`);
    return;
  }
  const other = otherDeploy(drains, ask.drainId, now);
  if (other !== undefined)
    throw new Failure(
      "DEPLOY_IN_PROGRESS",
      `the drain of ${other.by} stands since ${new Date(other.since).toISOString()}`,
    );
}
