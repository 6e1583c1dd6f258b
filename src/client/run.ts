// The life of a run as its caller lives it: attach, execute, follow over every cut, and release. However it goes on, the
// registration is given back; whatever ends the run is said in one verdict.

import { CLOCK, REAL } from "#core/budgets.ts";
import type { Instant, Ms } from "#core/time.ts";
import type { ProcEnd } from "#wire/agent.ts";
import type { Binding, Work } from "#wire/attach.ts";
import { TidegateError, type Problem } from "#wire/errors.ts";
import type { Attach, AttachAsk, Attached, WaitNote } from "./attach.ts";
import { ResidentDrainingError } from "./drainingError.ts";
import type { FleetClient } from "./fleet.ts";
import { follow, type Followed, type Reading, type Sink } from "./follow.ts";
import type { Clock, MintId } from "./ports.ts";
import { release } from "./release.ts";
import { isUnreachable } from "./transport.ts";

/** What is to be run. */
export interface RunAsk extends AttachAsk {
  readonly leaseMs: Ms | null;
  readonly command: readonly string[];
  /** What goes on after the container was replaced; without it the run ends `replaced`. */
  readonly resume: readonly string[] | null;
  readonly env: Readonly<Record<string, string>>;
  /** Push the thread's branch once the command has succeeded. */
  readonly push: boolean;
  /** False: a closed door refuses the run at once. */
  readonly wait: boolean;
}

/** What is told while the run lives. */
export interface RunEvents extends Sink {
  readonly onWait: (note: WaitNote) => void;
  readonly onProgress: (line: string) => void;
  readonly onStart: (attached: Attached) => void;
  /** The stream was cut and the run attaches again. */
  readonly onCut: (why: string) => void;
  /** The container was replaced; the run goes on by this command, or ends. */
  readonly onReplaced: (command: readonly string[] | null) => void;
}

/** How a run ended. `exit` is the command's own, 128 + n when a signal ended it. */
export type Verdict =
  | { readonly kind: "finished"; readonly exit: number; readonly signal: string | null }
  | { readonly kind: "notStarted"; readonly why: string }
  | { readonly kind: "stopped" | "leaseSpent" | "replaced" }
  | { readonly kind: "refused"; readonly problem: Problem | null; readonly draining: ResidentDrainingError | null }
  | { readonly kind: "failed"; readonly why: string };

/** Everything that can be said once a run is over. */
export interface RunEnd {
  readonly verdict: Verdict;
  readonly attached: Attached | null;
  readonly work: Work | null;
  readonly pushed: { readonly ok: boolean; readonly said: string } | null;
  /** Why the registration could not be given back; null when it was. It then ends by itself with its lease. */
  readonly notReleased: string | null;
}

/** What a run is given. */
export interface RunPorts {
  readonly fleet: FleetClient;
  readonly attach: Attach;
  readonly clock: Clock;
  /** Real time, for how long a stopped process may take to be gone. */
  readonly real: Clock;
  readonly mintId: MintId;
  /** The number of a signal by its name, for the exit code of a command that it ended. */
  readonly signalNumber: (name: string) => number;
}

type Ending = "stopped" | "leaseSpent";

class CallersRun {
  readonly #ports: RunPorts;
  readonly #ask: RunAsk;
  readonly #events: RunEvents;
  /** Fires with the first of stop and lease's end: nothing new is begun. */
  readonly #ending = new AbortController();
  /** Fires when what was stopped is not waited for any longer. */
  readonly #gone = new AbortController();
  readonly #over = new AbortController();
  #end: Ending | null = null;
  #leaseUntil: Instant | null;
  #binding: Binding | null = null;
  #silentSince: Instant | null = null;

  constructor(ports: RunPorts, ask: RunAsk, events: RunEvents) {
    this.#ports = ports;
    this.#ask = ask;
    this.#events = events;
    this.#leaseUntil = ask.leaseMs === null ? null : ports.clock.now() + ask.leaseMs;
  }

