// A deploy's drain from its first request to its lift, with answers lost on the way, an attach in progress, and others who close too.

import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { CLOCK, REAL } from "#core/budgets.ts";
import { auditRowSchema, type AuditRow } from "#wire/fleet.ts";
import { jsonOf } from "#wire/parse.ts";
import { CutProxy } from "./cutProxy.ts";
import { FleetStack, git, newRepository } from "./fleetStack.ts";
import { Watch } from "./fleetWatch.ts";
import { eventually } from "./hostStack.ts";

const fleet = new FleetStack(1);
let [app, other] = ["", ""];
let proxy: CutProxy;

before(async () => {
  await fleet.up();
  proxy = await CutProxy.before(fleet.url);
  app = await fleet.onboard("app");
  other = await fleet.onboard("other");
});

after(() => proxy.close());

afterEach(async () => {
  fleet.via = undefined;
  await fleet.reopen();
  await fleet.clear();
});

/** Asks through the proxy, which loses the answer. */
async function lost(ask: () => Promise<unknown>): Promise<void> {
  fleet.via = proxy.url;
  proxy.loseNext();
  await assert.rejects(ask(), TypeError, "the answer is lost");
  fleet.via = undefined;
}

test("a lost answer to a drain loses nothing: the same id renews, and its lift opens the fleet", async () => {
  await lost(() => fleet.drain("lost-drain"));
  const [stands] = (await fleet.drains()).drains;
  assert.equal(stands?.id, "lost-drain");
  const again = await fleet.drain("lost-drain");
  assert.deepEqual([again.kind, again.drain.since], ["renewed", stands.since]);
  await lost(() => fleet.lift("lost-drain"));
  assert.equal((await fleet.drains()).draining, null);
  assert.equal((await fleet.lift("lost-drain")).kind, "already");
  await fleet.inFlight(app);
});

test("a drain that arrives after its lift finds itself over, also one never seen before", async () => {
  await fleet.drain("over-1");
  await fleet.lift("over-1");
  await fleet.lift("over-2");
  for (const id of ["over-1", "over-2"]) {
    assert.equal(
      (await fleet.refusal("drain", "/drain", { id, minutes: 5, by: "late", reason: "late", deploy: true })).code,
      "DRAIN_OVER",
    );
    assert.equal((await fleet.refusal("drain", "/seal", { id })).code, "DRAIN_OVER");
  }
  assert.equal((await fleet.drains()).draining, null);
});

test("a second deploy is refused and told who deploys since when; a person's drain survives a deploy's lift", async () => {
  const { drain } = await fleet.drain("deploy-1", { by: "deploy of abc1234" });
  const busy = await fleet.refusal("drain", "/drain", {
    id: "deploy-2",
    minutes: 5,
    by: "another",
    reason: "r",
    deploy: true,
  });
  assert.equal(busy.code, "DEPLOY_IN_PROGRESS");
  assert.match(busy.detail, /^deploy of abc1234 has been deploying since \d\d:\d\d:\d\dZ \(drain deploy-1\)$/);
  assert.deepEqual(fleet.refusedBy(busy), drain);
  await fleet.drain("person-1", { deploy: false, minutes: 5 });
  assert.equal((await fleet.drains()).draining?.id, "deploy-1", "the one that ends last is told");
  await fleet.seal("deploy-1");
  const lifted = await fleet.lift("deploy-1", "failed");
  assert.deepEqual([lifted.kind, lifted.remaining.map(({ id }) => id)], ["lifted", ["person-1"]]);
  assert.equal(fleet.refusedBy((await fleet.attach(fleet.newRun(app))).problem).id, "person-1");
  assert.equal(
    (await fleet.refusal("drain", "/seal", { id: "person-1" })).code,
    "DRAIN_OVER",
    "a person's drain seals nothing",
  );
});

