// The acts of the bot's night, in their order. Each begins when what it builds on was seen; what happened is kept as it was
// seen and judged afterwards.

import { LIMIT } from "#core/budgets.ts";
import type { Instant } from "#core/time.ts";
import { listReceipts } from "#deploy/receiptFile.ts";
import type { AuditRow, WatchFrame } from "#wire/fleet.ts";
import type { HostStatus } from "#wire/host.ts";
import type { LedgerRun } from "#wire/ledger.ts";
import { shortNameOf } from "#wire/names.ts";
import type { Receipt } from "#wire/receipt.ts";
import type { Actor } from "./actor.ts";
import { Feeder, type Fed } from "./botFeeder.ts";
import type { BotNight, BotVariant } from "./botNight.ts";
import { BotSide, type CardSeen, type HealthSeen } from "./botSide.ts";
import { REPO, type Stage } from "./stage.ts";

/** What was said to a run in flight while the door was closed. */
export interface Steered {
  readonly id: string;
  readonly text: string;
  readonly saidAt: Instant;
  readonly reachedAt: Instant;
}

/** Everything that was seen of a bot's night. */
export interface BotSeen {
  readonly variant: BotVariant;
  readonly night: BotNight;
  readonly deploy: Actor;
  /** People who ask while the door is closed. */
  readonly people: readonly Actor[];
  readonly steered: Steered | null;
  readonly fed: readonly Fed[];
  readonly frames: readonly WatchFrame[];
  readonly cards: readonly CardSeen[];
  readonly looks: readonly HealthSeen[];
  /** Everything that was asked, as the ledger has it at the end, in the order of arrival. */
  readonly runs: readonly LedgerRun[];
  /** What the steered run has said. */
  readonly output: string;
  readonly audit: readonly AuditRow[];
  readonly before: HostStatus["parts"];
  readonly after: HostStatus["parts"];
  readonly receipt: Receipt | undefined;
}

type Acted = Pick<BotSeen, "deploy" | "people" | "steered">;

const PEOPLE = ["ann", "ben"] as const;
const WORDS = "leave the generated files out";
/** So many of its runs have ended, and were followed by the next, when the deploy begins. */
const ENDINGS = 2;

/** Says something to a run at work and waits until it has it. */
async function steer(stage: Stage, side: BotSide, { answer: { id } }: Fed): Promise<Steered> {
  const saidAt = stage.clock.now();
  await side.again(() => side.bot.steer(id, { key: "steer-1", text: WORDS }));
  for (;;) {
    const { messages } = await side.again(() => side.bot.run(id));
    if (messages.every(({ reached }) => reached)) return { id, text: WORDS, saidAt, reachedAt: stage.clock.now() };
  }
}

const asks = (stage: Stage, who: string): Actor =>
  stage.command(["ask", "echo started", "--repo", shortNameOf(REPO), "--by", who, "--watch"]);

const DEPLOY = ["deploy", "all", "--only", "ledger", "--only", "bot", "--reason", "tonight's release"] as const;

/** Under the closed door: something is said to a run in flight, and people ask. None of the units ends meanwhile. */
async function underTheDoor(stage: Stage, side: BotSide, feeder: Feeder): Promise<Pick<Acted, "people" | "steered">> {
  await stage.sees("the drain", (frame) => frame.drains.length > 0, 20);
  return feeder.aside(async () => {
    await stage.finds("the bot's door closes", () => (side.looks.at(-1)?.draining ? true : undefined), 20);
    const people = PEOPLE.map((who) => asks(stage, who));
    const steered = await steer(stage, side, feeder.atWork());
    await Promise.all(people.map((actor) => stage.hears(actor, /is queued: deploy pending/, 20)));
    return { people, steered };
  });
}

async function scene(stage: Stage, side: BotSide, feeder: Feeder, variant: BotVariant): Promise<Acted> {
  feeder.begin();
  await feeder.untilEnded(ENDINGS);
  const deploy = stage.command(DEPLOY, variant === "undrained" ? { RESIDENT_DRAIN_TOKEN: "" } : {});
  const under = variant === "door" ? await underTheDoor(stage, side, feeder) : { people: [], steered: null };
  await deploy.ended;
  await feeder.finish();
  await Promise.all(under.people.map((actor) => actor.ended));
  return { deploy, ...under };
}

/** All that was asked, in the order of arrival. */
async function allRuns({ ledger }: BotSide): Promise<LedgerRun[]> {
  const { runs } = await ledger.history({ limit: LIMIT.rowsAPage });
  const { entries } = await ledger.entries();
  const ids = [...runs.map(({ id }) => id), ...entries.map(({ ask }) => ask.id)];
  const all = await Promise.all(ids.map((id) => ledger.run(id)));
  return all.toSorted((a, b) => a.entry.place - b.entry.place);
}

/** Plays the night and answers what was seen. */
export async function playBotNight(stage: Stage, variant: BotVariant, night: BotNight): Promise<BotSeen> {
  const side = new BotSide(stage.paths, stage.clock);
  try {
    const feeder = new Feeder(stage, side, night);
    const before = (await stage.control.status()).parts;
    const acted = await scene(stage, side, feeder, variant);
    const runs = await allRuns(side);
    await Promise.all(runs.map(({ entry }) => side.until(entry.ask.id, "ended")));
    const id = acted.steered?.id ?? null;
    const said = id === null ? "" : (await side.ledger.outputFrom({ id })).data;
    return {
      ...acted,
      variant,
      night,
      fed: feeder.asked,
      frames: stage.frames,
      cards: side.cards,
      looks: side.looks,
      runs,
      output: Buffer.from(said, "base64").toString(),
      audit: await stage.asks.audit(),
      before,
      after: (await stage.control.status()).parts,
      receipt: listReceipts(stage.paths)[0],
    };
  } finally {
    await side.end();
  }
}
