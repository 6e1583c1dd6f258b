// The supervisor's ends: asked, signalled, and killed. Whoever started it may die, it may die itself, and no run is lost
// by that; what is asked to end ends everything.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { readProcess, sendSignal } from "#node/processes.ts";
import { Home, root, SAMPLE } from "./home.ts";
import { eventually, type Typed } from "./typed.ts";

const home = new Home();
let up: Typed;
afterEach(() => home.letAllGo());
after(() => home.dispose());

async function held(thread: string): Promise<Typed> {
  const run = home.type(["run", "sample", "--thread", thread, "--", ...home.held(thread)]);
  await run.says(/^begun$/m);
  return run;
}

const isGone = (what: string, pid: number) =>
  eventually(
    () => `${what} (${pid}) is gone`,
    () => (readProcess(pid) === undefined ? true : undefined),
  );

/** Nothing of this home runs any more. */
const nothingIsLeft = () =>
  eventually(
    () => `nothing is left: ${JSON.stringify(home.processes())}`,
    () => (home.processes().length === 0 ? true : undefined),
  );

before(async () => {
  const npm = home.start("npm", ["start", "--", "--port", "0"], { cwd: root, env: { NO_UPDATE_NOTIFIER: "1" } });
  await npm.says(/Events, newest last:\n/);
  assert.match(npm.out, /resident {2}sample {3}ready/);
  up = npm;
});

test("npm that is killed leaves the supervisor: the next start names it, its age, and how to end it", async () => {
  const supervisor = home.control.file.supervisor.pid;
  assert.notEqual(up.pid, supervisor);
  up.signal("SIGKILL");
  await isGone("npm", up.pid);
  const { code, out, err } = await home.tidegate("up");
  assert.equal(code, 2);
  assert.equal(out, "");
  assert.match(err, /is up since \S+ \((\d+m )?\d+s\)/, "its age");
  assert.match(err, new RegExp(`pid ${supervisor}\\b`));
  assert.match(err, /what started it \(npm, a terminal\) is gone, and it went on/);
  assert.match(err, /next: npx tidegate down\n$/);
});

test("`down --now` waits for nobody: the run is told, and nothing is left", async () => {
  const { pid } = home.control.file.supervisor;
  const run = await held("held-now");
  assert.match(await home.done("down", "--now"), new RegExp(`the fleet is down \\(supervisor ${pid}\\)`));
  assert.deepEqual(home.processesOf("held-now"), [], home.log());
  const { code, err } = await run.ended;
  assert.equal(code, 125, err);
  assert.match(err, /ended from outside/);
  await nothingIsLeft();
});

test("SIGKILL of the supervisor takes workerd along and no run: the next start adopts it, and not a byte is lost", async () => {
  up = await home.up();
  assert.doesNotMatch(up.out, /onboarded.*\n.*onboarded/, "what was there is there");
  const loop = `i=0; while [ ! -e '${home.file("enough")}' ]; do i=$((i+1)); echo "line $i"; sleep 0.005; done; echo "last $i"`;
  const run = home.type(["run", "sample", "--thread", "adopted:1", "--", "sh", "-c", loop]);
  await run.says(/line 20\n/);
  const inside = await home.control.inside(SAMPLE);
  const [supervisor, workerd] = [home.control.file.supervisor.pid, home.workerdPid];
  const before = home.processesOf("adopted:1").map((row) => row.pid);
  assert.equal(supervisor, up.pid);

  up.signal("SIGKILL");
  await isGone("the supervisor", supervisor);
  await isGone("workerd", workerd);
  const alone = await eventually(
    () => "the run writes on with nobody above it",
    () => (home.processesOf("adopted:1").length > 0 ? home.processesOf("adopted:1").map((row) => row.pid) : undefined),
  );
  assert.equal(alone[0], before[0], "the run's own process is the same one");
  assert.equal(run.isOver, false);

  up = await home.up();
  assert.match(up.out, /adopted running containers: repo:local\/sample/);
  const adopted = await home.control.inside(SAMPLE);
  assert.deepEqual(
    adopted.processes.filter((one) => one.role !== "inside"),
    inside.processes.filter((one) => one.role !== "inside"),
    "the container is the same one",
  );
  const seen = run.out.length;
  await eventually(
    () => `the run's output comes again: ${run.err}`,
    () => (run.out.length > seen ? true : undefined),
  );
  home.touch("enough");
  const { code, out, err } = await run.ended;
  assert.equal(code, 0, err);
  const lines = out.trimEnd().split("\n");
  const count = lines.length - 1;
  assert.deepEqual(lines, [...Array.from({ length: count }, (_, at) => `line ${at + 1}`), `last ${count}`]);
});