test("a lost answer to a seal is asked again: the same record, the same bound, told once", async () => {
  await fleet.drain("lost-seal");
  await lost(() => fleet.seal("lost-seal"));
  const [begun] = (await fleet.drains()).drains;
  assert.equal(begun?.phase, "swapping");
  const { drain } = await fleet.seal("lost-seal");
  assert.deepEqual(drain, begun);
  assert.ok(drain.phaseUntil !== null && drain.phaseUntil - drain.phaseSince <= CLOCK.swapBoundMs);
  assert.ok(drain.until >= drain.phaseSince + CLOCK.swapBoundMs + CLOCK.cycleBoundMs);
  const told = (await fleet.auditRows()).filter(({ what, drainId }) => what === "seal" && drainId === "lost-seal");
  assert.equal(told.length, 1);
  await lost(() => fleet.lift("lost-seal", "refused"));
  assert.equal((await fleet.drains()).draining, null);
});

test("a seal that nobody took back stands no longer than the registry says, whether it began the swap or was refused", async () => {
  await fleet.drain("never-unsealed");
  await fleet.seal("never-unsealed");
  await fleet.lift("never-unsealed", "none");
  const run = await fleet.inFlight(app);
  await fleet.drain("refused-seal");
  const busy = await fleet.refusal("drain", "/seal", { id: "refused-seal" });
  assert.deepEqual([busy.code, busy.detail], ["SEAL_BUSY", `${app} has ${run.runId}`]);
  assert.equal((await fleet.drains()).draining?.phase, "draining");
  const child = await fleet.attach(fleet.newRun(other), { parent: run.runId });
  assert.equal(child.status, 200, "the other resident's promise is taken back");
});

test("in a swap only a named outcome opens at once: `landed` is believed of the upload that serves, saying nothing waits", async () => {
  await fleet.drain("outcomes");
  const { drain } = await fleet.seal("outcomes");
  for (const outcome of [undefined, "unknown", "landed"]) {
    const deferred = await fleet.lift("outcomes", outcome);
    assert.deepEqual([deferred.kind, deferred.deferredUntil], ["deferred", drain.phaseUntil], String(outcome));
    assert.deepEqual((await fleet.drains()).drains, [drain]);
  }
  const row = (await fleet.auditRows()).findLast(({ what }) => what === "liftDeferred");
  assert.deepEqual([row?.drainId, row?.reason], ["outcomes", "upload landed"]);
  assert.equal((await fleet.lift("outcomes", "none")).kind, "lifted");
});

test("membership is frozen while a swap goes on", async () => {
  await fleet.drain("frozen");
  await fleet.seal("frozen");
  const url = newRepository(fleet.home);
  for (const [path, body] of [
    ["/onboard", { resource: "repo:test/new", url }],
    ["/offboard", { resource: other }],
  ] as const) {
    const refused = await fleet.refusal("admin", path, body);
    assert.deepEqual([refused.code, fleet.refusedBy(refused).id], ["MEMBERSHIP_FROZEN", "frozen"], path);
  }
  assert.deepEqual(
    (await fleet.residents()).residents.map(({ resource }) => resource),
    [app, other],
  );
});

test("a resident with a run in flight is not taken away", async () => {
  const run = await fleet.inFlight(app);
  const refused = await fleet.refusal("admin", "/offboard", { resource: app });
  assert.deepEqual([refused.code, refused.detail], ["RESIDENT_BUSY", `${app} has ${run.runId}`]);
  assert.equal((await fleet.detach(run)).kind, "released");
});

