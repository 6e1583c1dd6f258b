// Each guard of protocol.md's end is needed: without it something goes wrong for its very reason.

import { KNOCKOUTS } from "./knockouts.ts";
import { testGuards } from "./knockoutTests.ts";
import { REOPENING_KNOCKOUTS } from "./reopeningKnockouts.ts";
import { REOPENINGS } from "./reopenings.ts";
import { explore } from "./search.ts";
import { WORLDS } from "./worlds.ts";

testGuards(explore, [...WORLDS, ...REOPENINGS], [...KNOCKOUTS, ...REOPENING_KNOCKOUTS]);
