// Each guard of the bot's door, its queue and its ledger is needed: without it something goes wrong for its very reason.

import { testGuards } from "../knockoutTests.ts";
import { BOT_KNOCKOUTS } from "./botKnockouts.ts";
import { exploreBot } from "./botSearch.ts";
import { BOT_WORLDS } from "./botWorlds.ts";
import { HOLDER_KNOCKOUTS } from "./holderKnockouts.ts";
import { TURN_KNOCKOUTS } from "./turnKnockouts.ts";

testGuards(exploreBot, BOT_WORLDS, [...BOT_KNOCKOUTS, ...HOLDER_KNOCKOUTS, ...TURN_KNOCKOUTS]);
