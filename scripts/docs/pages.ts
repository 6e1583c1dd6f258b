// Every file that is made from the code, and what makes it.

import { configJsonSchema } from "#wire/config.ts";
import { keptBenchPage } from "../bench/page.ts";
import { clocksPage } from "./clocksPage.ts";
import { errorsPage } from "./errorsPage.ts";
import { storagePage } from "./storagePage.ts";
import { wirePage } from "./wirePage.ts";

const schema = (): string => `${JSON.stringify({ title: "tidegate.jsonc", ...Object(configJsonSchema()) }, null, 2)}\n`;

/** The generated files by their path from the root. */
export const pages: Readonly<Record<string, () => string>> = {
  "docs/wire.md": wirePage,
  "docs/errors.md": errorsPage,
  "docs/clocks.md": clocksPage,
  "docs/storage.md": storagePage,
  "docs/bench.md": keptBenchPage,
  "tidegate.schema.json": schema,
};
