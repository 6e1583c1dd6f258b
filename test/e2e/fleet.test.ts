// What a person asks of the fleet: its screen, its repositories, its door; and how each answers bad input, a wrong bearer
// and a program that reads it.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import * as z from "zod";
import { Home, lastLine, root } from "./home.ts";

const home = new Home();
before(() => home.up());
after(() => home.dispose());

const anyRecord = z.record(z.string(), z.unknown());
const document = (text: string): Record<string, unknown> => anyRecord.parse(JSON.parse(text));

/** What is refused before any effect: exit 2, nothing on stdout, and the next thing to type. */
async function usage(args: readonly string[], says: RegExp): Promise<void> {
  const { code, out, err } = await home.tidegate(...args);
  assert.equal(code, 2, `${args.join(" ")}: ${out}${err}`);
  assert.equal(out, "");
  assert.match(err, says);
  assert.match(lastLine(err), /^ {2}next: \S/, args.join(" "));
}

/** What the audit log says of the fleet's door: how often it was closed and opened. */
const closings = async (): Promise<number> => {
  const rows = await home.fleet.audit({ limit: 1_000 });
  return rows.filter(({ what }) => ["drain", "renew", "lift"].includes(what)).length;
};
const resources = async (): Promise<string[]> =>
  (await home.fleet.residents()).residents.map((row) => row.resource).toSorted();

test("a drain is started, shown, extended and lifted; of two one is to be named, and admin's force lifts all", async () => {
  const start = document(
    await home.done("drain", "start", "--minutes", "30", "--reason", "audit", "--by", "ann", "--json"),
  );
  assert.equal(start["kind"], "created");
  const first = (await home.drains())[0];
  assert.deepEqual([first?.by, first?.reason, first?.deploy], ["ann", "audit", false]);
  assert.match(
    await home.done("drain", "status"),
    /drained — attach refused[\s\S]*drain by ann: audit[\s\S]*ends by itself (?:\d{4}-\d\d-\d\d )?\d\d:\d\dZ, in (29|30) min/,
  );

  const refused = await home.tidegate("repo", "test", "sample");
  assert.equal(refused.code, 3, "a typed test is answered at once");
  assert.match(refused.err, /ann.*audit/);
  const late = home.type(["run", "sample", "--", "echo", "in"]);
  await late.says(/ann: audit.*gives up/);

  assert.match(
    await home.done("drain", "extend", "--minutes", "60"),
    /the drain stands until (?:\d{4}-\d\d-\d\d )?\d\d:\d\dZ, in (1h|59 min|60 min)/,
  );
  await home.done("drain", "start", "--minutes", "5", "--reason", "another");
  await usage(["drain", "lift"], /2 drains stand: .*\(ann\)/);
  assert.equal((await home.drains()).length, 2);
  assert.match(await home.done("drain", "lift", first?.id ?? ""), /lifted; the fleet stays closed by:[\s\S]*another/);
  assert.match(await home.done("drain", "lift", "--force"), /^fleet reopened$/m);
  assert.deepEqual(await home.drains(), []);
  const { code, out, err } = await late.ended;
  assert.deepEqual([code, out], [0, "in\n"]);
  assert.match(err, /after waiting \d+s for the resident/);
});

function typedWrong(): void {
  const cases: readonly (readonly [string, RegExp])[] = [
    ["drain strt", /unknown command 'strt'.*Did you mean start\?/],
    ["run sampel -- true", /no repository is called "sampel"; did you mean "sample"\?/],
    ["run sample", /command/],
    ["run sample --thread a/../b! -- true", /--thread: /],
  ];
  for (const [typed, says] of cases) test(typed, () => usage(typed.split(" "), says));

  test("minutes that are 0, 91, 1.5 or missing, and a reason that is too long, close nothing", async () => {
    const before = await closings();
    const start = (minutes: string, reason = "r") => ["drain", "start", "--minutes", minutes, "--reason", reason];
    for (const minutes of ["0", "91", "1.5"]) await usage(start(minutes), /--minutes/);
    await usage(["drain", "start", "--reason", "r"], /--minutes/);
    await usage(start("5", "x".repeat(201)), /--reason/);
    assert.equal(await closings(), before);
  });
}

