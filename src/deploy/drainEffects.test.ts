// The registry is closed first and the bot behind it, under one id; a bot that is not told is asked again; the beats of a
// swap renew both, and end with it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { budgetsOf, CLOCK, DEFAULT_LEASES } from "#core/budgets.ts";
import { deployOf, type DeployState } from "#core/rolloutState.ts";
import { HOUR, MINUTE, SECOND } from "#core/time.ts";
import { problemOf, TidegateError, type ErrorCode } from "#wire/errors.ts";
import { VirtualClock } from "#client/clientForTests.ts";
import { beatsOf, drain, factOfBot, pulse, type DrainParts } from "#deploy/drainEffects.ts";
import type { BotDoor, FleetDoor } from "#deploy/fleetDoor.ts";
import { BUDGETS, DRAIN_ID, drainOf, T0, TO } from "#deploy/recordsForTests.ts";

const never = new AbortController().signal;
const refusing = (code: ErrorCode, more: Record<string, unknown> = {}): Promise<never> =>
  Promise.reject(new TidegateError(problemOf(code, "x", more)));
const STATE: DeployState = {
  ...deployOf("drained", DRAIN_ID, BUDGETS, T0),
  asked: true,
  drain: drainOf(DRAIN_ID, T0),
};

interface World {
  readonly fleet?: FleetDoor["drain"];
  readonly bot?: BotDoor["drain"] | null;
  readonly build?: DrainParts["asker"]["build"];
  readonly clock?: DrainParts["clock"];
}

function world({ fleet, bot, build = TO, clock }: World = {}) {
  const asked: string[] = [];
  const bodies: unknown[] = [];
  const unused = (): Promise<never> => Promise.reject(new Error("not asked for in this test"));
  const parts: DrainParts = {
    fleet: {
      drain: (body, signal) => {
        asked.push(`registry ${body.id} ${body.minutes}`);
        bodies.push(body);
        return fleet?.(body, signal) ?? Promise.resolve({ now: T0, kind: "renewed", drain: drainOf(body.id, T0) });
      },
    },
    bot:
      bot === null
        ? null
        : {
            health: unused,
            undrain: unused,
            drain: (body, signal) => {
              asked.push(`bot ${body.id} ${body.minutes}`);
              bodies.push(body);
              return bot?.(body, signal) ?? Promise.resolve({ queued: null });
            },
          },
    budgets: BUDGETS,
    clock: clock ?? { now: () => T0, sleep: unused },
    asker: { by: "ci", reason: "r", build },
    without: [],
  };
  return { parts, asked, bodies };
}

test("the bot's door is closed with the fleet's: the same drain, right behind it", async () => {
  const { parts, asked, bodies } = world();
  assert.deepEqual(await drain(parts, STATE, never), {
    fact: { kind: "drained", drain: drainOf(DRAIN_ID, T0) },
    seen: [
      { kind: "botDoor", closed: true, why: null },
      { kind: "asksQueued", queued: null },
    ],
  });
  assert.deepEqual(asked, [`registry ${DRAIN_ID} 65`, `bot ${DRAIN_ID} 65`]);
  const body = { id: DRAIN_ID, minutes: 65, by: "ci", reason: "r", deploy: true, build: TO, without: [] };
  assert.deepEqual(bodies, [body, body]);
  await pulse(parts, { ...STATE, drain: drainOf(DRAIN_ID, T0, { until: T0 + 20 * MINUTE }) }, never);
  await pulse(parts, { ...STATE, drain: null }, never);
  assert.deepEqual(asked.slice(2), [
    `registry ${DRAIN_ID} 20`,
    `bot ${DRAIN_ID} 20`,
    `registry ${DRAIN_ID} 1`,
    `bot ${DRAIN_ID} 1`,
  ]);
});

test("a bot that was started with shorter leases is closed all the same: its copy is asked for as far as any takes it", async () => {
  const { parts, asked } = world();
  const budgets = budgetsOf({ ...DEFAULT_LEASES, long: 3 * HOUR });
  await drain({ ...parts, budgets }, STATE, never);
  assert.deepEqual(asked, [`registry ${DRAIN_ID} 200`, `bot ${DRAIN_ID} 90`]);
  const { capMinutes } = budgetsOf({ short: MINUTE });
  assert.ok(capMinutes >= 90, "no bot takes less");
});

