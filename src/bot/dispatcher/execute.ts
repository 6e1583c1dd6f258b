// The fifth stage: the kind's command runs in the workspace, its output goes to the ledger, what is said to it goes to its
// inbox. A run that is taken over goes on at the byte where it stood, and one whose container was replaced by its resume.

import { LIMIT } from "#core/budgets.ts";
import type { CardEvent } from "#core/card.ts";
import { formatDuration, MINUTE } from "#core/time.ts";
import type { Attached } from "#client/attach.ts";
import { execute as follow } from "#client/execution.ts";
import type { Hold, Verdict, WorkEvents } from "#client/work.ts";
import { runningCard, stoppingCard, waitingCard } from "../cards.ts";
import { commandsOf, environmentOf, processIdOf, whyTooLarge, type Commands } from "../harness/command.ts";
import { OutputBook } from "../harness/output.ts";
import type { LiveRun } from "../runs.ts";
import { Delivery } from "./delivery.ts";
import { note, type Desk } from "./desk.ts";
import { attachAskOf } from "./provision.ts";
import { kindNamed } from "./resolve.ts";

/** How it ended, or that it goes on without this bot. */
export type Executed = Verdict | { readonly kind: "left" };

/** One run at work. */
interface Work {
  readonly desk: Desk;
  readonly run: LiveRun;
  readonly attached: Attached;
  readonly book: OutputBook;
  readonly delivery: Delivery;
  /** Its card while it runs. */
  readonly card: CardEvent;
  /** Which of its processes is at work. */
  tries: number;
}

/** Tells the run's card again once it is heard of after a wait for its container. */
function backAtWork({ desk, run, card }: Work): void {
  if (desk.cards.last(run.id)?.state === "waiting") desk.cards.tell(card);
}

/** Nothing of a process is asked for before the ledger knows of it: whoever holds the run next finds it. */
async function begin(work: Work, reading: Parameters<NonNullable<WorkEvents["onBegin"]>>[0]): Promise<void> {
  const { desk, run, book, attached, tries } = work;
  const { procId, bootId, out, err } = reading;
  await book.begin(reading);
  const { leaseUntil } = attached.binding;
  const body = { id: run.id, generation: desk.number, tries, leaseUntil, reading: { procId, bootId, out, err } };
  const { entry } = await desk.steady.do((ledger) => ledger.progress(body));
  run.learn(entry);
  await work.delivery.begin(!reading.heard);
}

function eventsOf(work: Work): WorkEvents {
  const { desk, run, book } = work;
  const { cards, parts } = desk;
  const { id, entry } = run;
  const said = (kind: string, text: string, ms: number | null): void => note(desk, id, kind, { text, ms });
  return {
    out: (bytes, reading) => (backAtWork(work), book.push("out", bytes, reading)),
    err: (bytes, reading) => (backAtWork(work), book.push("err", bytes, reading)),
    onBegin: (reading) => (backAtWork(work), begin(work, reading)),
    onFound: () => work.delivery.found(),
    onWait: ({ since, bound }) => cards.tell(waitingCard(entry, cards.last(id), { since, bound })),
    onProgress: () => undefined,
    onEnding: () => cards.tell(stoppingCard(entry, cards.last(id), parts.clock.now())),
    onCut: (why) => parts.log("info", "the stream of a run was cut", { id, why }),
    onReset: () => backAtWork(work),
    onTransport: ({ silentMs, goesOn, why }) => {
      const next = goesOn ? "it attaches again" : "given up";
      said("transport", `not heard for ${formatDuration(silentMs)}: ${why}; ${next}`, silentMs);
    },
    onReplaced: (command) =>
      said("replaced", `the container was replaced${command === null ? "" : "; the run goes on by its resume"}`, null),
  };
}

/** Where it begins: anew, or where the bot before this one had read to. */
function holdOf(run: LiveRun, commands: Commands | null): Hold {
  const { reading, tries } = run.entry;
  const command = tries > 1 ? (commands?.resume ?? commands?.command) : commands?.command;
  const from = reading === null ? null : { ...reading, command: command ?? null };
  return { from, resumes: Math.max(0, LIMIT.runTries - tries), leave: run.leave.signal };
}

