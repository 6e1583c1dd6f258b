// The worlds of the bot.

import { botWorld, type Asker, type BotWorld } from "./botWorld.ts";

const A: Asker = { id: "a", cell: 0, thread: "t1", brief: true };
const B: Asker = { id: "b", cell: 0, thread: "t2", brief: true };
const C: Asker = { id: "c", cell: 1, thread: "t3", brief: true };

const SERVES = [/^bot 1 begins$/, /^bot 1 reclaim/];

export const BOT_WORLDS: readonly BotWorld[] = [
  botWorld("window", "a deploy that closes and opens", { askers: [A, B, C], begins: SERVES }, { deploys: ["d1"], eager: true }),
];
