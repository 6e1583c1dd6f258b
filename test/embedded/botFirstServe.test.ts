// A supervisor that starts serves what was released before. What is swapped as soon as it can be asked comes behind that, and is
// what serves then: there are never two bots.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { allProcesses, environOf, isSameProcess, sendSignal } from "#node/processes.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import { BotStack } from "./botStack.ts";
import { eventually } from "./hostStack.ts";

const stack = new BotStack(20);

before(async () => {
  await stack.up();
});

/** The bots of this stack that live. */
const bots = (): number[] =>
  allProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => environOf(pid)["TIDEGATE_BOT"]?.includes(stack.home) === true);

test("a swap of the bot that is asked for while the first one is begun comes behind it, and is served", async () => {
  const { parts } = await stack.control().status();
  const build = parts.bot?.build ?? assert.fail();
  const generation = (parts.bot?.generation ?? 0) + 1;
  const { supervisor } = readSupervisorFile(stack.paths) ?? assert.fail();
  assert.ok(sendSignal(supervisor.pid, "SIGKILL"));
  await eventually("it is gone", () => (isSameProcess(supervisor) ? undefined : true));
  const up = stack.up();
  const ask = { step: "bot", drainId: "early-1", mode: "undrained", build } as const;
  const answer = await eventually("it takes a swap", async () => {
    try {
      return await stack.control().swap(ask);
    } catch {
      return undefined;
    }
  });
  await up;
  assert.deepEqual([answer.outcome, answer.drainId], ["landed", "early-1"]);
  const health = await stack.bot.health();
  assert.deepEqual([health.generation, health.drainId], [generation, "early-1"]);
  const { bot } = (await stack.control().status()).parts;
  assert.deepEqual([bot?.generation, bot?.drainId], [generation, "early-1"]);
  assert.equal(bots().length, 1);
});
