// A run is given what its kind names and nothing else, and every value that was read is masked from then on.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { EnvSource } from "#wire/config.ts";
import { Secrets } from "./secrets.ts";

const variables: Record<string, string> = { A_KEY: "from-variable", SHORT: "abc", OTHER: "never-named" };
const files: Record<string, string> = {
  "secrets/npm": "from-file\n",
  many: "line one is long\nx\nline two is long\n",
  bad: "a\0b",
  "tokens.json": '{"read": "a-bearer-of-our-own"}',
};
const OWN = "a-bearer-of-our-own";
const secretsOf = (): Secrets =>
  new Secrets({ variable: (name) => variables[name], file: (path) => files[path], own: [OWN] });
const kind = (env: Record<string, EnvSource>) => ({ env });

test("the values stand where the kind says", () => {
  const found = secretsOf().of("coding", kind({ KEY: { from: "A_KEY" }, NPM: { file: "secrets/npm" } }));
  assert.deepEqual(found, { kind: "found", env: { KEY: "from-variable", NPM: "from-file" } });
});

const missing: readonly (readonly [source: EnvSource, why: RegExp, next: RegExp])[] = [
  [
    { from: "NOBODY" },
    /^kind coding wants KEY: the bot's environment has no NOBODY$/,
    /^export NOBODY=…, .*: npx tidegate down; npm start$/,
  ],
  [
    { file: "none" },
    /^kind coding wants KEY: the file none cannot be read, or is no text$/,
    /^create the file none, and ask again$/,
  ],
  [{ file: "bad" }, /cannot be read, or is no text/, /^create the file bad/],
  [
    { file: "tokens.json" },
    /^kind coding wants KEY: what it names holds a bearer of tidegate's own/,
    /^name another value in "kinds.coding.env.KEY"/,
  ],
];
for (const [source, why, next] of missing)
  test(`what is not there is named: ${JSON.stringify(source)}`, () => {
    const found = secretsOf().of("coding", kind({ KEY: source }));
    assert.ok(found.kind === "missing");
    assert.match(found.why, why);
    assert.match(found.next, next);
  });

test("what was read once is masked, each line of it too; what was never named is not known", () => {
  const secrets = secretsOf();
  secrets.of("coding", kind({ KEY: { from: "A_KEY" }, MANY: { file: "many" }, SHORT: { from: "SHORT" } }));
  assert.equal(
    secrets.mask("from-variable, line two is long, abc, never-named"),
    `${"*".repeat(13)}, ${"*".repeat(16)}, abc, never-named`,
  );
});

test("a rotated value is read anew, and the old one stays masked", () => {
  const secrets = secretsOf();
  secrets.of("coding", kind({ KEY: { from: "A_KEY" } }));
  variables["A_KEY"] = "rotated-value";
  assert.deepEqual(secrets.of("coding", kind({ KEY: { from: "A_KEY" } })), {
    kind: "found",
    env: { KEY: "rotated-value" },
  });
  assert.equal(secrets.mask("from-variable rotated-value"), `${"*".repeat(13)} ${"*".repeat(13)}`);
  variables["A_KEY"] = "from-variable";
});

test("our own bearers are masked from the beginning, and what kinds name once it is learned", () => {
  const secrets = secretsOf();
  const text = `${OWN} from-variable`;
  assert.equal(secrets.mask(text), `${"*".repeat(OWN.length)} from-variable`);
  secrets.learn({ coding: kind({ KEY: { from: "A_KEY" }, NONE: { from: "NOBODY" } }) });
  assert.equal(secrets.mask(text), "*".repeat(OWN.length) + " " + "*".repeat("from-variable".length));
});
