// The faults of a chaos, all from outside: a kill, or a process that stands still and goes on later.

import { sendSignal } from "#node/processes.ts";
import type { Dice } from "./dice.ts";
import type { Ground, Part } from "./ground.ts";

type Say = (text: string) => void;
type Fault = (ground: Ground, dice: Dice, say: Say) => Promise<void>;

/** Nothing is struck where nothing lives. */
const kills =
  (part: Exclude<Part, "supervisor">): Fault =>
  (ground, _dice, say) => {
    const pid = ground.pidOf(part);
    if (pid !== undefined && sendSignal(pid, "SIGKILL")) say(`the ${part} is killed`);
    return Promise.resolve();
  };

const stalls =
  (part: Exclude<Part, "supervisor">, mostMs: number): Fault =>
  async (ground, dice, say) => {
    const pid = ground.pidOf(part);
    if (pid === undefined || !sendSignal(pid, "SIGSTOP")) return;
    const ms = dice.between(500, mostMs);
    say(`the ${part} stands still for ${(ms / 1_000).toFixed(1)} s`);
    try {
      await ground.rests(ms);
    } finally {
      sendSignal(pid, "SIGCONT");
    }
  };

const killsAll: Fault = async (ground, dice, say) => {
  const pid = ground.pidOf("supervisor");
  if (pid === undefined || !sendSignal(pid, "SIGKILL")) return;
  say("the supervisor is killed, and with it all but the containers");
  await ground.rests(dice.between(0, 2_000));
  await ground.bringUp();
  say("it is up again");
};

/** A bot that is silent for long is replaced by its supervisor, behind its back. */
const FAULTS: readonly [Fault, ...Fault[]] = [
  kills("bot"),
  kills("bot"),
  kills("bot"),
  kills("fleet"),
  kills("fleet"),
  kills("ledger"),
  kills("ledger"),
  stalls("bot", 40_000),
  stalls("fleet", 10_000),
  stalls("ledger", 10_000),
  killsAll,
];

/** Strikes again and again while it goes on; answers how often. */
export async function strikes(ground: Ground, dice: Dice, goesOn: () => boolean, say: Say): Promise<number> {
  for (let struck = 0; ; struck += 1) {
    await ground.rests(dice.between(2_000, 9_000));
    if (!goesOn()) return struck;
    await dice.of(FAULTS)(ground, dice, say);
  }
}