function bearersAndRepositories(): void {
  test("a bearer that is wrong, missing, or not enough is 4, and does nothing", async () => {
    const before = await closings();
    const typed = async (env: Record<string, string>, ...args: string[]): Promise<string> => {
      const { code, out, err } = await home.type(args, { env }).ended;
      assert.equal(code, 4, `${args.join(" ")}: ${out}${err}`);
      return err;
    };
    const start = ["drain", "start", "--minutes", "5", "--reason", "r"];
    const said = await Promise.all([
      typed({ RESIDENT_DRAIN_TOKEN: "wrong" }, ...start),
      typed({ RESIDENT_DRAIN_TOKEN: "", RESIDENT_ADMIN_TOKEN: "" }, ...start),
      typed({ RESIDENT_OPERATOR_TOKEN: "wrong" }, "run", "sample", "--", "true"),
      typed({ RESIDENT_ADMIN_TOKEN: "" }, "drain", "lift", "--force"),
    ]);
    for (const words of said) assert.match(lastLine(words), /^ {2}next: /);
    assert.match(said[1] ?? "", /RESIDENT_DRAIN_TOKEN/);
    assert.equal(await closings(), before);
  });

  test("a path that is not there, a folder without git, a URL of nothing, and a setup that fails add nothing", async () => {
    mkdirSync(home.file("plain"));
    await usage(["repo", "add", "nowhere"], /nowhere does not exist/);
    await usage(["repo", "add", "plain"], /plain is not a git repository/);
    await usage(["repo", "add", `file://${home.file("plain")}`], /plain/);
    const broken = home.repository("broken");
    const { code, out, err } = await home.tidegate("repo", "add", broken, "--setup", "echo about to break; exit 3");
    assert.deepEqual([code, out], [1, ""], err);
    assert.match(err, /about to break/);
    assert.match(lastLine(err), /^ {2}next: /);
    const made = [...(await resources()), ...readdirSync(home.paths.containers)];
    assert.deepEqual(
      made.filter((name) => /plain|broken|nowhere/.test(name)),
      [],
    );
  });

  test("a repository is onboarded with its setup, run once a commit, tested by its own command, and removed", async () => {
    const app = home.repository("app", { "a.txt": "a\n" });
    const setup = `echo once >> '${home.file("setups")}'; echo made > made.txt`;
    const added = document(
      await home.done("repo", "add", app, "--setup", setup, "--test", "cat made.txt; exit 5", "--json"),
    );
    assert.equal(added["resource"], "repo:local/app");
    await home.done("repo", "add", app, "--name", "acme/app");
    await usage(
      ["run", "app", "--", "true"],
      /"app" names 2 repositories: repo:(acme|local)\/app, repo:(acme|local)\/app/,
    );
    assert.equal(await home.done("run", "local/app", "--", "cat", "made.txt", "a.txt"), "made\na\n");
    const tested = await home.tidegate("repo", "test", "local/app");
    assert.deepEqual([tested.code, tested.out], [5, "made\n"]);
    assert.equal(readFileSync(home.file("setups"), "utf8"), "once\n", "once a commit, however many worktrees");
    await usage(["repo", "test", "acme/app"], /repo:acme\/app has no test command/);
    await home.done("repo", "remove", "acme/app");
    await home.done("repo", "remove", "app");
    assert.deepEqual(
      (await resources()).filter((name) => name.endsWith("/app")),
      [],
    );
    assert.ok(existsSync(app), "the repository itself is its owner's");
  });
}

function whatProgramsRead(): void {
  for (const [typed, key] of [
    ["--json", "state"],
    ["runs list --json", "runs"],
    ["repo list --json", "residents"],
    ["drain status --json", "drains"],
    ["deploy --dry-run --json", "mode"],
  ] as const) {
    test(`tidegate ${typed} is one document`, async () => {
      const read = document(await home.done(...typed.split(" ")));
      assert.ok(key in read, `${key} in ${Object.keys(read).join()}`);
    });
  }

  test("an error with --json is one document on stderr", async () => {
    const { code, out, err } = await home.tidegate("run", "sampel", "--json", "--", "true");
    assert.deepEqual([code, out], [2, ""]);
    assert.match(JSON.stringify(document(err)), /sampel.*"next"/);
  });

  test("ndjson of a watch is a document a line, and Ctrl-C ends it: 130", async () => {
    const watch = home.type(["status", "--watch", "--output", "ndjson"]);
    await watch.says(/\n/);
    watch.signal("SIGINT");
    const { code, out } = await watch.ended;
    assert.equal(code, 130);
    for (const line of out.trimEnd().split("\n")) assert.equal(document(line)["state"], "open");
  });

  test("a table without headers begins with its first row, and nothing in it steers a terminal", async () => {
    const table = await home.done("repo", "list", "--no-headers");
    assert.match(table, /^sample +ready/);
    assert.ok(table.split("").every((character) => character >= " " || character === "\n"));
  });

  test("a reader that goes away ends a command without a word", async () => {
    const line = `'${root}/bin/tidegate' status | head -n 1`;
    const { code, out, err } = await home.start("sh", ["-c", line]).ended;
    assert.equal(code, 0);
    assert.match(out, /^fleet +open[^\n]*\n$/);
    assert.equal(err, "");
  });
}

describe("side by side", { concurrency: 3 }, () => {
  bearersAndRepositories();
  typedWrong();
  whatProgramsRead();
});
