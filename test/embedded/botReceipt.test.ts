// The receipt of a real deploy that rolls the bot names the asks which waited in its queue: those that met the closed door and
// one that was stopped behind it, over the bot's roll, each with its wait, and none of them at the fleet's door too.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { before, test, type TestContext } from "node:test";
import { receiptLines } from "#cli/render/receipt.ts";
import { receiptSchema, type Receipt } from "#wire/receipt.ts";
import { jsonOf } from "#wire/parse.ts";
import { BotStack } from "./botStack.ts";
import { eventually } from "./hostStack.ts";

const SCALE = 60;
const stack = new BotStack(SCALE);
let app = "";

before(async () => {
  await stack.up();
  app = await stack.onboard("app");
});

/** Restarts the bot as a person does; answers its receipt once it is over. */
function restartBot(context: TestContext): Promise<Receipt> {
  const entry = join(import.meta.dirname, "deployerWithKill.ts");
  const args = [entry, "--home", stack.home, "--restart", "bot", "--json"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  context.after(() => child.kill("SIGKILL"));
  return Promise.all([text(child.stdout), text(child.stderr)]).then(([out, said]) => {
    const read = receiptSchema.safeParse(jsonOf(out));
    return read.success ? read.data : assert.fail(`no receipt: ${out}\n${said}`);
  });
}

test("the asks that waited in the bot's queue under a deploy are in its receipt", async (context) => {
  const cue = join(stack.home, "works.cue");
  const held = `until [ -e '${cue}' ]; do sleep 0.02; done`;
  const worker = await stack.bot.ask({ key: "works", resource: app, text: held });
  assert.equal(worker.kind, "admitted");
  await eventually("it runs", async () =>
    (await stack.ledger.run(worker.id)).entry.reading === null ? undefined : true,
  );
  const bot = await stack.theBot();
  const deployed = restartBot(context);
  await eventually("the bot's door closes", async () =>
    (await stack.bot.health()).draining === null ? undefined : true,
  );
  const ids: string[] = [];
  for (const name of ["one", "two", "three"]) {
    const { id, kind } = await stack.bot.ask({ key: name, resource: app, text: "true", by: name });
    assert.equal(kind, "queued");
    ids.push(id);
    assert.equal((await stack.bot.health()).queued, ids.length, "counted as it is answered");
  }
  const [, stopped = ""] = ids;
  assert.equal((await stack.bot.stop(stopped, "stop two")).kind, "ended");
  writeFileSync(cue, "");
  const receipt = await deployed;
  assert.deepEqual([receipt.result, receipt.killed, receipt.waited], ["deployed", 0, []]);
  await stack.nextBot(bot);
  const { queued, closed, reopened } = receipt;
  assert.ok(queued !== null && queued !== "unknown", "the bot says who waited");
  assert.deepEqual(
    [queued.asks.map(({ id, by }) => [id, by]), queued.more],
    [ids.map((id, n) => [id, ["one", "two", "three"][n]]), 0],
  );
  assert.ok(closed !== null && typeof reopened?.at === "number");
  for (const { id, askedAt, since, waitedMs, how, cause } of queued.asks) {
    assert.deepEqual([since, cause], [askedAt, "deploy"]);
    assert.ok(since >= closed.since && typeof waitedMs === "number" && waitedMs > 0, `${id} waited ${waitedMs}`);
    if (id === stopped) assert.ok(how === "ended" && since + waitedMs < reopened.at, `${how} after ${waitedMs} ms`);
    else assert.ok(how === "queued" || how === "started", how);
  }
  assert.match(receiptLines(receipt).join("\n"), new RegExp(`queued +${ids[0] ?? ""} +app +\\S+ +one `));
});
