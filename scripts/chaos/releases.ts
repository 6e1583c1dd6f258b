// The releases of a chaos: of another image, or of what is served, one after another; some of their deployers are killed.

import { receiptSchema, type Receipt } from "#wire/receipt.ts";
import { jsonOf } from "#wire/parse.ts";
import type { Actor } from "../replay/actor.ts";
import type { Dice } from "./dice.ts";
import type { Ground } from "./ground.ts";

/** One deploy as it was typed, and what came of it. */
export interface Release {
  readonly words: readonly string[];
  readonly actor: Actor;
  readonly wasKilled: boolean;
}

type Words = readonly string[];
const KINDS: readonly [Words, ...Words[]] = [[], [], [], ["restart"], ["restart", "bot"], ["restart", "ledger"]];
/** One of so many deployers is killed. */
const KILLED = 3;

/** The receipt of one that ended by itself and came so far as to have one. */
export function receiptOf({ actor, wasKilled }: Release): Receipt | undefined {
  return wasKilled ? undefined : receiptSchema.safeParse(jsonOf(actor.words("out"))).data;
}

/** The control: a release of another image that closes nothing and waits for nobody. */
const FORCED: Words = ["--force", "--yes"];

/** Releases one after another while it goes on. */
export async function releases(
  ground: Ground,
  dice: Dice,
  how: { readonly forced: boolean; readonly goesOn: () => boolean; readonly say: (text: string) => void },
): Promise<readonly Release[]> {
  const done: Release[] = [];
  for (;;) {
    await ground.rests(dice.between(1_000, 8_000));
    if (!how.goesOn()) return done;
    const words = ["deploy", ...(how.forced ? FORCED : dice.of(KINDS)), "--json"];
    if (!words.includes("restart")) ground.changesImage();
    const actor = ground.types(...words);
    how.say(`\`${words.slice(0, -1).join(" ")}\` is typed`);
    const killedAfter = dice.below(KILLED) === 0 && !how.forced ? dice.between(0, 9_000) : null;
    const wasKilled = killedAfter !== null && (await diesWithin(ground, actor, killedAfter));
    if (wasKilled) how.say(`its deployer is killed; it had said: ${lastWord(actor)}`);
    await actor.ended;
    done.push({ words, actor, wasKilled });
    if (!wasKilled) how.say(`it ends: ${lastWord(actor)}`);
  }
}

/** Whether it lived for so long, and was killed. */
async function diesWithin(ground: Ground, actor: Actor, ms: number): Promise<boolean> {
  await Promise.race([ground.rests(ms), actor.ended]);
  if (actor.over !== undefined) return false;
  actor.end("SIGKILL");
  return true;
}

const lastWord = (actor: Actor): string =>
  actor.said.filter(({ stream }) => stream === "err").at(-1)?.line ?? "nothing";
