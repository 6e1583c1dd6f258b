// `npm run replay`: the seed's evening on the real embedded stack, a minute a second, with its two controls, the closure of its
// last amendment, and the bot's night of its first. It exits 0 when every fact is as the seed has it, 1 when one differs, 2
// when it was asked wrongly.

import { parseArgs } from "node:util";
import { play, VARIANTS, type Variant } from "./replay/acts.ts";
import { playBotNight } from "./replay/botActs.ts";
import { botFactsOf } from "./replay/botFacts.ts";
import { BOT_BEGINS, BOT_NIGHTS, botNightOf, type BotNight, type BotVariant } from "./replay/botNight.ts";
import { botLines, botTimelineOf, unitsOf } from "./replay/botTimeline.ts";
import { BEGINS, closureOf, CLOSURES, PLACES, STALE, type Closure, type ClosureVariant } from "./replay/closure.ts";
import { playClosure } from "./replay/closureActs.ts";
import { closureFactsOf } from "./replay/closureFacts.ts";
import { closureLines, closureTimelineOf, comparisonOf } from "./replay/closureTimeline.ts";
import { eveningOf, type Evening } from "./replay/evening.ts";
import { factLines, type Fact } from "./replay/fact.ts";
import { factsOf } from "./replay/facts.ts";
import { SCALE } from "./replay/night.ts";
import { REPO, Stage, type Setting } from "./replay/stage.ts";
import { timelineLines, timelineOf } from "./replay/timeline.ts";

const HELP = `npm run replay -- [drained|undrained|forced|all|closure|bot] [--set coding.ends=05:12 …] [--json]

  drained     the evening as the seed has it (the default)
  undrained   the same evening without the drain's bearer: refused at its budget's end
  forced      the same evening with --force: kills what runs
  all         the three of them
  closure     the 34 minutes for which one container closed the whole fleet, twice: to the cycle bound, and with a
              rebuild before it (--set rebuild.at=8, in minutes since the reconcile)
  bot         the night in which a plan runner asked within a second of each ending, twice: with the deploy's door, and
              without its bearer (--set coding.minutes=4, --set review.minutes=2: how long its units work)`;

/** What one replay came to: as lines for a person, and as data. */
interface Played {
  readonly title: string;
  readonly lines: readonly string[];
  readonly facts: readonly Fact[];
  readonly data: Readonly<Record<string, unknown>>;
}

const progress = (line: string): void => void process.stderr.write(`${line}\n`);

async function playEvening(stage: Stage, variant: Variant, evening: Evening): Promise<Played> {
  const leads = await stage.openFor(evening.codingStarts, progress);
  const late = stage.clock.now() - (evening.codingStarts - leads.runMs);
  progress(`the ${variant} evening begins: one minute a second${late > 0 ? ", late: this machine is busy" : ""}`);
  const seen = await play(stage, evening, variant, leads);
  const timeline = variant === "drained" ? timelineOf(seen) : [];
  const lines = variant === "drained" ? timelineLines(timeline) : [];
  const data = { variant, scale: SCALE, timeline, receipt: seen.receipt ?? null };
  return { title: `the ${variant} evening`, lines, facts: factsOf(seen), data };
}

const CLOSURE_TITLES: Readonly<Record<ClosureVariant, string>> = {
  bound: "the closure, to the cycle bound",
  rebuild: "the closure, with a rebuild before the bound",
};

async function playOneClosure(stage: Stage, variant: ClosureVariant, closure: Closure): Promise<Played> {
  await stage.open(BEGINS, progress);
  progress(`${CLOSURE_TITLES[variant]}: one minute a second`);
  const seen = await playClosure(stage, variant, closure);
  const data = {
    variant,
    scale: SCALE,
    comparison: comparisonOf(seen),
    timeline: closureTimelineOf(seen),
    receipt: seen.receipt ?? null,
  };
  return { title: CLOSURE_TITLES[variant], lines: closureLines(seen), facts: closureFactsOf(seen), data };
}

const BOT_TITLES: Readonly<Record<BotVariant, string>> = {
  door: "the bot's night, with its door",
  undrained: "the bot's night without the drain's bearer",
};

async function playOneBotNight(stage: Stage, variant: BotVariant, night: BotNight): Promise<Played> {
  await stage.open(BOT_BEGINS, progress);
  progress(`${BOT_TITLES[variant]}: one minute a second`);
  const seen = await playBotNight(stage, variant, night);
  const timeline = botTimelineOf(seen);
  const data = { variant, scale: SCALE, timeline, units: unitsOf(seen), receipt: seen.receipt ?? null };
  return { title: BOT_TITLES[variant], lines: botLines(timeline), facts: botFactsOf(seen), data };
}

async function staged(setting: Setting, act: (stage: Stage) => Promise<Played>): Promise<Played> {
  const stage = new Stage(setting);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= stage.close());
  const stop = (): void => void close().finally(() => process.exit(130));
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    return await act(stage);
  } finally {
    await close();
    process.removeListener("SIGINT", stop).removeListener("SIGTERM", stop);
  }
}

/** What was asked for, as the plays that it is made of; throws for what is none. */
function playsOf(asked: string, sets: readonly string[]): { key: string; plays: (() => Promise<Played>)[] } {
  if (asked === "closure") {
    const closure = closureOf(sets);
    if ("wrong" in closure) throw new TypeError(closure.wrong);
    const setting = { repositories: PLACES, stuck: STALE, bot: false };
    const plays = CLOSURES.map((one) => () => staged(setting, (stage) => playOneClosure(stage, one, closure)));
    return { key: "closures", plays };
  }
  if (asked === "bot") {
    const night = botNightOf(sets);
    if ("wrong" in night) throw new TypeError(night.wrong);
    const setting = { repositories: [REPO], stuck: null, bot: true };
    const plays = BOT_NIGHTS.map((one) => () => staged(setting, (stage) => playOneBotNight(stage, one, night)));
    return { key: "nights", plays };
  }
  const variants = asked === "all" ? VARIANTS : VARIANTS.filter((variant) => variant === asked);
  if (variants.length === 0)
    throw new TypeError(`"${asked}" is no evening, not the closure and not the bot's night\n\n${HELP}`);
  const evening = eveningOf(sets);
  if ("wrong" in evening) throw new TypeError(evening.wrong);
  const setting = { repositories: [REPO], stuck: null, bot: false };
  return {
    key: "evenings",
    plays: variants.map((one) => () => staged(setting, (stage) => playEvening(stage, one, evening))),
  };
}

function print({ title, lines, facts }: Played): void {
  const shown = lines.length === 0 ? [] : [...lines, ""];
  process.stdout.write(`${[title, "", ...shown, ...factLines(facts), ""].join("\n")}\n`);
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      set: { type: "string", multiple: true, default: [] },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(`${HELP}\n`);
    return 0;
  }
  const [asked = "drained", ...more] = positionals;
  if (more.length > 0) throw new TypeError(`"${positionals.join(" ")}" is more than one replay\n\n${HELP}`);
  const { key, plays } = playsOf(asked, values.set);
  const data: Record<string, unknown>[] = [];
  let differ = false;
  for (const playIt of plays) {
    const played = await playIt();
    differ ||= played.facts.some((fact) => !fact.holds);
    if (!values.json) print(played);
    data.push({ ...played.data, facts: played.facts });
  }
  if (values.json) process.stdout.write(`${JSON.stringify({ [key]: data })}\n`);
  return differ ? 1 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  const usage = error instanceof TypeError;
  progress(error instanceof Error ? (usage ? error.message : (error.stack ?? error.message)) : String(error));
  process.exitCode = usage ? 2 : 1;
}
