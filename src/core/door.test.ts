// The bot's doors as a table: what closes an ask's repository, until when, and when a copy of a deploy's drain is over.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  APP,
  at,
  BUDGETS,
  drainOf,
  personsDrain,
  reopeningDrain,
  swappingDrain,
  T0,
  WEB,
} from "../../test/unit/coreSamples.ts";
import { CLOCK } from "./budgets.ts";
import {
  closersOf,
  copyBefore,
  doorOf,
  metOf,
  nextOpening,
  passesChild,
  settleCopy,
  type DoorFacts,
  type Refused,
} from "./door.ts";
import { EMPTY_BOOK, liveDrains, readDrain, type Drain, type DrainBook } from "./drain.ts";
import { MINUTE, SECOND } from "./time.ts";

const bookOf = (...drains: Drain[]): DrainBook => ({ ...EMPTY_BOOK, drains });
const OPEN: DoorFacts = { copy: EMPTY_BOOK, fleet: [], told: [], met: null, resource: APP };
const REFUSAL: Refused = {
  id: "drain-r",
  by: "ci",
  reason: "deploy",
  deploy: true,
  phase: "draining",
  until: at(5),
  wasChild: false,
};
const refused = metOf(REFUSAL, T0);

const doors: readonly (readonly [says: string, facts: Partial<DoorFacts>, is: readonly unknown[] | null])[] = [
  ["nothing is known of a drain: it is open", {}, null],
  ["a deploy is pending", { copy: bookOf(drainOf()) }, ["deploy", "drain-a", T0 + BUDGETS.drainMs, true]],
  ["a copy without a pulse for its bound is none", { copy: bookOf(drainOf({ phaseUntil: T0 })) }, null],
  ["a person has closed the fleet", { fleet: [personsDrain({ until: at(9) })] }, ["drain", "person-a", at(9), false]],
  [
    "the registry's record of the deploy speaks before the copy: it knows the phase",
    { copy: bookOf(drainOf()), fleet: [swappingDrain()] },
    ["deploy", "drain-a", T0 + CLOCK.swapBoundMs, false],
  ],
  [
    "a registry that is silent in its own swap has told the phase",
    { copy: bookOf(drainOf()), told: [swappingDrain()] },
    ["deploy", "drain-a", T0 + CLOCK.swapBoundMs, false],
  ],
  [
    "what it told last and is over says nothing",
    { copy: bookOf(drainOf()), told: [swappingDrain({ phaseUntil: T0 })] },
    ["deploy", "drain-a", T0 + BUDGETS.drainMs, true],
  ],
  ["what it told last closes nothing by itself", { told: [swappingDrain()] }, null],
  [
    "of two, the one that ends last",
    { copy: bookOf(drainOf()), fleet: [personsDrain({ until: at(90) })] },
    ["drain", "person-a", at(90), false],
  ],
  [
    "a reopening closes whom it holds",
    { fleet: [reopeningDrain({ holds: [APP] })] },
    ["deploy", "drain-a", T0 + CLOCK.cycleBoundMs, false],
  ],
  ["and nobody else", { fleet: [reopeningDrain({ holds: [WEB] })] }, null],
  ["an attach was refused, whatever the registry has told", { met: refused }, ["deploy", "drain-r", at(5), true]],
  ["that is tried again after a poll", { met: { ...refused, tryAt: T0 } }, null],
];
for (const [says, facts, is] of doors)
  test(`the door: ${says}`, () => {
    const closed = doorOf({ ...OPEN, ...facts }, T0);
    assert.deepEqual(closed && [closed.cause, closed.drainId, closed.until, closed.endsQuiet], is);
  });

const childIsRefused = metOf({ ...REFUSAL, wasChild: true }, T0);
const passes: readonly (readonly [says: string, facts: Partial<DoorFacts>, passes: boolean])[] = [
  ["an open door", {}, true],
  ["a drain", { fleet: [drainOf(), personsDrain()] }, true],
  ["the copy of a deploy's drain", { copy: bookOf(drainOf()) }, true],
  ["no swap", { copy: bookOf(drainOf()), fleet: [swappingDrain()] }, false],
  ["a swap that is over", { fleet: [swappingDrain({ phaseUntil: T0 })] }, true],
  ["what holds it behind a swap", { fleet: [reopeningDrain({ holds: [APP] })] }, true],
  ["a door at which one that was no part of anything was refused", { met: refused }, true],
  ["no door at which such a one was refused", { met: childIsRefused }, false],
  ["no door at which anybody was refused by a swap", { met: metOf({ ...REFUSAL, phase: "swapping" }, T0) }, false],
  ["a door at which one was refused a poll ago", { met: { ...childIsRefused, tryAt: T0 } }, true],
];
for (const [says, facts, is] of passes)
  test(`a part of a run in flight passes ${says}`, () => assert.equal(passesChild({ ...OPEN, ...facts }, T0), is));

