// The steps of a deploy as they are typed and as a stack has them: an unknown one is refused with the names of all, before
// anything is read; one that the stack does not run is an error of whoever named it, and else simply absent.

import assert from "node:assert/strict";
import { test } from "node:test";
import { configOf } from "#wire/config.ts";
import type { HostStatus } from "#wire/host.ts";
import { releasedOf } from "#node/released.ts";
import { pathsOf } from "#node/stateFolder.ts";
import { cliWith } from "./cliForTests.ts";
import { deployCommand } from "./commands/deploy.ts";
import { besideOf, choicesFor, modeOf, plannedOf, servedRelease, stepFacts, type Chosen } from "./deploySteps.ts";
import { CliError } from "./exit.ts";
import { checkSteps, stepsTyped } from "./stepsTyped.ts";

const build = (bundle: string, commit = "3f9c1e2") => ({ commit, bundle, image: "a41b" });
const part = (bundle: string) => ({
  build: build(bundle),
  generation: 3,
  drainId: null,
  since: 0,
  config: null,
  pending: null,
  last: null,
});
const STATUS: HostStatus = {
  pid: 1,
  since: 0,
  url: "http://fleet",
  workerdPid: 1,
  generation: 2,
  drainId: null,
  build: build("w1"),
  leases: null,
  swapping: null,
  lastSwap: null,
  botUrl: "http://bot",
  parts: { ledger: part("l1"), bot: part("p1") },
  isolation: "",
  notes: [],
  containers: [],
};
const RELEASED = releasedOf(configOf({}));
const OFFERED = {
  released: RELEASED,
  build: build("w1", "7b02d9e"),
  parts: { ledger: build("l1"), bot: build("p2", "7b02d9e") },
};
const NONE: Chosen = { only: [], skip: [], restart: null };

const refusedWith =
  (words: RegExp): ((error: unknown) => boolean) =>
  (error) =>
    error instanceof CliError && error.exit === 2 && words.test(error.message) && error.next !== "";

const done = (asked: Partial<Chosen>, status = STATUS, offered: Parameters<typeof stepFacts>[2] = OFFERED): string[] =>
  choicesFor(stepFacts(status, status.build, offered), { ...NONE, ...asked })
    .filter((one) => one.included)
    .map((one) => one.step);

test("a step that is none is refused, naming all that are, and before a deploy is begun", async () => {
  assert.deepEqual(stepsTyped(["bot", "resident"], "--only", "next"), ["bot", "resident"]);
  assert.throws(
    () => stepsTyped(["fleet"], "--only", "next"),
    refusedWith(/^--only: "fleet".* ledger, bot, resident$/),
  );
  const { cli } = cliWith({});
  const typed = (...words: string[]) => deployCommand(cli).exitOverride().parseAsync(words, { from: "user" });
  await assert.rejects(typed("all", "--only", "bot", "--only", "bots"), refusedWith(/^--only: "bots" is no step/));
  await assert.rejects(typed("all", "--skip", "worker"), refusedWith(/^--skip: "worker" is no step/));
  await assert.rejects(typed("restart", "bot", "all"), refusedWith(/^deploy restart: "all" is no step/));
});

test("a step is not both asked for and left out", () => {
  checkSteps({ only: ["bot"], skip: ["ledger"] });
  assert.throws(() => checkSteps({ only: ["bot"], skip: ["bot"] }), refusedWith(/--only bot and --skip bot/));
  checkSteps({ only: [], skip: ["ledger", "bot"] });
  assert.throws(() => checkSteps({ only: [], skip: ["bot", "ledger", "resident"] }), refusedWith(/--skip: every step/));
});

test("the steps are those that the stack runs and whose bundle changes; a restart has them all", () => {
  assert.deepEqual(done({}), ["bot"]);
  assert.deepEqual(done({ restart: [] }, STATUS, servedRelease(STATUS)), ["ledger", "bot", "resident"]);
  assert.deepEqual(done({ restart: ["ledger"] }, STATUS, servedRelease(STATUS)), ["ledger"]);
  const alone = { ...STATUS, botUrl: null };
  assert.deepEqual(done({}, alone), ["resident"], "what was served once and is not any more is absent");
  assert.deepEqual(done({ restart: [] }, alone, servedRelease(alone)), ["resident"]);
  assert.deepEqual(done({}, { ...STATUS, parts: { ledger: null, bot: null } }), ["resident"]);
});

