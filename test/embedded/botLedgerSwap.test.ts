// The ledger's own swap under live runs: none of them lapses, although nobody could renew them for longer than a ledger
// lease, and of what they say meanwhile nothing is lost.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLOCK } from "#core/budgets.ts";
import { isSameProcess, sendSignal } from "#node/processes.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import { BotStack } from "./botStack.ts";
import { eventually } from "./hostStack.ts";

const SCALE = 20;
const RUNS = 20;
const stack = new BotStack(SCALE);
let repositories: string[] = [];

before(async () => {
  await stack.up();
  repositories = await Promise.all(["app", "web"].map((name) => stack.onboard(name)));
});

const numbers = Array.from({ length: RUNS }, (_, n) => n);
const cue = (): string => join(stack.home, "cue");

/** Counts on both streams until the cue is given, and says then how far it has come. */
const counts = (n: number): string =>
  [
    `i=0; while [ ! -e '${cue()}' ]; do i=$((i+1)); echo "run ${n} line $i"; echo "run ${n} error $i" >&2; sleep 0.1; done`,
    `echo $i > '${join(stack.home, `count-${n}`)}'`,
  ].join("; ");

const spoken = (n: number, word: string, count: number): string =>
  Array.from({ length: count }, (_, index) => `run ${n} ${word} ${index + 1}\n`).join("");

async function textOf(id: string, stream: "out" | "err"): Promise<string> {
  return Buffer.from((await stack.ledger.outputFrom({ id, stream })).data, "base64").toString();
}

/** Runs until each of them has said something more. */
async function allSayMore(ids: readonly string[]): Promise<void> {
  const lengths = async () => Promise.all(ids.map(async (id) => (await stack.ledger.run(id)).output.out.length));
  const known = await lengths();
  await eventually("each says more", async () =>
    (await lengths()).every((length, at) => length > (known[at] ?? 0)) ? true : undefined,
  );
}

/** The live entries, and the ledger's instant. */
const live = () => stack.ledger.entries();

const heartbeat = { when: "before", path: "/heartbeat", does: "hold" } as const;

/** Swaps the ledger, with its end and the next one's begin further apart than a ledger lease, and no heartbeat in between. */
async function slowSwap(drainId: string): Promise<void> {
  stack.place(heartbeat);
  await stack.cameBy(heartbeat);
  const supervisor = readSupervisorFile(stack.paths)?.supervisor;
  const ledger = stack.ledgerProcess();
  assert.ok(supervisor && ledger);
  const { entries } = await live();
  const heldUntil = Math.max(...entries.map((entry) => entry.heldUntil));
  const swapping = stack.roll("ledger", drainId);
  await eventually("the old one is gone", () => (isSameProcess(ledger) ? undefined : true));
  sendSignal(supervisor.pid, "SIGSTOP");
  try {
    await eventually("every lease would be over", () =>
      stack.now() > heldUntil + CLOCK.ledgerLeaseMs ? true : undefined,
    );
  } finally {
    sendSignal(supervisor.pid, "SIGCONT");
  }
  assert.equal((await swapping).outcome, "landed");
}

test("the ledger is swapped under 20 live runs: none lapses, none is begun again, and their output is whole", async () => {
  const asked = await Promise.all(
    numbers.map((n) =>
      stack.bot.ask({ key: `counts-${n}`, resource: repositories[n % repositories.length] ?? "", text: counts(n) }),
    ),
  );
  const ids = asked.map(({ id }) => id);
  await eventually("all run", async () =>
    (await live()).entries.filter(({ state }) => state === "running").length === RUNS ? true : undefined,
  );
  await allSayMore(ids);
  const bot = await stack.theBot();
  const { number } = await stack.bot.health();
  const deploy = await stack.deploying("ledger-1");
  await slowSwap(deploy.id);
  const { entries, now } = await live();
  assert.equal(entries.length, RUNS);
  for (const { ask, state, holder, heldUntil, tries } of entries)
    assert.deepEqual([state, holder, heldUntil > now, tries], ["running", number, true, 1], ask.id);
  stack.goOn();
  await allSayMore(ids);
  await deploy.lift();
  writeFileSync(cue(), "");
  await eventually("all have ended", async () => ((await live()).entries.length === 0 ? true : undefined));
  assert.ok(isSameProcess(bot), "and the bot is the same");
  for (const [n, id] of ids.entries()) {
    const count = Number(stack.linesOf(`count-${n}`)[0]);
    const { ended, entry, notes } = await stack.ledger.run(id);
    assert.deepEqual([ended?.verdict.ending, ended?.verdict.exit, entry.tries], ["finished", 0, 1]);
    assert.equal(await textOf(id, "out"), spoken(n, "line", count));
    assert.equal(await textOf(id, "err"), spoken(n, "error", count));
    assert.deepEqual(
      notes.map(({ kind }) => kind).filter((kind) => kind !== "work"),
      [],
      "nothing was missed",
    );
  }
});
