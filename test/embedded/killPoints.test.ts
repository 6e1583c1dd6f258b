// A deployer is killed by SIGKILL before and after each effect that the step machine can name. Wherever it dies, nobody
// helps: the fleet is open again within the pulse bound, or the swap bound once sealed, and the run in flight lives.

import assert from "node:assert/strict";
import { after, suite, test, type TestContext } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { DEPLOY_EFFECTS, type DeployEffectName } from "#core/rollout.ts";
import { DeployStack, eventually, SCALE, type HeldRun } from "./deployStack.ts";

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
const STACKS = 5;
/** Points that end sealed take the swap bound each, so they are dealt out evenly. */
const isSealed = ({ effect, when }: KillPoint): boolean =>
  ["confirm", "upload", "readBack", "liveGate"].includes(effect) ||
  (effect === "seal" && when === "after") ||
  (effect === "lift" && when === "before");
const DEALT = [...POINTS.filter(isSealed), ...POINTS.filter((point) => !isSealed(point))];
const hands = Array.from({ length: STACKS }, (_, hand) => DEALT.filter((_point, index) => index % STACKS === hand));

const reached: string[] = [];
const measured: string[] = [];

/** What from outside makes an effect happen that a plain deploy does not reach. */
async function provoke(stack: DeployStack, point: KillPoint, drained: Promise<unknown>): Promise<void> {
  if (point.effect !== "mint") return;
  await drained;
  await stack.access("admin").fleet.undrain({ outcome: "unknown", force: true });
}

interface Closed {
  /** Real ms after the kill at which the fleet was last seen closed, and first seen open. */
  readonly lastClosed: number;
  readonly firstOpen: number;
  readonly wasSealed: boolean;
}

/** Looks at the drains until there are none. */
async function reopening(stack: DeployStack, killedAt: number): Promise<Closed> {
  let [lastClosed, wasSealed] = [0, false];
  for (;;) {
    const askedAt = performance.now();
    const drains = await stack
      .access()
      .fleet.drains()
      .catch(() => undefined);
    if (drains?.drains.length === 0) return { lastClosed, firstOpen: performance.now() - killedAt, wasSealed };
    if (drains !== undefined) {
      lastClosed = askedAt - killedAt;
      wasSealed ||= drains.drains.some((drain) => drain.phase === "swapping");
    }
  }
}

async function dies(stack: DeployStack, point: KillPoint): Promise<void> {
  const run: HeldRun = await stack.hold();
  stack.newImage();
  const isHeld = WHILE_HELD.includes(point.effect);
  if (point.effect === "readBack") await stack.cutSwapAnswers();
  const { said, ended } = stack.deployer(["--effect", point.effect, "--when", point.when]);
  let over = false;
  const drained = eventually(
    () => "the fleet is drained, or the deployer is gone",
    async () => (over || (await stack.access().fleet.drains()).drains.length > 0 ? true : undefined),
  );
  const provoked = provoke(stack, point, drained);
  if (!isHeld) void drained.then(() => run.go());
  const { signal } = await ended;
  const killedAt = performance.now();
  over = true;
  await Promise.all([drained, provoked]);
  assert.equal(signal, "SIGKILL", `${point.when} ${point.effect} was not reached:\n${said()}`);

  const { lastClosed, firstOpen, wasSealed } = await reopening(stack, killedAt);
  const bound = (wasSealed ? CLOCK.swapBoundMs : CLOCK.pulseBoundMs) / SCALE;
  measured.push(
    `${point.when} ${point.effect}: open after ${Math.round(firstOpen)} ms of ${bound} ms${wasSealed ? ", sealed" : ""}`,
  );
  assert.ok(lastClosed <= bound * 1.05, `closed ${lastClosed} ms after the kill, and the bound is ${bound} ms`);

  run.go();
  const { code, output } = await run.ended;
  assert.deepEqual({ code, output }, { code: 0, output: "begun\nended\n" }, "the run in flight went on to its own end");
  reached.push(`${point.when} ${point.effect}`);
}

/** Stacks come up one after another: five at once on two cores only wait for each other. */
let lastUp: Promise<unknown> = Promise.resolve();
async function upInTurn(context: TestContext): Promise<DeployStack> {
  const up = lastUp.then(() => DeployStack.up());
  lastUp = up.catch(() => undefined);
  const stack = await up;
  context.after(() => stack.dispose());
  return stack;
}

suite("a killed deployer", { concurrency: STACKS }, () => {
  for (const [index, hand] of hands.entries()) {
    const names = hand.map((point) => `${point.when} ${point.effect}`).join(", ");
    test(`${index + 1} of ${STACKS}: ${names}`, async (context) => {
      const stack = await upInTurn(context);
      for (const point of hand) await dies(stack, point);
    });
  }
});

after(() => {
  process.stdout.write(`${measured.join("\n")}\nkill points ${reached.length} of ${POINTS.length}\n`);
});
