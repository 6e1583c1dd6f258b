// What is committed is what the code says: every generated document is made anew and compared, and what they are made
// from is seen to be found where it is.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pages } from "../../scripts/docs/pages.ts";
import { schemaFields, storedKeys } from "../../scripts/docs/readCode.ts";
import { storageGaps } from "../../scripts/docs/storagePage.ts";
import { REGISTRY } from "../../scripts/docs/storageRows.ts";
import { filesBelow, root } from "../tidy/source.ts";

for (const [file, page] of Object.entries(pages)) {
  test(`${file} is what the code says (else: npm run docs)`, () => {
    assert.equal(readFileSync(path.join(root, file), "utf8"), page());
  });
}

test("every key, table and file that the source keeps has its row, and no row is about nothing", () => {
  assert.deepEqual(storageGaps(), []);
});

test("a key that nobody told of is seen", () => {
  const found = storedKeys(filesBelow("src/fleet/registry", /\.ts$/));
  assert.ok(found.includes("drain:") && found.includes("table audit"), found.join(", "));
  assert.equal(found.length, REGISTRY.length);
});

test("fields are read from the schema that reads them", () => {
  assert.deepEqual(schemaFields("src/node/tokens.ts", "bearersSchema"), ["admin", "operator", "read", "drain"]);
  assert.throws(() => schemaFields("src/node/tokens.ts", "noSuchSchema"), /no schema/);
});
