// The queue over a roll: what was asked while a deploy closed the door is started once, in the order of arrival of each
// repository, and none of it is lost, although the bot dies at five places of its work.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { LIMIT } from "#core/budgets.ts";
import type { EndedRow } from "#wire/ledger.ts";
import { again, BotStack } from "./botStack.ts";
import { eventually } from "./hostStack.ts";

const SCALE = 20;
const ASKS = 200;
const stack = new BotStack(SCALE);
let repositories: string[] = [];
/** What the bot had in hand as it died, and had not started: it goes on behind others that were admitted meanwhile. */
const caught = new Set<number>();

before(async () => {
  await stack.up();
  repositories = await Promise.all(["app", "web", "api", "ops"].map((name) => stack.onboard(name)));
});

const resourceOf = (n: number): string => repositories[n % repositories.length] ?? "";
const numberOf = (text: string): number => Number(/^echo (\d+) /.exec(text)?.[1]);
const started = (): number[] => stack.linesOf("started").map(Number);
/** Those whose process the agent has begun, in its order: what they write themselves comes as the machine lets it. */
const begun = (): number[] => stack.begunProcesses().map(({ argv }) => numberOf(argv.at(-1) ?? ""));

async function ask(n: number) {
  const body = { key: `ask-${n}`, resource: resourceOf(n), text: `echo ${n} >> '${stack.home}/started'` };
  return again(`ask ${n} is answered`, () => stack.bot.ask(body));
}

/** Kills the bot there once so many have started. */
async function killOnce(count: number, place: { when: "before" | "after"; path: string }): Promise<void> {
  await eventually(`${count} have started`, () => (started().length >= count ? true : undefined));
  const dead = async (): Promise<void> => {
    const { entries } = await stack.ledger.entries();
    const live = entries.filter((entry) => entry.state !== "queued").map((entry) => numberOf(entry.ask.text));
    const alive = new Set(begun());
    for (const n of live) if (!alive.has(n)) caught.add(n);
  };
  await stack.killAt(place, { dead });
}

/** Asks all of them of a closed door; the bot dies as half of them are asked, with an answer on its way. */
async function askAll(): Promise<void> {
  let killed: Promise<void> | undefined;
  for (let n = 1; n <= ASKS; n += 1) {
    if (n === ASKS / 2) killed = stack.killAt({ when: "after", path: "/asks" });
    const { kind, position, card, says } = await ask(n);
    assert.ok(kind === "queued" || (kind === "known" && n === ASKS / 2), `${n}: ${kind}`);
    assert.equal(position, Math.ceil(n / repositories.length), `${n}: its place among those of its repository`);
    if (kind === "known") continue;
    assert.deepEqual([card.state, card.cause], ["queued", "deploy"]);
    assert.match(says, new RegExp(`^deploy pending, \\d+ minutes? · place ${position}$`));
  }
  await killed;
}

async function history(): Promise<EndedRow[]> {
  await eventually("everything has ended", async () =>
    (await stack.ledger.entries()).entries.length === 0 ? true : undefined,
  );
  return (await stack.ledger.history({ limit: LIMIT.rowsAPage })).runs;
}

/** Undefined while of some run the drain that it waited for is not noted, or its last card not told. */
async function untold(rows: readonly EndedRow[]): Promise<true | undefined> {
  const runs = await Promise.all(rows.map(({ id }) => stack.ledger.run(id)));
  const missing = runs.filter(
    ({ notes, card }) =>
      card?.state !== "ended" || !notes.some(({ kind, ms }) => kind === "drain_wait" && (ms ?? 0) > 0),
  );
  return missing.length === 0 ? true : undefined;
}

/** How many of these that were asked earlier start later than this one. */
const overtaken = (numbers: readonly number[], at: number): number =>
  numbers.slice(at + 1).filter((n) => n < (numbers[at] ?? 0)).length;

test("inv. 8, 12: 200 asks that a roll held back are started once each and in order, with the bot killed at five places", async () => {
  const deploy = await stack.deploying("queue-deploy");
  await askAll();
  const rolled = await stack.roll("bot", deploy.id);
  assert.equal(rolled.outcome, "landed");
  const health = await eventually("the next bot has looked at the queue", async () => {
    const now = await stack.bot.health();
    return now.queued === ASKS ? now : undefined;
  });
  assert.deepEqual([health.inFlight, health.drainId], [0, deploy.id]);
  assert.deepEqual(started(), [], "nothing passes the closed door");
  await deploy.lift();
  await killOnce(10, { when: "after", path: "/dispatch" });
  await killOnce(50, { when: "after", path: "/attach" });
  await killOnce(90, { when: "after", path: "/exec" });
  await killOnce(130, { when: "before", path: "/end" });
  const rows = await history();
  const all = Array.from({ length: ASKS }, (_, index) => index + 1);
  assert.deepEqual(
    started().toSorted((a, b) => a - b),
    all,
    "each of them once",
  );
  assert.deepEqual(
    rows.map(({ text }) => numberOf(text)).toSorted((a, b) => a - b),
    all,
  );
  for (const { text, verdict, tries } of rows)
    assert.deepEqual([verdict.ending, verdict.exit, tries], ["finished", 0, 1], text);
  for (const resource of repositories) {
    const asked = rows
      .filter((row) => row.resource === resource)
      .toSorted((a, b) => numberOf(a.text) - numberOf(b.text));
    const admittedAt = asked.map((row) => row.admittedAt ?? 0);
    assert.deepEqual(
      admittedAt,
      admittedAt.toSorted((a, b) => a - b),
      `${resource}: admitted in the order of arrival`,
    );
    const inOrder = begun().filter((n) => resourceOf(n) === resource && !caught.has(n));
    for (const [at, n] of inOrder.entries())
      assert.ok(
        overtaken(inOrder, at) < LIMIT.provisioningSlots,
        `${n} overtakes more than are let in at once: ${inOrder.join(" ")}`,
      );
  }
  assert.ok(caught.size > 0, "some were in hand as it died, and had not started");
  assert.ok(caught.size < ASKS / 2, `the order is that of most of them: ${caught.size} were caught`);
  await eventually("each wait is on record, and each end told", () => untold(rows));
});
