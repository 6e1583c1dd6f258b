// `npm run replay`: the seed's evening on the real embedded stack, a minute a second, and its two controls. It exits 0 when
// every fact is as the seed has it, 1 when one differs, 2 when it was asked wrongly.

import { parseArgs } from "node:util";
import { factsOf, type Fact } from "./replay/facts.ts";
import { play, VARIANTS, type Seen, type Variant } from "./replay/acts.ts";
import { eveningOf, SCALE, type Evening } from "./replay/evening.ts";
import { Stage } from "./replay/stage.ts";
import { timelineLines, timelineOf } from "./replay/timeline.ts";

const HELP = `npm run replay -- [drained|undrained|forced|all] [--set coding.ends=05:12 …] [--json]

  drained     the evening as the seed has it (the default)
  undrained   the same evening without the drain's bearer: refused at its budget's end
  forced      the same evening with --force: kills what runs
  all         the three of them`;

interface Played {
  readonly seen: Seen;
  readonly facts: readonly Fact[];
}

const progress = (line: string): void => void process.stderr.write(`${line}\n`);

async function playOne(variant: Variant, evening: Evening, stage: Stage): Promise<Played> {
  const leads = await stage.open(evening, progress);
  const late = stage.clock.now() - (evening.codingStarts - leads.runMs);
  progress(`the ${variant} evening begins: one minute a second${late > 0 ? ", late: this machine is busy" : ""}`);
  const seen = await play(stage, evening, variant, leads);
  return { seen, facts: factsOf(seen) };
}

async function staged(variant: Variant, evening: Evening): Promise<Played> {
  const stage = new Stage();
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= stage.close());
  const stop = (): void => void close().finally(() => process.exit(130));
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    return await playOne(variant, evening, stage);
  } finally {
    await close();
    process.removeListener("SIGINT", stop).removeListener("SIGTERM", stop);
  }
}

function print(variant: Variant, { seen, facts }: Played): void {
  const lines = variant === "drained" ? [...timelineLines(timelineOf(seen)), ""] : [];
  const judged = facts.flatMap(({ says, found, holds }) => [`${holds ? "✓" : "✗ DIFFERS:"} ${says}`, `    ${found}`]);
  process.stdout.write(`${[`the ${variant} evening`, "", ...lines, ...judged, ""].join("\n")}\n`);
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
  const variants = asked === "all" ? VARIANTS : VARIANTS.filter((variant) => variant === asked);
  const evening = eveningOf(values.set);
  if (variants.length === 0 || more.length > 0)
    throw new TypeError(`"${positionals.join(" ")}" is no evening\n\n${HELP}`);
  if ("wrong" in evening) throw new TypeError(evening.wrong);
  const played: Record<string, unknown>[] = [];
  let differ = false;
  for (const variant of variants) {
    const one = await staged(variant, evening);
    differ ||= one.facts.some((fact) => !fact.holds);
    if (!values.json) print(variant, one);
    played.push({
      variant,
      scale: SCALE,
      timeline: variant === "drained" ? timelineOf(one.seen) : [],
      facts: one.facts,
      receipt: one.seen.receipt ?? null,
    });
  }
  if (values.json) process.stdout.write(`${JSON.stringify({ evenings: played })}\n`);
  return differ ? 1 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  const usage = error instanceof TypeError;
  progress(error instanceof Error ? (usage ? error.message : (error.stack ?? error.message)) : String(error));
  process.exitCode = usage ? 2 : 1;
}
