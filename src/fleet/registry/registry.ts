// What every change of the registry does: it is written in the step that decided it, then `changed` tells every watch and
// arms the alarm for the next end, and nothing else.

import { nextEnd, settle, type DrainBook, type Ended } from "#core/drain.ts";
import { nextAskAt } from "#core/reconcile.ts";
import type { Registry } from "./registryParts.ts";
import { frameOf } from "./views.ts";

/** Replaces the book in the step that decided it. */
export function writeBook(registry: Registry, after: DrainBook): void {
  registry.store.writeBook(registry.store.book(), after);
}

/** Tells every watch what is so now. */
function tell(registry: Registry): void {
  const sockets = registry.state.getWebSockets();
  if (sockets.length === 0) return;
  const frame = JSON.stringify(frameOf(registry));
  for (const socket of sockets) {
    try {
      socket.send(frame);
    } catch {
      socket.close(1011, "unreachable");
    }
  }
}

/** Lets every watch be told, once for all changes that come together, and arms the alarm for the next end. */
export function changed(registry: Registry): void {
  const { telling } = registry;
  arm(registry);
  if (telling.due) return;
  telling.due = true;
  setTimeout(() => {
    telling.due = false;
    tell(registry);
  }, 0);
}

/** Arms the one alarm for the earliest end of a drain, or for the next resident that a reconcile asks. */
export function arm(registry: Registry): void {
  const { root, store, state } = registry;
  const now = root.clock.now();
  const operation = store.reconcile();
  const asks = operation === undefined ? null : nextAskAt(operation, now);
  const due = [nextEnd(store.book(), now), asks].filter((at) => at !== undefined && at !== null);
  const at = due.length === 0 ? undefined : Math.max(now, Math.min(...due));
  if (at !== undefined) registry.state.waitUntil(state.storage.setAlarm(root.clock.realAt(at)));
}

/** Residents whose report never came: open all the same, and named for people. */
function tellStale({ root, audit, store }: Registry, { drain, at }: Ended): void {
  if (drain.phase !== "reopening" && drain.phase !== "reconciling") return;
  for (const resource of drain.holds) {
    const said = store.reconcile()?.entries.find((entry) => entry.resource === resource);
    const reason = said?.why ?? said?.state ?? "it was not asked";
    root.log("warn", "a container is stale: its resident opens without its report", { resource, said: reason });
    audit.add({ what: "stale", principal: "registry", drainId: drain.id, resource, cause: "bound", reason }, at);
  }
}

/** Buries what ended by itself and says so in the audit log, before anything else is written about drains. */
export function settleEnded(registry: Registry): void {
  const { root, store, audit } = registry;
  const now = root.clock.now();
  const { book, ended } = settle(store.book(), now);
  if (ended.length > 0) writeBook(registry, book);
  for (const one of ended) {
    const { drain, cause } = one;
    tellStale(registry, one);
    root.log("warn", "drain ended by itself", { drainId: drain.id, by: drain.by, cause, phase: drain.phase });
    const { id: drainId, by, reason } = drain;
    audit.add({ what: "reopen", principal: "registry", drainId, by, reason, cause }, now);
  }
}

/** The alarm: what ended by itself is told, to the audit log and to every watch. Nothing but telling depends on it. */
export function tick(registry: Registry): void {
  settleEnded(registry);
  changed(registry);
}
