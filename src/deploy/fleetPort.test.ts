// Each answer of the fleet is one fact, told apart by its code; a pause gives way to word of quiet; an upload is cut off
// before the swap bound; what is read back counts only when it is this upload.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import type { DeployState } from "#core/rolloutState.ts";
import { MINUTE } from "#core/time.ts";
import type { WatchFrame } from "#wire/fleet.ts";
import { DRAIN_ID, drainOf, fleetOf, residentsOf, runOf, T0 } from "#deploy/recordsForTests.ts";
import type { FleetDoor } from "#deploy/fleetDoor.ts";
import { factOfFailure, viewOf } from "#deploy/facts.ts";
import { at, never, portOf, refusing, type World } from "#deploy/portForTests.ts";
import type { Uploaded } from "#deploy/steps.ts";

test("a refusal is told apart by its code", () => {
  const drain = drainOf("other-1", T0);
  assert.deepEqual(factOfFailure(refusing("DRAIN_OVER")), { kind: "over" });
  assert.deepEqual(factOfFailure(refusing("DEPLOY_IN_PROGRESS", { draining: drain })), { kind: "busy", drain });
  assert.equal(
    factOfFailure(refusing("DEPLOY_IN_PROGRESS")).kind,
    "lost",
    "who deploys is not known, so it is asked again",
  );
  assert.deepEqual(factOfFailure(refusing("SEAL_BUSY", { unreadable: ["repo:a/b", 1] })), {
    kind: "notSealed",
    unreadable: ["repo:a/b"],
  });
  for (const code of ["NO_BEARER", "BAD_BEARER", "BEYOND_SCOPE"] as const)
    assert.equal(factOfFailure(refusing(code)).kind, "denied");
  assert.deepEqual(factOfFailure(new Error("ECONNRESET")), { kind: "lost", why: "ECONNRESET" });
  assert.deepEqual(factOfFailure("odd"), { kind: "lost", why: "odd" });
});

test("a look counts an attaching row once, and names whom it cannot read", () => {
  const residents = residentsOf(fleetOf([runOf("r1", 5), runOf("r2", 5, { state: "attaching" })], { attaching: 2 }));
  const [row] = residents.residents;
  assert.ok(row);
  const view = viewOf({ ...residents, residents: [{ ...row, readable: false }] });
  assert.equal(view.attaching, 1);
  assert.deepEqual(view.unreadable, ["repo:local/sample"]);
});

test("a resident that is left out counts for nothing: not its runs, not what attaches there, not that it cannot be read", () => {
  const without = [{ resource: "repo:a/b", reason: "its disk" }];
  const out = { resource: "repo:a/b" };
  const runs = [runOf("r1", 5), runOf("r2", 90, out), runOf("r3", 95, { ...out, state: "attaching" })];
  const residents = residentsOf(fleetOf(runs, { attaching: 3 }));
  const [row] = residents.residents;
  assert.ok(row);
  const rows = [row, { ...row, ...out, attaching: 2, readable: false }];
  const view = viewOf({ ...residents, residents: rows }, without);
  assert.deepEqual(
    view.runs.map((run) => run.runId),
    ["r1"],
  );
  assert.deepEqual([view.attaching, view.unreadable], [1, []]);
  assert.equal(view.quietBy, T0 + 5 * MINUTE, "quiet with the last run that is waited for");
  assert.deepEqual(viewOf({ ...residents, residents: rows }).unreadable, ["repo:a/b"]);
  assert.equal(viewOf({ ...residents, runs: [], attaching: 0 }, without).quietBy, null);
});

test("preflight and look read fleet and health; a bearer that may not is denied, anything else is unreadable", async () => {
  const served = { drainId: null, generation: 1 };
  const good = portOf({
    fleet: { residents: () => Promise.resolve(residentsOf(fleetOf())) },
    step: { live: () => Promise.resolve(served) },
  });
  const looked = await good.port.look(at({ do: "look" }), never);
  assert.deepEqual(looked.fact, { kind: "viewed", view: viewOf(residentsOf(fleetOf())), served });
  assert.equal(looked.seen?.[0]?.kind, "residents");
  const denied = portOf({
    fleet: { residents: () => Promise.reject(refusing("BAD_BEARER")) },
    step: { live: () => Promise.resolve(served) },
  });
  assert.equal((await denied.port.preflight(at({ do: "preflight" }), never)).fact.kind, "denied");
  const broken = portOf({
    fleet: { residents: () => Promise.reject(refusing("UNREADABLE")) },
    step: { live: () => Promise.resolve(served) },
  });
  assert.equal((await broken.port.look(at({ do: "look" }), never)).fact.kind, "unreadable");
});