test("Ctrl-C names what is in flight and ends nothing; the second one ends everything", async () => {
  const run = await held("held-one");
  const runId = (await home.runs())[0]?.runId ?? "";
  up.signal("SIGINT");
  await up.says(/Once more ends them/);
  assert.match(up.err, new RegExp(`${runId} of held-one`));
  assert.match(up.err, /npx tidegate down/);
  assert.equal(up.isOver, false);
  assert.equal((await home.runs()).length, 1);
  up.signal("SIGINT");
  const { code, signal } = await up.ended;
  assert.deepEqual([code, signal], [0, null]);
  assert.deepEqual(home.processesOf("held-one"), []);
  const end = await run.ended;
  assert.equal(end.code, 125, end.err);
  assert.match(end.err, /ended from outside/);
  await nothingIsLeft();
});

test("a terminal that goes away leaves the supervisor: neither its hang-up nor what is written to nobody ends it", async () => {
  const line = `'${root}/bin/tidegate' up; echo "exit $?" >&2`;
  const shell = home.start("sh", ["-c", `{ ${line}; } | head -n 1`]);
  await shell.says(/^tidegate \d/);
  const file = await eventually(
    () => "the fleet is up",
    () => (home.isUp ? home.control.file : undefined),
  );
  assert.equal(
    await home.done("run", "sample", "--", "echo", "in"),
    "in\n",
    "its start and its end are written to nobody",
  );
  assert.ok(sendSignal(file.supervisor.pid, "SIGHUP"));
  assert.equal((await home.fleet.health()).ok, true);
  assert.equal(home.control.file.supervisor.pid, file.supervisor.pid);
  up = shell;
});

test("`down` closes the door and waits for the run in flight; stopped, it leaves the fleet open", async () => {
  const run = await held("held-two");
  const stopped = home.type(["down"]);
  await stopped.says(/waiting for 1 run in flight.*of held-two — npx tidegate down --now ends them/);
  assert.deepEqual(
    (await home.drains()).map((drain) => drain.reason),
    ["tidegate down"],
  );
  const late = home.type(["run", "sample", "--", "echo", "in"]);
  await late.says(/tidegate down/);
  stopped.signal("SIGINT");
  const left = await stopped.ended;
  assert.equal(left.code, 130);
  assert.match(left.err, /the fleet stays up and is open/);
  assert.deepEqual(await home.drains(), []);
  assert.deepEqual([(await late.ended).code, (await late.ended).out], [0, "in\n"]);

  const down = home.type(["down"]);
  await down.says(/waiting for 1 run in flight/);
  home.touch("held-two");
  assert.deepEqual([(await run.ended).code, (await run.ended).out], [0, "begun\nended\n"]);
  const { code, err } = await down.ended;
  assert.equal(code, 0, err);
  assert.match((await up.ended).err, /^exit 0$/m, "as the shell saw it that had started it");
  await nothingIsLeft();
});

test("where no fleet is up each command says so and what to type", async () => {
  for (const args of [["down"], ["status"], ["run", "sample", "--", "true"]]) {
    const { code, out, err } = await home.tidegate(...args);
    assert.equal(code, args[0] === "run" ? 125 : 1, `${args.join(" ")}: ${err}`);
    const next = args[0] === "down" ? /next: npx tidegate status$/m : /next: npm start/;
    assert.match(out + err, next, args.join(" "));
  }
});
