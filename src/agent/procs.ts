// The processes of runs. Starting is idempotent by the id the caller minted; output goes straight to files; the
// terminal record is written once, after the exit and after the whole family is gone.

import { spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { REAL } from "#core/budgets.ts";
import type { ProcEnd, ProcRequest, ProcView, StopResult } from "#wire/agent.ts";
import type { Clock } from "./clock.ts";
import { endFamily, type Ended } from "./endFamily.ts";
import { markOf, runEnvironment, type Surroundings } from "./environment.ts";
import { AgentError, errnoOf } from "./errors.ts";
import { isAlive, ownStartTicks, statOf, type Family } from "./procfs.ts";
import type { ProcPid, ProcRecords, ProcSpec } from "./procRecord.ts";
import { slugOf } from "./slug.ts";
import type { Tickets } from "./tickets.ts";

/** What the processes need to know of worktrees. */
export interface Workplace {
  /** Where a thread's process runs; refuses when the thread has no worktree or the folder lies outside. */
  folderFor(slug: string, cwd: string | undefined): Promise<string>;
  /** Runs work that no removal of the thread's worktree may cross. */
  exclusively<T>(slug: string, work: () => Promise<T>): Promise<T>;
  touch(slug: string): Promise<void>;
}

export interface ProcNeeds {
  readonly records: ProcRecords;
  readonly around: Surroundings;
  readonly workplace: Workplace;
  readonly tickets: Tickets;
  readonly bootId: string;
  readonly clock: Clock;
  readonly machine: Clock;
  readonly log: (line: string) => void;
}

interface Entry {
  spec: ProcSpec;
  pid: ProcPid | undefined;
  end: ProcEnd | undefined;
  /** Whether the start has got its turn: before that a stop cancels it. */
  entered: boolean;
  exited: boolean;
  stopCause: "stopped" | "container" | undefined;
  readonly stops: Promise<Ended>[];
  started: Promise<void>;
  readonly over: Promise<ProcEnd>;
  readonly setOver: (end: ProcEnd) => void;
}

/** Every process this data folder knows of. */
export class Procs {
  readonly #needs: ProcNeeds;
  readonly #entries = new Map<string, Entry>();
  #stopping = false;

  constructor(needs: ProcNeeds) {
    this.#needs = needs;
  }

  /** At the agent's start: ends whoever an earlier boot left alive, and records its processes as lost. */
  async recover(): Promise<void> {
    const { records, around, clock, machine } = this.#needs;
    const open: ProcSpec[] = [];
    const leaders: ProcPid[] = [];
    for (const spec of await records.all()) {
      const end = await records.endOf(spec.id);
      const entry = newEntry(spec);
      this.#entries.set(spec.id, entry);
      entry.pid = await records.pidOf(spec.id);
      if (end) finishEntry(entry, end);
      else open.push(spec);
      // A group without its leader may be somebody else's by now; its members carry the mark.
      if (!end && entry.pid && isAlive(entry.pid.pid, entry.pid.startTicks)) leaders.push(entry.pid);
    }
    await endFamily({ family: { leaders, mark: markOf(around), sinceTicks: 0 }, graceMs: 0, clock, machine });
    for (const spec of open) {
      const end = await records.writeEnd(spec.id, {
        exit: null,
        signal: null,
        endedAt: clock.now(),
        cause: "lost",
        bootId: spec.bootId,
      });
      const entry = this.#entries.get(spec.id);
      if (entry) finishEntry(entry, end);
    }
  }

  /**
   * Starts a process, or answers the one that this id stands for. NOT_STARTED when the command cannot be started. What is
   * let in is in the table in the same step, so whoever takes its ticket back finds it there and may end it.
   */
  async start(ask: ProcRequest): Promise<ProcView> {
    if (this.#stopping) throw new AgentError("STOPPING", "the container is being stopped");
    const spec = this.#specOf(ask);
    this.#needs.tickets.judge(spec.slug, ask.ticket);
    let entry = this.#entries.get(ask.id);
    if (entry === undefined) {
      entry = newEntry(spec);
      this.#entries.set(ask.id, entry);
      entry.started = this.#launch(entry, ask);
    } else if (!isSameAsk(entry.spec, spec)) {
      throw new AgentError("PROC_CONFLICT", `process ${ask.id} runs another command`);
    }
    await entry.started;
    if (entry.end?.cause === "not-started") throw new AgentError("NOT_STARTED", entry.end.detail ?? "");
    return await this.#viewOf(entry);
  }

  /** One process by its id. */
  async view(id: string): Promise<ProcView> {
    return await this.#viewOf(this.#require(id));
  }

  /** All processes, or those of one thread, oldest first. */
  async list(thread?: string): Promise<ProcView[]> {
    const chosen = [...this.#entries.values()].filter((entry) => thread === undefined || entry.spec.thread === thread);
    const views = await Promise.all(chosen.map(async (entry) => await this.#viewOf(entry)));
    return views.sort((a, b) => a.startedAt - b.startedAt);
  }

  /** The terminal record once it stands, and a promise of it. */
  endOf(id: string): { readonly now: () => ProcEnd | undefined; readonly over: Promise<ProcEnd> } {
    const entry = this.#require(id);
    return { now: () => entry.end, over: entry.over };
  }

  /** How many processes of a thread have no terminal record yet. */
  liveCount(slug: string): number {
    return [...this.#entries.values()].filter((entry) => entry.spec.slug === slug && !entry.end).length;
  }

  /** How many processes of a thread may still read what stands now: those that run, and those that are about to. */
  aliveCount(slug: string): number {
    const mine = [...this.#entries.values()].filter(({ spec, end, exited }) => spec.slug === slug && !end && !exited);
    return mine.filter(({ pid }) => pid === undefined || isAlive(pid.pid, pid.startTicks)).length;
  }

  /** Ends one process and its family, and answers once its terminal record stands (or the bound has passed). */
  async stop(id: string, graceMs: number): Promise<StopResult> {
    return await this.#stopEntry(this.#require(id), graceMs, "stopped");
  }

  /** Ends every process of a thread, and whoever else carries the thread's mark. */
  async stopThread(slug: string, graceMs: number): Promise<StopResult> {
    const { around, clock, machine } = this.#needs;
    const live = [...this.#entries.values()].filter((entry) => entry.spec.slug === slug && !entry.end);
    const stops = await Promise.all(live.map(async (entry) => await this.#stopEntry(entry, graceMs, "stopped")));
    const rest = await endFamily({
      family: { leaders: [], mark: markOf(around, slug), sinceTicks: ownStartTicks() },
      graceMs: 0,
      clock,
      machine,
    });
    return joined([...stops, rest]);
  }

  /** At the agent's end: nothing new starts, everything is ended and has its terminal record. */
  async shutdown(graceMs: number): Promise<void> {
    this.#stopping = true;
    const live = [...this.#entries.values()].filter((entry) => !entry.end);
    await Promise.all(live.map(async (entry) => await this.#stopEntry(entry, graceMs, "container")));
    const { around, clock, machine } = this.#needs;
    await endFamily({
      family: { leaders: [], mark: markOf(around), sinceTicks: ownStartTicks() },
      graceMs: 0,
      clock,
      machine,
    });
  }

  /** Drops the logs of processes that ended before an instant; answers how many. */
  async forgetBefore(instant: number): Promise<number> {
    const old = [...this.#entries].filter(([, entry]) => entry.end !== undefined && entry.end.endedAt < instant);
    for (const [id] of old) {
      this.#entries.delete(id);
      await this.#needs.records.forget(id);
    }
    return old.length;
  }

  #specOf(ask: ProcRequest): ProcSpec {
    const argv = ask.command ?? ["sh", "-c", ask.shell ?? ""];
    const env = Object.entries(ask.env ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      id: ask.id,
      thread: ask.thread,
      slug: slugOf(ask.thread),
      argv,
      cwd: ask.cwd ?? "",
      envHash: createHash("sha256").update(JSON.stringify(env)).digest("hex"),
      bootId: this.#needs.bootId,
      startedAt: this.#needs.clock.now(),
    };
  }

  async #launch(entry: Entry, ask: ProcRequest): Promise<void> {
    const { workplace, records } = this.#needs;
    const { spec } = entry;
    try {
      await workplace.exclusively(spec.slug, async () => {
        const cwd = await workplace.folderFor(spec.slug, ask.cwd);
        if (this.#stopping) throw new AgentError("STOPPING", "the container is being stopped");
        if (entry.stopCause) throw new AgentError("NOT_STARTED", "it was stopped before it began");
        entry.entered = true;
        await records.create(spec);
        await this.#spawn(entry, cwd, ask.env);
      });
      await workplace.touch(spec.slug);
    } catch (error) {
      // Nothing was started, so the id stands for nothing and may be asked again.
      if (!entry.pid && !entry.end) {
        this.#entries.delete(spec.id);
        await records.forget(spec.id);
      }
      throw error;
    }
  }

  async #spawn(entry: Entry, cwd: string, given: Record<string, string> | undefined): Promise<void> {
    const { records, around } = this.#needs;
    const { spec } = entry;
    const [file = "", ...args] = spec.argv;
    const outputs = [await records.openOutput(spec.id, "out"), await records.openOutput(spec.id, "err")] as const;
    try {
      const child = spawn(file, args, {
        cwd,
        env: runEnvironment(around, spec, given),
        detached: true,
        stdio: ["ignore", outputs[0].fd, outputs[1].fd],
      });
      // Read before the event loop turns: until then the child is not reaped, whatever became of it.
      const stat = child.pid === undefined ? undefined : statOf(child.pid);
      const failure = await spawned(child, (exit, signal) => void this.#finish(entry, exit, signal));
      if (failure !== undefined || child.pid === undefined) return await this.#notStarted(entry, failure);
      entry.pid = { pid: child.pid, startTicks: stat?.startTicks ?? 0 };
      await records.writePid(spec.id, entry.pid);
    } catch (error) {
      // E2BIG and a NUL are thrown by spawn itself.
      if (entry.pid) throw error;
      await this.#notStarted(entry, error);
    } finally {
      for (const output of outputs) await output.close();
    }
  }

  async #notStarted(entry: Entry, failure: unknown): Promise<void> {
    const { records, clock, bootId } = this.#needs;
    const why = errnoOf(failure) ?? "it could not be spawned";
    const detail = `${entry.spec.argv[0]}: ${why === "ENOENT" ? "not found" : why === "EACCES" ? "permission denied" : why}`;
    finishEntry(
      entry,
      await records.writeEnd(entry.spec.id, {
        exit: null,
        signal: null,
        endedAt: clock.now(),
        cause: "not-started",
        bootId,
        detail,
      }),
    );
  }

  async #finish(entry: Entry, exit: number | null, signal: string | null): Promise<void> {
    entry.exited = true;
    const { records, workplace, clock, machine, bootId } = this.#needs;
    await entry.started.catch(() => undefined);
    await Promise.allSettled(entry.stops);
    const cause = entry.stopCause ?? (signal === null ? "exited" : "signalled");
    while (!entry.end) {
      try {
        // A process in the kernel's hands keeps the record away until it is gone.
        const { left } = await endFamily({ family: this.#familyOf(entry), graceMs: 0, clock, machine });
        if (left.length > 0) continue;
        const end = { exit, signal, endedAt: clock.now(), cause, bootId } as const;
        finishEntry(entry, await records.writeEnd(entry.spec.id, end));
      } catch (error) {
        // A full disk or no descriptor left must not turn an end into a process that lives for ever.
        this.#needs.log(`the end of process ${entry.spec.id} cannot be recorded: ${String(error)}`);
        await machine.sleep(REAL.requestMs);
      }
    }
    await workplace.touch(entry.spec.slug).catch(() => undefined);
  }

  async #stopEntry(entry: Entry, graceMs: number, cause: "stopped" | "container"): Promise<StopResult> {
    if (!entry.entered) entry.stopCause ??= cause;
    else await entry.started.catch(() => undefined);
    if (entry.end || !entry.pid) return { ended: [], left: [] };
    if (!entry.exited) entry.stopCause ??= cause;
    const { machine } = this.#needs;
    // A caller's grace is on the stack's clock; the container's own end is on the machine's.
    const clock = cause === "container" ? machine : this.#needs.clock;
    const stop = endFamily({ family: this.#familyOf(entry), graceMs, clock, machine });
    entry.stops.push(stop);
    const result = await stop;
    if (result.left.length === 0) await entry.over;
    return result;
  }

  #familyOf(entry: Entry): Family {
    const mark = markOf(this.#needs.around, entry.spec.slug, entry.spec.id);
    return { leaders: entry.pid ? [entry.pid] : [], mark, sinceTicks: entry.pid?.startTicks ?? 0 };
  }

  #require(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new AgentError("NO_SUCH_PROC", `no process ${id} in this container`);
    return entry;
  }

  async #viewOf(entry: Entry): Promise<ProcView> {
    const { records } = this.#needs;
    const { id, thread, slug, argv, bootId, startedAt } = entry.spec;
    const { out, err } = entry.end ?? { out: await records.sizeOf(id, "out"), err: await records.sizeOf(id, "err") };
    return { id, thread, slug, argv, bootId, startedAt, pid: entry.pid?.pid ?? null, out, err, end: entry.end ?? null };
  }
}

function newEntry(spec: ProcSpec): Entry {
  const { promise, resolve } = Promise.withResolvers<ProcEnd>();
  return {
    spec,
    pid: undefined,
    end: undefined,
    entered: false,
    exited: false,
    stopCause: undefined,
    stops: [],
    started: Promise.resolve(),
    over: promise,
    setOver: resolve,
  };
}

function finishEntry(entry: Entry, end: ProcEnd): void {
  entry.end = end;
  entry.setOver(end);
}

function isSameAsk(a: ProcSpec, b: ProcSpec): boolean {
  return (
    a.thread === b.thread &&
    a.cwd === b.cwd &&
    a.envHash === b.envHash &&
    JSON.stringify(a.argv) === JSON.stringify(b.argv)
  );
}

/** Resolves once the child runs (undefined) or cannot (the error); its exit goes to `onExit`. */
async function spawned(
  child: ChildProcess,
  onExit: (exit: number | null, signal: string | null) => void,
): Promise<unknown> {
  return await new Promise((resolve) => {
    child.once("error", resolve);
    child.once("spawn", () => {
      child.once("exit", onExit);
      resolve(undefined);
    });
  });
}

function joined(results: readonly Ended[]): StopResult {
  return {
    ended: [...new Set(results.flatMap(({ ended }) => ended))],
    left: [...new Set(results.flatMap(({ left }) => left))],
  };
}
