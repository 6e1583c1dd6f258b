// Explores from the command line: `node test/explorer/main.ts [--full] [--world NAME] [--limit STATES]`.

import { parseArgs } from "node:util";
import { report } from "./report.ts";
import { explore } from "./search.ts";
import { SHIPPED } from "./shipped.ts";
import { WORLDS } from "./worlds.ts";

const { values } = parseArgs({ options: { world: { type: "string" }, limit: { type: "string", default: "20000000" } } });

for (const world of WORLDS.filter((one) => values.world === undefined || one.name === values.world)) {
  const explored = explore(SHIPPED, world, { states: Number(values.limit) });
  console.log(report(world, explored));
  if (explored.counterExample !== null) process.exitCode = 1;
}
