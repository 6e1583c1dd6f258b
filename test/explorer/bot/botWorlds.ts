// The worlds of the bot: doors and time, asks and threads, bots that follow each other, answers that are lost or late, and
// what is said. Most begin with a bot that serves, so that they can afford more of what comes then.

import { botWorld, type Asker, type BotWorld, type RequestKind, type Saying } from "./botWorld.ts";

/** Asks of one repository, and one of another. */
const A: Asker = { id: "a", cell: 0, thread: "t1", brief: true };
const B: Asker = { id: "b", cell: 0, thread: "t2", brief: true };
const C: Asker = { id: "c", cell: 1, thread: "t3", brief: true };
/** One whose run takes its time, another of its thread, and a part of it. */
const LONG: Asker = { id: "r", cell: 0, thread: "t4" };
const SAME: Asker = { id: "s", cell: 0, thread: "t4", brief: true };
const CHILD: Asker = { id: "k", cell: 1, thread: "t5", parent: "r", brief: true };

const STEER: Saying = { key: "m1", to: "r", kind: "steer" };
const STEER_AGAIN: Saying = { key: "m2", to: "r", kind: "steer" };
const FOLLOW_UP: Saying = { key: "f", to: "r", kind: "followUp" };
const STOP: Saying = { key: "x", to: "r", kind: "stop" };

const BEGUN = [/^bot 1 begins$/];
const SERVES = [...BEGUN, /^bot 1 reclaim: nobody$/];

/** What happens in between is other worlds' to show. */
const SWIFT = { eager: true, prompt: true } as const;
const OF_ASKS: readonly RequestKind[] = ["ask", "look", "dispatch", "return", "end"];
const OF_RUNS: readonly RequestKind[] = [
  "ask",
  "look",
  "dispatch",
  "begin",
  "verdict",
  "end",
  "reclaim",
  "handOff",
  "attach",
];

const DOORS: readonly BotWorld[] = [
  botWorld(
    "window",
    "a deploy that closes and opens with no roll, and dies anywhere; a watch that lags; two repositories",
    { askers: [A, B, C], begins: SERVES },
    { deploys: ["d1"], eager: true },
  ),
  botWorld(
    "pulse",
    "time to every end of two deploys that follow each other, late renewals",
    { askers: [A], begins: SERVES },
    { deploys: ["d1", "d2"], time: true, late: true, ...SWIFT },
  ),
  botWorld(
    "late",
    "a renewal that comes after its deployer has lifted or died, and two who wait for one repository",
    { askers: [A, B], begins: SERVES },
    { deploys: ["d1"], time: true, late: true, ...SWIFT },
  ),
  botWorld(
    "person",
    "a person's drain beside a deploy's, time to the end of each",
    { askers: [A, C], begins: SERVES },
    { deploys: ["d1"], time: true, person: true, ...SWIFT },
  ),
  botWorld(
    "holds",
    "a fleet that is swapped and reopens with one resident held",
    { askers: [A, C], begins: SERVES },
    { deploys: ["d1"], time: true, holds: true, ...SWIFT },
  ),
  botWorld(
    "blind",
    "a registry that cannot be read at any time",
    { askers: [A], begins: SERVES },
    { deploys: ["d1"], time: true, unreadable: true, eager: true },
  ),
];

const ASKS: readonly BotWorld[] = [
  botWorld(
    "threads",
    "two asks of a thread, one of them asked twice under its key",
    { askers: [{ ...LONG, times: 2 }, SAME], begins: SERVES },
    { deploys: ["d1"], ...SWIFT },
  ),
  botWorld(
    "child",
    "a part of a run in flight while a deploy closes, beside somebody who waits",
    { askers: [LONG, CHILD, B], begins: SERVES },
    { deploys: ["d1"], immortal: true, ...SWIFT },
  ),
  botWorld(
    "swap",
    "a part of a run in flight while the fleet is swapped; its deployer dies anywhere, and a watch that lags",
    { askers: [LONG, CHILD], begins: SERVES },
    { deploys: ["d1"], holds: true, time: true, eager: true },
  ),
  botWorld(
    "lostAsks",
    "answers that are lost, of whatever an ask is about; one is asked again",
    { askers: [{ ...A, times: 2 }, B], begins: SERVES },
    { lost: OF_ASKS, deploys: ["d1"], immortal: true, ...SWIFT },
  ),
  botWorld(
    "lateAsks",
    "answers that travel: anything happens between a step of the ledger and its answer",
    { askers: [A, B], begins: BEGUN },
    { slow: true, prompt: true },
  ),
  botWorld(
    "lateStops",
    "answers that travel, of an ask and of its stop",
    { askers: [LONG], sayings: [STOP], begins: BEGUN },
    { slow: true, prompt: true },
  ),
  botWorld(
    "lateDoors",
    "answers that travel while a person closes and opens",
    { askers: [LONG], begins: BEGUN },
    { slow: true, person: true, prompt: true },
  ),
];

