// Starts: what the first one shows and makes, and every start that is refused, which says what to type and changes nothing.

import assert from "node:assert/strict";
import { lstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { git, Home } from "./home.ts";
import type { Typed } from "./typed.ts";

const homes: Home[] = [];
after(() => Promise.all(homes.map((home) => home.dispose())));

function newHome(config: Readonly<Record<string, unknown>> = {}): Home {
  const home = new Home(config);
  homes.push(home);
  return home;
}

/** Everything in a folder: each path with its mode, its bytes and when it was changed. */
function snapshot(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .toSorted()
    .map((path) => {
      const { mode, mtimeMs, size } = lstatSync(path);
      return `${path} ${mode.toString(8)} ${mtimeMs} ${size}`;
    });
}

/** Types `up`, which is to be refused: exit 2, nothing on stdout, nothing changed; answers what it said. */
async function refused(home: Home, ...args: string[]): Promise<string> {
  const before = snapshot(home.folder);
  const { code, out, err } = await home.tidegate("up", ...args);
  assert.equal(code, 2, err);
  assert.equal(out, "");
  assert.match(err, /\n {2}next: \S.*\n$/, "it ends with what to type");
  assert.deepEqual(snapshot(home.folder), before);
  return err;
}

const home = newHome({ image: { files: ["sample/VERSION"] } });
let up: Typed;

describe("the first start", () => {
  before(async () => {
    up = await home.up();
  });

  test("it shows what is up, the sample, and what to type", async () => {
    const lines = up.out.split("\n");
    assert.match(lines[0] ?? "", /^tidegate \d+\.\d+\.\d+$/);
    assert.match(up.out, /^ {2}fleet {5}open {3}http:\/\/127\.0\.0\.1:\d+ {3}build .*generation 1$/m);
    assert.match(up.out, /nothing in flight$/m);
    assert.match(
      up.out,
      /^ {2}resident {2}sample {3}ready {3}1 container, image [0-9a-f]{7}, current {3}0 runs in flight$/m,
    );
    assert.match(
      up.out,
      /^ {2}state {5}\.\/\.tidegate \(tokens readable by you only\) {3}workerd \d+ {3}containers: /m,
    );
    assert.match(up.out, /npx tidegate run sample -- sh -c/);
    assert.match(up.out, /^ {2}bot {7}0 in flight, 0 queued {3}http:\/\/127\.0\.0\.1:\d+$/m);
    assert.match(up.out, /echo 2 > sample\/VERSION; npx tidegate deploy$/m);
    assert.match(up.out, /npx tidegate ask date --repo sample --watch$/m);
    assert.match(up.out, /Stop: Ctrl-C/);
    await up.says(/^\d\d:\d\d:\d\d {2}sample {4}onboarded$/m);
    assert.ok(
      lines.slice(0, 30).every((line) => line.length < 140 && !line.includes("\u001b")),
      "plain, and not too wide",
    );
  });

  test("the sample is a repository of one commit, and nothing in the state folder is readable by others", () => {
    assert.equal(git(home.file("sample"), "log", "--format=%s"), "The sample");
    assert.equal(git(home.file("sample"), "status", "--porcelain"), "");
    assert.equal(statSync(home.paths.state).mode & 0o777, 0o700);
    for (const file of [home.paths.tokens, home.paths.supervisor, home.paths.clock, home.paths.release]) {
      assert.equal(statSync(file).mode & 0o777, 0o600, file);
    }
    const tokens = readFileSync(home.paths.tokens, "utf8");
    const secrets = [...tokens.matchAll(/"([^"]{20,})"/g)].map((found) => found[1] ?? "");
    assert.equal(secrets.length, 4);
    const said = up.out + up.err;
    for (const secret of secrets) assert.ok(!said.includes(secret), "no token on the screen");
  });

  test("a second start is refused, naming who is up, how long, and `tidegate down`", async () => {
    const { code, out, err } = await home.tidegate("up");
    assert.equal(code, 2);
    assert.equal(out, "");
    assert.match(
      err,
      new RegExp(`is up since \\S+ \\((\\d+m )?\\d+s\\), pid ${up.pid}, http://127\\.0\\.0\\.1:\\d+\n`),
    );
    assert.doesNotMatch(err, /went on/, "who started it is still there");
    assert.match(err, /\n {2}next: npx tidegate down\n$/);
  });
});

describe("a start beside the one that is up", () => {
  test("a start in another folder whose port this one has is refused, and leaves nothing there", async () => {
    const port = new URL(home.control.file.url).port;
    const other = newHome({ port: Number(port), image: { files: ["sample/VERSION"] } });
    const err = await refused(other);
    assert.match(err, new RegExp(`port ${port}\\b`));
    assert.match(err, /next: set "port" in tidegate\.jsonc, or npm start -- --port <port>/);
  });

  test("a start whose bot's port is taken is refused as well, naming that port and its key", async () => {
    const port = new URL(home.control.file.botUrl ?? "").port;
    const err = await refused(newHome({ bot: { port: Number(port) }, image: { files: ["sample/VERSION"] } }));
    assert.match(err, new RegExp(`port ${port}\\b`));
    assert.match(err, /next: set "bot": \{"port": …\} in tidegate\.jsonc/);
  });
});

describe("later starts", () => {
  test("Ctrl-C with nothing in flight ends it, and the next start finds everything as it was", async () => {
    const tokens = readFileSync(home.paths.tokens, "utf8");
    up.signal("SIGINT");
    const { code, signal } = await up.ended;
    assert.deepEqual([code, signal], [0, null]);
    assert.deepEqual(home.processes(), []);
    for (const rubbish of ["containers/rubbish/container.json", "deploys/rubbish.json", "supervisor.json"]) {
      mkdirSync(join(home.paths.state, rubbish, ".."), { recursive: true });
      writeFileSync(join(home.paths.state, rubbish), '{"half');
    }
    writeFileSync(join(home.paths.state, "notes.txt"), "mine");
    up = await home.up();
    assert.match(up.out, /resident {2}sample {3}ready/);
    assert.match(up.out, /note.*not a container that can be read, left alone: containers\/rubbish/);
    assert.equal(readFileSync(home.paths.tokens, "utf8"), tokens);
    assert.equal(readFileSync(join(home.paths.state, "notes.txt"), "utf8"), "mine");
    const list = await home.tidegate("deploy", "list");
    assert.equal(list.code, 0);
    assert.match(list.err, /1 receipt in .* cannot be read and is left out: rubbish\.json/);
    assert.match(await home.done("status"), /sample +ready/);
    const file = readFileSync(home.paths.supervisor, "utf8");
    writeFileSync(home.paths.supervisor, file.slice(0, 40));
    for (const args of [["status"], ["ask", "x", "--repo", "sample"], ["down"], ["deploy", "plan"], ["up"]]) {
      const { code, out, err } = await home.tidegate(...args);
      assert.notEqual(code, 0, args.join(" "));
      assert.match(out + err, /supervisor\.json cannot be read \([\s\S]*\n {2}next: .*npm start/, args.join(" "));
    }
    writeFileSync(home.paths.supervisor, file);
    up.signal("SIGTERM");
    assert.equal((await up.ended).code, 0);
  });

  test("a start that is given up while it begins leaves nothing that runs", async () => {
    up = home.type(["up"]);
    await home.begins(up);
    up.signal("SIGINT");
    const { code } = await up.ended;
    assert.ok(code === 0 || code === 1, `it ended by itself: ${code}`);
    assert.deepEqual(home.processes(), []);
  });
});

describe("a start that is refused", { concurrency: 2 }, () => {
  const states: readonly [string, string, RegExp][] = [
    ["state.json", '{"protocol": 99}', /written by a newer tidegate.*protocol 99/],
    ["release.json", '{"generation": 1', /release\.json/],
  ];
  for (const [file, content, says] of states) {
    test(`a state folder whose ${file} is ${content}`, async () => {
      const bad = newHome({ image: { files: ["sample/VERSION"] } });
      mkdirSync(bad.paths.state, { mode: 0o700 });
      writeFileSync(join(bad.paths.state, file), content);
      const err = await refused(bad);
      assert.match(err, says);
      assert.match(err, /next: .*move \.tidegate away to begin anew/);
    });
  }

  test("a configuration with an unknown key, and a port that is none", async () => {
    const bad = newHome({ prot: 1 });
    assert.match(await refused(bad), /unknown key "prot"; did you mean "port"\?/);
    bad.configure({});
    assert.match(await refused(bad, "--port", "99999"), /--port: "99999" is no port/);
  });
});