test("a drain is asked for wait and margin, and a pulse never moves its end", async () => {
  const minutes: number[] = [];
  const without = [{ resource: "repo:a/b", reason: "its disk" }];
  const drain: FleetDoor["drain"] = (body) => {
    minutes.push(body.minutes);
    assert.deepEqual(body.without, without);
    return Promise.resolve({ now: T0, kind: "renewed", drain: drainOf(body.id, T0) });
  };
  const { port } = portOf({ fleet: { drain }, without });
  await port.drain(at({ do: "drain" }, { drain: null }), never);
  await port.pulse(at({ do: "pulse" }, { drain: drainOf(DRAIN_ID, T0, { until: T0 + 20 * MINUTE }) }), never);
  await port.pulse(at({ do: "pulse" }, { drain: null }), never);
  assert.deepEqual(minutes, [65, 20, 1]);
});

test("a pause ends by its instant, and for quiet only where the deploy waits for it", async () => {
  const { port, watch } = portOf();
  const rest = (then: "look" | "liveGate", until: number) => port.pause(at({ do: "pause", at: until, then }), never);
  assert.deepEqual((await rest("look", T0)).fact, { kind: "woke", quiet: false });
  const quiet = {
    type: "state" as const,
    now: T0,
    generation: 1,
    drains: [],
    runs: [],
    attaching: 0,
    quietBy: null,
    msToNextEnd: null,
  };
  watch.feed(quiet);
  const woken = await rest("look", T0 + MINUTE);
  assert.deepEqual(woken.fact, { kind: "woke", quiet: true });
  assert.deepEqual(woken.seen, [{ kind: "inFlight", at: T0, runIds: [] }]);
  watch.feed(quiet);
  assert.deepEqual((await rest("liveGate", T0)).fact, { kind: "woke", quiet: false });
  watch.mark();
  assert.deepEqual(
    (await rest("look", T0)).fact,
    { kind: "woke", quiet: false },
    "what a look has judged wakes nobody",
  );
  const waiting = rest("look", T0 + MINUTE);
  watch.feed({ ...quiet, attaching: 1 });
  watch.feed(quiet);
  assert.deepEqual((await waiting).fact, { kind: "woke", quiet: true });
});

const frame = (more: Partial<WatchFrame> = {}): WatchFrame => ({
  type: "state",
  now: T0,
  generation: 1,
  drains: [],
  runs: [],
  attaching: 0,
  quietBy: null,
  msToNextEnd: null,
  ...more,
});

/** Whether a pause ends early by this frame; one that does not goes on, and is called off. */
async function wakes(parts: World, state: DeployState, given: WatchFrame): Promise<boolean> {
  const { port, watch } = portOf(parts);
  const over = new AbortController();
  const woken = port.pause(state, over.signal);
  watch.feed(given);
  setImmediate(() => over.abort(new Error("nobody woke it")));
  const { fact } = await woken;
  return fact.kind === "woke" && fact.quiet;
}

test("a handoff waits only for who attaches; a deploy that leaves somebody out, not for what is there", async () => {
  const running = residentsOf(fleetOf([runOf("r1", 5)])).runs;
  const coming = residentsOf(fleetOf([runOf("r2", 5, { state: "attaching" })])).runs;
  const waiting = at({ do: "pause", at: T0 + MINUTE, then: "look" });
  const handoff: DeployState = { ...waiting, mode: "handoff" };
  assert.equal(await wakes({}, waiting, frame({ runs: running })), false);
  assert.equal(await wakes({}, handoff, frame({ runs: running })), true);
  assert.equal(await wakes({}, handoff, frame({ runs: coming, attaching: 1 })), false);
  const without = [{ resource: "repo:local/sample", reason: "x" }];
  assert.equal(await wakes({ without }, waiting, frame({ runs: [...running, ...coming], attaching: 1 })), true);
  assert.equal(await wakes({ without }, waiting, frame({ attaching: 1 })), false, "a counted attach may be anybody's");
});

test("a pause over a hold ends with the frame in which one fell, whatever is in flight", async () => {
  const holding = (...holds: string[]): WatchFrame =>
    frame({
      runs: residentsOf(fleetOf([runOf("r1", 5)])).runs,
      drains: [drainOf("other-1", T0), drainOf(DRAIN_ID, T0, { phase: "reopening", holds })],
    });
  const state = at({ do: "pause", at: T0 + MINUTE, then: "holds" }, { held: ["repo:a/b", "repo:c/d"] });
  assert.equal(await wakes({}, state, holding("repo:a/b", "repo:c/d")), false);
  assert.equal(await wakes({}, state, holding("repo:c/d")), true);
  assert.equal(await wakes({}, state, frame()), true, "a drain that is gone holds nobody");
});

test("a seal is a handoff's where the deploy is one", async () => {
  const asked: unknown[] = [];
  const seal: FleetDoor["seal"] = (body) => {
    asked.push(body);
    return Promise.resolve({ now: T0, kind: "sealed", drain: drainOf(body.id, T0, { phaseUntil: T0 + 5 }) });
  };
  const { port } = portOf({ fleet: { seal } });
  const sealed = await port.seal(at({ do: "seal" }), never);
  assert.equal(sealed.fact.kind === "sealed" && sealed.fact.leftMs, 5);
  await port.seal(at({ do: "seal" }, { mode: "handoff" }), never);
  assert.deepEqual(asked, [
    { id: DRAIN_ID, handoff: false },
    { id: DRAIN_ID, handoff: true },
  ]);
});

