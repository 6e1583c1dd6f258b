// What a chaos is judged by, once all has ended: the fleet is open, each piece of work went from its beginning to its own end
// once, with its output whole, and no release killed any of it.

import { followOutput } from "#client/runOutput.ts";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import type { RunDetail } from "#wire/bot.ts";
import type { Fact } from "../replay/fact.ts";
import type { Ground } from "./ground.ts";
import { receiptOf, type Release } from "./releases.ts";
import { marksOf, textOf, type Asked, type Run, type Work } from "./work.ts";

const real = clockOf(REAL_TIME);
const SETTLES_WITHIN_MS = 240_000;
const SHOWN = 5;

/** What is closed, registered or asked for still, by its ids. */
async function leftOf({ access }: Ground): Promise<readonly string[]> {
  try {
    const [{ drains }, { runs, attaching }, { live }] = await Promise.all([
      access.fleet.drains(),
      access.fleet.residents({ fresh: true }),
      access.bot.client.runs({ limit: 1 }),
    ]);
    return [
      ...drains.map(({ id }) => `drain ${id}`),
      ...runs.map(({ runId, state }) => `registered ${runId}, ${state}`),
      ...(attaching === 0 ? [] : [`${attaching} at the door`]),
      ...live.map(({ id, card }) => `ask ${id}, ${card.state}`),
    ];
  } catch (error) {
    return [String(error)];
  }
}

/** Waits until all has ended by itself; answers whether it has, and how long that took. */
export async function settles(ground: Ground): Promise<Fact> {
  const since = performance.now();
  const took = (): number => performance.now() - since;
  let left = await leftOf(ground);
  for (; left.length > 0 && took() < SETTLES_WITHIN_MS; left = await leftOf(ground)) await ground.rests(500);
  const found = left.length === 0 ? `after ${Math.round(took() / 1_000)} s` : `not ${left.slice(0, SHOWN).join("; ")}`;
  const holds = left.length === 0;
  return { says: "everything ends by itself, and the fleet is open", found, holds, proof: { ms: took(), left } };
}

async function outputOf({ access }: Ground, id: string): Promise<string> {
  const parts: Uint8Array[] = [];
  const nothing = (): void => undefined;
  const sink = { leftOut: nothing, card: nothing, away: nothing, back: nothing };
  const bytes = (stream: string, part: Uint8Array): void => void (stream === "out" ? parts.push(part) : 0);
  const ask = { id, from: { out: 0, err: 0 }, signal: AbortSignal.timeout(60_000) };
  await followOutput(access.bot.client, real, ask, { ...sink, bytes });
  return Buffer.concat(parts).toString();
}

/** What is wrong with an ask; null for nothing. */
async function wrongAsk(ground: Ground, work: Work, one: Asked): Promise<string | null> {
  const { begun, ended } = marksOf(ground, one);
  const { card }: RunDetail = await ground.access.bot.client.run(one.id);
  const ending = card.verdict?.ending ?? card.state;
  const says = `${one.mark} (${one.id}): begun ${begun}, ended ${ended}, ${ending}`;
  if (work.stopped.has(one.mark) && ending === "stopped") return begun <= 1 && ended === 0 ? null : says;
  if (begun !== 1 || ended !== 1 || ending !== "finished" || card.verdict?.exit !== 0) return says;
  const out = await outputOf(ground, one.id);
  return out === textOf(one) ? null : `${says}, ${out.length} of ${textOf(one).length} bytes`;
}

/** What is wrong with a run that was typed; null for nothing. One that was told that no fleet is up never began. */
function wrongRun(ground: Ground, one: Run): string | null {
  const { begun, ended } = marksOf(ground, one);
  const { actor } = one;
  const wasTold = begun === 0 && actor.saying(/no fleet is up|the supervisor is starting/) !== undefined;
  if (wasTold) return null;
  const isWhole = `${actor.words("out")}\n` === textOf(one);
  const holds = begun === 1 && ended === 1 && isWhole && actor.over?.exit === 0;
  return holds
    ? null
    : `${one.mark}: begun ${begun}, ended ${ended}, exit ${actor.over?.exit ?? "?"}, ${actor.said.findLast(({ stream }) => stream === "err")?.line ?? ""}`;
}

function factOf(says: string, all: number, wrong: readonly string[]): Fact {
  const found =
    wrong.length === 0 ? `all ${all}` : `not ${wrong.length} of ${all}: ${wrong.slice(0, SHOWN).join("; ")}`;
  return { says, found, holds: wrong.length === 0 && all > 0, proof: { all, wrong } };
}

/** Judges what was asked for and released. */
export async function judged(ground: Ground, work: Work, released: readonly Release[]): Promise<readonly Fact[]> {
  await Promise.all(work.runs.map(({ actor }) => actor.ended));
  const asks: string[] = [];
  for (const one of work.asked) asks.push(...[await wrongAsk(ground, work, one)].filter((wrong) => wrong !== null));
  const runs = work.runs.flatMap((one) => wrongRun(ground, one) ?? []);
  const receipts = released.flatMap((one) => receiptOf(one) ?? []);
  const deadly = receipts.filter(({ killed }) => killed !== 0);
  const killed = deadly.map(({ drainId, killed: count }) => `${drainId} killed ${count}`);
  return [
    factOf(
      "each ask began once and went to its own end with its output whole, but for those that were stopped",
      work.asked.length,
      asks,
    ),
    factOf(
      "each run at the fleet's own door began once and went to its end with its output whole",
      work.runs.length,
      runs,
    ),
    factOf("no deploy killed any, by its receipt", receipts.length, killed),
  ];
}
