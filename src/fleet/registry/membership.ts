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
import { forgetHolds } from "./holds.ts";
import { changed } from "./registry.ts";
import { noteUnreadable, takeReport } from "./reports.ts";
import type { Registry } from "./registryParts.ts";
import { newMeta, type Meta } from "./store.ts";

function frozen({ store, root }: Registry): Problem | undefined {
  const drain = membershipFrozen(store.book(), root.clock.now());
  if (drain === undefined) return undefined;
  return problemOf("MEMBERSHIP_FROZEN", `${drain.by} is swapping since ${clockOf(drain.phaseSince)}`, {
    draining: drain,
  });
}

/** Writes a new resident down. It counts from here on: a seal asks it too. What comes to nothing leaves no row in the audit log. */
export function onboard(registry: Registry, body: OnboardBody, principal: string): Result<null, Problem> {
  const { store } = registry;
  const refused = frozen(registry);
  if (refused !== undefined) return fail(refused);
  if (store.meta(body.resource) !== undefined) return fail(problemOf("RESIDENT_EXISTS", body.resource));
  store.writeMeta(newMeta(body, principal));
  store.writeEntry(emptyEntry(body.resource));
  changed(registry);
  return ok(null);
}

/** The workspace of a new resident stands. */
export function onboarded(registry: Registry, resource: string): void {
  const { store, audit, root } = registry;
  const meta = store.meta(resource);
  if (meta === undefined) return;
  store.writeMeta({ ...meta, made: true });
  audit.add({ what: "onboard", principal: meta.onboardedBy, resource }, root.clock.now());
  changed(registry);
}

/** Forgets a resident. One with runs in flight stays, unless it could not even be made; so does one that cannot be taken away. */
export async function offboard(
  registry: Registry,
  resource: string,
  principal: string,
  failed: string | null,
): Promise<Result<null, Problem>> {
  const { store, root, audit, env } = registry;
  const meta = store.meta(resource);
  if (meta === undefined) return fail(problemOf("NO_SUCH_RESIDENT", resource));
  const refused = failed === null ? frozen(registry) : undefined;
  if (refused !== undefined) return fail(refused);
  const busy = store.entry(resource);
  if (failed === null && busy.rows.length + busy.counted.length > 0) {
    return fail(problemOf("RESIDENT_BUSY", `${resource} has ${busy.rows.map((row) => row.runId).join(", ")}`));
  }
  store.forget(resource);
  try {
    await residentOf(env, resource).forget();
  } catch (error) {
    root.log("error", "a resident cannot be taken away", { resource, error: messageOf(error) });
    store.writeMeta(meta);
    store.writeEntry(busy);
    return fail(problemOf("UNREADABLE", `${resource} cannot be taken away now: ${messageOf(error)}`));
  }
  forgetHolds(registry, resource, principal);
  if (failed === null) audit.add({ what: "offboard", principal, resource }, root.clock.now());
  else root.log("warn", "a resident could not be made", { resource, why: failed });
  changed(registry);
  return ok(null);
}

/** Whether a resident may get a new container now: not while a seal is asked for or a swap goes on. */
export function mayRebuild(registry: Registry, resource: string, principal: string): Result<null, Problem> {
  const { store, audit, root } = registry;
  if (store.meta(resource) === undefined) return fail(problemOf("NO_SUCH_RESIDENT", resource));
  const refused = frozen(registry);
  if (refused !== undefined) return fail(refused);
  audit.add({ what: "rebuild", principal, resource }, root.clock.now());
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
  changed(registry);
  await residentOf(env, meta.resource).configure({ resource: meta.resource, url: meta.url, setup, test });
  return ok(null);
}

/** Ends one run in flight, wherever it is, with a reason (admin). */
export async function releaseRun(
  registry: Registry,
  runId: string,
  reason: string,
  principal: string,
): Promise<Result<ReleaseAnswer, Problem>> {
  const { store, root, audit, env } = registry;
  const entry = store.entries().find((one) => one.rows.some((row) => row.runId === runId));
  if (entry === undefined) return fail(problemOf("NO_SUCH_RUN", runId));
  const { kind } = await residentOf(env, entry.resource).endRun(runId, reason);
  audit.add({ what: "releaseRun", principal, resource: entry.resource, runId, reason }, root.clock.now());
  changed(registry);
  return ok({ kind });
}

/** A resident's own alarm has ended a run whose lease was over. */
export function leaseEnded(registry: Registry, resource: string, runId: string): void {
  registry.audit.add({ what: "leaseEnded", principal: "resident", resource, runId }, registry.root.clock.now());
  changed(registry);
}

async function askFresh(registry: Registry, resource: string): Promise<void> {
  try {
    const report = await within(REAL.sealAskMs, residentOf(registry.env, resource).fresh());
    if (report === undefined) noteUnreadable(registry, resource, "it does not answer");
    else takeReport(registry, report);
  } catch (error) {
    noteUnreadable(registry, resource, messageOf(error));
  }
}

/** Whether only the resident itself can say how it is: it is busy, could not be read, or was last heard of on another image. */
function wantsFresh({ store, root }: Registry, meta: Meta): boolean {
  const { rows, counted } = store.entry(meta.resource);
  return (
    !meta.readable ||
    rows.length + counted.length > 0 ||
    (meta.image !== null && meta.image !== root.settings.build.image)
  );
}

/** Asks afresh, in bounded batches, the residents of which the sum does not know enough. */
export async function refresh(registry: Registry): Promise<void> {
  const { store } = registry;
  const asked = store
    .metas()
    .filter((meta) => wantsFresh(registry, meta))
    .map((meta) => meta.resource);
  for (let from = 0; from < asked.length; from += LIMIT.fanOut) {
    await Promise.all(asked.slice(from, from + LIMIT.fanOut).map((resource) => askFresh(registry, resource)));
  }
  if (asked.length > 0) changed(registry);
}
