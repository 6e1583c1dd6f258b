// Invariant 13. A deployer is killed by SIGKILL before and after each effect that the step machine can name. Wherever it dies,
// nobody helps: the fleet and the bot's door are open again within the pulse bound, or the swap bound once sealed, and the run
// in flight lives.

import assert from "node:assert/strict";
import { after, suite, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { CLOCK, REAL } from "#core/budgets.ts";
import { DEPLOY_EFFECTS, type DeployEffectName } from "#core/rolloutState.ts";
import { DeployStack, SCALE, type HeldRun } from "./deployStack.ts";

interface KillPoint {
  readonly effect: DeployEffectName;
  readonly when: "before" | "after";
}

/** Effects while the run in flight is still held; at the others it has ended by itself. */
const WHILE_HELD: readonly DeployEffectName[] = ["preflight", "drain", "mint", "look", "pause", "pulse"];
const POINTS: readonly KillPoint[] = DEPLOY_EFFECTS.flatMap(
  (effect) =>
    [
      { effect, when: "before" },
      { effect, when: "after" },
    ] as const,
);
const LOOK_EVERY_MS = 2 * REAL.lookEveryMs;
/** How many stacks die at the same time. */
const STACKS = 5;

const reached: string[] = [];
const measured: string[] = [];
let botsClosed = 0;

/** What from outside makes an effect happen that a plain deploy does not reach; answers how it is taken back. */
async function provoke(stack: DeployStack, point: KillPoint, drained: Promise<unknown>): Promise<() => void> {
  if (point.effect === "mint") {
    await drained;
    await stack.access("admin").fleet.undrain({ outcome: "unknown", force: true });
  }
  if (point.effect !== "holds") return () => undefined;
  // A container that does not answer leaves its resident held behind the lift.
  await looking(stack, (drains) => drains?.drains.some((drain) => drain.phase === "swapping") === true);
  return stack.freeze();
}

interface Closed {
  /** Real ms after the kill at which the fleet or the bot's door was last seen closed, and both first seen open. */
  readonly lastClosed: number;
  readonly firstOpen: number;
  readonly wasSealed: boolean;
  /** Whether the bot's own copy of the drain was seen to close its door. */
  readonly wasBotClosed: boolean;
}

type Drains = Awaited<ReturnType<HeldFleet["drains"]>>;
type HeldFleet = ReturnType<DeployStack["access"]>["fleet"];

/** Looks at the drains, every few ms, until `enough` says so of one look. */
async function looking(
  stack: DeployStack,
  enough: (drains: Drains | undefined, askedAt: number) => boolean | Promise<boolean>,
): Promise<void> {
  const { fleet } = stack.access();
  for (;;) {
    const askedAt = performance.now();
    const drains = await fleet.drains().catch(() => undefined);
    if (await enough(drains, askedAt)) return;
    await pause(LOOK_EVERY_MS);
  }
}

/** Whether the bot's door is closed by its copy of a drain; null while it does not answer, and false where there is none. */
async function botClosed(stack: DeployStack): Promise<boolean | null> {
  const { url, client } = stack.access().bot;
  if (url() === null) return false;
  return await client.health().then(
    ({ draining }) => draining !== null,
    () => null,
  );
}

/** Resolves when fleet and bot are open, with when one was last seen closed; given up far behind every bound. */
async function reopening(stack: DeployStack, killedAt: number): Promise<Closed> {
  let [lastClosed, wasSealed, wasBotClosed] = [0, false, false];
  await looking(stack, async (drains, askedAt) => {
    const bot = await botClosed(stack);
    if (performance.now() - killedAt > (2 * CLOCK.swapBoundMs) / SCALE) return true;
    if (drains === undefined || bot === null) return false;
    if (drains.drains.length === 0 && !bot) return true;
    lastClosed = askedAt - killedAt;
    wasSealed ||= drains.drains.some((drain) => drain.phase !== "draining");
    wasBotClosed ||= bot;
    return false;
  });
  return { lastClosed, firstOpen: performance.now() - killedAt, wasSealed, wasBotClosed };
}

async function dies(stack: DeployStack, point: KillPoint): Promise<void> {
  const run: HeldRun = await stack.hold();
  stack.newImage();
  const isHeld = WHILE_HELD.includes(point.effect);
  if (point.effect === "readBack") await stack.cutSwapAnswers();
  const { said, ended } = stack.deployer([
    "--effect",
    point.effect,
    "--when",
    point.when,
    ...(partsFor(point) === "all" ? ["--restart", "bot"] : []),
  ]);
  let over = false;
  const isClosed = (drains: Drains | undefined): boolean => drains !== undefined && drains.drains.length > 0;
  const drained = looking(stack, (drains) => over || isClosed(drains));
  const provoked = provoke(stack, point, drained);
  if (!isHeld) void drained.then(() => run.go());
  const { signal } = await ended;
  const killedAt = performance.now();
  over = true;
  const [goOn] = await Promise.all([provoked, drained]);
  goOn();
  assert.equal(signal, "SIGKILL", `${point.when} ${point.effect} was not reached:\n${said()}`);

  const { lastClosed, firstOpen, wasSealed, wasBotClosed } = await reopening(stack, killedAt);
  const bound = (wasSealed ? CLOCK.swapBoundMs : CLOCK.pulseBoundMs) / SCALE;
  if (wasBotClosed) botsClosed += 1;
  measured.push(
    `${point.when} ${point.effect}: open after ${Math.round(firstOpen)} ms of ${bound} ms${wasSealed ? ", sealed" : ""}${wasBotClosed ? ", with the bot's door" : ""}`,
  );
  assert.ok(lastClosed <= bound * 1.05, `closed ${lastClosed} ms after the kill, and the bound is ${bound} ms`);

  run.go();
  const { code, output } = await run.ended;
  assert.deepEqual({ code, output }, { code: 0, output: "begun\nended\n" }, "the run in flight went on to its own end");
  reached.push(`${point.when} ${point.effect}`);
}

/** The parts of a stack that a point needs: only one with a bot has a bot to roll. */
const partsFor = ({ effect }: KillPoint): "fleet" | "all" =>
  effect === "roll" || effect === "rollGate" ? "all" : "fleet";

/** Stacks that nobody uses right now. */
const free: Record<"fleet" | "all", DeployStack[]> = { fleet: [], all: [] };
const all: DeployStack[] = [];

async function borrowed(parts: "fleet" | "all"): Promise<DeployStack> {
  const known = free[parts].pop();
  if (known !== undefined) return known;
  const stack = await DeployStack.up(parts);
  all.push(stack);
  return stack;
}

suite("a killed deployer", { concurrency: STACKS }, () => {
  for (const point of POINTS) {
    test(`${point.when} ${point.effect}`, async () => {
      const parts = partsFor(point);
      const stack = await borrowed(parts);
      await dies(stack, point);
      free[parts].push(stack);
    });
  }
});

after(async () => {
  await Promise.all(all.map((stack) => stack.dispose()));
  assert.ok(all.length === free.fleet.length || botsClosed > 0, "no bot's door was ever closed");
  process.stdout.write(`${measured.join("\n")}\nkill points ${reached.length} of ${POINTS.length}\n`);
});
