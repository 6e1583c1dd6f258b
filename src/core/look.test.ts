// The registry's half of the gate (invariant 2): while a resident is closed nobody new is let in but a child of a
// registered run, nobody at all while a swap goes on, and whoever is let in voids an attempt to seal in that same step.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  APP,
  at,
  bookOf,
  drainOf,
  personsDrain,
  reconcilingDrain,
  reopeningDrain,
  swappingDrain,
  T0,
  WEB,
} from "../../test/unit/coreSamples.ts";
import { CLOCK } from "./budgets.ts";
import { EMPTY_BOOK, type DrainBook } from "./drain.ts";
import { decideLook, sealStands, type LookAsk } from "./look.ts";
import type { Instant } from "./time.ts";

const askOf = (more: Partial<LookAsk> = {}): LookAsk => ({
  resource: APP,
  runId: "run-a",
  look: { incarnation: 1, n: 1 },
  parentUntil: null,
  seal: null,
  kind: "run",
  ...more,
});

const reopening = reopeningDrain();
const rebuild = { kind: "rebuild" } as const;
const asking = drainOf({ sealing: { state: "asking", attempt: 3, until: at(15) } });
const table: readonly (readonly [
  says: string,
  book: DrainBook,
  ask: Partial<LookAsk>,
  now: Instant,
  closedBy: string | null,
])[] = [
  ["an open fleet is open", EMPTY_BOOK, {}, T0, null],
  ["a drain closes to a new run", bookOf([drainOf()]), {}, T0, "drain-a"],
  ["a drain that has ended does not", bookOf([drainOf()]), {}, at(2), null],
  ["inv. 6: a record that cannot be read does not", bookOf(["spoiled"]), {}, T0, null],
  ["a child of a registered run passes a drain", bookOf([drainOf()]), { parentUntil: at(30) }, T0, null],
  ["inv. 3: nobody passes a swap, a child neither", bookOf([swappingDrain()]), { parentUntil: at(30) }, T0, "drain-a"],
  [
    "a swap is named before a drain that ends later",
    bookOf([personsDrain({ until: at(90) }), swappingDrain()]),
    {},
    T0,
    "drain-a",
  ],
  ["the drain that ends last is named", bookOf([drainOf(), personsDrain({ until: at(90) })]), {}, T0, "person-a"],
  ["a resident that is held is closed while the fleet reopens", bookOf([reopening]), {}, T0, "drain-a"],
  ["inv. 10: the others are open", bookOf([reopening]), { resource: WEB }, T0, null],
  ["a resident that is held opens at the bound", bookOf([reopening]), {}, T0 + CLOCK.cycleBoundMs, null],
  ["while the fleet reconciles everything is closed", bookOf([reconcilingDrain()]), {}, T0, "drain-a"],
  ["a rebuild passes the drain that reconciles", bookOf([reconcilingDrain()]), rebuild, T0, null],
  ["a rebuild of a resident that is held passes its hold", bookOf([reopening]), rebuild, T0, null],
  ["a rebuild is refused while a deploy drains", bookOf([drainOf()]), rebuild, T0, "drain-a"],
  ["a rebuild is refused under a person's drain", bookOf([personsDrain()]), rebuild, T0, "person-a"],
  ["inv. 3: a rebuild is refused while a swap goes on", bookOf([swappingDrain()]), rebuild, T0, "drain-a"],
  [
    "a rebuild that one drain lets pass is refused by another, which ends sooner",
    bookOf([reconcilingDrain(), personsDrain({ until: at(5) })]),
    rebuild,
    T0,
    "person-a",
  ],
  [
    "a rebuild under another resident's hold is refused by the next deploy's drain",
    bookOf([reopening, drainOf({ id: "drain-b" })]),
    { ...rebuild, resource: WEB },
    T0,
    "drain-b",
  ],
  ["a provisioning is no rebuild", bookOf([reopening]), { kind: "provision" }, T0, "drain-a"],
];
for (const [says, book, more, now, closedBy] of table)
  test(`a look: ${says}`, () => {
    const answer = decideLook(book, askOf(more), now);
    assert.equal(answer.kind === "closed" ? answer.drain.id : null, closedBy);
    if (answer.kind === "open") assert.equal(answer.parentUntil, more.parentUntil ?? null);
  });

test("whoever is let in makes an attempt to seal impossible, and changes nothing else", () => {
  const book = bookOf([asking, "spoiled"], { attempts: 3 });
  const answer = decideLook(book, askOf({ parentUntil: at(30) }), T0);
  assert.ok(answer.kind === "open");
  const voided = { ...asking, sealing: { ...asking.sealing, state: "void" } };
  assert.deepEqual(answer.book, bookOf(["spoiled", voided], { attempts: 3 }));
});

test("whoever is refused, or comes while nobody is sealing, leaves the book as it is", () => {
  const child = askOf({ parentUntil: at(30) });
  assert.equal(decideLook(bookOf([asking]), askOf(), T0).kind, "closed");
  for (const drain of [drainOf(), drainOf({ sealing: { ...asking.sealing, state: "void" } })]) {
    const book = bookOf([drain]);
    const answer = decideLook(book, child, T0);
    assert.ok(answer.kind === "open" && answer.book === book);
  }
});

const seals: readonly (readonly [says: string, book: DrainBook, attempt: number, now: Instant, stands: boolean])[] = [
  ["stands while its swap goes on", bookOf([swappingDrain()]), 1, T0, true],
  ["is nothing once the swap bound has passed", bookOf([swappingDrain()]), 1, at(15), false],
  ["of another attempt is nothing", bookOf([swappingDrain()]), 2, T0, false],
  ["that is only being asked for does not stand yet", bookOf([asking]), 3, T0, false],
  ["of a drain that reopens is nothing", bookOf([swappingDrain({ phase: "reopening" })]), 1, T0, false],
  ["that was taken back is nothing", bookOf([drainOf()]), 0, T0, false],
];
for (const [says, book, attempt, now, stands] of seals)
  test(`a seal ${says}`, () => assert.equal(sealStands(book, attempt, now), stands));

test("a look answers for the seal that it names, and for none where it names none", () => {
  const sealedElsewhere = bookOf([swappingDrain({ phase: "swapping", until: T0 })]);
  for (const seal of [null, 1]) {
    const answer = decideLook(sealedElsewhere, askOf({ seal }), T0);
    assert.ok(answer.kind === "open" && !answer.sealStands);
  }
});
