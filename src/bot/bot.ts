// One bot from its number in the ledger to its end. It keeps nothing: whatever must outlive it is in the ledger, and whoever
// comes after it finds there what it was about.

import { REAL } from "#core/budgets.ts";
import type { Bearers } from "#node/tokens.ts";
import type { HistoryQuery, LedgerRun } from "#wire/ledger.ts";
import { botApp } from "./api/botApp.ts";
import { Beat } from "./beat.ts";
import { Cards } from "./cards.ts";
import { Doors } from "./doors.ts";
import type { Desk } from "./dispatcher/desk.ts";
import { Repositories } from "./dispatcher/repositories.ts";
import { tellEnd } from "./ends.ts";
import { Leftovers } from "./leftovers.ts";
import { Outbox } from "./outbox.ts";
import type { BotParts } from "./parts.ts";
import { Queue } from "./queue.ts";
import { Runs } from "./runs.ts";
import { Shutdown } from "./shutdown.ts";
import { Steady } from "./steady.ts";
import { Wakes } from "./wakes.ts";

/** A bot that is at work. */
export interface Bot {
  readonly desk: Desk;
  readonly queue: Queue;
  readonly fetch: (request: Request) => Promise<Response>;
  /** Asks it to end, a second time at once; resolves when everything is left or over. */
  end(): Promise<void>;
  /** Resolves when it has ended, whoever asked it to. */
  readonly ended: Promise<void>;
}

/** Of whose end no card tells, the oldest first. */
async function untoldEnds({ steady }: Desk): Promise<LedgerRun[]> {
  const untold: LedgerRun[] = [];
  for (let page: Partial<HistoryQuery> | null = { untold: "1" }; page !== null;) {
    const query: Partial<HistoryQuery> = page;
    const { runs, next } = await steady.do((ledger) => ledger.history(query));
    const all = await Promise.all(runs.map(({ id }) => steady.do((ledger) => ledger.run(id))));
    const found = all.filter(({ card }) => card?.state !== "ended");
    untold.push(...found);
    // An older ledger answers with all that has ended: behind a page that is told everything is.
    page = next === null || found.length === 0 ? null : { ...query, before: next };
  }
  return untold.toReversed();
}

/** Ends that the last bot wrote and did not live to tell are told now. */
async function tellEnds(desk: Desk): Promise<void> {
  for (const run of await untoldEnds(desk)) tellEnd(desk, run);
}

/** What the bots since this one held is free at once, as they are known to have ended; else it is by their ledger lease. */
async function handOffFor(gone: number, { steady, number, parts }: Desk): Promise<void> {
  try {
    const { ids } = await steady.do((ledger) => ledger.handOff(number, gone));
    parts.log("info", "what the last bot held is handed off in its name", { gone, runs: ids });
  } catch (error) {
    parts.log("warn", "nothing could be handed off in the name of the last bot", { gone, error });
  }
}

/**
 * Begins a bot: it is numbered, takes over what is free, and looks at the queue. `gone`: the number of the last bot, where it
 * and each after it are known to have ended. Resolves once it can answer.
 */
export async function beginBot(parts: BotParts, bearers: Bearers, gone: number | null): Promise<Bot> {
  parts.secrets.learn(parts.kinds);
  const over = new AbortController();
  const streams = new AbortController();
  const { promise: ended, resolve: hasEnded } = Promise.withResolvers<void>();
  const onFenced = (): void => void shutdown.fenced().then(hasEnded);
  const steady = new Steady({ ledger: parts.ledger, real: parts.real, over: over.signal, onFenced });
  const { number } = await steady
    .do((ledger) => ledger.begin(`bot ${parts.upload.build.commit}`))
    .then(({ generation }) => ({ number: generation }));
  const outbox = new Outbox(steady, parts.log, number);
  const doors = new Doors(parts);
  const desk: Desk = {
    parts,
    number,
    steady,
    outbox,
    doors,
    runs: new Runs(),
    cards: new Cards(outbox),
    wakes: new Wakes(),
    told: new Map(),
    repositories: new Repositories(parts.fleet),
  };
  const leftovers = new Leftovers(desk);
  const beat = new Beat(desk, () => {
    queue.poke();
    void leftovers.look();
  });
  const queue: Queue = new Queue({ desk, onLapse: (at) => beat.lapseAt(at) });
  const giveUp = (): void => {
    over.abort();
    streams.abort();
  };
  const shutdown: Shutdown = new Shutdown({ desk, doors, queue, beat, giveUp });
  parts.log("info", "the bot begins", { number, ...parts.upload });
  doors.begin();
  await doors.ready(REAL.connectMs, parts.real);
  if (gone !== null) await handOffFor(gone, desk);
  await beat.begin();
  queue.begin();
  void tellEnds(desk).catch((error: unknown) => parts.log("warn", "the last ends cannot be told", { error }));
  const front = { desk, queue, isEnding: () => shutdown.hasBegun, over: streams.signal };
  const end = async (): Promise<void> => {
    await shutdown.begin();
    hasEnded();
  };
  return { desk, queue, fetch: botApp(front, bearers), end, ended };
}