test("an attach in progress at the drain is counted and waited for, and the fleet is sealed only afterwards", async () => {
  const url = newRepository(fleet.home);
  const go = join(fleet.home, "go");
  writeFileSync(go, "");
  const slow = await fleet.onboard("slow", { url, setup: `until test -e ${go}; do sleep 0.05; done` });
  rmSync(go);
  git(url, "commit", "--quiet", "--allow-empty", "--message", "a base that has no setup yet");
  const run = fleet.newRun(slow);
  const attaching = fleet.attach(run);
  await fleet.untilResidents("it is on its way", ({ runs }) =>
    runs.some(({ runId, state }) => runId === run.runId && state === "attaching"),
  );
  await fleet.drain("in-progress");
  const residents = await fleet.residents(true);
  assert.deepEqual(
    [residents.attaching, residents.runs.length, residents.residents.find((row) => row.resource === slow)?.attaching],
    [1, 1, 1],
  );
  const early = await fleet.refusal("drain", "/seal", { id: "in-progress" });
  assert.deepEqual([early.code, early.detail], ["SEAL_BUSY", `${slow} has ${run.runId}`]);
  const watch = new Watch(fleet.url, fleet.bearer("read"));
  await watch.until("the state first", ({ attaching: onTheirWay }) => onTheirWay === 1);
  writeFileSync(go, "");
  assert.equal((await attaching).binding?.runId, run.runId);
  await watch.until("it runs", ({ runs, attaching: onTheirWay }) => onTheirWay === 0 && runs[0]?.state === "running");
  assert.equal((await fleet.refusal("drain", "/seal", { id: "in-progress" })).code, "SEAL_BUSY");
  await fleet.detach(run);
  await watch.until(
    "it is quiet",
    ({ runs, quietBy }) => runs.length === 0 && quietBy === null,
    watch.frames.length - 1,
  );
  watch.close();
  assert.equal((await fleet.seal("in-progress")).drain.phase, "swapping");
});

/** Server-sent events until there are enough of them. */
async function eventsAfter(last: number, enough: (rows: AuditRow[]) => boolean): Promise<AuditRow[]> {
  const over = new AbortController();
  const response = await fleet.open("read", "/events", {
    headers: { "last-event-id": String(last) },
    signal: AbortSignal.any([over.signal, AbortSignal.timeout(REAL.startMs)]),
  });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const decoder = new TextDecoder();
  const rows: AuditRow[] = [];
  let rest = "";
  for await (const chunk of response.body ?? []) {
    const events = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const [, id, data] = /^id: (\d+)\nevent: \w+\ndata: (.*)$/.exec(event) ?? [];
      if (data !== undefined) rows.push(auditRowSchema.parse({ ...(jsonOf(data) as object), id: Number(id) }));
    }
    if (enough(rows)) break;
  }
  over.abort();
  return rows;
}

test("events resume after the last one that was seen, without a gap, more than a page behind and as they happen", async () => {
  const start = (await fleet.auditRows()).at(-1)?.id ?? 0;
  const ids = Array.from({ length: 140 }, (_, n) => `event-${n}`);
  await Promise.all(ids.map((id) => fleet.drain(id, { deploy: false })));
  await Promise.all(ids.map((id) => fleet.lift(id)));
  const first = (await eventsAfter(start, (rows) => rows.length >= 5)).slice(0, 5);
  const seen = first.at(-1)?.id ?? 0;
  const backlog = await eventsAfter(seen, (rows) => rows.length >= 3 * ids.length - first.length);
  const late = eventuallyLate();
  const rest = await eventsAfter(backlog.at(-1)?.id ?? 0, (rows) =>
    rows.some(({ what, drainId }) => what === "lift" && drainId === "event-late"),
  );
  await late;
  const all = [...first, ...backlog, ...rest].map(({ id }) => id);
  assert.deepEqual(
    all,
    Array.from({ length: all.length }, (_, n) => start + 1 + n),
  );
  assert.ok(all.length > 3 * ids.length);
});

/** Something that happens while somebody listens: once an earlier event has been told, which the watch shows. */
async function eventuallyLate(): Promise<void> {
  await fleet.drain("event-late", { deploy: false });
  await eventually("it is told", async () => ((await fleet.drains()).draining?.id === "event-late" ? true : undefined));
  await fleet.lift("event-late");
}
