// What the bot's night has to show, held against what was seen of it. The record's own words are beside it only where a fact
// says so; nothing is taken from them as seen.

import { MINUTE, SECOND, type Instant } from "#core/time.ts";
import type { LedgerRun } from "#wire/ledger.ts";
import type { BotSeen } from "./botActs.ts";
import { botTimes, gapsOf, inFlightAt, waited } from "./botTimes.ts";
import type { Fact } from "./fact.ts";
import { secondTime, SCALE, spanTime } from "./night.ts";

const time = (instant: Instant | undefined): string => (instant === undefined ? "never" : secondTime(instant));
const idOf = ({ entry }: LedgerRun): string => entry.ask.id;
/** An unit's kind and number, or who asked. */
const nameOf = ({ entry: { ask } }: LedgerRun): string =>
  ask.channel === "plan" ? ask.key.replace(/^plan\/(\d+)\/(\w+)\/.*$/, "$2 $1") : ask.by;
const names = (runs: readonly LedgerRun[]): string => runs.map(nameOf).join(", ");

/** How many were in flight by every frame of the watch and by every look at the bot, while both lanes were at work. */
function flightsUntil({ frames, looks }: BotSeen, until: Instant): number[] {
  const begins = frames.find(({ runs }) => runs.length >= 2)?.now ?? until;
  const within = (at: Instant): boolean => at >= begins && at < until;
  return [
    ...frames.filter(({ now }) => within(now)).map(({ runs, attaching }) => runs.length + attaching),
    ...looks.filter(({ at }) => within(at)).map(({ inFlight }) => inFlight),
  ];
}

function feederFact(seen: BotSeen, until: Instant): Fact {
  const gaps = gapsOf(seen);
  const flights = flightsUntil(seen, until);
  const longest = Math.max(...gaps);
  return {
    says: "the plan runner asks for the next unit within a second of each ending, and never is nothing in flight",
    found: `${gaps.length} endings, the next asked for ${Math.round(longest / SCALE)} ms later at the latest; ${Math.min(...flights)} to ${Math.max(...flights)} in flight in ${flights.length} looks`,
    holds: gaps.length > 1 && longest < SECOND * SCALE && flights.length > 1 && Math.min(...flights) >= 1,
    proof: { gapsMs: gaps.map((gap) => gap / SCALE), flights },
  };
}

function answeredFact(seen: BotSeen): Fact {
  const times = botTimes(seen);
  const late = seen.runs.filter((run) => waited(run, times));
  const answers = late.map((run) => {
    const first = seen.cards.find(({ card }) => card.id === idOf(run))?.card;
    const fed = seen.fed.find(({ answer }) => answer.id === idOf(run));
    return {
      run: nameOf(run),
      state: first?.state,
      cause: first?.cause,
      position: first?.position,
      says: fed?.answer.says,
    };
  });
  const people = seen.people.map((actor) => actor.saying(/is queued: deploy pending, \d+ minutes? · place \d+/)?.line);
  const told = answers.flatMap(({ says }) => says ?? []);
  return {
    says: "every ask that meets the closed door is answered at once: deploy pending, N minutes, and queued at its place",
    found: `${names(late)}: ${[...told, ...people.map((line) => line?.replace(/^.*is queued: /, ""))].join("; ")}`,
    holds:
      late.length > people.length &&
      answers.every(({ state, cause }) => state === "queued" && cause === "deploy") &&
      told.every((says) => /^deploy pending, \d+ minutes? · place \d+$/.test(says)) &&
      people.every((line) => line !== undefined),
    proof: { answers, people },
  };
}

function steerFact(seen: BotSeen): Fact {
  const { steered, output } = seen;
  const { closed, lifted } = botTimes(seen);
  const within = steered !== null && closed !== undefined && lifted !== undefined;
  const times = output.split(steered?.text ?? "\0").length - 1;
  return {
    says: "what is said to a run in flight passes the closed door, and reaches it once",
    found: `said ${time(steered?.saidAt)}, there ${time(steered?.reachedAt)}, ${times} time in its inbox at its end`,
    holds: within && steered.saidAt >= closed && steered.reachedAt <= lifted && times === 1,
    proof: { steered, output },
  };
}

