// What every change of the registry does: it is written in the step that decided it, then `changed` tells every watch and
// arms the alarm for the next end, and nothing else.

import { liveDrains, nextEnd, settle, type DrainBook } from "#core/drain.ts";
import { applyWord, type Entry } from "#core/quiet.ts";
import type { Report } from "../ports.ts";
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

/** Arms the one alarm for the earliest end of a drain; without one nothing is due. */
export function arm(registry: Registry): void {
  const { root, store, state } = registry;
  const at = nextEnd(store.book(), root.clock.now());
  if (at !== undefined) registry.state.waitUntil(state.storage.setAlarm(root.clock.realAt(at)));
}

/** Buries what ended by itself and says so in the audit log, before anything else is written about drains. */
export function settleEnded(registry: Registry): void {
  const { root, store, audit } = registry;
  const now = root.clock.now();
  const { book, ended } = settle(store.book(), now);
  if (ended.length > 0) writeBook(registry, book);
  for (const { drain, cause } of ended) {
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

/** A resident that was asked and did not answer; its next word mends it. */
export function noteUnreadable({ store, root }: Registry, resource: string, why: string): void {
  root.log("warn", "resident unreadable", { resource, why });
  const meta = store.meta(resource);
  if (meta?.readable === true) store.writeMeta({ ...meta, readable: false });
}

/** While something closes the fleet, each run's end is a row of the audit log: a deploy's receipt says how they ended. */
function noteReleased({ store, root, audit }: Registry, before: Entry, after: Entry): void {
  const now = root.clock.now();
  if (liveDrains(store.book(), now).length === 0) return;
  const ended = before.rows.filter(
    (row) => row.state === "running" && !after.rows.some((kept) => kept.runId === row.runId),
  );
  for (const { runId } of ended) {
    audit.add({ what: "released", principal: "resident", resource: after.resource, runId }, now);
  }
}

/** Takes a resident's report; a word that was overtaken changes nothing. Answers whether anything is new. */
export function takeReport(registry: Registry, report: Report): boolean {
  const { store } = registry;
  const meta = store.meta(report.word.resource);
  if (meta === undefined) return false;
  const before = store.entry(meta.resource);
  const after = applyWord(before, report.word);
  const { ops } = report;
  // Whoever has looked into the container knows that none runs; any other word without an image has not looked.
  const looked = report.suspects !== null;
  const image = report.image ?? (looked ? null : meta.image);
  const bootId = report.bootId ?? (looked ? null : meta.bootId);
  const made = meta.made || after.rows.some((row) => row.state === "running" && row.kind !== "provision");
  const suspects =
    report.suspects === null
      ? meta.suspects.filter((id) => after.rows.some((row) => row.runId === id))
      : [...report.suspects];
  const told = { ...meta, ops, image, bootId, made, suspects, readable: true };
  if (JSON.stringify(told) !== JSON.stringify(meta)) store.writeMeta(told);
  if (after === before) return false;
  store.writeEntry(after);
  noteReleased(registry, before, after);
  return true;
}
