// Logs do not grow for ever, and whoever writes one goes on while it is set aside.

import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setLogsAside } from "./log.ts";

const folder = mkdtempSync(join(tmpdir(), "tidegate-log-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("a log that has grown large is set aside under its writer, and a small one is left", () => {
  const large = openSync(join(folder, "bot.log"), "a");
  const small = openSync(join(folder, "workerd.log"), "a");
  const mebibyte = `${"x".repeat(1024 * 1024 - 1)}\n`;
  for (let n = 0; n < 17; n += 1) writeSync(large, mebibyte);
  writeSync(small, "a line\n");
  setLogsAside(folder);
  writeSync(large, "goes on\n");
  assert.equal(readFileSync(join(folder, "bot.log"), "utf8"), "goes on\n");
  assert.equal(statSync(join(folder, "bot.log.1")).size, 17 * 1024 * 1024);
  setLogsAside(folder);
  assert.deepEqual(readdirSync(folder).toSorted(), ["bot.log", "bot.log.1", "workerd.log"]);
  assert.equal(readFileSync(join(folder, "workerd.log"), "utf8"), "a line\n");
  setLogsAside(join(folder, "gone"));
  for (const log of [large, small]) closeSync(log);
});
