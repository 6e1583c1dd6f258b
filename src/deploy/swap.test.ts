// The supervisor's answer as an outcome: what was turned away touched nothing, what was not answered is unknown, and the
// dead are counted from the processes that died.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeployMode } from "#core/rolloutState.ts";
import type { Released } from "#node/released.ts";
import type { Ended, HostStatus, StepName, SwapAnswer, SwapAsk } from "#wire/host.ts";
import { Failure } from "#node/failure.ts";
import type { HostControl } from "#node/hostClient.ts";
import { embeddedSwap, killedIn, uploadedOf, type Swapping } from "#deploy/swap.ts";

const BUILD = { commit: "7b02d9e", bundle: "b2", image: "c9e0" };
const swapping = (step: StepName): Swapping => ({ step, build: BUILD, released: { leases: null, bot: null } });
const never = new AbortController().signal;
const inside = (pid: number, role: "init" | "agent" | "inside", tags: Record<string, string> = {}) => ({
  pid,
  startTicks: pid,
  role,
  command: "sh",
  tags,
});
const ENDED: Ended = {
  resource: "repo:local/sample",
  bootId: "b",
  imageId: "a41b",
  processes: [
    inside(1, "init"),
    inside(2, "agent"),
    inside(3, "inside", { TIDEGATE_THREAD: "cli:r1" }),
    inside(4, "inside"),
  ],
};
const LANDED: SwapAnswer = {
  outcome: "landed",
  drainId: "d1d1d1",
  generation: 2,
  killed: [ENDED],
  ms: 7,
  from: BUILD,
  to: BUILD,
  finishedLater: true,
  notStarted: ["repo:a/b"],
};

const controlOf = (more: Partial<HostControl>): HostControl => {
  const unused = (): never => {
    throw new Error("not asked for in this test");
  };
  const file = {
    protocol: 1,
    supervisor: { pid: 1, startTicks: 1, machineBootId: "m" },
    parent: null,
    since: 0,
    url: "",
    hostUrl: "",
    controlToken: "",
    workerd: null,
    ledgerUrl: null,
    botUrl: null,
    ready: true,
  };
  return { file, status: unused, swap: unused, down: unused, roll: unused, inside: unused, ...more };
};
const upload = (more: Partial<HostControl>, signal = never) =>
  embeddedSwap(() => controlOf(more), swapping("resident")).upload({ drainId: "d1d1d1", mode: "drained" }, signal);

test("a container's own processes are no run", () => {
  assert.deepEqual(
    killedIn([ENDED]).map((one) => [one.pid, one.threadKey]),
    [
      [3, "cli:r1"],
      [4, null],
    ],
  );
});

test("each answer keeps its outcome, and what died of it", () => {
  const landed = uploadedOf(LANDED);
  assert.equal(landed.killed?.length, 2);
  assert.match(landed.why, /finished by a later supervisor; the container of repo:a\/b starts at its next attach/);
  const words = { drainId: "d1d1d1", code: "X", detail: "because" };
  assert.deepEqual(uploadedOf({ outcome: "failed", killed: [ENDED], ...words }).killed?.length, 2);
  assert.deepEqual(uploadedOf({ outcome: "refused", ...words }), {
    outcome: "refused",
    why: "because",
    killed: [],
    ms: null,
  });
  assert.deepEqual(uploadedOf({ outcome: "none", ...words }).outcome, "none");
});

test("asked with the word of its mode; turned away is refused, unanswered is unknown, no supervisor is none", async () => {
  const modes: string[] = [];
  const steps: (string | undefined)[] = [];
  const swap: HostControl["swap"] = (ask) => {
    modes.push(ask.mode);
    steps.push(ask.step);
    return Promise.resolve(LANDED);
  };
  const asked = embeddedSwap(() => controlOf({ swap }), swapping("resident"));
  for (const mode of ["drained", "handoff", "undrained", "forced"] as const)
    await asked.upload({ drainId: "d1d1d1", mode }, never);
  assert.deepEqual(modes, ["sealed", "handoff", "undrained", "forced"]);
  await embeddedSwap(() => controlOf({ swap }), swapping("ledger")).upload(
    { drainId: "d1d1d1", mode: "drained" },
    never,
  );
  assert.deepEqual(steps, ["resident", "resident", "resident", "resident", "ledger"]);
  const failing = async (met: Error) => (await upload({ swap: () => Promise.reject(met) })).outcome;
  assert.equal(await failing(new Failure("SWAP_BUSY", "x")), "refused");
  assert.equal(await failing(new Failure("NOT_UP", "x")), "unknown");
  assert.equal(await failing(new Failure("INTERNAL", "x")), "unknown");
  assert.equal(await failing(new TypeError("odd answer")), "unknown");
  const nobody = (): never => {
    throw new Failure("NOT_UP", "nobody");
  };
  const none = await embeddedSwap(nobody, swapping("resident")).upload({ drainId: "d1d1d1", mode: "drained" }, never);
  assert.deepEqual(none, { outcome: "none", why: "nobody", killed: [], ms: null });
});

