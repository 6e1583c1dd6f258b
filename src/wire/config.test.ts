// `tidegate.jsonc` as written: how a release that keeps the image is swapped is one of two words, a kind names where its
// variables stand and never their values, and what is wrong is named by its field.

import assert from "node:assert/strict";
import { test } from "node:test";
import { configOf, configSchema, knownKeysAt } from "./config.ts";
import { parseWith } from "./parse.ts";

const swaps: readonly (readonly [says: string, file: object, swap: "drain" | "handoff"])[] = [
  ["a file that says nothing drains", {}, "drain"],
  ["a part that says nothing drains", { resident: {} }, "drain"],
  ["a drain is taken by its word", { resident: { swap: "drain" } }, "drain"],
  ["a handoff is taken by its word", { resident: { swap: "handoff" } }, "handoff"],
];
for (const [says, file, swap] of swaps)
  test(`how a release is swapped: ${says}`, () => assert.equal(configOf(configSchema.parse(file)).residentSwap, swap));

const refused: readonly (readonly [says: string, file: object, field: string, words: RegExp])[] = [
  ["another word", { resident: { swap: "forced" } }, "resident.swap", /wants "drain" or "handoff"/],
  ["a yes", { resident: { swap: true } }, "resident.swap", /wants "drain" or "handoff"/],
  ["a key that nobody reads", { resident: { swpa: "drain" } }, "resident.swpa", /swpa/],
  ["a word in place of the part", { resident: "handoff" }, "resident", /resident/],
];
for (const [says, file, field, words] of refused)
  test(`how a release is swapped: ${says} is refused by its name`, () => {
    const read = parseWith(configSchema, file);
    assert.ok(!read.ok);
    assert.equal(read.error.field, field);
    assert.match(read.error.detail, words);
  });

test("the keys of each part are known, so that a typing error is told its like", () => {
  assert.ok(knownKeysAt([]).includes("resident"));
  assert.deepEqual(knownKeysAt(["resident"]), ["swap"]);
  assert.deepEqual(knownKeysAt(["resident", "swap"]), []);
});

test("a kind has its lease, and what its runs are started with", () => {
  const { kinds, leases } = configOf(
    configSchema.parse({
      kinds: {
        coding: { lease: "1h", command: ["agent", "--go"], resume: ["agent", "--on"], env: { KEY: { from: "A_KEY" } } },
        ci: { lease: "20m", env: { NPM_TOKEN: { file: "secrets/npm" } } },
      },
    }),
  );
  const env = { KEY: { from: "A_KEY" } };
  assert.deepEqual(kinds["coding"], {
    leaseMs: 3_600_000,
    command: ["agent", "--go"],
    resume: ["agent", "--on"],
    env,
  });
  assert.deepEqual(kinds["ci"]?.env, { NPM_TOKEN: { file: "secrets/npm" } });
  assert.deepEqual(kinds["review"], { leaseMs: 1_500_000, command: null, resume: null, env: {} });
  assert.deepEqual(leases, { shell: 2_700_000, coding: 3_600_000, review: 1_500_000, ci: 1_200_000 });
});

const kind = (more: object): object => ({ kinds: { coding: { lease: "45m", ...more } } });
const wrongKinds: readonly (readonly [says: string, file: object, field: string, words: RegExp])[] = [
  ["a value", kind({ env: { KEY: "abc" } }), "kinds.coding.env.KEY", /wants {"from": "NAME"}.*never the value/],
  ["two places", kind({ env: { KEY: { from: "A", file: "b" } } }), "kinds.coding.env.KEY", /wants {"from": "NAME"}/],
  ["no place", kind({ env: { KEY: {} } }), "kinds.coding.env.KEY", /wants {"from": "NAME"}/],
  ["another place", kind({ env: { KEY: { fiel: "a" } } }), "kinds.coding.env.KEY.fiel", /fiel/],
  [
    "a bearer of tidegate's own",
    kind({ env: { KEY: { from: "RESIDENT_ADMIN_TOKEN" } } }),
    "kinds.coding.env.KEY.from",
    /tidegate's own/,
  ],
  ["an empty file", kind({ env: { KEY: { file: "" } } }), "kinds.coding.env.KEY.file", /is empty/],
  ["an empty command", kind({ command: [""] }), "kinds.coding.command", /empty command/],
  ["no command", kind({ command: [] }), "kinds.coding.command", /name of a command/],
  ["a command as a text", kind({ command: "make" }), "kinds.coding.command", /list of words/],
  ["a word with a NUL", kind({ resume: ["a\0"] }), "kinds.coding.resume.0", /NUL/],
];
for (const [says, file, field, words] of wrongKinds)
  test(`a kind: ${says} is refused by its name`, () => {
    const read = parseWith(configSchema, file);
    assert.ok(!read.ok);
    assert.equal(read.error.field, field);
    assert.match(read.error.detail, words);
  });

test("the keys of a kind and of a variable's place are known", () => {
  assert.deepEqual(knownKeysAt(["kinds", "coding"]), ["lease", "command", "resume", "env"]);
  assert.deepEqual(knownKeysAt(["kinds", "coding", "env", "KEY"]), ["from", "file"]);
  assert.deepEqual(knownKeysAt(["kinds", "coding", "env"]), []);
});