  async run(stop: AbortSignal): Promise<RunEnd> {
    const stopped = (): void => void this.#beginEnding("stopped");
    if (stop.aborted) stopped();
    stop.addEventListener("abort", stopped, { once: true });
    try {
      return await this.#live();
    } finally {
      this.#over.abort();
      stop.removeEventListener("abort", stopped);
    }
  }

  async #live(): Promise<RunEnd> {
    let attached: Attached;
    try {
      attached = await this.#attach(false);
    } catch (error) {
      const verdict = this.#refused(error);
      // Nothing of a spent wait is on its way in: the fleet is only told, once, that nobody waits any more.
      const spent = error instanceof ResidentDrainingError;
      const mayBeIn = this.#end !== null || isUnreachable(error) || spent;
      const { notReleased } = mayBeIn ? await this.#release(spent) : { notReleased: null };
      return { verdict, attached: null, work: null, pushed: null, notReleased };
    }
    this.#leaseUntil = attached.binding.leaseUntil;
    void this.#endWithLease(attached.binding.leaseUntil);
    this.#events.onStart(attached);
    const verdict = await this.#execute().catch((error: unknown): Verdict => this.#broken(error));
    const pushed = this.#ask.push && verdict.kind === "finished" && verdict.exit === 0 ? await this.#push() : null;
    return { verdict, attached, pushed, ...(await this.#release(true)) };
  }

  async #attach(again: boolean): Promise<Attached> {
    const { resource, runId, threadKey, generation, runKind, parent, replace, ref, wait } = this.#ask;
    const ask = { resource, runId, threadKey, generation, runKind, parent, replace, ref };
    const attached = await this.#ports.attach(ask, {
      leaseUntil: this.#leaseUntil,
      signal: this.#ending.signal,
      onWait: this.#events.onWait,
      onProgress: this.#events.onProgress,
      again,
      wait: wait && !again,
    });
    this.#binding = attached.binding;
    return attached;
  }

  #refused(error: unknown): Verdict {
    if (this.#end !== null) return { kind: this.#end };
    if (error instanceof ResidentDrainingError) return { kind: "refused", problem: null, draining: error };
    if (error instanceof TidegateError) return { kind: "refused", problem: error.problem, draining: null };
    throw error;
  }

  /** What a failure in the middle means: an ending when one has begun, else the run's failure. */
  #broken(error: unknown): Verdict {
    if (this.#end !== null) return { kind: this.#end };
    if (error instanceof TidegateError) return { kind: "failed", why: `${error.message}. ${error.problem.next}` };
    throw error;
  }

  #reading(command: readonly string[]): Reading {
    const bootId = this.#binding?.bootId ?? "";
    return { procId: this.#ports.mintId("p"), command, bootId, heard: false, out: 0, err: 0 };
  }

  async #execute(): Promise<Verdict> {
    let reading = this.#reading(this.#ask.command);
    for (;;) {
      const verdict = await this.#verdictOf(await this.#follow(reading), reading);
      if (verdict === "goOn") continue;
      if (verdict !== "replaced") return verdict;
      this.#events.onReplaced(this.#ask.resume);
      if (this.#ask.resume === null) return { kind: "replaced" };
      reading = this.#reading(this.#ask.resume);
    }
  }

  #follow(reading: Reading): Promise<Followed> {
    const { resource, threadKey, runId, env } = this.#ask;
    // In a later boot the process is asked after, not started: it may have ended there, and its record says how.
    const sameBoot = reading.bootId === this.#binding?.bootId;
    const ask = { resource, threadKey, runId, env, command: sameBoot ? reading.command : null };
    return follow(this.#ports.fleet, ask, reading, { sink: this.#events, signal: this.#gone.signal });
  }

  async #verdictOf(followed: Followed, reading: Reading): Promise<Verdict | "goOn" | "replaced"> {
    if (this.#end !== null) return { kind: this.#end };
    switch (followed.kind) {
      case "end":
        return this.#ended(followed.end);
      case "cut":
        return this.#again(followed);
      case "unregistered":
        return this.#again({ heard: false, why: "the run was not registered any more" });
      case "noProcess":
        if (reading.heard) return "replaced";
        reading.bootId = this.#binding?.bootId ?? "";
        return "goOn";
      case "notStarted":
        return { kind: "notStarted", why: followed.why };
      case "failed":
        return { kind: "failed", why: followed.why };
    }
  }

  async #ended(end: ProcEnd): Promise<Verdict | "replaced"> {
    switch (end.cause) {
      case "exited":
        return { kind: "finished", exit: end.exit ?? 0, signal: null };
      case "signalled": {
        const signal = end.signal ?? "SIGKILL";
        return { kind: "finished", exit: 128 + this.#ports.signalNumber(signal), signal };
      }
      case "stopped":
        return {
          kind: "failed",
          why: "the run was ended from outside: released, or replaced by another run of its thread",
        };
      case "not-started":
        return { kind: "notStarted", why: end.detail ?? "it did not start" };
      case "container":
      case "lost":
        if (end.bootId === this.#binding?.bootId && this.#ask.resume !== null) await this.#attach(true);
        return "replaced";
    }
  }

  /** Attaches again after a cut; a stream that is cut at once, over and over, is given up after the wake wait. */
  async #again(cut: { readonly heard: boolean; readonly why: string }): Promise<Verdict | "goOn"> {
    const { clock } = this.#ports;
    const now = clock.now();
    const since = this.#silentSince ?? now;
    const pausing = !cut.heard && this.#silentSince !== null;
    this.#silentSince = cut.heard ? null : since;
    if (!cut.heard && now - since >= CLOCK.wakeWaitMs) return { kind: "failed", why: cut.why };
    this.#events.onCut(cut.why);
    if (pausing) await clock.sleep(CLOCK.wakePollMs, this.#ending.signal);
    await this.#attach(true);
    return "goOn";
  }

  async #endWithLease(leaseUntil: Instant): Promise<void> {
    const { clock } = this.#ports;
    try {
      await clock.sleep(leaseUntil - clock.now(), this.#over.signal);
    } catch {
      return;
    }
    await this.#beginEnding("leaseSpent");
  }

  /** Ends the run's processes; what they still say is read until they are gone, but not for ever. */
  async #beginEnding(how: Ending): Promise<void> {
    if (this.#end !== null || this.#over.signal.aborted) return;
    this.#end = how;
    this.#ending.abort(new Error(how));
    const { resource, threadKey, runId } = this.#ask;
    try {
      if (this.#binding !== null) {
        await this.#ports.fleet.op({ resource, threadKey, runId, op: "stop" });
        await this.#ports.real.sleep(REAL.processGoneMs, this.#over.signal);
      }
    } catch {
      // The container or the fleet is away: the release below ends what is left, and says so when it cannot.
    }
    this.#gone.abort(new Error(how));
  }

  async #push(): Promise<{ readonly ok: boolean; readonly said: string }> {
    const { resource, threadKey, runId } = this.#ask;
    try {
      const { said } = await this.#ports.fleet.op({ resource, threadKey, runId, op: "push" });
      return { ok: true, said };
    } catch (error) {
      if (!(error instanceof TidegateError)) throw error;
      return { ok: false, said: `${error.message}. ${error.problem.next}` };
    }
  }

  #release(attached: boolean): Promise<{ readonly work: Work | null; readonly notReleased: string | null }> {
    const { resource, threadKey, runId, generation } = this.#ask;
    return release(this.#ports, { resource, threadKey, runId, generation }, attached);
  }
}

/** Lives one run from its ask to its release. Rejects only on a defect; everything else is a verdict. */
export function callRun(ports: RunPorts, ask: RunAsk, events: RunEvents, stop: AbortSignal): Promise<RunEnd> {
  return new CallersRun(ports, ask, events).run(stop);
}
