// A configuration is used whole or refused with the place and the key that was meant.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { parseConfig } from "#node/config.ts";
import { Failure } from "#node/failure.ts";

const refusedWith = (text: string): string => {
  try {
    parseConfig(text);
  } catch (error) {
    assert.ok(error instanceof Failure && error.code === "CONFIG_INVALID", String(error));
    return error.message;
  }
  throw new Error(`accepted: ${text}`);
};

test("what is left out has its default, and a kind of the file replaces the built-in one", () => {
  assert.equal(parseConfig("{}").port, 8790);
  const config = parseConfig(
    '{\n  // mine\n  "port": 9000, "kinds": {"coding": {"lease": "1h30m"}, "ci": {"lease": "20m"}},\n}',
  );
  assert.deepEqual(config.leases, { shell: 2_700_000, coding: 5_400_000, review: 1_500_000, ci: 1_200_000 });
  assert.deepEqual(config.image, { setup: null, files: [], tools: {}, env: {} });
});

test("kinds that no bot could be given are refused where they stand", () => {
  const long = { lease: "45m", command: Array.from({ length: 5 }, () => "x".repeat(20_000)) };
  assert.match(refusedWith(JSON.stringify({ kinds: { long } })), /:1:10 "kinds" are \d+ bytes as JSON/);
});

test("the bot's port is beside the fleet's, and both may be any", () => {
  assert.equal(parseConfig('{"port": 9000}').bot.port, 9001);
  assert.equal(parseConfig('{"port": 0, "bot": {"port": 0}}').bot.port, 0);
});

for (const [text, says] of [
  ["", /:1:1 the file is empty/],
  ['{"port": }', /:1:10 a value is wanted here$/],
  ['{"port": 1 "kinds": {}}', /:1:12 a comma is wanted here$/],
  ["[]", /"\(the whole file\)" must be an object$/],
  ['{"port": nope}', /:1:10 this is no value of JSON$/],
  ['{"port": 1', /:1:11 a closing } is wanted here$/],
  ['{"fleetUrl": "x"}', /:1:14 "fleetUrl" is no URL such as http/],
  ['{"kinds": []}', /:1:11 "kinds" must be an object$/],
  ['{"image": {"env": {"X": 1}}}', /"image.env.X" must be a text$/],
  ['{"port": 1.5}', /"port" must be a whole number$/],
  [`{"image": {"files": ["${"x".repeat(501)}"]}}`, /"image.files.0" is longer than 500 characters$/],
  ['{"kinds": {"ci": {}}}', /:1:18 "kinds.ci.lease" is missing: a span such as "45m"$/],
  ['{\n  "prot": 1\n}', /:2:3 unknown key "prot"; did you mean "port"\?/],
  ['{"image": {"setpu": "x"}}', /unknown key "image.setpu"; did you mean "setup"\?/],
  [
    '{"kinds": {"coding": {"leese": "45m", "lease": "45m"}}}',
    /unknown key "kinds.coding.leese"; did you mean "lease"\?/,
  ],
  ['{"zzzzzz": 1}', /known are \$schema, port, kinds, image, resident, bot, fleetUrl, botUrl/],
  ['{"kinds": {"coding": {"lease": 45}}}', /span with its unit/],
  ['{"kinds": {"coding": {"lease": "45"}}}', /span with its unit/],
  ['{"kinds": {"coding": {"lease": "5m"}}}', /:1:32 "kinds.coding.lease" is 5m and must be more than 10m, /],
  ['{"kinds": {"coding": {"lease": "30h"}}}', /:1:32 "kinds.coding.lease" is 1d 6h and must be less than 23h 20m: /],
  ['{"kinds": {"Coding!": {"lease": "45m"}}}', /a kind is a small word/],
  ['{"kinds": {"ci": {"lease": "20m", "env": {"KEY": "abc"}}}}', /:1:50 "kinds.ci.env.KEY" wants {"from": "NAME"}/],
  [
    '{"kinds": {"ci": {"lease": "20m", "env": {"KEY": {"form": "A"}}}}}',
    /"kinds.ci.env.KEY.form"; did you mean "from"\?/,
  ],
  ['{"kinds": {"ci": {"lease": "20m", "comand": ["x"]}}}', /"kinds.ci.comand"; did you mean "command"\?/],
  ['{"kinds": {"ci": {"lease": "20m", "env": {"TIDEGATE_X": {"from": "A"}}}}}', /tidegate's own/],
  ['{"port": 70000}', /"port"/],
  ['{"image": {"files": ["../secret"]}}', /inside this folder/],
  ['{"image": {"files": ["/etc/passwd"]}}', /inside this folder/],
  ['{"image": {"tools": {"node": "v24"}}}', /beginning of a version/],
  ['{"image": {"env": {"TIDEGATE_DATA": "x"}}}', /tidegate's own/],
  ['{"fleetUrl": "ftp://x"}', /"fleetUrl"/],
  ['{"port": 9000, "bot": {"port": 9000}}', /:1:32 "port" and "bot\.port" are both 9000/],
  ['{"bot": {"port": 8790}}', /"port" and "bot\.port" are both 8790/],
  ['{"botUrl": "127.0.0.1:8791"}', /"botUrl"/],
] as const) {
  test(`refused, with the place: ${text}`, () => assert.match(refusedWith(text), says));
}

test("any text is a configuration or a coded refusal", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      try {
        parseConfig(text);
      } catch (error) {
        assert.ok(error instanceof Failure && error.code === "CONFIG_INVALID");
      }
    }),
  );
});
