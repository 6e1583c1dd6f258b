// Writes the documents that are made from the code: `npm run docs`. A test fails while what is committed differs from
// what is written here, so that a reference cannot say what the code no longer does.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pages } from "./docs/pages.ts";
import { root } from "../test/tidy/source.ts";

for (const [file, page] of Object.entries(pages)) {
  const target = join(root, file);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, page());
  console.log(file);
}
