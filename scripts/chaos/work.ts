// The work under a chaos: asks that wait in the queue, runs that stand at the fleet's door, and stops. Each leaves a mark as it
// begins and as it ends, and writes so many lines, by which it is judged.

import { isAway } from "#client/runOutput.ts";
import { Failure } from "#node/failure.ts";
import { REAL } from "#core/budgets.ts";
import { CliError } from "#cli/exit.ts";
import type { Actor } from "../replay/actor.ts";
import type { Dice } from "./dice.ts";
import type { Ground } from "./ground.ts";

/** What was asked for, by its mark, and how many lines it is to write. */
export interface Piece {
  readonly mark: string;
  readonly lines: number;
}

export interface Asked extends Piece {
  readonly id: string;
}

export interface Run extends Piece {
  readonly actor: Actor;
}

const BEGUN = "begun";
const ENDED = "ended";
const LINE_SECONDS = 0.1;

/** What a piece of work is to write. */
export const textOf = ({ lines }: Piece): string => Array.from({ length: lines }, (_, n) => `line ${n + 1}\n`).join("");

/** How often a piece has begun, and has ended by itself. */
export function marksOf(ground: Ground, { mark }: Piece): { readonly begun: number; readonly ended: number } {
  const count = (file: string): number => ground.marks(file).filter((one) => one === mark).length;
  return { begun: count(BEGUN), ended: count(ENDED) };
}

/** Everything that is asked for, until it is called off. */
export class Work {
  readonly asked: Asked[] = [];
  readonly runs: Run[] = [];
  readonly stopped = new Set<string>();
  readonly #ground: Ground;
  readonly #goesOn: () => boolean;

  constructor(ground: Ground, goesOn: () => boolean) {
    this.#ground = ground;
    this.#goesOn = goesOn;
  }

  #script({ mark, lines }: Piece): string {
    const leaves = (file: string): string => `echo ${mark} >> '${this.#ground.home}/${file}'`;
    const loop = `for i in $(seq ${lines}); do echo "line $i"; sleep ${LINE_SECONDS}; done`;
    return `${leaves(BEGUN)}; ${loop}; ${leaves(ENDED)}`;
  }

  /** Asks again while nobody answers, as whoever gave a key may; undefined where it was called off before. */
  async #again<T>(ask: () => Promise<T>): Promise<T | undefined> {
    while (this.#goesOn()) {
      try {
        return await ask();
      } catch (error) {
        // Between two supervisors nobody says where the bot answers.
        const isNowhere = error instanceof CliError || (error instanceof Failure && error.code === "NOT_UP");
        if (!isAway(error) && !isNowhere) throw error;
        await this.#ground.rests(REAL.recheckMs);
      }
    }
    return undefined;
  }

  /** Asks the bot, each in a thread of its own. */
  async asks(dice: Dice): Promise<void> {
    for (let n = 1; this.#goesOn(); n += 1) {
      await this.#ground.rests(dice.between(200, 1_400));
      const piece = { mark: `ask-${n}`, lines: 1 + dice.below(80) };
      const ask = { key: piece.mark, resource: "sample", text: this.#script(piece), threadKey: `web:${piece.mark}` };
      const answer = await this.#again(() => this.#ground.access.bot.client.ask(ask));
      if (answer !== undefined) this.asked.push({ ...piece, id: answer.id });
    }
  }

  /** Stops one of the last that were asked, whether it waits, works or is over. */
  async stops(dice: Dice): Promise<void> {
    for (let n = 1; this.#goesOn(); n += 1) {
      await this.#ground.rests(dice.between(3_000, 9_000));
      const one = this.asked.at(-1 - dice.below(20));
      if (one === undefined) continue;
      this.stopped.add(one.mark);
      await this.#again(() => this.#ground.access.bot.client.stop(one.id, `stop-${n}`));
    }
  }

  /** Types runs that wait for the fleet themselves; not while no supervisor is up, which they would be told. */
  async types(dice: Dice): Promise<void> {
    for (let n = 1; this.#goesOn(); n += 1) {
      await this.#ground.rests(dice.between(3_000, 8_000));
      if (this.#ground.pidOf("supervisor") === undefined) continue;
      const piece = { mark: `run-${n}`, lines: 10 + dice.below(150) };
      const words = ["run", "sample", "--thread", piece.mark, "--", "sh", "-c", this.#script(piece)];
      this.runs.push({ ...piece, actor: this.#ground.types(...words) });
    }
  }
}
