// The worlds of the bot.

import { botWorld, type Asker, type BotWorld } from "./botWorld.ts";

const A: Asker = { id: "a", cell: 0, thread: "t1", brief: true };
const B: Asker = { id: "b", cell: 0, thread: "t2", brief: true };
const C: Asker = { id: "c", cell: 1, thread: "t3", brief: true };
const LONG: Asker = { id: "r", cell: 0, thread: "t4" };
const SAME: Asker = { id: "s", cell: 0, thread: "t4", brief: true };
const CHILD: Asker = { id: "k", cell: 1, thread: "t5", parent: "r", brief: true };

const SERVES = [/^bot 1 begins$/, /^bot 1 reclaim/];

export const BOT_WORLDS: readonly BotWorld[] = [
  botWorld(
    "window",
    "a deploy that closes and opens",
    { askers: [A, B, C], begins: SERVES },
    { deploys: ["d1"], eager: true },
  ),
  botWorld(
    "pulse",
    "time",
    { askers: [A], begins: SERVES },
    { deploys: ["d1", "d2"], time: true, late: true, eager: true, prompt: true },
  ),
  botWorld(
    "pulse2",
    "time",
    { askers: [A, C], begins: SERVES },
    { deploys: ["d1"], time: true, late: true, eager: true, prompt: true },
  ),
  botWorld(
    "person",
    "a person",
    { askers: [A, C], begins: SERVES },
    { deploys: ["d1"], time: true, person: true, eager: true, prompt: true },
  ),
  botWorld(
    "holds",
    "holds",
    { askers: [A, C], begins: SERVES },
    { deploys: ["d1"], time: true, holds: true, eager: true, prompt: true },
  ),
  botWorld(
    "blind",
    "unreadable",
    { askers: [A], begins: SERVES },
    { deploys: ["d1"], time: true, unreadable: true, eager: true },
  ),
  botWorld(
    "threads",
    "threads and keys",
    { askers: [{ ...LONG, times: 2 }, SAME], begins: SERVES },
    { deploys: ["d1"], immortal: true, eager: true, prompt: true },
  ),
  botWorld(
    "child",
    "child",
    { askers: [LONG, CHILD, B], begins: SERVES },
    { deploys: ["d1"], immortal: true, eager: true, prompt: true },
  ),
  botWorld(
    "roll",
    "roll",
    { askers: [LONG, A], generations: 2, begins: SERVES },
    { deploys: ["d1"], rolls: "handoff", eager: true, prompt: true },
  ),
  botWorld(
    "hold",
    "roll",
    { askers: [LONG, A], generations: 2, begins: SERVES },
    { deploys: ["d1"], rolls: "drain", eager: true, prompt: true },
  ),
  botWorld(
    "kill",
    "kills",
    { askers: [LONG, A, SAME], generations: 3, begins: SERVES },
    { kill: true, ends: "handoff", time: true, eager: true },
  ),
  botWorld(
    "killD",
    "kills",
    { askers: [LONG, A], generations: 2, begins: SERVES },
    { kill: true, time: true, eager: true, prompt: true, deploys: ["d1"] },
  ),
  botWorld(
    "stall",
    "stalls",
    { askers: [LONG, A], generations: 2, begins: SERVES },
    { stall: true, time: true, eager: true },
  ),
  botWorld(
    "ledger",
    "ledger restarts",
    { askers: [LONG], generations: 2, begins: SERVES },
    { ledgerRestarts: 1, stall: true, time: true, eager: true },
  ),
  botWorld(
    "lost",
    "lost",
    { askers: [{ ...A, times: 2 }, B], generations: 2, begins: SERVES },
    {
      lost: ["ask", "look", "dispatch", "return", "begin", "end", "reclaim", "handOff", "attach"],
      deploys: ["d1"],
      ends: "handoff",
      immortal: true,
      eager: true,
      prompt: true,
    },
  ),
  botWorld(
    "slow",
    "slow",
    { askers: [A, B], generations: 1, begins: [/^bot 1 begins$/] },
    { slow: true, deploys: ["d1"], immortal: true, prompt: true },
  ),
  botWorld(
    "said",
    "messages",
    {
      askers: [LONG],
      generations: 2,
      sayings: [
        { key: "m1", to: "r", kind: "steer", times: 2 },
        { key: "f", to: "r", kind: "followUp" },
        { key: "m2", to: "r", kind: "steer" },
      ],
      begins: SERVES,
    },
    { ends: "handoff", eager: true, lost: ["say", "reached"] },
  ),
  botWorld(
    "stop",
    "messages",
    {
      askers: [LONG],
      generations: 2,
      sayings: [
        { key: "m1", to: "r", kind: "steer" },
        { key: "x", to: "r", kind: "stop", times: 2 },
        { key: "f", to: "r", kind: "followUp" },
      ],
      begins: SERVES,
    },
    { ends: "handoff", deploys: ["d1"], immortal: true, eager: true, prompt: true },
  ),
  botWorld(
    "saidKill",
    "messages",
    {
      askers: [LONG],
      generations: 2,
      sayings: [
        { key: "m1", to: "r", kind: "steer" },
        { key: "x", to: "r", kind: "stop" },
      ],
      begins: SERVES,
    },
    { kill: true, time: true, replaced: 1, resumes: true, eager: true },
  ),
  botWorld(
    "saidStall",
    "messages",
    {
      askers: [LONG],
      generations: 2,
      sayings: [
        { key: "m1", to: "r", kind: "steer" },
        { key: "m2", to: "r", kind: "steer" },
      ],
      begins: SERVES,
    },
    { stall: true, time: true, eager: true },
  ),
  botWorld(
    "replacedStall",
    "messages",
    { askers: [LONG], generations: 2, begins: SERVES },
    { stall: true, time: true, replaced: 1, resumes: true, eager: true },
  ),
];