const BOTS_AFTER_BOTS: readonly BotWorld[] = [
  botWorld(
    "roll",
    "a deploy that rolls the bot, which hands its runs off; two asks of a thread",
    { askers: [LONG, A, SAME], generations: 2, begins: SERVES },
    { deploys: ["d1"], rolls: "handoff", immortal: true, ...SWIFT },
  ),
  botWorld(
    "hold",
    "a deploy that rolls the bot, which waits for its runs; the deployer dies anywhere",
    { askers: [LONG, A], generations: 2, begins: SERVES },
    { deploys: ["d1"], rolls: "drain", ...SWIFT },
  ),
  botWorld(
    "kills",
    "three bots, each killed or asked to end anywhere, time to the end of their leases",
    { askers: [LONG, A, SAME], generations: 3, begins: SERVES },
    { kill: true, ends: "handoff", time: true, ...SWIFT },
  ),
  botWorld(
    "killed",
    "a bot that is killed anywhere under a deploy",
    { askers: [LONG, A], generations: 2, begins: SERVES },
    { deploys: ["d1"], kill: true, time: true, ...SWIFT },
  ),
  botWorld(
    "rolled",
    "a deploy that hands a run off from bot to bot, each killed anywhere, its deployer dead anywhere and late, time to every end",
    { askers: [LONG], generations: 3, begins: SERVES },
    { deploys: ["d1"], rolls: "handoff", kill: true, time: true, late: true, ...SWIFT },
  ),
  botWorld(
    "slow",
    "bots that stand still and go on behind the next one, and write still",
    { askers: [LONG, A], generations: 2, begins: SERVES },
    { stall: true, time: true, ...SWIFT },
  ),
  botWorld(
    "slower",
    "three bots that stand still, go on, are killed",
    { askers: [LONG], generations: 3, begins: SERVES },
    { stall: true, kill: true, time: true, ...SWIFT },
  ),
  botWorld(
    "ledger",
    "a ledger that is away for a while, bots that stand still",
    { askers: [LONG], generations: 2, begins: SERVES },
    { ledgerRestarts: 1, stall: true, time: true, ...SWIFT },
  ),
  botWorld(
    "lostRuns",
    "answers that are lost, of whatever a run is about; bots that are killed and asked to end",
    { askers: [{ ...LONG, times: 2 }, A], generations: 2, begins: SERVES },
    { lost: OF_RUNS, ends: "handoff", kill: true, time: true, ...SWIFT },
  ),
];

const SAYINGS: readonly BotWorld[] = [
  botWorld(
    "said",
    "steers and a follow-up in every gap of a hand-off, each answer lost, one said twice",
    { askers: [LONG], sayings: [{ ...STEER, times: 2 }, FOLLOW_UP, STEER_AGAIN], generations: 2, begins: SERVES },
    { ends: "handoff", lost: ["say", "reached"], ...SWIFT },
  ),
  botWorld(
    "stops",
    "a stop in every gap of a hand-off, behind a steer and before a follow-up",
    { askers: [LONG], sayings: [STEER, { ...STOP, times: 2 }, FOLLOW_UP], generations: 2, begins: SERVES },
    { ends: "handoff", ...SWIFT },
  ),
  botWorld(
    "waits",
    "steer, stop and follow-up to one that waits, is let in and comes back from a closed door; each answer lost",
    { askers: [LONG], sayings: [STEER, STOP, FOLLOW_UP], begins: SERVES },
    { deploys: ["d1"], immortal: true, lost: ["say"], ...SWIFT },
  ),
  botWorld(
    "lostStops",
    "a stop of one that waits, its answer lost, said again, over two bots",
    { askers: [LONG], sayings: [{ ...STOP, times: 2 }], generations: 2, begins: SERVES },
    { deploys: ["d1"], immortal: true, kill: true, time: true, lost: ["say"], ...SWIFT },
  ),
  botWorld(
    "replaced",
    "a container that is replaced under its run, its resume, and a bot that is killed anywhere",
    { askers: [LONG], sayings: [STEER, STOP], generations: 2, begins: SERVES },
    { kill: true, time: true, replaced: 1, resumes: true, ...SWIFT },
  ),
  botWorld(
    "behind",
    "a bot that stands still at any step and goes on behind the next one, over containers that are replaced",
    { askers: [LONG], generations: 2, begins: SERVES },
    { stall: true, time: true, replaced: 2, resumes: true, ...SWIFT },
  ),
  botWorld(
    "shorter",
    "what a bot that stood still writes behind the next one, which was told more",
    { askers: [LONG], sayings: [STEER, STEER_AGAIN], generations: 2, begins: SERVES },
    { stall: true, time: true, ...SWIFT },
  ),
];

export const BOT_WORLDS: readonly BotWorld[] = [...DOORS, ...ASKS, ...BOTS_AFTER_BOTS, ...SAYINGS];
