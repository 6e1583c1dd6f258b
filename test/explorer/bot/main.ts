import { report } from "../report.ts";
import { exploreBot } from "./botSearch.ts";
import { SHIPPED_BOT } from "./botShipped.ts";
import { BOT_WORLDS } from "./botWorlds.ts";
for (const world of BOT_WORLDS) {
  if (process.argv[2] !== undefined && process.argv[2] !== world.name) continue;
  const found = exploreBot(SHIPPED_BOT, world, { states: Number(process.argv[3] ?? 300000) });
  console.log(report(world, found));
  if (process.argv[4]) for (const [l, n] of [...found.taken].sort()) console.log(String(n).padStart(8), l);
}
