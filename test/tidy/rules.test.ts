// Every rule of the house that a linter cannot see, each proven on a bad sample before it judges the house.

import { documented, nothingLeftUndone, opening } from "./rules/comments.ts";
import { noBelief } from "./rules/casts.ts";
import { durations } from "./rules/durations.ts";
import { endsAreReadInCore } from "./rules/ends.ts";
import { matrix, noRings } from "./rules/imports.ts";
import { names } from "./rules/names.ts";
import { everyTestRuns, noFixedSleep } from "./rules/testCraft.ts";
import { waitsAreWordedOnce } from "./rules/waitWords.ts";
import { noModuleState, smallObjects } from "./rules/workerState.ts";
import { holdRule } from "./rule.ts";

const rules = [
  matrix,
  noRings,
  names,
  opening,
  documented,
  nothingLeftUndone,
  durations,
  endsAreReadInCore,
  noBelief,
  everyTestRuns,
  noFixedSleep,
  noModuleState,
  smallObjects,
  waitsAreWordedOnce,
];

for (const rule of rules) holdRule(rule);
