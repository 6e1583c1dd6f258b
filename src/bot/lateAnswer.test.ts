// An answer of the ledger that comes late gives a run once: whatever was looked at meanwhile, it is begun once, and nothing
// of it is left registered behind its end.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { asked, born, World } from "./botForTests.ts";

test("an ask whose admission is answered late runs once, and leaves neither a registration nor a card that says it attaches", async () => {
  const world = new World();
  world.container.onStart = (process) => world.container.finish(process);
  const living = await born(world);
  const real = world.ledger.ask.bind(world.ledger);
  const { promise: late, resolve: comes } = Promise.withResolvers<void>();
  world.ledger.ask = async (body) => {
    const answer = await real(body);
    await late;
    return answer;
  };
  const answered = asked(living, "one");
  await world.clock.settle();
  for (let beats = 0; beats < 4; beats += 1) await world.clock.advance(CLOCK.heartbeatMs);
  comes();
  const { id } = await answered;
  await world.clock.settle();
  for (let beats = 0; beats < 2; beats += 1) await world.clock.advance(CLOCK.heartbeatMs);
  assert.equal(world.container.processes.length, 1);
  assert.deepEqual([...world.server.registered.keys()], []);
  assert.deepEqual((await world.ledger.entries()).entries, []);
  assert.equal((await world.cards()).at(-1), `${id} ended`);
});
