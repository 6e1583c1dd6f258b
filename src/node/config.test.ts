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

test("the bot's port is beside the fleet's, and both may be any", () => {
  assert.equal(parseConfig('{"port": 9000}').bot.port, 9001);
  assert.equal(parseConfig('{"port": 0, "bot": {"port": 0}}').bot.port, 0);
});

for (const [text, says] of [
  ["", /:1:1 the file is empty/],
  ['{"port": }', /:1:10 ValueExpected/],
  ['{"port": 1 "kinds": {}}', /CommaExpected/],
  ["[]", /"\(the whole file\)"/],
  ['{\n  "prot": 1\n}', /:2:3 unknown key "prot"; did you mean "port"\?/],
  ['{"image": {"setpu": "x"}}', /unknown key "image.setpu"; did you mean "setup"\?/],
  [
    '{"kinds": {"coding": {"leese": "45m", "lease": "45m"}}}',
    /unknown key "kinds.coding.leese"; did you mean "lease"\?/,
  ],
  ['{"zzzzzz": 1}', /known are \$schema, port, kinds, image, resident, bot, fleetUrl, botUrl/],
  ['{"kinds": {"coding": {"lease": 45}}}', /span with its unit/],
  ['{"kinds": {"coding": {"lease": "45"}}}', /span with its unit/],
  ['{"kinds": {"coding": {"lease": "5m"}}}', /lease reserve < shortest lease/],
  ['{"kinds": {"coding": {"lease": "30h"}}}', /a tombstone outlives every drain/],
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
