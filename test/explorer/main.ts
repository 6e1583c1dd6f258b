// Explores from the command line: `node test/explorer/main.ts [--full] [--world NAME] [--limit STATES]`.

import { parseArgs } from "node:util";
import { report } from "./report.ts";
import { explore } from "./search.ts";
import { SHIPPED } from "./shipped.ts";
import { REOPENINGS } from "./reopenings.ts";
import { FULL_WORLDS, WORLDS } from "./worlds.ts";

const { values } = parseArgs({
  options: {
    full: { type: "boolean", default: false },
    world: { type: "string" },
    limit: { type: "string", default: "20000000" },
  },
});
const worlds = [...WORLDS, ...REOPENINGS, ...(values.full ? FULL_WORLDS : [])];

for (const world of worlds.filter((one) => values.world === undefined || one.name === values.world)) {
  const explored = explore(SHIPPED, world, { states: Number(values.limit) });
  console.log(report(world, explored));
  if (explored.counterExample !== null) process.exitCode = 1;
}
