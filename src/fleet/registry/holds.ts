// What ends a hold, as the registry carries it out: a report, a person's word, a resident that left. Each is one step
// over the book, told to the audit log in the words of its cause.

import { liveDrains, type Drain } from "#core/drain.ts";
import { dropHold, holdOf, noteReport, type Freed, type Freeing } from "#core/hold.ts";
import { noteImage, withoutResident } from "#core/reconcile.ts";
import { fail, ok, type Result } from "#core/result.ts";
import { problemOf, type Problem } from "#wire/errors.ts";
import type { HoldReleased } from "../ports.ts";
import { changed, settleEnded, writeBook } from "./registry.ts";
import type { Registry } from "./registryParts.ts";

/** Why a hold fell, for the log: by whom, in which word, for which reason. */
interface Why {
  readonly principal: string;
  readonly cause: "reported" | "released";
  readonly reason: string;
}

function tellFreed({ audit, root }: Registry, freed: readonly Freed[], why: Why): void {
  const now = root.clock.now();
  for (const { drain, resource, ended } of freed) {
    const { id: drainId, by } = drain;
    audit.add({ what: "freed", drainId, resource, by, ...why }, now);
    root.log("info", "a hold fell", { drainId, resource, ...why });
    if (ended) audit.add({ what: "reopen", drainId, by, ...why, resource: null }, now);
  }
}

function free(registry: Registry, { book, freed }: Freeing, why: Why): void {
  if (book !== registry.store.book()) writeBook(registry, book);
  tellFreed(registry, freed, why);
}

/** A resident's container says, from inside, which image it is (protocol.md, "Reconcile, report, hold"). */
export function takeImage(
  registry: Registry,
  word: { readonly resource: string; readonly image: string; readonly bootId: string | null },
): void {
  const { store, root } = registry;
  const operation = store.reconcile();
  if (operation !== undefined) store.writeReconcile(noteImage(operation, word));
  free(registry, noteReport(store.book(), word, root.clock.now()), {
    principal: "resident",
    cause: "reported",
    reason: `image ${word.image}`,
  });
}

/** A resident without a container holds nothing up: its next start is probed in the attach that makes it. */
export function takeInactive(registry: Registry, resource: string): void {
  const freeing = dropHold(registry.store.book(), resource, registry.root.clock.now());
  free(registry, freeing, { principal: "resident", cause: "reported", reason: "no container runs" });
}

/** A resident that leaves the fleet takes its holds and its part of the operation along. */
export function forgetHolds(registry: Registry, resource: string, principal: string): void {
  const { store, root } = registry;
  const operation = store.reconcile();
  if (operation !== undefined) store.writeReconcile(withoutResident(operation, resource));
  const freeing = dropHold(store.book(), resource, root.clock.now());
  free(registry, freeing, { principal, cause: "released", reason: "it left the fleet" });
}

/** The residents that this drain holds now; none once it is over. */
export function heldBy({ store, root }: Registry, id: string): { drain: Drain | null; held: readonly string[] } {
  const drain = liveDrains(store.book(), root.clock.now()).find((live) => live.id === id) ?? null;
  return { drain, held: drain?.holds ?? [] };
}

/** `POST /holds/release`: a person waits for one resident no more. */
export function releaseHold(
  registry: Registry,
  resource: string,
  reason: string,
  principal: string,
): Result<HoldReleased, Problem> {
  const { store, root } = registry;
  settleEnded(registry);
  const now = root.clock.now();
  const drain = holdOf(liveDrains(store.book(), now), resource);
  if (drain === undefined) return fail(problemOf("NOT_HELD", resource));
  free(registry, dropHold(store.book(), resource, now), { principal, cause: "released", reason });
  changed(registry);
  return ok({ now, resource, drainId: drain.id, held: heldBy(registry, drain.id).held });
}
