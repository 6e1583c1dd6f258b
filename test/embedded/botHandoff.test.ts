// The real deployer over a real bot that hands its runs off: the deploy waits for nobody, and the run that it finds at work
// goes on in its container, once. A bot that a person leaves out of a release stays the one that it is.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { before, test, type TestContext } from "node:test";
import { isSameProcess } from "#node/processes.ts";
import { receiptSchema } from "#wire/receipt.ts";
import { jsonOf } from "#wire/parse.ts";
import { BotStack } from "./botStack.ts";
import { eventually } from "./hostStack.ts";

const SCALE = 20;
const stack = new BotStack(SCALE, { bot: { roll: "handoff" } });
let app = "";

before(async () => {
  await stack.up();
  app = await stack.onboard("app");
});

/** Runs the deployer to its end; answers what it wrote. */
async function deployer(context: TestContext, ...args: readonly string[]): Promise<{ out: string; said: string }> {
  const entry = join(import.meta.dirname, "deployerWithKill.ts");
  const child = spawn(process.execPath, [entry, "--home", stack.home, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  context.after(() => child.kill("SIGKILL"));
  const [out, said] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { out, said };
}

const at = (name: string): string => `'${join(stack.home, name)}'`;

test("inv. 4: a real deploy of a bot that hands off ends over a run at work, which goes on, one process and whole", async (context) => {
  const works = `echo x >> ${at("begins")}; echo begun; until [ -e ${at("cue")} ]; do sleep 0.02; done; echo ended`;
  const { id } = await stack.bot.ask({ key: "works", resource: app, text: works });
  await eventually("it has begun", () => (stack.linesOf("begins").length > 0 ? true : undefined));
  const bot = await stack.theBot();
  const { out, said } = await deployer(context, "--restart", "bot", "--json");
  const receipt = receiptSchema.safeParse(jsonOf(out)).data ?? assert.fail(`no receipt: ${out}\n${said}`);
  assert.deepEqual(
    [receipt.result, receipt.outcome, receipt.killed, receipt.steps.map(({ step, outcome }) => [step, outcome])],
    ["deployed", "landed", 0, [["bot", "landed"]]],
    said,
  );
  assert.match(said, /the bot's door is closed with it/);
  assert.match(said, /the bot hands its runs off/);
  assert.equal((await stack.ledger.run(id)).ended, null, "the deploy did not wait for it");
  const next = await stack.nextBot(bot);
  assert.ok(!isSameProcess(bot) && isSameProcess(next));
  writeFileSync(join(stack.home, "cue"), "");
  const run = await eventually("it has ended", async () => {
    const found = await stack.ledger.run(id);
    return found.ended === null ? undefined : found;
  });
  assert.deepEqual([run.ended?.verdict.ending, run.entry.tries, stack.linesOf("begins")], ["finished", 1, ["x"]]);
  const { data } = await stack.ledger.outputFrom({ id });
  assert.equal(Buffer.from(data, "base64").toString(), "begun\nended\n");
});

test("a bot that is left out by --skip is not swapped, though the release brings another one", async (context) => {
  const bot = await stack.theBot();
  const plan = await deployer(context, "--parts", "--dryRun");
  assert.match(`${plan.out}${plan.said}`, /bot: .* its bundle changes/, "without --skip it would be");
  const { out, said } = await deployer(context, "--parts", "--skip", "bot");
  assert.match(`${out}${said}`, /bot: left out by --skip/);
  assert.match(`${out}${said}`, /nothing to deploy/);
  assert.ok(isSameProcess(bot), "it is the same process");
});
