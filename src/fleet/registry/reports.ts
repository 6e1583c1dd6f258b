// What the registry takes from a resident: its word of its rows, and what only it can know of its container.

import { liveDrains } from "#core/drain.ts";
import { applyWord, type Entry } from "#core/quiet.ts";
import type { Report } from "../ports.ts";
import { takeImage } from "./holds.ts";
import type { Registry } from "./registryParts.ts";

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
  if (report.image !== null)
    takeImage(registry, { resource: meta.resource, image: report.image, bootId: report.bootId });
  if (after === before) return false;
  store.writeEntry(after);
  noteReleased(registry, before, after);
  return true;
}
