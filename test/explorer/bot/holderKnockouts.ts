// The guards of who may do something to a run, and of what has reached it: the generation, the container's boot, somebody
// who is alive to read, and the word of how it ended.

import { without, type BotKnockout } from "./botKnockouts.ts";
import { SHIPPED_BOT, type BotCore } from "./botShipped.ts";

const anyGeneration: BotCore["touchStep"] = (store, asked) =>
  SHIPPED_BOT.touchStep(store, { ...asked, generation: null });
const noVerdict: BotCore["progressStep"] = (store, id, generation, said) => {
  const { verdict, ...rest } = said;
  return verdict === undefined
    ? SHIPPED_BOT.progressStep(store, id, generation, rest)
    : { store, found: SHIPPED_BOT.progressStep(store, id, generation, rest).found };
};
const anyBoot: BotCore["mayStartIn"] = () => true;

/** What keeps a run to whoever holds it, guard by guard. */
export const HOLDER_KNOCKOUTS: readonly BotKnockout[] = [
  {
    guard: "the generation of who writes",
    core: without({ touchStep: anyGeneration }),
    world: "shorter",
    invariant: "lost",
    steps: 26,
    telling: /^bot 1 writes the inbox of r$/,
  },
  {
    guard: "the boot in which a process may be started",
    core: without({ mayStartIn: anyBoot }),
    world: "replaced",
    invariant: "12",
    steps: 20,
    telling: /^the container of R1 is replaced$/,
  },
  {
    guard: "both, for a bot that stood still while its container was replaced",
    core: without({ touchStep: anyGeneration, mayStartIn: anyBoot }),
    world: "behind",
    invariant: "beside",
    steps: 23,
    telling: /^bot 1 goes on$/,
  },
  {
    guard: "somebody alive who reads what is said to a run",
    core: without({ isRead: () => true }),
    world: "said",
    invariant: "lost",
    steps: 20,
    telling: /^bot 1 writes the inbox of r, for nobody$/,
  },
  {
    guard: "how a run ended, in the ledger before its registration is given back",
    core: without({ progressStep: noVerdict }),
    world: "replaced",
    invariant: "12",
    steps: 27,
    telling: /^bot 1 detaches r$/,
  },
];
