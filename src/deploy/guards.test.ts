// What stands before a deploy: one at a time from a folder, no older release over a newer one, and a plan that touches nothing.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { execa } from "execa";
import { budgetsOf, DEFAULT_LEASES } from "#core/budgets.ts";
import { HOUR } from "#core/time.ts";
import { pathsOf } from "#node/stateFolder.ts";
import { rehearse } from "#deploy/deployForTests.ts";
import type { Build } from "#core/drain.ts";
import { fleetOf, FROM, runOf, T0, TO } from "#deploy/recordsForTests.ts";
import { takeDeployLock } from "#deploy/lock.ts";
import { planOf, planWords, type PlanSources } from "#deploy/plan.ts";
import { findReceipt, keepReceipt, listReceipts, readReceipts, unreadableWords } from "#deploy/receiptFile.ts";
import { RESIDENT_ONLY } from "#core/rolloutState.ts";
import { changesOf, swapFor, type StepChoice } from "#deploy/shapes.ts";
import { judgeSuperseding } from "#deploy/supersede.ts";

function folderOf(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-guards-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("one deploy a folder: the second is told who, and a dead one holds nothing", (context) => {
  const paths = pathsOf(folderOf(context));
  const me = { since: T0, by: "ann", drainId: "d1d1d1d1" };
  const first = takeDeployLock(paths, me);
  assert.equal(first.kind, "taken");
  const second = takeDeployLock(paths, { ...me, by: "bob" });
  assert.equal(second.kind === "held" && second.holder?.by, "ann");
  assert.equal(second.kind === "held" && second.holder?.process.pid, process.pid);
  if (first.kind === "taken") first.release();
  const lock = new URL("./lock.ts", import.meta.url).href;
  const folder = new URL("../node/stateFolder.ts", import.meta.url).href;
  const script = `const { takeDeployLock } = await import(${JSON.stringify(lock)}); const { pathsOf } = await import(${JSON.stringify(folder)});
    takeDeployLock(pathsOf(${JSON.stringify(paths.home)}), { since: 1, by: "dead", drainId: "d2d2d2d2" }); process.kill(process.pid, "SIGKILL");`;
  assert.equal(spawnSync(process.execPath, ["--input-type=module", "-e", script]).signal, "SIGKILL");
  assert.match(readFileSync(join(paths.deploys, "holder.json"), "utf8"), /"dead"/);
  const third = takeDeployLock(paths, me);
  assert.equal(third.kind, "taken");
  if (third.kind === "taken") third.release();
});

test("an older commit is older, a newer one is not, and what git cannot tell is unknown", async (context) => {
  const root = folderOf(context);
  const git = async (...args: string[]) =>
    (await execa("git", ["-C", root, "-c", "user.name=t", "-c", "user.email=t@t", ...args])).stdout;
  await git("init", "-q", "-b", "main");
  const commit = async (text: string) => {
    writeFileSync(join(root, "a"), text);
    await git("add", "a");
    await git("commit", "-q", "-m", text);
    return git("rev-parse", "--short=7", "HEAD");
  };
  const [old, fresh] = [await commit("one"), await commit("two")];
  assert.equal((await judgeSuperseding(root, fresh, old)).kind, "older");
  assert.equal((await judgeSuperseding(root, old, fresh)).kind, "newer");
  assert.equal((await judgeSuperseding(root, old, `${old}-dirty`)).kind, "same");
  assert.equal((await judgeSuperseding(root, "none", fresh)).kind, "unknown");
  assert.equal(
    (await judgeSuperseding(root, "0123456", fresh)).kind,
    "unknown",
    "a commit that is not here, as in a shallow clone",
  );
});

test("a shallow clone cannot answer ancestry: that is said and refuses nothing, but a found ancestor counts", async (context) => {
  const [origin, clone] = [folderOf(context), folderOf(context)];
  const git = async (root: string, ...args: string[]) =>
    (await execa("git", ["-C", root, "-c", "user.name=t", "-c", "user.email=t@t", ...args])).stdout;
  await git(origin, "init", "-q", "-b", "main");
  await git(origin, "config", "uploadpack.allowAnySHA1InWant", "true");
  const commit = async (text: string) => {
    await git(origin, "commit", "-q", "--allow-empty", "-m", text);
    return git(origin, "rev-parse", "HEAD");
  };
  const [first, second, third] = [await commit("one"), await commit("two"), await commit("three")];
  await git(clone, "clone", "-q", "--depth", "2", `file://${origin}`, "copy");
  const copy = join(clone, "copy");
  assert.equal((await judgeSuperseding(copy, third, second)).kind, "older", "both are within the depth");
  const missing = await judgeSuperseding(copy, third, first);
  assert.match(missing.kind === "unknown" ? missing.why : missing.kind, /this clone is shallow/);
  await git(copy, "fetch", "-q", "--depth", "1", "origin", first);
  const grafted = await judgeSuperseding(copy, third, first);
  assert.match(grafted.kind === "unknown" ? grafted.why : grafted.kind, /this clone is shallow/, "no path is no proof");
  await git(copy, "fetch", "-q", "--unshallow", "origin");
  assert.equal((await judgeSuperseding(copy, third, first)).kind, "older");
  assert.equal((await judgeSuperseding(copy, first, third)).kind, "newer");
});

const fleetAlone = (from: Build | null): StepChoice[] => [
  { step: "resident", included: true, why: "its image changes", from, to: TO, reconfigured: "nothing" },
];

test("what a release changes decides how it is swapped, and a plan says why", () => {
  const sources = {
    steps: RESIDENT_ONLY,
    to: TO,
    imageWasBuilt: true,
    superseding: "newer",
    view: fleetOf([runOf("r1", 20), runOf("r2", 20, { state: "attaching" })]),
    without: [],
    budgets: budgetsOf({ ...DEFAULT_LEASES, long: 6 * HOUR }),
  } as const;
  const kept = { ...FROM, image: TO.image };
  const worker = changesOf(kept, TO);
  assert.deepEqual(
    [changesOf(FROM, TO), worker, changesOf(TO, TO), changesOf(null, TO)],
    ["image", "worker", "nothing", "unknown"],
  );
  const how = (from: Build | null, residentSwap: "drain" | "handoff") =>
    swapFor([{ step: "resident", from, to: TO }], { residentSwap, botRoll: "drain" });
  assert.deepEqual(
    [how(FROM, "handoff"), how(null, "handoff"), how(kept, "handoff"), how(TO, "handoff"), how(kept, "drain")],
    ["drained", "drained", "handoff", "handoff", "drained"],
  );
  const plan = (more: Partial<PlanSources>) => {
    const from = more.from === undefined ? kept : more.from;
    return planOf({ ...sources, choices: fleetAlone(from), mode: "drained", ...more, from }, T0);
  };
  const words = (more: Partial<PlanSources>) => planWords(plan(more)).join("\n");
  assert.match(
    words({ from: FROM }),
    /the image changes \(image a41b → c9e0\): containers restart, so the fleet is drained/,
  );
  assert.match(
    words({}),
    /only Worker code changes; the default is to drain, and "resident": \{"swap": "handoff"\} in/,
  );
  assert.match(
    words({ from: TO }),
    /nothing changes: this very build is served, and would be swapped for itself; the default is to drain/,
  );
  assert.match(words({ from: null }), /what is served is unknown/);
  assert.match(
    words({}),
    /the longest lease is 6h, so a drain stands at most 6h 40m \(its cap\); a dead deployer costs 2m/,
  );
  const handoff = words({ mode: "handoff" });
  assert.match(
    handoff,
    /only Worker code changes; "resident.swap" is "handoff", so runs live on in their containers: no wait/,
  );
  assert.match(handoff, /would wait for 1 attaching, quiet by 05:04/);
  assert.match(words({ mode: "handoff", view: fleetOf([runOf("r1", 20)]) }), /would wait for nothing/);
  const left = { without: [{ resource: "repo:a/b", reason: "its disk" }] };
  assert.match(words(left), /reconcile → lift — without b$/m);
  assert.deepEqual(plan(left).without, left.without);
});

test("a plan says what it would wait for, and when that cannot end in time", () => {
  const view = fleetOf([runOf("r1", 20), runOf("long", 90)]);
  const sources = {
    choices: fleetAlone(FROM),
    steps: RESIDENT_ONLY,
    mode: "drained",
    from: FROM,
    to: TO,
    imageWasBuilt: false,
    superseding: "older",
    view,
    without: [],
    budgets: budgetsOf(DEFAULT_LEASES),
  } as const;
  const words = planWords(planOf(sources, T0)).join("\n");
  assert.match(words, /would build image c9e0/);
  assert.match(words, /would wait for 2 runs in flight, quiet by 06:14 \(budget 1h, until 05:44\)/);
  assert.match(words, /beyond the budget: long \(sample, cli:long\)/);
  assert.match(words, /would be refused: the live release is newer/);
  const blind = planWords(
    planOf(
      {
        ...sources,
        view: fleetOf([], { unreadable: ["repo:a/b"] }),
        mode: "undrained",
        imageWasBuilt: true,
        superseding: "newer",
      },
      T0,
    ),
  ).join("\n");
  assert.match(blind, /would wait for nothing \(budget 30m/);
  assert.match(blind, /would be refused now: a part of the fleet cannot be read; npx tidegate status/);
  assert.match(planWords(planOf({ ...sources, mode: "forced" }, T0)).join("\n"), /swap over what runs/);
});

test("receipts are found by any id, by its beginning, and as the last one", async (context) => {
  const { paths, receipt } = await rehearse(context);
  keepReceipt(paths, { ...receipt, drainId: "d1d1d1ff", drainIds: ["d1d1d1ff"], startedAt: receipt.startedAt + 1 });
  writeFileSync(join(paths.deploys, "d9d9d9d9.json"), "{half");
  const list = readReceipts(paths);
  assert.deepEqual(
    [list.receipts.length, list.unreadable.length],
    [2, 1],
    "one that cannot be read is left out and counted",
  );
  assert.match(unreadableWords(list, paths) ?? "", /^1 receipt in .* cannot be read and is left out: \S+\.json$/);
  const more = unreadableWords({ receipts: [], unreadable: ["aaaaaa.json", "bbbbbb.json"] }, paths);
  assert.match(more ?? "", /^2 receipts in .* cannot be read and are left out: aaaaaa\.json …$/);
  assert.equal(unreadableWords({ receipts: [], unreadable: [] }, paths), null);
  const kindOf = (asked: string) => findReceipt(paths, asked).kind;
  assert.deepEqual(["last", "d1d1d1d1", "d1d1d1f", "d1", "x"].map(kindOf), [
    "found",
    "found",
    "found",
    "ambiguous",
    "missing",
  ]);
  const last = findReceipt(paths, "last");
  assert.equal(last.kind === "found" && last.receipt.drainId, "d1d1d1ff");
  assert.deepEqual(listReceipts(pathsOf(join(paths.home, "elsewhere"))), []);
});