test("what the bot and the fleet were released with is compared with what this folder says", () => {
  const changes = (bot: Partial<HostStatus["parts"]["bot"]>, leases: HostStatus["leases"] = RELEASED.leases) => {
    const status = { ...STATUS, leases, parts: { ...STATUS.parts, bot: { ...part("p2"), ...bot } } };
    return stepFacts(status, status.build, OFFERED).map((one) => one.reconfigured);
  };
  const { kinds } = RELEASED.bot;
  const shell = { ...configOf({}).kinds["shell"], leaseMs: 60_000, command: null, resume: null, env: {} };
  assert.deepEqual(changes({ config: RELEASED.bot }), ["nothing", "nothing", "nothing"]);
  assert.deepEqual(changes({ config: { ...RELEASED.bot, kinds: { ...kinds, shell } } }), [
    "nothing",
    "kinds",
    "nothing",
  ]);
  assert.deepEqual(changes({ config: { kinds, roll: "handoff" } }), ["nothing", "roll", "nothing"]);
  assert.deepEqual(changes({ config: RELEASED.bot }, { shell: 60_000 }), ["nothing", "nothing", "leases"]);
  assert.deepEqual(
    changes({ config: null }, null),
    ["nothing", "nothing", "nothing"],
    "an older supervisor says nothing",
  );
  const restarted = servedRelease({ ...STATUS, leases: { shell: 1 } });
  assert.deepEqual(restarted.released, { leases: { shell: 1 }, bot: null }, "a restart is of what is served");
});

test("a step that was named is there, or an error says why not", () => {
  const alone = { ...STATUS, botUrl: null };
  assert.throws(() => done({ only: ["bot"] }, alone), refusedWith(/^--only bot: this stack runs none$/));
  assert.throws(() => done({ restart: ["bot"] }, alone), refusedWith(/^bot: this stack runs none$/));
  const bare = { ...OFFERED, parts: { ledger: null, bot: null } };
  assert.throws(() => done({ only: ["ledger"] }, STATUS, bare), refusedWith(/^--only ledger: this folder has none/));
  assert.deepEqual(done({ skip: ["bot"] }, alone), ["resident"], "what is left out need not be there");
});

test("the mode is what was typed, else what the bearers, the change and the configuration allow", () => {
  const config = configOf({ resident: { swap: "handoff" }, bot: { roll: "handoff" } });
  const access = { config, bearers: { admin: "", operator: "", read: "", drain: "d" } };
  const { shapes, steps } = plannedOf(
    choicesFor(stepFacts(STATUS, STATUS.build, OFFERED), { ...NONE, only: ["bot"] }),
    access,
    { released: releasedOf(config) },
  );
  assert.deepEqual(steps, { parts: ["bot"], waits: false, resident: false });
  const released = releasedOf(config);
  const rolled = { shapes, released };
  assert.deepEqual(
    [modeOf({ force: false }, access, rolled), modeOf({ force: true }, access, rolled)],
    ["drained", "forced"],
  );
  const bearers = { ...access.bearers, drain: "" };
  assert.equal(modeOf({ force: false }, { ...access, bearers }, rolled), "undrained");
  const swapped = { shapes: [{ step: "resident", from: build("w1"), to: build("w2") } as const], released };
  assert.equal(modeOf({ force: false }, access, swapped), "handoff");
});

test("a restart leaves the bot's runs as what is served does, whatever this folder says by now", () => {
  const config = configOf({ bot: { roll: "handoff" } });
  const choices = choicesFor(stepFacts(STATUS, STATUS.build, OFFERED), { ...NONE, only: ["bot"] });
  const waits = (roll: "drain" | "handoff" | null): boolean => {
    const bot = roll === null ? null : { ...RELEASED.bot, roll };
    return plannedOf(choices, { config }, { released: { leases: null, bot } }).steps.waits;
  };
  assert.deepEqual([waits("drain"), waits("handoff"), waits(null)], [true, false, false]);
});

test("a deploy acts on what its stack has: no door, no gate and no ledger of a stack without them", () => {
  const { cli } = cliWith({});
  const access = { ...cli.access(), paths: pathsOf("/nowhere") };
  const beside = besideOf(access, STATUS, OFFERED);
  assert.deepEqual([Object.keys(beside.parts), beside.parts.bot?.name], [["ledger", "bot"], "bot"]);
  assert.ok(beside.bot !== null && beside.keepInLedger !== null);
  const alone = besideOf(access, { ...STATUS, botUrl: null }, OFFERED);
  assert.deepEqual([alone.bot, alone.keepInLedger, alone.parts, alone.step.name], [null, null, {}, "resident"]);
});

test("a bot whose supervisor has gone is not up, and never answers in another's place", async () => {
  const { cli } = cliWith({});
  const { bot, parts } = besideOf({ ...cli.access(), paths: pathsOf("/nowhere") }, STATUS, OFFERED);
  await assert.rejects(async () => bot?.health(new AbortController().signal), /no bot is up in \/nowhere/);
  await assert.rejects(async () => parts.ledger?.live(new AbortController().signal), /no ledger is up in \/nowhere/);
});