test("one that is given up is unknown at once", async () => {
  const giveUp = new AbortController();
  const waiting = upload({ swap: () => new Promise(() => undefined) }, giveUp.signal);
  giveUp.abort(new Error("two minutes before the swap bound"));
  assert.deepEqual(await waiting, {
    outcome: "unknown",
    why: "two minutes before the swap bound",
    killed: null,
    ms: null,
  });
  assert.equal((await upload({ swap: () => new Promise(() => undefined) }, giveUp.signal)).outcome, "unknown");
});

test("a swap says what its part is released with, and how a bot leaves its runs", async () => {
  const bot = { kinds: {}, roll: "drain" } as const;
  const asked = async (step: StepName, mode: DeployMode, released: Released): Promise<unknown> => {
    let sent: SwapAsk | undefined;
    const swap: HostControl["swap"] = async (ask) => {
      sent = ask;
      return LANDED;
    };
    const upload = embeddedSwap(() => controlOf({ swap }), { step, build: BUILD, released });
    await upload.upload({ drainId: "d1d1d1", mode }, never);
    return [sent?.leases, sent?.config, sent?.leaves];
  };
  const released = { leases: { shell: 1 }, bot };
  assert.deepEqual(await asked("resident", "forced", released), [{ shell: 1 }, undefined, undefined]);
  assert.deepEqual(await asked("ledger", "forced", released), [undefined, undefined, undefined]);
  assert.deepEqual(await asked("bot", "drained", released), [undefined, bot, undefined]);
  assert.deepEqual(await asked("bot", "forced", released), [undefined, bot, "handoff"]);
  const handsOff = { ...bot, roll: "handoff" } as const;
  assert.deepEqual(await asked("bot", "drained", { ...released, bot: handsOff }), [undefined, handsOff, "handoff"]);
  assert.deepEqual(await asked("bot", "undrained", { leases: null, bot: null }), [undefined, undefined, undefined]);
  assert.deepEqual(await asked("resident", "drained", { leases: null, bot: null }), [undefined, undefined, undefined]);
});

test("only the answer to this very upload is recalled", async () => {
  const status = {
    pid: 1,
    since: 0,
    url: "",
    workerdPid: 1,
    generation: 2,
    drainId: null,
    build: BUILD,
    leases: null,
    swapping: null,
    lastSwap: LANDED,
    isolation: "",
    botUrl: null,
    parts: { ledger: null, bot: null },
    notes: [],
    containers: [],
  };
  const of = (step: "ledger" | "bot" | "resident", parts: Partial<HostStatus["parts"]> = {}) => {
    const told = { ...status, parts: { ...status.parts, ...parts } };
    return embeddedSwap(() => controlOf({ status: () => Promise.resolve(told) }), swapping(step));
  };
  assert.equal((await of("resident").recall("d1d1d1", never))?.outcome, "landed");
  assert.equal(await of("resident").recall("d2d2d2", never), undefined);
  const part = { build: BUILD, generation: 2, drainId: null, since: 0, config: null, pending: null };
  const refused = { outcome: "refused", drainId: "d1d1d1", code: "X", detail: "because" } as const;
  assert.equal(await of("bot").recall("d1d1d1", never), undefined, "the fleet's swap is not the bot's");
  assert.equal(await of("bot", { bot: { ...part, last: null } }).recall("d1d1d1", never), undefined);
  const bot = of("bot", { bot: { ...part, last: refused }, ledger: { ...part, last: LANDED } });
  assert.equal((await bot.recall("d1d1d1", never))?.outcome, "refused", "each step has its own last swap");
});
