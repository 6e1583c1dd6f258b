// The way of an ask: intake, resolve, admission; and of the run that becomes of it: provision, execute, write-up, release,
// seal. Each stage is a file. A run that is not this bot's any more is left where it stands, at whichever stage it was.

import type { Entry, Verdict as Sealed } from "#core/ask.ts";
import { CLOCK } from "#core/budgets.ts";
import { formatDuration, type Instant } from "#core/time.ts";
import type { Attached } from "#client/attach.ts";
import type { AskBody } from "#wire/bot.ts";
import { STOPPED_WAITING } from "#wire/ledgerAnswers.ts";
import { endedCard } from "../cards.ts";
import type { LiveRun } from "../runs.ts";
import { NotOurs } from "../steady.ts";
import { admission, tellQueued, type Admission } from "./admission.ts";
import { note, type Desk } from "./desk.ts";
import { execute } from "./execute.ts";
import { intake } from "./intake.ts";
import { provision, type Provisioned } from "./provision.ts";
import { release } from "./release.ts";
import { resolve } from "./resolve.ts";
import { noteVerdict, seal } from "./seal.ts";
import { writeUp } from "./writeUp.ts";

/** The drain that an ask met. What this bot has told it need not be the ledger's yet, and older ledgers know of nothing else. */
const metBy = ({ told }: Desk, { ask, metDrain, toldOf }: Entry): string | null =>
  metDrain ?? toldOf ?? told.get(ask.id)?.drainId ?? null;

/**
 * Notes the wait of an ask that met a drain, until it was let in or, where it never was, until it ended; told again, as after
 * a roll, it is the same note. It is told before the card of an end: what is heard of that says that this was heard.
 */
export function noteDrainWait(desk: Desk, entry: Entry, endedAt: Instant): void {
  const met = metBy(desk, entry);
  if (met === null) return;
  const ms = Math.max(0, (entry.admittedAt ?? endedAt) - entry.askedAt);
  note(desk, entry.ask.id, "drain_wait", { text: `waited ${formatDuration(ms)} for drain ${met}`, ms });
}

/** What an attach refused by a drain came to: it waits again, or a stop that was said meanwhile has ended it. */
function sentBack(desk: Desk, { answer }: Extract<Provisioned, { kind: "returned" }>): void {
  const { kind, entry, position, now } = answer;
  if (kind === "queued")
    return tellQueued(desk, entry, { closed: desk.doors.closed(entry.ask.resource), behind: "queue", position });
  const { verdict } = STOPPED_WAITING;
  noteDrainWait(desk, entry, now);
  desk.cards.tell(endedCard(entry, desk.cards.last(entry.ask.id), { verdict, at: now }));
}

/** How a run leaves the fleet: known there for sure, perhaps, or never let in. */
type Standing = "in" | "mayBeIn" | "out";

/** The last stages of a run whose verdict the ledger has: it does not matter which bot takes them, or how often. */
async function finish(desk: Desk, run: LiveRun, verdict: Sealed, standing: Standing): Promise<void> {
  run.move("end");
  const text = run.isRead ? await writeUp(desk, run) : "";
  if (standing !== "out") await release(desk, run, standing === "in");
  await seal(desk, run, verdict, text);
}

/** What is left belongs to whoever holds it next; one that has ended meanwhile is nobody's, and is given back here. */
async function giveBackEnded(desk: Desk, run: LiveRun): Promise<void> {
  const known = await desk.parts.ledger.run(run.id).catch(() => null);
  if (known !== null && known.ended !== null) await release(desk, run, false);
}

async function executed(desk: Desk, run: LiveRun, attached: Attached): Promise<boolean> {
  run.move("execute");
  const verdict = await execute(desk, run, attached);
  if (verdict.kind === "left") return false;
  run.move("end");
  await finish(desk, run, await noteVerdict(desk, run, verdict), "in");
  return true;
}

/** Walks a run through its stages; answers whether it is over here: ended, or back in the queue. */
async function walk(desk: Desk, run: LiveRun): Promise<boolean> {
  const { verdict } = run.entry;
  if (verdict !== null) {
    noteDrainWait(desk, run.entry, desk.parts.clock.now());
    await finish(desk, run, verdict, run.isRead ? "in" : "mayBeIn");
    return true;
  }
  const provisioned = await provision(desk, run);
  const isPast = provisioned.kind === "attached" || provisioned.kind === "over";
  if (isPast) noteDrainWait(desk, run.entry, desk.parts.clock.now());
  switch (provisioned.kind) {
    case "left":
      return false;
    case "returned":
      sentBack(desk, provisioned);
      return true;
    case "over": {
      run.move("end");
      const standing = !provisioned.mayBeIn ? "out" : run.isRead ? "in" : "mayBeIn";
      await finish(desk, run, await noteVerdict(desk, run, provisioned.verdict), standing);
      return true;
    }
    case "attached":
      return await executed(desk, run, provisioned.attached);
  }
}

const DEFECT = { ending: "failed", exit: null, by: null, why: "an error inside the bot; see its log" } as const;

/**
 * A defect of the bot ends the run it was met in, and nothing else; that is said. How it ended before stands. Its end is written
 * first, since whatever was met may be met again: who is killed behind it has left a registration, and no run to begin again.
 */
async function broken(desk: Desk, run: LiveRun, error: unknown): Promise<boolean> {
  if (error instanceof NotOurs) throw error;
  desk.parts.log("error", "a run met an error of the bot's own", { id: run.id, error });
  noteDrainWait(desk, run.entry, desk.parts.clock.now());
  const known = await desk.parts.ledger.run(run.id).catch(() => null);
  await seal(desk, run, known?.entry.verdict ?? DEFECT, "");
  await release(desk, run, true);
  return true;
}

/**
 * Whether a run that could not be brought to its end here is somebody else's by now. Where it is not, it is taken up again at
 * a later look: what the ledger refused, or could not read, it may take by then.
 */
async function isLeftBy(desk: Desk, run: LiveRun, error: unknown): Promise<boolean> {
  const isNotOurs = error instanceof NotOurs && !error.isUnreadable;
  desk.parts.log(isNotOurs ? "info" : "error", "a run is left as it is", { id: run.id, error });
  if (!isNotOurs) await desk.parts.clock.sleep(CLOCK.retryMs, run.leave.signal).catch(() => undefined);
  return isNotOurs || run.leave.signal.aborted;
}

async function live(desk: Desk, run: LiveRun): Promise<void> {
  let isLeft = true;
  try {
    isLeft = !(await walk(desk, run).catch((error: unknown) => broken(desk, run, error)));
  } catch (error) {
    isLeft = await isLeftBy(desk, run, error);
  } finally {
    if (isLeft) await giveBackEnded(desk, run);
    desk.runs.drop(run, isLeft);
  }
}

/** Takes a run in hand that the ledger says is this bot's; nothing when it is in hand, or nothing is taken any more. */
export function start(desk: Desk, entry: Entry): void {
  const run = desk.runs.take({ ...entry, metDrain: metBy(desk, entry) });
  if (run !== undefined) void live(desk, run);
}

/** One ask, from whichever channel: its admission, and its run in hand when it may start now. */
export async function ask(desk: Desk, body: AskBody): Promise<Admission> {
  const asked = await resolve(desk, intake(desk, body));
  return await desk.runs.admitting(async () => {
    const admitted = await admission(desk, asked);
    if (admitted.answer.kind === "admitted") start(desk, admitted.answer.entry);
    return admitted;
  });
}