function endsFact(seen: BotSeen): Fact {
  const { receipt, runs, people } = seen;
  const { closed = 0 } = botTimes(seen);
  const caught = inFlightAt(seen, closed);
  const ends = runs.map((run) => [nameOf(run), run.ended?.verdict.ending, run.ended?.verdict.exit, run.entry.tries]);
  const exits = people.map((actor) => actor.over?.exit);
  return {
    says: "the runs in flight end by themselves; nobody is killed, refused or begun twice, this night",
    found: `in flight as it closes: ${names(caught)}; ${ends.length} runs finished; killed ${receipt?.killed ?? "unknown"}`,
    holds:
      caught.length >= 1 &&
      receipt?.killed === 0 &&
      ends.every(([, ending, exit, tries]) => ending === "finished" && exit === 0 && tries === 1) &&
      exits.every((exit) => exit === 0),
    proof: { caught: caught.map(idOf), killed: receipt?.killed, ends, exits },
  };
}

function rollFact(seen: BotSeen): Fact {
  const { before, after, receipt, deploy, looks } = seen;
  const { closed = 0, botRolled } = botTimes(seen);
  const zero = looks.find(({ at, inFlight }) => at >= closed && inFlight === 0);
  const landed = (["ledger", "bot"] as const).map(
    (part) =>
      after[part]?.drainId === receipt?.drainId &&
      after[part]?.generation === (before[part]?.generation ?? 0) + 1 &&
      receipt?.steps.find(({ step }) => step === part)?.outcome === "landed",
  );
  return {
    says: "the bot step reads zero, and the roll lands: ledger and bot, each one generation further",
    found: `zero ${time(zero?.at)}, rolled ${time(botRolled)}: ledger ${before.ledger?.generation ?? "?"} → ${after.ledger?.generation ?? "?"}, bot ${before.bot?.generation ?? "?"} → ${after.bot?.generation ?? "?"}`,
    holds:
      zero !== undefined &&
      botRolled !== undefined &&
      zero.at <= botRolled &&
      landed.every(Boolean) &&
      deploy.over?.exit === 0,
    proof: {
      zero,
      before,
      after,
      steps: receipt?.steps,
      exit: deploy.over?.exit,
      said: deploy.words("err").split("\n").slice(-12),
    },
  };
}

function queueFact(seen: BotSeen): Fact {
  const times = botTimes(seen);
  const late = seen.runs.filter((run) => waited(run, times));
  const numbers = seen.looks.map(({ number }) => number);
  const attaching = seen.cards.filter(
    ({ card }) => card.state === "attaching" && late.some((run) => idOf(run) === card.id),
  );
  const order = attaching.map(({ card }) => card.id);
  const rows = late.map((run) => ({
    run: nameOf(run),
    holder: run.entry.holder,
    admittedAt: run.entry.admittedAt ?? 0,
  }));
  const isInOrder = rows.every(({ admittedAt }, index) => admittedAt >= (rows[index - 1]?.admittedAt ?? 0));
  const newest = Math.max(...numbers);
  return {
    says: "the queue goes on in the order of arrival on the new generation, each once",
    found: rows.map(({ run, admittedAt, holder }) => `${run} ${time(admittedAt)} by bot ${holder}`).join(", "),
    holds:
      isInOrder &&
      late.length > 2 &&
      newest === Math.min(...numbers) + 1 &&
      rows.every(({ holder, admittedAt }) => holder === newest && admittedAt >= (times.botRolled ?? Infinity)) &&
      order.join() === late.map(idOf).join(),
    proof: { rows, order, numbers: [...new Set(numbers)] },
  };
}

function waitsFact(seen: BotSeen): Fact {
  const times = botTimes(seen);
  const late = seen.runs.filter((run) => waited(run, times));
  const rows = late.map((run) => {
    const mine = seen.cards.filter(({ card }) => card.id === idOf(run));
    const queued = mine.find(({ card }) => card.state === "queued");
    const opening = mine
      .find(({ card }) => card.state === "running")
      ?.says.match(/after waiting (\d+)s for the resident/);
    const note = run.notes.find(({ kind }) => kind === "drain_wait");
    const waitedMs = (run.entry.admittedAt ?? 0) - run.entry.askedAt;
    return {
      run: nameOf(run),
      says: queued?.says,
      bound: queued?.card.bound,
      waitedMs,
      opening: opening?.[0],
      seconds: Number(opening?.[1]),
      note: note?.text,
    };
  });
  return {
    says: "each wait is named: on the card with its bound, in the opening line counted from the ask, and in a note",
    found: rows.map(({ run, says, opening }) => `${run}: ${says ?? "?"} … ${opening ?? "no opening line"}`).join("; "),
    holds:
      rows.length > 2 &&
      rows.every(
        ({ says, bound, waitedMs, seconds, note }) =>
          says !== undefined &&
          /^waiting for the deploy to finish · \d+ min · place \d+$/.test(says) &&
          typeof bound === "number" &&
          seconds * SECOND >= waitedMs - SECOND &&
          note !== undefined,
      ),
    proof: { rows },
  };
}

