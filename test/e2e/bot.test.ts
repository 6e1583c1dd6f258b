// The bot of a stack as its supervisor keeps it: it runs what was released and nothing else, whether it is killed or deployed;
// what it had in hand goes on at once under the next one; and whoever does not want to wait for it does not.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { environOf, sendSignal } from "#node/processes.ts";
import { botHealthSchema, type BotHealth } from "#wire/bot.ts";
import { Home } from "./home.ts";
import { eventually, type Typed } from "./typed.ts";

const kinds = (says: string, more: Readonly<Record<string, unknown>> = {}) => ({
  kinds: { works: { lease: "45m", command: ["echo", says] }, ...more },
});
const home = new Home(kinds("first"));
let up: Typed;
let asks = 0;

before(async () => {
  up = await home.up();
});
afterEach(() => home.letAllGo());
after(() => home.dispose());

/** What an ask of this kind writes, to its end. */
const said = (kind: string): Promise<string> => home.done("ask", "x", "--repo", "sample", "--kind", kind, "--watch");

/** The bot's process; undefined while there is none. */
const botPid = (): number | undefined =>
  home.processes().find(({ pid }) => environOf(pid)["TIDEGATE_BOT"] !== undefined)?.pid;

/** What the bot says of itself as soon as one answers that is not this one. */
const nextBot = (last: number | undefined): Promise<BotHealth> =>
  eventually(
    () => `the next bot answers: ${home.log()}`,
    async () => {
      const pid = botPid();
      if (pid === undefined || pid === last) return undefined;
      const answer = await fetch(`${home.control.file.botUrl}/healthz`).catch(() => undefined);
      return answer?.ok === true ? botHealthSchema.parse(await answer.json()) : undefined;
    },
  );

/** Kills the bot; answers what the next one says first. */
async function killed(): Promise<BotHealth> {
  const bot = botPid();
  assert.ok(bot !== undefined && sendSignal(bot, "SIGKILL"));
  return await nextBot(bot);
}

/** An ask that is at work until the test lets it end. */
async function atWork(): Promise<{ readonly file: string; readonly watch: Typed }> {
  asks += 1;
  const file = `held-${asks}`;
  const [, , script = ""] = home.held(file);
  const watch = home.type(["ask", script, "--repo", "sample", "--kind", "shell", "--thread", file, "--watch"]);
  await watch.says(/^begun$/m);
  return { file, watch };
}

async function goesOn({ file, watch }: Awaited<ReturnType<typeof atWork>>): Promise<void> {
  assert.equal(watch.isOver, false, watch.err);
  home.touch(file);
  const { code, out, err } = await watch.ended;
  assert.deepEqual([code, out], [0, "begun\nended\n"], err);
}

test("a bot that is killed comes back with the kinds that were released, whatever the file says by then", async () => {
  assert.equal(await said("works"), "first\n");
  home.configure(kinds("second"));
  await killed();
  assert.equal(await said("works"), "first\n");
  writeFileSync(home.paths.config, '{ "kinds": ');
  await killed();
  home.configure(kinds("second"));
  assert.equal(await said("works"), "first\n");
});

test("a changed command is the bot's step, a new kind the fleet's too, and a deploy releases both", async () => {
  const plan = await home.done("deploy", "plan");
  assert.match(plan, /bot: .* its kinds change/);
  assert.match(plan, /resident: its bundle is unchanged, so it stays/);
  await home.done("deploy");
  assert.equal(await said("works"), "second\n");
  home.configure(kinds("second", { later: { lease: "2h", command: ["echo", "later"] } }));
  assert.match(
    await home.done("deploy", "plan"),
    /bot: .* its kinds change[\s\S]*resident: .* its leases change[\s\S]*only the leases of its kinds/,
  );
  await home.done("deploy");
  assert.equal(await said("later"), "later\n");
  assert.match(await home.done("deploy", "plan"), /nothing changes/);
});

test("what a bot had in hand that is killed, the next one has in hand as soon as it answers", async () => {
  const work = await atWork();
  assert.equal((await killed()).inFlight, 1, "it is not unowned until its ledger lease is over");
  await goesOn(work);
});

test("a forced deploy of the bot waits for no run of it", async () => {
  const work = await atWork();
  await home.done("deploy", "--force", "--yes", "--only", "bot");
  await goesOn(work);
});

test("`down --now` does not wait for a bot at work, which hands its run off all the same", async () => {
  const work = await atWork();
  await home.done("down", "--now");
  await work.watch.ended;
  assert.equal((await up.ended).code, 0);
  const log = readFileSync(join(home.paths.log, "bot.log"), "utf8").trimEnd().split("\n").slice(-5).join("\n");
  assert.match(log, /"runs are left to the next bot"[\s\S]*"the bot has ended"/);
  up = await home.up();
});

test("a deploy that was killed holds up nothing: the next one of its folder lifts its drain, and waits for the runs alone", async () => {
  const work = await atWork();
  const waits = async (): Promise<Typed> => {
    const deploy = home.type(["deploy", "restart", "bot"]);
    await deploy.says(/waits for r-/);
    return deploy;
  };
  const dead = await waits();
  dead.signal("SIGKILL");
  await dead.ended;
  const [left] = await home.drains();
  const next = await waits();
  assert.match(next.err, new RegExp(`the deploy by .* is dead: its drain ${left?.id ?? "-"} is lifted`));
  assert.deepEqual(
    (await home.drains()).map(({ id }) => id === left?.id),
    [false],
  );
  await goesOn(work);
  const { code, err } = await next.ended;
  assert.equal(code, 0, err);
  const { drainId } = await nextBot(undefined);
  assert.notEqual(drainId, left?.id);
});

test("a bot that is to hand off from now on does so at the deploy that says it", async () => {
  const work = await atWork();
  home.configure({
    ...kinds("second", { later: { lease: "2h", command: ["echo", "later"] } }),
    bot: { roll: "handoff" },
  });
  assert.match(await home.done("deploy", "plan"), /bot: .* how it leaves its runs changes/);
  await home.done("deploy");
  await goesOn(work);
});
