// The reconcile, as the registry carries it out: all holds in one step, then every resident is asked to bring its
// container onto the image, again and again to the bound. What is asked is in storage, so that a restart goes on.

import { LIMIT, REAL } from "#core/budgets.ts";
import { beginReconcile } from "#core/hold.ts";
import { dueEntries, noteAsked, noteWord, reconcileOf, type ReconcileWord } from "#core/reconcile.ts";
import { fail, ok, type Result } from "#core/result.ts";
import type { ReconcileAnswer } from "#wire/drain.ts";
import { problemOf, type Problem } from "#wire/errors.ts";
import { residentOf } from "../ports.ts";
import { messageOf, within } from "../root.ts";
import { heldBy, takeInactive } from "./holds.ts";
import { arm, changed, settleEnded, writeBook } from "./registry.ts";
import type { Registry } from "./registryParts.ts";
import { takeReport } from "./reports.ts";

const silent = (why: string): ReconcileWord => ({ state: "error", image: null, bootId: null, why, killed: 0 });

async function wordFrom(registry: Registry, resource: string, image: string): Promise<ReconcileWord> {
  try {
    const reply = await within(REAL.cycleMs, residentOf(registry.env, resource).reconcile(image));
    if (reply === undefined) return silent("it does not answer");
    takeReport(registry, reply.report);
    return reply.word;
  } catch (error) {
    return silent(messageOf(error));
  }
}

/** Asks one resident and takes its word, unless another operation has begun or the resident has left meanwhile. */
async function askOne(registry: Registry, resource: string, asked: { drainId: string; image: string }): Promise<void> {
  const { store } = registry;
  const word = await wordFrom(registry, resource, asked.image);
  const operation = store.reconcile();
  if (operation?.drainId !== asked.drainId) return;
  store.writeReconcile(noteWord(operation, resource, word));
  if (word.state === "inactive") takeInactive(registry, resource);
  changed(registry);
}

/** Asks whoever is to be asked now, a bounded number at a time; resolves when all of them have answered. */
export async function driveReconcile(registry: Registry): Promise<void> {
  const { store, root } = registry;
  const operation = store.reconcile();
  if (operation === undefined) return;
  const now = root.clock.now();
  const due = dueEntries(operation, now).map((entry) => entry.resource);
  if (due.length === 0) return;
  store.writeReconcile(noteAsked(operation, due, now));
  arm(registry);
  const worker = async (): Promise<void> => {
    for (let resource = due.shift(); resource !== undefined; resource = due.shift())
      await askOne(registry, resource, operation);
  };
  await Promise.all(Array.from({ length: LIMIT.fanOut }, worker));
}

function answerOf(registry: Registry, id: string): Result<ReconcileAnswer, Problem> {
  const operation = registry.store.reconcile();
  if (operation?.drainId !== id) return fail(problemOf("NOT_SWAPPED", `no reconcile of drain ${id} is known`));
  const { drain, held } = heldBy(registry, id);
  return ok({
    now: registry.root.clock.now(),
    operation: { ...operation, entries: operation.entries.map((entry) => ({ ...entry })) },
    held: [...held],
    drain,
  });
}

/** `GET /reconcile?id=`. */
export function reconciled(registry: Registry, id: string): Result<ReconcileAnswer, Problem> {
  settleEnded(registry);
  return answerOf(registry, id);
}

/**
 * `POST /reconcile`: holds and asks, and answers after the first round of words or soon, so that only those are named as
 * held which do not report at once.
 */
export async function reconcile(
  registry: Registry,
  id: string,
  principal: string,
): Promise<Result<ReconcileAnswer, Problem>> {
  const { store, root, audit } = registry;
  settleEnded(registry);
  const { drainId: servedId, build } = root.settings;
  const residents = store.metas().map((meta) => meta.resource);
  const now = root.clock.now();
  const begun = beginReconcile(store.book(), { id, servedId, build, residents }, now);
  if (begun.kind === "over") return fail(problemOf("DRAIN_OVER", `drain ${id} was lifted or has ended`));
  if (begun.kind === "tooEarly") return fail(problemOf("NOT_SWAPPED", `drain ${id} has not sealed`));
  if (begun.kind === "notServed")
    return fail(problemOf("STALE_GENERATION", `it is the upload of drain ${servedId ?? "none"}, not of ${id}`));
  if (begun.kind === "begun") {
    const { by, reason, phaseUntil, holds } = begun.drain;
    writeBook(registry, begun.book);
    store.writeReconcile(
      reconcileOf({ drainId: id, image: build.image, until: phaseUntil ?? begun.drain.until }, residents, now),
    );
    audit.add({ what: "reconcile", principal, drainId: id, by, reason }, now);
    root.log("info", "reconcile", { drainId: id, image: build.image, holds });
    changed(registry);
  }
  const driven = driveReconcile(registry);
  registry.state.waitUntil(driven);
  await within(REAL.firstWordsMs, driven);
  settleEnded(registry);
  return answerOf(registry, id);
}
