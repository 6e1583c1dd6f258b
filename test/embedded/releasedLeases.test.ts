// Leases are released with the fleet and kinds with the bot, so the two may differ for a while: nobody is refused for that, and
// who is at work keeps the lease that it was let in with.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { before, test, type TestContext } from "node:test";
import { HOUR, MINUTE } from "#core/time.ts";
import type { LedgerRun } from "#wire/ledger.ts";
import { BotStack } from "./botStack.ts";
import { eventually } from "./hostStack.ts";

const config = (lease: string) => ({
  resident: { swap: "handoff" },
  bot: { roll: "handoff" },
  kinds: { marathon: { lease } },
});
const stack = new BotStack(20, config("45m"));
let app = "";
let asks = 0;

before(async () => {
  await stack.up();
  app = await stack.onboard("app");
});

/** A deploy of this home, to its end; answers what it said. */
async function deployed(context: TestContext, ...args: readonly string[]): Promise<string> {
  const entry = join(import.meta.dirname, "deployerWithKill.ts");
  const child = spawn(process.execPath, [entry, "--home", stack.home, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  context.after(() => child.kill("SIGKILL"));
  const said = (await Promise.all([text(child.stdout), text(child.stderr)])).join("");
  assert.match(said, /^deployed /m);
  return said;
}

/** A run of the kind whose lease changes, at work until it is let go. */
async function atWork(): Promise<{ readonly id: string; readonly letGo: () => void }> {
  asks += 1;
  const cue = join(stack.home, `cue-${asks}`);
  const held = `echo begun; until [ -e '${cue}' ]; do sleep 0.02; done; echo ended`;
  const ask = { key: `ask-${asks}`, resource: app, text: held, kind: "marathon" };
  const { id } = await eventually("it is asked", () => stack.bot.ask(ask).catch(() => undefined));
  await eventually("it is at work", async () =>
    (await stack.ledger.run(id)).output.out.length > 0 ? true : undefined,
  );
  return { id, letGo: () => writeFileSync(cue, "") };
}

const ended = (id: string): Promise<LedgerRun> =>
  eventually("it has ended", async () => {
    const run = await stack.ledger.run(id);
    return run.ended === null ? undefined : run;
  });

const leftMs = async (id: string): Promise<number> =>
  ((await stack.ledger.run(id)).entry.leaseUntil ?? 0) - stack.now();

const finishes = async ({ id, letGo }: Awaited<ReturnType<typeof atWork>>): Promise<void> => {
  letGo();
  const { ended: end } = await ended(id);
  assert.deepEqual([end?.verdict.ending, end?.verdict.exit, end?.writeUp], ["finished", 0, "begun\nended"]);
};

test("a bot that is released alone, with a longer lease than the fleet's, runs its asks for as long as the fleet gives", async (context) => {
  stack.configure(config("8h"));
  const said = await deployed(context, "--parts", "--skip", "resident", "--skip", "ledger");
  assert.match(said, /resident: left out by --skip; its leases change, and until it is deployed no lease is longer/);
  const run = await atWork();
  assert.ok((await leftMs(run.id)) <= 45 * MINUTE);
  await finishes(run);
  const { notes } = await stack.ledger.run(run.id);
  assert.match(notes.find(({ kind }) => kind === "lease_cut")?.text ?? "", /its resident gives it 4\dm/);
});

test("a run at work keeps its lease, and is ended by no release that shortens its kind's", async (context) => {
  await deployed(context, "--parts", "--skip", "bot", "--skip", "ledger");
  const run = await atWork();
  assert.ok((await leftMs(run.id)) > 7 * HOUR);
  stack.configure(config("50m"));
  await deployed(context, "--parts", "--skip", "bot", "--skip", "ledger");
  await deployed(context, "--parts", "--skip", "resident", "--skip", "ledger");
  await eventually("the next bot has it in hand", async () =>
    (await stack.bot.health()).inFlight === 1 ? true : undefined,
  );
  assert.ok((await leftMs(run.id)) > 7 * HOUR);
  assert.deepEqual(
    (await stack.residents()).runs.map((row) => row.leaseUntil - stack.now() > 7 * HOUR),
    [true],
  );
  await finishes(run);
});
