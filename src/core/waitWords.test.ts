// What is waited for, in the words that every screen shows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { at, T0 } from "../../test/unit/coreSamples.ts";
import { SECOND } from "./time.ts";
import { waitedWords, waitWords } from "./waitWords.ts";

test("a wait names what is waited for, and its minutes where its end is known", () => {
  assert.equal(waitWords("deploy", at(12), T0), "waiting for the deploy to finish · 12 min");
  assert.equal(waitWords("drain", at(0), T0), "waiting for the fleet to reopen · 1 min");
  assert.equal(waitWords("resident", at(3), T0), "waiting for the container to come back · 3 min");
  assert.equal(waitWords("line", null, T0), "waiting for its turn at the resident");
  assert.equal(waitWords("fleet", null, T0), "waiting for the fleet to answer");
});

test("what was waited is said in whole seconds", () => {
  assert.equal(waitedWords(1_410 * SECOND + 999), "after waiting 1410s for the resident");
});
