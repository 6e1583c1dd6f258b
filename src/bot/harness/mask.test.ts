// No value is ever shown, however the bytes of a stream are cut, and every byte stays at its offset.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Mask, maskText } from "./mask.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const plain = (all: Uint8Array): string => new TextDecoder().decode(all);

/** What a stream shows of these pieces, and what was held back before the end. */
function shown(secrets: readonly string[], pieces: readonly Uint8Array[]): { all: string; open: string } {
  const mask = new Mask(secrets);
  const told = pieces.map((piece) => mask.push(piece));
  const open = plain(Buffer.concat(told));
  return { open, all: plain(Buffer.concat([...told, mask.end()])) };
}

test("a value is hidden behind as many asterisks, also across pieces", () => {
  assert.equal(shown(["secret"], [bytes("a secret b")]).all, "a ****** b");
  assert.equal(shown(["secret"], [bytes("a sec"), bytes("re"), bytes("t b")]).all, "a ****** b");
  assert.equal(shown(["s\u00e9cret"], [bytes("s\u00e9cret")]).all, "*".repeat(bytes("s\u00e9cret").length));
  assert.equal(shown(["long", "longer"], [bytes("long longer")]).all, "**** ******");
  assert.equal(shown([], [bytes("secret")]).all, "secret");
});

test("what may be the beginning of a value is held back until what follows has told", () => {
  assert.deepEqual(shown(["secret"], [bytes("a sec")]), { open: "a ", all: "a sec" });
  assert.deepEqual(shown(["secret"], [bytes("a sec"), bytes("ond")]), { open: "a second", all: "a second" });
  const mask = new Mask(["secret"]);
  mask.push(bytes("sec"));
  assert.equal(mask.held, 3);
  assert.equal(plain(mask.push(bytes("ret!"))), "******!");
  assert.equal(mask.held, 0);
});

test("a value that overlaps with the beginning of another is hidden whole", () => {
  assert.equal(shown(["abcd", "cdef"], [bytes("abcd"), bytes("ef.")]).all, "******.");
  assert.equal(shown(["abcd", "cdef"], [bytes("abcd"), bytes("ex.")]).all, "****ex.");
  assert.equal(shown(["abcd", "cdef"], [bytes("abcd")]).all, "****");
  assert.equal(shown(["aaaa"], [bytes("aaa"), bytes("aa"), bytes("b")]).all, "*****b");
});

test("however a stream is cut, it shows what it shows whole", () => {
  const secrets = fc.uniqueArray(fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 5 }), {
    maxLength: 3,
  });
  const pieces = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "c", "d"), maxLength: 4 }), { maxLength: 8 });
  fc.assert(
    fc.property(secrets, pieces, (hidden, parts) => {
      const whole = parts.join("");
      const { all } = shown(hidden, parts.map(bytes));
      assert.equal(all.length, whole.length, "every byte stays at its offset");
      assert.equal(all, shown(hidden, [bytes(whole)]).all);
      for (const secret of hidden) assert.ok(!all.includes(secret), `${secret} in ${all}`);
      for (const [at, char] of all.split("").entries()) assert.ok(char === "*" || char === whole[at]);
    }),
  );
});

test("a text hides every value in it, the longest first", () => {
  assert.equal(maskText("token tokenize", ["token", "tokenize"]), "***** ********");
  assert.equal(maskText("nothing", [""]), "nothing");
});
