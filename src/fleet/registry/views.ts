// What the registry shows: projections of its storage at one instant, each made in one synchronous piece.

import { endOf, liveDrains, nextEnd, unreadableDrains, type Drain } from "#core/drain.ts";
import { holdOf } from "#core/hold.ts";
import { PROTOCOL } from "#core/preflight.ts";
import { sumOf } from "#core/quiet.ts";
import { imageReportOf, readinessOf, type ResidentState } from "#core/readiness.ts";
import type { Drains } from "#wire/drain.ts";
import type { ResidentRow, Residents, RunRow, WatchFrame } from "#wire/fleet.ts";
import type { Registry } from "./registryParts.ts";
import type { Meta } from "./store.ts";

/** Every run in flight: its row, or that it was told *open* and has no row yet is in `attaching`. */
function runsOf({ store }: Registry): RunRow[] {
  return store.entries().flatMap((entry) => {
    const suspects = store.meta(entry.resource)?.suspects ?? [];
    return entry.rows.map(({ runId, threadKey, kind, state, generation, since, leaseUntil }) => ({
      resource: entry.resource,
      runId,
      threadKey,
      kind,
      state,
      generation,
      since,
      leaseUntil,
      suspect: suspects.includes(runId),
    }));
  });
}

/** `GET /drain`. */
export function drainsView({ store, root }: Registry): Drains {
  const now = root.clock.now();
  const drains = [...liveDrains(store.book(), now)];
  return { now, draining: drains[0] ?? null, drains, unreadable: unreadableDrains(store.book()) };
}

/** The one frame of the watch. */
export function frameOf(registry: Registry): WatchFrame {
  const { store, root } = registry;
  const now = root.clock.now();
  const { attaching, quietBy } = sumOf(store.entries());
  const end = nextEnd(store.book(), now);
  return {
    type: "state",
    now,
    generation: root.settings.generation,
    drains: [...liveDrains(store.book(), now)],
    runs: runsOf(registry),
    attaching,
    quietBy,
    msToNextEnd: end === undefined ? null : end - now,
  };
}

function stateOf(meta: Meta): ResidentState {
  if (!meta.readable) return "unreadable";
  return meta.made ? "ready" : "starting";
}

function holdRow({ store }: Registry, resource: string, drains: readonly Drain[]): ResidentRow["hold"] {
  const drain = holdOf(drains, resource);
  if (drain === undefined) return null;
  const entry = store.reconcile()?.entries.find((one) => one.resource === resource);
  const said = entry === undefined || entry.state === "asked" ? null : (entry.why ?? entry.state);
  const askedAt = entry === undefined || entry.asks === 0 ? null : entry.askedAt;
  return { drainId: drain.id, since: drain.phaseSince, until: endOf(drain).at, askedAt, said };
}

function residentRow(registry: Registry, meta: Meta): ResidentRow {
  const { store, root } = registry;
  const drains = liveDrains(store.book(), root.clock.now());
  const hold = holdRow(registry, meta.resource, drains);
  const entry = store.entry(meta.resource);
  const { runsInFlight, attaching } = sumOf([entry]);
  const state = stateOf(meta);
  return {
    resource: meta.resource,
    url: meta.url,
    setup: meta.setup,
    test: meta.test,
    state,
    readiness: readinessOf(meta.resource, state, drains),
    runsInFlight,
    attaching,
    opsInFlight: meta.ops,
    imageReport: imageReportOf(meta.image, root.settings.build.image, hold !== null),
    hold,
    image: meta.image,
    bootId: meta.bootId,
    readable: meta.readable,
    suspect: meta.suspects.length,
    detail: null,
  };
}

/** `GET /residents`: the registry's own sum, whatever the fleet's size. */
export function residentsView(registry: Registry): Residents {
  const { store, root } = registry;
  const { build, generation, drainId } = root.settings;
  const { attaching, quietBy } = sumOf(store.entries());
  const { now, draining, drains, unreadable } = drainsView(registry);
  return {
    now,
    protocol: PROTOCOL,
    build,
    generation,
    drainId,
    draining,
    drains,
    unreadableDrains: unreadable,
    residents: store.metas().map((meta) => residentRow(registry, meta)),
    runs: runsOf(registry),
    waiting: drains.length === 0 ? [] : store.waiting(),
    attaching,
    quietBy,
    longestLeaseMs: root.budgets.longestLeaseMs,
    capMinutes: root.budgets.capMinutes,
  };
}
