// No container is restarted while a registered run has a live process in it: a thousand seeds of attaches, processes,
// detaches, seals, rolls and reconciles over two residents whose containers each deploy leaves on a stale image.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import * as z from "zod";
import { fleetSources } from "#embed/sources.ts";
import { prepareRelease } from "#embed/release.ts";
import type { HostBuild } from "#wire/host.ts";
import { seeded } from "../../scripts/bench/statistics.ts";
import { FleetStack } from "./fleetStack.ts";
import { eventually } from "./hostStack.ts";
import { ACTS, InterleavedRuns, type Act } from "./reconcileActs.ts";

const SEEDS = 1000;
/** How many seeds lie between two deploys. */
const BATCH = 40;
/** Of these the first are played before the lift, and the last while everybody leaves. */
const [BEFORE_LIFT, LEAVING] = [6, 24];
/** A seed has two acts at once, and a third one as often as this. */
const THIRD_ACT = 0.3;

/** How often each act is drawn while runs come, and while they go. */
const WEIGHTS: Readonly<Record<Act, { readonly coming: number; readonly going: number }>> = {
  exec: { coming: 30, going: 10 },
  attachAgain: { coming: 18, going: 10 },
  ask: { coming: 16, going: 16 },
  attach: { coming: 12, going: 12 },
  detach: { coming: 6, going: 40 },
  detachUnderExec: { coming: 2, going: 4 },
  sealAndLift: { coming: 3, going: 3 },
  roll: { coming: 0.4, going: 0 },
};

const fleet = new FleetStack(100, { image: { env: { A: "0" } } });
let builds: HostBuild[] = [];
let residents: string[] = [];

async function prepared(marker: string): Promise<HostBuild> {
  fleet.configure({ image: { env: { A: marker } } });
  const building = { progress: () => undefined, signal: new AbortController().signal, env: process.env };
  return (await prepareRelease({ paths: fleet.paths, sources: fleetSources(), building })).build;
}

before(async () => {
  await fleet.up();
  residents = [await fleet.onboard("one"), await fleet.onboard("two")];
  builds = [await prepared("1"), await prepared("2")];
});

function drawn(draw: number, phase: "coming" | "going"): Act {
  let left = draw * ACTS.reduce((sum, act) => sum + WEIGHTS[act][phase], 0);
  return ACTS.find((act) => (left -= WEIGHTS[act][phase]) < 0) ?? "ask";
}

/** Whoever must stay is not drawn to leave. */
const staying = (act: Act): Act => (act === "detach" || act === "detachUnderExec" ? "exec" : act);

/** A deploy to its reconcile, over the runs that are in flight: its swap leaves every container on a stale image. */
async function deploy(batch: number): Promise<string> {
  const build = builds[batch % 2];
  assert.ok(build);
  const without = residents.map((resource) => ({ resource, reason: "its runs go on" }));
  const id = `deploy-${batch}`;
  await fleet.drain(id, { build, without });
  const stop = await fleet.pulsing(id);
  await fleet.seal(id);
  stop();
  const swapped = await fleet.swap({ drainId: id, mode: "sealed", build });
  assert.equal(swapped.outcome, "landed", JSON.stringify(swapped));
  assert.equal((await fleet.ask("drain", "/reconcile", { id })).status, 202);
  return id;
}

async function playBatch(runs: InterleavedRuns, batch: number): Promise<void> {
  for (const resource of residents) await runs.occupy(resource);
  const id = await deploy(batch);
  runs.under(id);
  for (let nth = 0; nth < BATCH; nth += 1) {
    if (nth === BEFORE_LIFT) {
      runs.under(null);
      await fleet.lift(id, "landed");
    }
    const seed = batch * BATCH + nth;
    const draw = seeded(seed);
    const phase = nth < BATCH - LEAVING ? "coming" : "going";
    const acts = Array.from({ length: draw() < THIRD_ACT ? 3 : 2 }, (): readonly [Act, number] => [
      drawn(draw(), phase),
      draw(),
    ]);
    const stay = phase === "coming" && residents.some((resource) => runs.count(resource) <= 1);
    const played = acts.map(([act, one]): readonly [Act, number] => [stay ? staying(act) : act, one]);
    await runs.play(seed, played).catch((error: unknown) => {
      throw new Error(`seed ${seed}: ${played.map(([act]) => act).join(", ")}`, { cause: error });
    });
  }
}

const lineSchema = z.looseObject({ event: z.string(), killed: z.number().optional(), state: z.string().optional() });

/** What the residents say that they did to their containers. */
function cycles() {
  const lines = readFileSync(join(fleet.paths.log, "workerd.log"), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => lineSchema.parse(JSON.parse(line)));
  const restarts = lines.filter(({ event }) => event === "a container was restarted");
  const deferred = lines.filter(({ event, state }) => event === "cycle" && state === "deferred");
  return { restarts, deferred };
}

test("in 1,000 seeded interleavings no container is restarted under a registered run that has a process in it", async () => {
  const runs = new InterleavedRuns(fleet, residents);
  for (let batch = 0; batch < SEEDS / BATCH; batch += 1) await playBatch(runs, batch);
  await runs.leave();
  const { image } = (await fleet.residents()).build;
  await eventually("the last containers come onto the image too", async () => {
    const said = (await fleet.residents(true)).residents.map((row) => row.image);
    return said.every((one) => one === image) ? true : undefined;
  });
  const { restarts, deferred } = cycles();
  console.log(`interleavings ${SEEDS} of ${SEEDS}, restarts seen ${restarts.length}, deferred ${deferred.length}`);
  assert.deepEqual(
    restarts.filter(({ killed }) => killed !== 0),
    [],
    "a restart ended processes of runs",
  );
  assert.ok(restarts.length > 0 && deferred.length > 0, "containers were restarted, and restarts were put off");
  assert.ok(
    runs.refused > 0 && runs.rolls > 0,
    "some seeds met a closed door, and some a platform that rolls by itself",
  );
});
