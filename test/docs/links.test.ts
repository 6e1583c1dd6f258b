// Links inside the documents lead somewhere, and a document speaks of what is, not of what one machine has.

import assert from "node:assert/strict";
import { test } from "node:test";
import { anchorsOf, brokenLinks, documents } from "./markdown.ts";

test("every relative link leads to a file, and to a heading in it", () => {
  const broken = documents().flatMap((document) => brokenLinks(document).map((link) => `${document.file}: ${link}`));
  assert.deepEqual(broken, []);
});

test("a link that leads nowhere is seen", () => {
  const broken = (text: string): string[] => brokenLinks({ file: "docs/x.md", text });
  assert.deepEqual(broken("[a](../LICENSE) [b](https://example.org/x)"), []);
  assert.deepEqual(broken("[a](nowhere.md)"), ["nowhere.md"]);
  assert.deepEqual(broken("[a](errors.md#no-such-heading)"), ["errors.md#no-such-heading"]);
  assert.deepEqual(broken("[a](errors.md#the-fleet) `[not](a-link)`"), []);
});

test("headings are linked to as a reader's renderer does it", () => {
  assert.deepEqual(anchorsOf("# The wire\n\n### POST /runs/release\n```\n# no heading\n```\n"), [
    "the-wire",
    "post-runsrelease",
  ]);
});