test("an upload may begin only while the registry says so, judged by the registry's own clock", async () => {
  const swapping = drainOf(DRAIN_ID, T0, { phase: "swapping", phaseUntil: T0 + CLOCK.swapBoundMs });
  const confirm = async (now: number, drains: readonly ReturnType<typeof drainOf>[]) => {
    const { port } = portOf({
      fleet: { drains: () => Promise.resolve({ now, draining: null, drains: [...drains], unreadable: 0 }) },
    });
    return (await port.confirm(at({ do: "confirm" }), never)).fact.kind;
  };
  assert.equal(await confirm(T0, [swapping]), "confirmed");
  assert.equal(await confirm(T0 + CLOCK.swapBoundMs - CLOCK.uploadCutMs, [swapping]), "over", "too near to its bound");
  assert.equal(await confirm(T0, [drainOf(DRAIN_ID, T0)]), "over");
  assert.equal(await confirm(T0, []), "over");
});

test("an upload that does not answer is cut off before the bound and is unknown; one without time never begins", async () => {
  const signals: AbortSignal[] = [];
  const upload = (_ask: unknown, signal: AbortSignal): Promise<Uploaded> => {
    signals.push(signal);
    return new Promise(() => undefined);
  };
  const { port, asked } = portOf({ swap: { upload } });
  const late = await port.upload(at({ do: "upload" }, { swapUntil: T0 + CLOCK.uploadCutMs }), never);
  assert.equal(late.fact.kind === "uploaded" && late.fact.outcome, "none");
  void port.upload(at({ do: "upload" }, { swapUntil: T0 + CLOCK.uploadCutMs + 1 }), never);
  assert.equal(asked.at(-1), 1, "cut two minutes before the bound");
  assert.equal(signals.length, 1);
});

test("what is served counts only when it is this upload; then its answer is recalled and the residents are read", async () => {
  const ours = { drainId: DRAIN_ID, generation: 2 };
  const uploaded: Uploaded = { outcome: "landed", why: "", killed: [], ms: null };
  const { port } = portOf({
    fleet: { residents: () => Promise.resolve(residentsOf(fleetOf())) },
    step: { live: () => Promise.resolve(ours) },
    swap: { recall: () => Promise.resolve(uploaded) },
  });
  assert.deepEqual(await port.readBack(at({ do: "readBack" }), never), {
    fact: { kind: "serves", served: ours },
    seen: [{ kind: "uploaded", uploaded }],
  });
  assert.equal((await port.liveGate(at({ do: "liveGate" }), never)).seen?.[0]?.kind, "residents");
  const old = portOf({ step: { live: () => Promise.resolve({ drainId: DRAIN_ID, generation: 1 }) } });
  assert.equal((await old.port.liveGate(at({ do: "liveGate" }), never)).seen, undefined);
  const gone = portOf();
  assert.equal((await gone.port.readBack(at({ do: "readBack" }), never)).fact.kind, "unreadable");
});

test("an upload whose answer was lost and that did not land is recalled as what it was", async () => {
  const old = { drainId: null, generation: 1 };
  const refused: Uploaded = { outcome: "refused", why: "not sealed", killed: [], ms: null };
  const recalling = (uploaded: Uploaded | undefined) =>
    portOf({ step: { live: () => Promise.resolve(old) }, swap: { recall: () => Promise.resolve(uploaded) } }).port;
  const { fact } = await recalling(refused).readBack(at({ do: "readBack" }), never);
  assert.deepEqual(fact, { kind: "uploaded", outcome: "refused", why: "not sealed" });
  const silent = await recalling(undefined).readBack(at({ do: "readBack" }), never);
  assert.deepEqual(silent.fact, { kind: "serves", served: old });
});

test("a lift says what still closes, or until when it is put off; the end keeps what the log tells", async () => {
  const remaining = [drainOf("person-1", T0)];
  const lift = (answer: Awaited<ReturnType<FleetDoor["undrain"]>>) =>
    portOf({ fleet: { undrain: () => Promise.resolve(answer) } }).port.lift(at({ do: "lift", outcome: "none" }), never);
  const none = { held: [], heldUntil: null };
  const lifted = await lift({ now: T0, kind: "lifted", deferredUntil: null, remaining, ...none });
  assert.deepEqual(lifted, {
    fact: { kind: "lifted", held: [], leftMs: 0 },
    seen: [{ kind: "lifted", at: T0, remaining }],
  });
  assert.deepEqual((await lift({ now: T0, kind: "deferred", deferredUntil: T0 + 1, remaining, ...none })).fact, {
    kind: "deferred",
    at: T0 + 1,
  });
  const blind = portOf();
  assert.deepEqual(await blind.port.done(at({ do: "done" }), never), []);
  assert.equal(blind.kept.length, 1);
  assert.deepEqual((await blind.port.mint(at({ do: "mint" }), never)).fact, { kind: "minted", id: "d2d2d2d2" });
});
