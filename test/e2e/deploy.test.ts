// A deploy over live runs, and every way in which it can be cut short. The stack's clock runs a minute a second, so that
// the bound of a deployer's pulse is two seconds.

import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { after, afterEach, before, test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { receiptSchema, type Receipt } from "#wire/receipt.ts";
import { readRelease } from "#embed/releaseFile.ts";
import { Home, SAMPLE } from "./home.ts";
import { eventually, type Typed } from "./typed.ts";

const SCALE = 60;
const home = new Home({ kinds: { shell: { lease: "6h" } }, image: { files: ["sample/VERSION"] } });
let up: Typed;
let version = 1;

before(async () => {
  home.scale(SCALE);
  up = await home.up();
});
afterEach(() => home.letAllGo());
after(() => home.dispose());

/** Another image, as a person makes it: `echo N > sample/VERSION`. */
function newImage(): void {
  version += 1;
  writeFileSync(home.file("sample/VERSION"), `${version}\n`);
}

/** The version of the image that a run sees itself in. */
const IMAGE = 'cat "${PATH%%:*}/../files/sample/VERSION"';

async function held(thread: string): Promise<Typed> {
  const run = home.type(["run", "sample", "--thread", thread, "--", ...home.held(thread)]);
  await run.says(/^begun$/m);
  return run;
}

async function waiting(thread: string): Promise<Typed> {
  const deploy = home.type(["deploy", "--json"]);
  await deploy.says(new RegExp(`waits for r-\\w+ \\(sample, ${thread}\\)`));
  return deploy;
}

async function receiptOf(id = "last"): Promise<Receipt> {
  return receiptSchema.parse(JSON.parse(await home.done("deploy", "show", id, "--json")));
}

const isOpen = () =>
  eventually(
    () => "the fleet is open",
    async () => ((await home.drains()).length === 0 ? true : undefined),
  );

test("a deploy over a live run waits for it and kills nobody; who asks meanwhile is told, and starts on the new image", async () => {
  newImage();
  const run = await held("one");
  const runId = (await home.runs())[0]?.runId;
  const before = await home.fleet.health();
  const deploy = home.type(["deploy", "all"]);
  await deploy.says(/fleet drained — \/attach refuses new runs until \d\d:\d\d:\d\dZ/);
  await deploy.says(new RegExp(`waits for ${runId} \\(sample, one\\) — its lease ends \\d\\d:\\d\\d`));
  const late = home.type(["run", "sample", "--thread", "late", "--", "sh", "-c", IMAGE]);
  const told = await late.says(
    /tidegate: .* — .*: deploy .*ends by itself (?:\d{4}-\d\d-\d\d )?\d\d:\d\dZ; waited .* gives up .*/,
  );
  assert.match(told[0], /quiet by (?:\d{4}-\d\d-\d\d )?\d\d:\d\dZ/, "it is told on whom it waits, and until when");
  assert.match(await home.done("status"), /^fleet +drained — attach refused/m);
  assert.deepEqual([run.isOver, late.isOver, deploy.isOver], [false, false, false]);
  home.touch("one");
  assert.deepEqual([(await run.ended).code, (await run.ended).out], [0, "begun\nended\n"]);
  const { code, out, err } = await deploy.ended;
  assert.equal(code, 0, err);
  assert.match(out + err, /deployed .*, closed .*, killed 0/);

  const started = await late.ended;
  assert.equal(started.code, 0, started.err);
  assert.equal(started.out, "2\n", "on the new image");
  assert.match(started.err, /after waiting \d+s for the resident/);
  const now = await home.fleet.health();
  assert.deepEqual([now.generation, now.build.image === before.build.image], [before.generation + 1, false]);

  const receipt = await receiptOf();
  assert.deepEqual([receipt.result, receipt.killed, receipt.drainId], ["deployed", 0, now.drainId]);
  assert.deepEqual(
    receipt.inFlight.map((one) => [one.runId, one.threadKey, one.how]),
    [[runId, "one", "released"]],
  );
  assert.equal(receipt.build.imageChanged, true);
  assert.match(await home.done("deploy", "show"), /killed +0/);
  await isOpen();
});

test("the control: by force the same deploy kills the run, counted from the processes that died", async () => {
  newImage();
  const run = await held("two");
  const shells = (): number[] =>
    home
      .processesOf("two")
      .filter((row) => row.command === "sh")
      .map((row) => row.pid);
  const alive = shells();
  assert.equal(alive.length, 1);
  const asked = await home.tidegate("deploy", "--force");
  assert.equal(asked.code, 2, "nobody can be asked here");
  assert.match(
    asked.err,
    /--force kills.*\n.*\(sample, two\)[\s\S]*wants --yes[\s\S]*next: npx tidegate deploy --force --yes/,
  );
  assert.deepEqual(shells(), alive, "nothing was done");
  const { code, err } = await home.tidegate("deploy", "--force", "--yes", "--json");
  assert.equal(code, 0, err);
  const receipt = await receiptOf();
  assert.ok(typeof receipt.killed === "number" && receipt.killed >= 1, `killed ${receipt.killed}`);
  assert.ok(
    receipt.killedProcesses.some((one) => alive.includes(one.pid)),
    "the run's own process is among the dead",
  );
  assert.deepEqual(home.processesOf("two"), []);
  const ended = await run.ended;
  assert.equal(ended.code, 125, ended.err);
  assert.match(ended.err, /container replaced — the run ends here/);
});

test("kill -9 of a deployer that waits: the fleet opens by itself within its pulse bound, and the run goes on", async () => {
  newImage();
  const run = await held("three");
  const deploy = await waiting("three");
  const late = home.type(["run", "sample", "--thread", "after-kill", "--", "echo", "in"]);
  await late.says(/ends by itself/);
  deploy.signal("SIGKILL");
  assert.equal((await deploy.ended).signal, "SIGKILL");
  const killed = performance.now();
  await isOpen();
  const open = performance.now() - killed;
  assert.ok(open <= (CLOCK.pulseBoundMs / SCALE) * 1.5, `open after ${open} ms`);
  const { code, out } = await late.ended;
  assert.deepEqual([code, out], [0, "in\n"]);
  assert.equal(run.isOver, false);
  home.touch("three");
  assert.deepEqual([(await run.ended).code, (await run.ended).out], [0, "begun\nended\n"]);
  const cause = (await home.fleet.audit({ limit: 100 })).filter((row) => row.what === "reopen").at(-1)?.cause;
  assert.equal(cause, "pulse");
});

test("the supervisor killed in the middle of a swap: the next start finishes it, and its deployer says deployed", async () => {
  newImage();
  const { generation } = await home.fleet.health();
  const run = await held("five");
  const deploy = await waiting("five");
  home.touch("five");
  await eventually(
    () => `the swap begins: ${deploy.err}`,
    () => ((readRelease(home.paths)?.pending ?? null) === null ? undefined : true),
  );
  up.signal("SIGKILL");
  await up.ended;
  assert.notEqual(readRelease(home.paths)?.pending, null, "it was killed before the swap had landed");
  up = await home.up();
  assert.match(
    up.out,
    /note.*the swap of drain \S+, begun by a supervisor that was killed, is finished: landed, 0 processes ended/,
  );
  const { code, err } = await deploy.ended;
  assert.equal(code, 0, err);
  assert.equal((await run.ended).code, 0);
  assert.equal((await home.fleet.health()).generation, generation + 1);
  const receipt = await receiptOf();
  assert.deepEqual([receipt.result, receipt.killed], ["deployed", 0]);
  await isOpen();
  assert.equal(await home.done("run", "sample", "--", "sh", "-c", IMAGE), `${version}\n`);
});

test("a release that cannot be built closes and changes nothing", async () => {
  const before = readFileSync(home.paths.release, "utf8");
  rmSync(home.file("sample/VERSION"));
  const { code, err } = await home.tidegate("deploy");
  assert.equal(code, 2, err);
  assert.match(err, /image\.files names sample\/VERSION, which is not there\n {2}next: correct "image\.files"/);
  assert.equal(readFileSync(home.paths.release, "utf8"), before);
  const last = (await home.fleet.audit({ limit: 1 }))[0]?.what;
  assert.notEqual(last, "drain");
  assert.notEqual(last, "lift");
});

test("everything is still there: the resident's container, and a receipt of each deploy that began", async () => {
  const list = (await home.done("deploy", "list", "--no-headers")).trimEnd().split("\n");
  assert.equal(list.length, 4, list.join("\n"));
  const { container } = await home.control.inside(SAMPLE);
  assert.equal(container.state, "running");
});
