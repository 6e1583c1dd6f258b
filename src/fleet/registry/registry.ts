// What every change of the registry does: it is written in the step that decided it, then `changed` tells every watch and
// arms the alarm for the next end, and nothing else.

import { nextEnd, settle, type DrainBook } from "#core/drain.ts";
import { applyWord } from "#core/quiet.ts";
import type { Report } from "../ports.ts";
import type { Registry } from "./registryParts.ts";
import { frameOf } from "./views.ts";

/** Replaces the book in the step that decided it. */
export function writeBook(registry: Registry, after: DrainBook): void {
  registry.store.writeBook(registry.store.book(), after);
}

/** Tells every watch what is so now, and arms the alarm for the next end. */
export function changed(registry: Registry): void {
  const sockets = registry.state.getWebSockets();
  if (sockets.length > 0) {
    const frame = JSON.stringify(frameOf(registry));
    for (const socket of sockets) {
      try {
        socket.send(frame);
      } catch {
        socket.close(1011, "unreachable");
      }
    }
  }
  arm(registry);
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
  return true;
}
