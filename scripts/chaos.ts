// `npm run chaos`: releases and faults at random over a fleet at work, on the real embedded stack. It exits 0 when nothing was
// killed, lost, doubled or left closed; 1 when anything was; 2 when it was asked wrongly.

import { parseArgs } from "node:util";
import { diceOf } from "./chaos/dice.ts";
import { strikes } from "./chaos/faults.ts";
import { Ground } from "./chaos/ground.ts";
import { judged, settles } from "./chaos/judge.ts";
import { releases } from "./chaos/releases.ts";
import { Work } from "./chaos/work.ts";
import { factLines, type Fact } from "./replay/fact.ts";

const HELP = `npm run chaos -- [--seed N] [--seconds N] [--forced] [--json]

  A fleet of its own, with asks, runs and stops all the time, one release after another, and every few seconds a part that
  is killed or stands still: the fleet, the ledger, the bot, all of it at once, a deployer. Then it is judged.

  --seed N     what each of them does (1); when they do it is the machine's
  --seconds N  how long (60), before all that was begun ends
  --forced     the control: each release by --force, and no other fault. It kills, so the facts differ`;

interface Asked {
  readonly seed: number;
  readonly seconds: number;
  readonly forced: boolean;
}

/** One chaos from its first ask to its facts. */
async function play(ground: Ground, { seed, seconds, forced }: Asked): Promise<readonly Fact[]> {
  const since = performance.now();
  const say = (text: string): void =>
    void process.stderr.write(`${((performance.now() - since) / 1_000).toFixed(1).padStart(6)}  ${text}\n`);
  say("the fleet comes up");
  await ground.begin();
  const until = performance.now() + seconds * 1_000;
  const goesOn = (): boolean => performance.now() < until;
  say("it is up, and work begins");
  const work = new Work(ground, goesOn);
  const [released] = await Promise.all([
    releases(ground, diceOf(seed, 1), { forced, goesOn, say }),
    work.asks(diceOf(seed, 2)),
    work.types(diceOf(seed, 3)),
    forced ? undefined : work.stops(diceOf(seed, 4)),
    forced ? undefined : strikes(ground, diceOf(seed, 5), goesOn, say),
  ]);
  say("no more is begun; what is at work ends");
  const open = await settles(ground);
  return open.holds ? [open, ...(await judged(ground, work, released))] : [open];
}

function readArguments(): (Asked & { readonly json: boolean }) | null {
  const { values } = parseArgs({
    options: {
      seed: { type: "string", default: "1" },
      seconds: { type: "string", default: "60" },
      forced: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const [seed, seconds] = [Number(values.seed), Number(values.seconds)];
  if (!Number.isSafeInteger(seed) || seed < 0) throw new TypeError(`--seed wants a whole number: ${values.seed}`);
  if (!Number.isFinite(seconds) || seconds <= 0)
    throw new TypeError(`--seconds wants a number of seconds: ${values.seconds}`);
  return { seed, seconds, forced: values.forced, json: values.json };
}

async function main(): Promise<number> {
  const asked = readArguments();
  if (asked === null) {
    process.stdout.write(`${HELP}\n`);
    return 0;
  }
  const ground = new Ground();
  let clearing: Promise<void> | undefined;
  const clear = (): Promise<void> => (clearing ??= ground.clear());
  const stop = (): void => void clear().finally(() => process.exit(130));
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    const facts = await play(ground, asked);
    const { seed, seconds, forced } = asked;
    const text = asked.json ? JSON.stringify({ seed, seconds, forced, facts }) : factLines(facts).join("\n");
    process.stdout.write(`${text}\n`);
    return facts.every(({ holds }) => holds) ? 0 : 1;
  } finally {
    await clear();
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  const usage = error instanceof TypeError;
  process.stderr.write(
    `${error instanceof Error ? (usage ? error.message : (error.stack ?? error.message)) : String(error)}\n`,
  );
  process.exitCode = usage ? 2 : 1;
}