test("all that closes it is told, what ends last first, a drain that copy and registry have once", () => {
  const facts = { ...OPEN, copy: bookOf(drainOf()), fleet: [personsDrain({ until: at(90) }), drainOf()], met: refused };
  assert.deepEqual(
    closersOf(facts, T0).map(({ drainId }) => drainId),
    ["person-a", "drain-a", "drain-r"],
  );
  assert.deepEqual(closersOf(OPEN, T0), []);
});

test("a closed door says who closed it and why", () => {
  const { by, reason } = doorOf({ ...OPEN, fleet: [personsDrain()] }, T0) ?? assert.fail();
  assert.deepEqual([by, reason], ["ada", "looking"]);
});

const openings: readonly (readonly [says: string, facts: Partial<Parameters<typeof nextOpening>[0]>, at: unknown])[] = [
  ["never, while nothing closes", {}, null],
  ["at the bound of the pulse, not at the drain's own end", { copy: bookOf(drainOf()) }, T0 + CLOCK.pulseBoundMs],
  ["at the first end of all", { copy: bookOf(drainOf()), fleet: [personsDrain({ until: at(1) })] }, at(1)],
  ["when a refused attach is tried again", { met: [refused] }, T0 + CLOCK.pollMs],
  ["whichever comes first", { copy: bookOf(drainOf()), met: [refused] }, T0 + CLOCK.pollMs],
  ["a try that is past is none", { met: [{ ...refused, tryAt: T0 }] }, null],
];
for (const [says, facts, is] of openings)
  test(`a door may open by itself ${says}`, () =>
    assert.equal(nextOpening({ copy: EMPTY_BOOK, fleet: [], met: [], ...facts }, T0), is));

const copies: readonly (readonly [says: string, seen: string[], fleet: Drain[], stands: boolean])[] = [
  ["stands while the registry knows its drain", ["drain-a"], [drainOf()], true],
  ["stands while the registry has never been seen to know it: it may be on its way there", [], [], true],
  ["falls with its drain", ["drain-a"], [], false],
  ["falls with its drain, whoever else closes", ["drain-a"], [personsDrain()], false],
  ["falls once its deployer has lifted, whatever is still held", ["drain-a"], [reopeningDrain()], false],
];
for (const [says, seen, fleet, stands] of copies)
  test(`the copy ${says}`, () => {
    const copy = settleCopy(bookOf(drainOf()), new Set(seen), fleet, T0);
    assert.equal(liveDrains(copy, T0).length, stands ? 1 : 0);
    assert.equal(copy.tombstones.length, stands ? 0 : 1, "a renewal that comes late finds it over");
  });

test("the copy of a person's drain stands while that does", () => {
  const copy = settleCopy(bookOf(personsDrain()), new Set(["person-a"]), [personsDrain()], T0);
  assert.equal(liveDrains(copy, T0).length, 1);
});

test("inv. 13: a door that nobody touches again opens by itself at one of the instants that are named", () => {
  const drain = fc.constantFrom(drainOf(), personsDrain({ until: at(30) }), swappingDrain(), reopeningDrain());
  const facts = fc.record({
    copy: fc.array(drain, { maxLength: 3 }).map((all) => bookOf(...all)),
    fleet: fc.array(drain),
  });
  fc.assert(
    fc.property(facts, fc.boolean(), ({ copy, fleet }, hasMet) => {
      const met = hasMet ? refused : null;
      let now = T0;
      for (let looks = 0; doorOf({ copy, fleet, told: [], met, resource: APP }, now) !== null; looks += 1) {
        const next = nextOpening({ copy, fleet, met: met === null ? [] : [met] }, now);
        assert.ok(next !== null && next > now && looks < 12, "it names an instant that is to come");
        now = next;
      }
      assert.ok(now <= T0 + BUDGETS.capMs + MINUTE + SECOND);
    }),
  );
});

test("a copy that fell silent is forgotten while the registry tells its drain, and nothing else is", () => {
  const silent = drainOf({ phaseUntil: T0 });
  const other = drainOf({ id: "drain-b" });
  const ids = (copy: DrainBook, fleet: readonly Drain[]): unknown =>
    copyBefore(copy, silent.id, fleet, T0).drains.map((drain) => readDrain(drain)?.id);
  assert.deepEqual(ids(bookOf(silent, other), [drainOf()]), ["drain-b"]);
  assert.deepEqual(ids(bookOf(silent), [silent]), ["drain-a"], "its drain is over at the registry too");
  assert.deepEqual(ids(bookOf(silent), [other]), ["drain-a"]);
  assert.deepEqual(ids(bookOf(drainOf()), [drainOf()]), ["drain-a"], "one that lives is renewed");
  const otherSilent = drainOf({ id: "drain-b", phaseUntil: T0 });
  assert.deepEqual(ids(bookOf(silent, otherSilent), [drainOf()]), ["drain-b"], "another id that is over stays over");
  const lifted = { ...EMPTY_BOOK, tombstones: [{ id: silent.id, at: T0 }] };
  assert.deepEqual(copyBefore(lifted, silent.id, [drainOf()], T0), lifted, "what was lifted stays so");
});