test("a bot that is not part of the stack is absent, and a deploy of parts brings the fleet nothing", async () => {
  const { parts, bodies } = world({ bot: null, build: null });
  assert.deepEqual(await drain(parts, STATE, never), { fact: { kind: "drained", drain: drainOf(DRAIN_ID, T0) } });
  assert.partialDeepStrictEqual(bodies, [{ build: null }]);
});

test("what the registry refuses is not asked of the bot", async () => {
  const { parts, asked } = world({ fleet: () => refusing("DRAIN_OVER") });
  assert.deepEqual((await drain(parts, STATE, never)).fact, { kind: "over" });
  assert.deepEqual(asked, [`registry ${DRAIN_ID} 65`]);
});

test("a bot that cannot be closed is asked again, whatever it says; only a bearer that may not is an answer", async () => {
  const { parts } = world({ bot: () => Promise.reject(new Error("ECONNREFUSED")) });
  assert.deepEqual(await drain(parts, STATE, never), { fact: { kind: "lost", why: "the bot: ECONNREFUSED" } });
  const of = async (code: ErrorCode, more: Record<string, unknown> = {}): Promise<unknown> =>
    factOfBot(await refusing(code, more).catch((error: unknown) => error));
  const copy = { draining: drainOf("other-1", T0) };
  assert.partialDeepStrictEqual(
    [await of("DEPLOY_IN_PROGRESS", copy), await of("UNREACHABLE")],
    [{ kind: "lost" }, { kind: "lost" }],
    "the registry has granted this drain, so an older copy is on its way out",
  );
  assert.partialDeepStrictEqual(await of("BEYOND_SCOPE"), { kind: "denied" });
});

test("a bot for which this drain is over keeps no renewal from counting: by the registry's word its doors are closed", async () => {
  const { parts, asked } = world({ bot: () => refusing("DRAIN_OVER") });
  const { title } = problemOf("DRAIN_OVER", "x");
  for (const close of [drain, pulse])
    assert.deepEqual(await close(parts, STATE, never), {
      fact: { kind: "drained", drain: drainOf(DRAIN_ID, T0) },
      seen: [{ kind: "botDoor", closed: false, why: `${title}: x` }],
    });
  assert.equal(asked.length, 4, "it is asked each time: a bot that hears of its drain again takes it again");
});

test("a beat renews when a pulse is due, and not where nothing was closed", async () => {
  let now = T0;
  const clock = { now: () => now, sleep: () => Promise.reject(new Error("unused")) };
  const { parts, asked } = world({ clock });
  const beats = beatsOf(parts);
  assert.equal(await beats.beat({ ...STATE, asked: false }, never), "goesOn");
  assert.deepEqual(asked, []);
  assert.equal(await beats.beat(STATE, never), "goesOn");
  now += CLOCK.pulseMs - 1;
  await beats.beat(STATE, never);
  assert.equal(asked.length, 2, "one renewal of the registry and the bot");
  now += 1;
  await beats.beat(STATE, never);
  assert.equal(asked.length, 4);
});

test("a beat tells of a drain that is over, and of nothing else", async () => {
  const over = beatsOf(world({ fleet: () => refusing("DRAIN_OVER") }).parts);
  assert.equal(await over.beat(STATE, never), "over");
  const silent = beatsOf(world({ fleet: () => Promise.reject(new Error("cut")) }).parts);
  assert.equal(await silent.beat(STATE, never), "goesOn");
});

test("beside a long swap each pulse is sent, the one that failed included, until the swap has ended", async () => {
  const clock = new VirtualClock();
  const { parts, asked } = world({ clock, fleet: () => Promise.reject(new Error("cut")) });
  const swap = new AbortController();
  const beating = beatsOf(parts).keepOn(STATE, swap.signal);
  await clock.advance(4 * CLOCK.pulseMs + SECOND);
  assert.equal(asked.length, 4);
  swap.abort(new Error("ended"));
  await beating;
  await clock.advance(2 * CLOCK.pulseMs);
  assert.equal(asked.length, 4);
});