function orderFact(seen: BotSeen): Fact {
  const { closed, shut, quiet, ledgerRolled, botRolled, lifted, first } = botTimes(seen);
  const instants = [closed, shut, quiet, ledgerRolled, botRolled, lifted, first];
  const isOrdered = instants.every(
    (instant, index) => instant !== undefined && (index === 0 || instant >= (instants[index - 1] ?? instant + 1)),
  );
  return {
    says: "the deploy closes, waits for the last to end, rolls ledger and bot, opens, and the queue goes on, in this order",
    found: `closed ${time(closed)}, the bot ${time(shut)}, quiet ${time(quiet)}, ledger ${time(ledgerRolled)}, bot ${time(botRolled)}, opened ${time(lifted)}, first ${time(first)}`,
    holds: isOrdered,
    proof: { closed, shut, quiet, ledgerRolled, botRolled, lifted, first },
  };
}

function openFact(seen: BotSeen): Fact {
  const { frames, looks, cards } = seen;
  const waits = cards.filter(({ card }) => card.state === "queued");
  return {
    says: "without the bearer nothing closes: no ask waits",
    found: `${frames.length} frames without a drain, ${waits.length} asks that waited`,
    holds:
      waits.length === 0 &&
      frames.every(({ drains }) => drains.length === 0) &&
      looks.every(({ draining }) => draining === null),
    proof: { waits: waits.map(({ card }) => card) },
  };
}

function budgetFact(seen: BotSeen): Fact {
  const { deploy, receipt } = seen;
  const said = deploy.words("err").split("\n");
  const minutes = said.filter((line) => /waited \d+m of 30m — /.test(line));
  const zero = minutes.filter((line) => /— 0 runs in flight/.test(line));
  const last = said.findLast((line) => /the wait of 30m ran out with/.test(line));
  const ms = (deploy.over?.at ?? 0) - (receipt?.startedAt ?? 0);
  return {
    says: "the bot step never reads zero and fails at its budget, naming who is in flight",
    found: `${minutes.length} minutes of waiting said, ${zero.length} of them with nothing in flight; after ${spanTime(ms)} exit ${deploy.over?.exit ?? "?"}: ${last?.trim() ?? "no last word"}`,
    holds:
      minutes.length >= 20 &&
      zero.length === 0 &&
      last !== undefined &&
      /plan:/.test(last) &&
      deploy.over?.exit === 3 &&
      ms >= 30 * MINUTE,
    proof: { exit: deploy.over?.exit, ms, said: said.slice(-8), minutes: minutes.length },
  };
}

function splitFact({ before, after, receipt, looks }: BotSeen): Fact {
  const same = (["ledger", "bot"] as const).map((part) => after[part]?.generation === before[part]?.generation);
  return {
    says: "nothing of it has landed, neither ledger nor bot: the release is not split as the record's was",
    found: `ledger ${before.ledger?.generation ?? "?"} → ${after.ledger?.generation ?? "?"}, bot ${before.bot?.generation ?? "?"} → ${after.bot?.generation ?? "?"}`,
    holds:
      same.every(Boolean) &&
      receipt?.steps.every(({ outcome }) => outcome === "none") === true &&
      new Set(looks.map(({ number }) => number)).size === 1,
    proof: { before, after, steps: receipt?.steps },
  };
}

/** The facts of what was seen, by the variant that was played. */
export function botFactsOf(seen: BotSeen): Fact[] {
  const { closed, ended } = botTimes(seen);
  if (seen.variant === "undrained")
    return [feederFact(seen, ended ?? 0), openFact(seen), budgetFact(seen), splitFact(seen)];
  return [
    feederFact(seen, closed ?? 0),
    answeredFact(seen),
    steerFact(seen),
    endsFact(seen),
    rollFact(seen),
    queueFact(seen),
    waitsFact(seen),
    orderFact(seen),
  ];
}
