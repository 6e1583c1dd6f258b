// Explores from the command line: `node test/explorer/main.ts [--full] [--world NAME] [--limit STATES]`.

import { parseArgs } from "node:util";
import { exploreBot } from "./bot/botSearch.ts";
import { SHIPPED_BOT } from "./bot/botShipped.ts";
import { BOT_WORLDS } from "./bot/botWorlds.ts";
import type { Explored, Limits } from "./breadth.ts";
import { report } from "./report.ts";
import { explore } from "./search.ts";
import { SHIPPED } from "./shipped.ts";
import { REOPENINGS } from "./reopenings.ts";
import type { Told } from "./worldTests.ts";
import { FULL_WORLDS, WORLDS } from "./worlds.ts";

const { values } = parseArgs({
  options: {
    full: { type: "boolean", default: false },
    world: { type: "string" },
    limit: { type: "string", default: "20000000" },
  },
});

function exploreAll<W extends Told>(worlds: readonly W[], search: (world: W, limits: Limits) => Explored): void {
  for (const world of worlds.filter((one) => values.world === undefined || one.name === values.world)) {
    const explored = search(world, { states: Number(values.limit) });
    console.log(report(world, explored));
    if (explored.counterExample !== null) process.exitCode = 1;
  }
}

const worlds = [...WORLDS, ...REOPENINGS, ...(values.full ? FULL_WORLDS : [])];
exploreAll(worlds, (world, limits) => explore(SHIPPED, world, limits));
exploreAll(BOT_WORLDS, (world, limits) => exploreBot(SHIPPED_BOT, world, limits));
