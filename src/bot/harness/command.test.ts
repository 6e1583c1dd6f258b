// What is taken can be started: by its text as a command and by its kind's own, with what is said of it in its environment.
// What cannot is said to be so before anything is sent.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf } from "#core/askSize.ts";
import { LIMIT } from "#core/budgets.ts";
import type { Kind } from "#wire/config.ts";
import { execBodySchema } from "#wire/attach.ts";
import { commandsOf, environmentOf, whyTooLarge } from "./command.ts";

const kind: Kind = { leaseMs: 1, command: null, resume: null, env: {} };

const largest: readonly (readonly [says: string, character: string])[] = [
  ["letters", "x"],
  ["CJK characters", "漢"],
  ["control characters", "\u0001"],
  ["quotes", '"'],
];
for (const [says, character] of largest)
  test(`the largest ask that is kept is one argument, one variable and one body: of ${says}`, () => {
    const text = character.repeat(Math.min(LIMIT.joinedChars, LIMIT.joinedBytes / bytesOf(character)));
    const commands = commandsOf({ text }, kind);
    const secret = { KEY: "k".repeat(LIMIT.execRestBytes - 3_000) };
    const env = environmentOf({ text }, secret);
    assert.equal(whyTooLarge(commands, env), null);
    const [id, resource] = ["x".repeat(64), `repo:${"o".repeat(64)}/${"n".repeat(64)}`];
    const names = { resource, threadKey: "t".repeat(LIMIT.threadKeyChars), runId: id, procId: id };
    const numbers = { generation: Number.MAX_SAFE_INTEGER, out: Number.MAX_SAFE_INTEGER, err: Number.MAX_SAFE_INTEGER };
    const body = { ...names, ...numbers, bootId: "b".repeat(100), command: commands.command, env };
    execBodySchema.parse(body);
    assert.ok(Buffer.byteLength(JSON.stringify(body)) <= LIMIT.bodyBytes);
  });

test("an ask that an older build has taken and no process takes is told by its bytes", () => {
  const text = "漢".repeat(45_000);
  const why = whyTooLarge(commandsOf({ text }, kind), environmentOf({ text }, {}));
  assert.equal(why, "an argument or a variable of it has 135014 bytes, and a process takes at most 131072 of one");
  const own: Kind = { ...kind, command: ["agent"] };
  assert.match(whyTooLarge(commandsOf({ text }, own), environmentOf({ text }, {})) ?? "", /^an argument or a variable/);
});

test("what only together is more than the fleet takes is told so, also where only its resume is", () => {
  const env = environmentOf({ text: '"'.repeat(60_000) }, { A: "x".repeat(100_000) });
  assert.equal(whyTooLarge({ command: ["agent"], resume: null }, env), null);
  const resume = ["agent", "y".repeat(60_000)];
  const why = whyTooLarge({ command: ["agent"], resume }, env) ?? "";
  assert.match(why, /^its text and its variables are 28\d{4} bytes to be sent, and the fleet takes at most 262144$/);
});
