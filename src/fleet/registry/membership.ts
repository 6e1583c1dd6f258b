// Who belongs to the fleet, and what the registry asks of each resident by itself. Frozen while a seal is asked for or a swap goes on.

import { LIMIT, REAL } from "#core/budgets.ts";
import { emptyEntry } from "#core/quiet.ts";
import type { ReleaseAnswer } from "#core/release.ts";
import { fail, ok, type Result } from "#core/result.ts";
import { membershipFrozen } from "#core/seal.ts";
import { clockOf } from "#core/time.ts";
import type { OnboardBody } from "#wire/attach.ts";
import { problemOf, type Problem } from "#wire/errors.ts";
import { residentOf } from "../ports.ts";
import { messageOf, within } from "../root.ts";
import { changed, takeReport } from "./registry.ts";
import type { Registry } from "./registryParts.ts";
import { newMeta } from "./store.ts";

function frozen({ store, root }: Registry): Problem | undefined {
  const drain = membershipFrozen(store.book(), root.clock.now());
  if (drain === undefined) return undefined;
  return problemOf("MEMBERSHIP_FROZEN", `${drain.by} is swapping since ${clockOf(drain.phaseSince)}`, { draining: drain });
}

/** Writes a new resident down. It counts from here on: a seal asks it too. */
export function onboard(registry: Registry, body: OnboardBody, principal: string): Result<null, Problem> {
  const { store, root, audit } = registry;
  const refused = frozen(registry);
  if (refused !== undefined) return fail(refused);
  if (store.meta(body.resource) !== undefined) return fail(problemOf("RESIDENT_EXISTS", body.resource));
  store.writeMeta(newMeta(body));
  store.writeEntry(emptyEntry(body.resource));
  audit.add({ what: "onboard", principal, resource: body.resource }, root.clock.now());
  changed(registry);
  return ok(null);
}

/** The workspace of a new resident stands. */
export function onboarded(registry: Registry, resource: string): void {
  const meta = registry.store.meta(resource);
  if (meta !== undefined) registry.store.writeMeta({ ...meta, made: true });
  changed(registry);
}

/** Forgets a resident. One with runs in flight stays, unless it could not even be made. */
export async function offboard(registry: Registry, resource: string, principal: string, failed: string | null): Promise<Result<null, Problem>> {
  const { store, root, audit, env } = registry;
  if (store.meta(resource) === undefined) return fail(problemOf("NO_SUCH_RESIDENT", resource));
  const refused = failed === null ? frozen(registry) : undefined;
  if (refused !== undefined) return fail(refused);
  const busy = store.entry(resource);
  if (failed === null && busy.rows.length + busy.counted.length > 0) {
    return fail(problemOf("RESIDENT_BUSY", `${resource} has ${busy.rows.map((row) => row.runId).join(", ")}`));
  }
  store.forget(resource);
  audit.add({ what: "offboard", principal, resource, reason: failed }, root.clock.now());
  changed(registry);
  await residentOf(env, resource).forget();
  return ok(null);
}

/** Changes the commands of a resident, in the registry and in the resident. */
export async function reconfigure(
  registry: Registry,
  change: { resource: string; setup?: string | null | undefined; test?: string | null | undefined },
  principal: string,
): Promise<Result<null, Problem>> {
  const { store, root, audit, env } = registry;
  const meta = store.meta(change.resource);
  if (meta === undefined) return fail(problemOf("NO_SUCH_RESIDENT", change.resource));
  const setup = change.setup === undefined ? meta.setup : change.setup;
  const test = change.test === undefined ? meta.test : change.test;
  store.writeMeta({ ...meta, setup, test });
  audit.add({ what: "reconfigure", principal, resource: meta.resource }, root.clock.now());
  await residentOf(env, meta.resource).configure({ resource: meta.resource, url: meta.url, setup, test });
  return ok(null);
}

/** Ends one run in flight, wherever it is, with a reason (admin). */
export async function releaseRun(registry: Registry, runId: string, reason: string, principal: string): Promise<Result<ReleaseAnswer, Problem>> {
  const { store, root, audit, env } = registry;
  const entry = store.entries().find((one) => one.rows.some((row) => row.runId === runId));
  if (entry === undefined) return fail(problemOf("NO_SUCH_RUN", runId));
  audit.add({ what: "releaseRun", principal, resource: entry.resource, runId, reason }, root.clock.now());
  return ok(await residentOf(env, entry.resource).endRun(runId, reason));
}

async function askFresh(registry: Registry, resource: string): Promise<void> {
  const meta = registry.store.meta(resource);
  if (meta === undefined) return;
  try {
    const report = await within(REAL.sealAskMs, residentOf(registry.env, resource).fresh());
    if (report !== undefined) return void takeReport(registry, report);
    registry.store.writeMeta({ ...meta, readable: false });
  } catch (error) {
    registry.root.log("warn", "resident unreadable", { resource, error: messageOf(error) });
    registry.store.writeMeta({ ...meta, readable: false });
  }
}

/** Asks afresh, in bounded batches, the residents that the sum calls busy and those that could not be read before. */
export async function refresh(registry: Registry): Promise<void> {
  const { store } = registry;
  const asked = store
    .metas()
    .filter((meta) => !meta.readable || store.entry(meta.resource).rows.length + store.entry(meta.resource).counted.length > 0)
    .map((meta) => meta.resource);
  for (let from = 0; from < asked.length; from += LIMIT.fanOut) {
    await Promise.all(asked.slice(from, from + LIMIT.fanOut).map((resource) => askFresh(registry, resource)));
  }
  if (asked.length > 0) changed(registry);
}
