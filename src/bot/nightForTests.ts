// A stack at night, for tests of rolls: callers who ask again until some bot answers, and whatever bot there is; one that
// was killed is replaced at the next look.

import assert from "node:assert/strict";
import { CLOCK } from "#core/budgets.ts";
import { asked, born, request, World, type Living, type Wishes } from "./botForTests.ts";

/** Everything of one night. */
export class Night {
  readonly world = new World();
  living: Living | undefined;
  readonly #diesAt: number | null;
  /** How the next bot is to be. */
  wishes: Wishes = {};
  /** How many bots there were. */
  bots = 0;

  constructor(diesAt: number | null) {
    this.#diesAt = diesAt;
    this.world.container.onStart = (process) => {
      const { container } = this.world;
      container.say(process, `${process.env["TIDEGATE_ASK"]}: first line\n`);
    };
  }

  async bot(): Promise<Living> {
    while (this.living === undefined || this.living.life.isDead) {
      const death = this.#diesAt === null || this.bots > 0 ? {} : { diesAt: this.#diesAt };
      this.bots += 1;
      this.living = await born(this.world, { ...this.wishes, ...death });
    }
    return this.living;
  }

  /** Asks until some bot answers; the key is the same each time. */
  async ask(text: string, more: object = {}): Promise<string> {
    for (;;) {
      const living = await this.bot();
      const answer = await Promise.race([asked(living, text, more), living.life.died]);
      await this.world.clock.settle();
      if (answer !== undefined) return answer.id;
    }
  }

  async say(way: string, body: object): Promise<void> {
    for (;;) {
      const living = await this.bot();
      const response = await Promise.race([request(living, way, { body }), living.life.died]);
      await this.world.clock.settle();
      if (response !== undefined) return assert.equal(response.status, 200, await response.text());
    }
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= CLOCK.retryMs) {
      await this.bot();
      await this.world.clock.advance(Math.min(left, CLOCK.retryMs));
    }
    await this.bot();
  }

  /** Lets every run that is at work say its last and end. */
  finishAll(): void {
    const { container } = this.world;
    for (const process of container.processes) {
      if (process.end !== null) continue;
      container.say(process, `${process.env["TIDEGATE_ASK"]}: last line\n`);
      container.finish(process);
    }
  }
}