async function workOn(desk: Desk, run: LiveRun, attached: Attached): Promise<Work> {
  const { id, entry } = run;
  const { steady, number, wakes, cards, parts } = desk;
  const known = await steady.do((ledger) => ledger.run(id));
  run.learn(known.entry);
  const onGap = (stream: string, bytes: number): void =>
    note(desk, id, "output_gap", { text: `${bytes} bytes of ${stream} are missing`, ms: null });
  const ports = { steady, id, number, secrets: parts.secrets.known, onGap, onAppend: () => wakes.wake(id) };
  const book = new OutputBook(ports, { out: known.output.out.length, err: known.output.err.length });
  const { leaseUntil } = attached.binding;
  const isKnown = known.card?.state === "running";
  const since = parts.clock.now();
  const before = entry.metDrain === null ? cards.last(id) : undefined;
  const card = isKnown && known.card !== null ? known.card : runningCard(entry, { since, leaseUntil }, before);
  if (isKnown) cards.recall(card);
  else cards.tell(card);
  const tries = entry.reading === null ? entry.tries - 1 : entry.tries;
  return { desk, run, attached, book, delivery: new Delivery(desk, run), card, tries };
}

/** Kinds are released with the bot and leases with the fleet: a resident that is released with shorter ones gives less. */
function noteCut(desk: Desk, { id, entry }: LiveRun, { binding }: Attached): void {
  if (entry.reading !== null || entry.leaseUntil === null || entry.leaseUntil - binding.leaseUntil < MINUTE) return;
  const given = formatDuration(binding.leaseUntil - desk.parts.clock.now());
  note(desk, id, "lease_cut", { text: `its resident gives it ${given}, as the fleet is released`, ms: null });
}

/** What the run is started by and with, or why it cannot be started as things are configured now. */
type Startable =
  | { readonly kind: "startable"; readonly commands: Commands; readonly env: Readonly<Record<string, string>> }
  | { readonly kind: "missing"; readonly why: string };

function startable({ parts }: Desk, { ask }: LiveRun["entry"]): Startable {
  const kind = kindNamed({ parts }, ask.kind);
  if (kind === undefined) return { kind: "missing", why: `no kind is called "${ask.kind}" any more` };
  const found = parts.secrets.of(ask.kind, kind);
  if (found.kind === "missing") return found;
  const [commands, env] = [commandsOf(ask, kind), environmentOf(ask, found.env)];
  const tooLarge = whyTooLarge(commands, env);
  return tooLarge === null ? { kind: "startable", commands, env } : { kind: "missing", why: tooLarge };
}

const FOLLOWED_ONLY = { command: [], resume: null, env: {} } as const;

/**
 * Runs it until it has ended or is left. One that was begun is followed whatever has become of its kind; without its kind
 * it is only followed: neither started nor resumed.
 */
export async function execute(desk: Desk, run: LiveRun, attached: Attached): Promise<Executed> {
  const { parts } = desk;
  const start = startable(desk, run.entry);
  if (start.kind === "missing") {
    if (run.entry.reading === null) return { kind: "notStarted", why: start.why };
    note(desk, run.id, "only_followed", {
      text: `it goes on, and can be neither begun nor resumed: ${start.why}`,
      ms: null,
    });
  }
  noteCut(desk, run, attached);
  const work = await workOn(desk, run, attached);
  const mintId = (): string => processIdOf(run.id, (work.tries += 1));
  const how = start.kind === "missing" ? FOLLOWED_ONLY : { ...start.commands, env: start.env };
  const hold = holdOf(run, start.kind === "missing" ? null : start.commands);
  try {
    const begins = { attached, stop: run.stop.signal, hold };
    const verdict = await follow({ ...parts, mintId }, { ...attachAskOf(desk, run), ...how }, eventsOf(work), begins);
    await (verdict.kind === "left" ? work.book.flushed() : work.book.end());
    if (verdict.kind !== "left") await work.delivery.ended();
    return verdict;
  } finally {
    work.delivery.end();
  }
}
