// Everything that can happen in a world of the bot, one step of whoever is there at a time.

import { exploreSpace, type Explored, type Limits } from "../breadth.ts";
import { changed, type Emit, type Tuple } from "../model.ts";
import { bookAfter } from "../book.ts";
import { EMPTY_BOOK } from "#core/drain.ts";
import { askedSteps } from "./askedSteps.ts";
import { BOT_INVARIANTS, brokenBotState } from "./botInvariants.ts";
import type { BotCore } from "./botShipped.ts";
import type { BotWorld } from "./botWorld.ts";
import { closingSteps } from "./closing.ts";
import { fleetSteps, ownSteps } from "./fleetSteps.ts";
import { FIRST_LEDGER } from "./ledgerPart.ts";
import { ABSENT } from "./lives.ts";
import { livingSteps, watchSteps } from "./living.ts";
import { botModelOf, type BotModel } from "./botModel.ts";
import { BOTS, WIDTH, type Outside, type Step } from "./parts.ts";
import { passingSteps } from "./passing.ts";

function firstTuple(model: BotModel): Tuple {
  const { world } = model;
  const outside: Outside = {
    asked: world.askers.map(() => 0),
    said: world.sayings.map(() => 0),
    deploy: { n: 0, at: "before" },
    late: null,
    person: "before",
    restarts: 0,
    replaced: 0,
    readable: true,
  };
  const absent = model.bots.number(ABSENT);
  return [
    model.ledgers.number(FIRST_LEDGER),
    model.registries.number(bookAfter({ ...EMPTY_BOOK, over: [] }, EMPTY_BOOK, 0).book),
    model.fleets.number({ runs: [], boots: [0, 0] }),
    ...BOTS.map(() => absent),
    model.outsides.number(outside),
  ];
}

/** What is due at once in this world: the watch's word, then looks at the queue. One after the other, in no other order. */
function due(model: BotModel, tuple: Tuple): readonly Step[] {
  const { eager, prompt } = model.world.allowed;
  for (const n of [0, 1, 2] as const) {
    const told = prompt ? watchSteps(model, tuple, n) : [];
    if (told.length > 0) return told;
    const { again, stalled } = model.bots.at(tuple[BOTS[n]] as number);
    const looks =
      eager && again && !stalled ? askedSteps(model, tuple, n).filter(({ label }) => / look(:|$)/.test(label)) : [];
    if (looks.length > 0) return looks;
  }
  return [];
}

function everyStep(model: BotModel, tuple: Tuple, emit: Emit): void {
  const each = (steps: readonly Step[]): void => {
    for (const { label, changes, broken } of steps) emit(label, changed(tuple, ...changes), broken);
  };
  const first = due(model, tuple);
  if (first.length > 0) return each(first);
  for (const n of [0, 1, 2] as const) {
    each(askedSteps(model, tuple, n));
    each(fleetSteps(model, tuple, n));
  }
  each(ownSteps(model, tuple));
  each(livingSteps(model, tuple));
  each(closingSteps(model, tuple));
  each(passingSteps(model, tuple));
}

const partsOf = ({ ledgers, registries, fleets, bots }: BotModel): string =>
  `${ledgers.values.length} ledgers, ${registries.values.length} registries, ${fleets.values.length} fleets, ${bots.values.length} bots`;

/** Explores a world with the given functions until everything is seen, something is broken, or the limit is reached. */
export function exploreBot(core: BotCore, world: BotWorld, limits: Limits): Explored {
  const model = botModelOf(core, world);
  const space = {
    name: world.name,
    width: WIDTH,
    first: firstTuple(model),
    begins: world.begins,
    invariants: BOT_INVARIANTS,
    steps: (tuple: Tuple, emit: Emit) => everyStep(model, tuple, emit),
    brokenState: (tuple: Tuple) => brokenBotState(model, tuple),
    parts: () => partsOf(model),
  };
  return exploreSpace(space, limits);
}
