// One exploration's tables: the functions it walks, its world, and the numbered values of which its states are made.

import type { Closed } from "#core/door.ts";
import type { Book } from "../book.ts";
import { Memo, Pool } from "../pool.ts";
import type { Broken } from "../world.ts";
import type { BotCore } from "./botShipped.ts";
import type { BotWorld } from "./botWorld.ts";
import { NO_BOOK, type Bot, type Doors, type FleetPart, type LedgerPart, type Outside, type Step } from "./parts.ts";

/** One exploration's tables. */
export interface BotModel {
  readonly core: BotCore;
  readonly world: BotWorld;
  readonly ledgers: Pool<LedgerPart>;
  readonly registries: Pool<Book>;
  readonly fleets: Pool<FleetPart>;
  readonly bots: Pool<Bot>;
  readonly doors: Pool<Doors>;
  readonly closed: Memo<Closed | null>;
  readonly outsides: Pool<Outside>;
  readonly steps: Memo<readonly Step[]>;
  readonly verdicts: Memo<Broken | null>;
  readonly numbers: Memo<number>;
}

/** The tables of a new exploration. */
export function botModelOf(core: BotCore, world: BotWorld): BotModel {
  const doors = new Pool<Doors>();
  doors.number({ copy: NO_BOOK, seen: [], frame: null, met: [null, null] });
  return {
    core,
    world,
    doors,
    closed: new Memo(),
    ledgers: new Pool(),
    registries: new Pool(),
    fleets: new Pool(),
    bots: new Pool(),
    outsides: new Pool(),
    steps: new Memo(),
    verdicts: new Memo(),
    numbers: new Memo(),
  };
}
