// What happens between an attach and its release: the run's process is started once, followed over every cut, and resumed
// where its container was replaced. Whatever ends it is said in one verdict, and what cannot be heard is no failure of it.

import { REAL } from "#core/budgets.ts";
import { nextStanding, replacedBy, standingOf, type Standing, type StandingFact } from "#core/standing.ts";
import type { Instant } from "#core/time.ts";
import type { ProcEnd } from "#wire/agent.ts";
import type { Binding } from "#wire/attach.ts";
import { TidegateError } from "#wire/errors.ts";
import { isAway } from "./attach.ts";
import { follow, type Followed, type Reading } from "./follow.ts";
import type { Hold, Start, Verdict, WorkAsk, WorkEvents, WorkPorts } from "./work.ts";

type Ending = "stopped" | "leaseSpent" | "left";
/** How a process ends that nobody of ours has told to. */
const OWN_ENDS: readonly ProcEnd["cause"][] = ["exited", "signalled"];
type Outcome = Verdict | { readonly kind: "left" };

class Execution {
  readonly #ports: WorkPorts;
  readonly #ask: WorkAsk;
  readonly #events: WorkEvents;
  readonly #hold: Hold | null;
  /** Fires with the first of stop, lease's end and leaving: nothing new is begun. */
  readonly #ending = new AbortController();
  /** Fires when what was stopped is not waited for any longer. */
  readonly #gone = new AbortController();
  readonly #over = new AbortController();
  #end: Ending | null = null;
  #leaseUntil: Instant;
  #binding: Binding;
  #standing: Standing;
  #resumes = 0;
  /** Whether the process at hand was begun by another command or environment: then it is asked after and not started. */
  #differs = false;
  /** Whether the present silence has been told of as a reset. */
  #toldReset = false;

  constructor(ports: WorkPorts, ask: WorkAsk, events: WorkEvents, start: Start) {
    this.#ports = ports;
    this.#ask = ask;
    this.#events = events;
    this.#hold = start.hold;
    this.#binding = start.attached.binding;
    this.#leaseUntil = this.#binding.leaseUntil;
    this.#standing = standingOf(ports.clock.now());
  }

  async run(stop: AbortSignal): Promise<Outcome> {
    const stopped = (): void => void this.#beginEnding("stopped");
    const left = (): void => this.#leave();
    const leave = this.#hold?.leave;
    stop.addEventListener("abort", stopped, { once: true });
    leave?.addEventListener("abort", left, { once: true });
    try {
      const isBegun = this.#hold !== null && this.#hold.from !== null;
      if (stop.aborted && !isBegun) return { kind: "stopped" };
      if (leave?.aborted === true) return { kind: "left" };
      void this.#endWithLease();
      // Nobody followed it as it was told to stop: it is ended now, unless it has ended by itself.
      if (stop.aborted) stopped();
      return await this.#execute().catch((error: unknown): Outcome => this.#broken(error));
    } finally {
      this.#over.abort();
      stop.removeEventListener("abort", stopped);
      leave?.removeEventListener("abort", left);
    }
  }

  async #attachAnew(): Promise<void> {
    const { resource, runId, threadKey, generation, runKind, parent, replace, ref } = this.#ask;
    const ask = { resource, runId, threadKey, generation, runKind, parent, replace, ref };
    const { binding } = await this.#ports.attach(ask, {
      leaseUntil: this.#leaseUntil,
      signal: this.#ending.signal,
      onWait: this.#events.onWait,
      onProgress: this.#events.onProgress,
      again: true,
      wait: false,
    });
    this.#binding = binding;
  }

  /** What a refusal in the middle means: an ending when one has begun, else the run's failure. */
  #broken(error: unknown): Outcome {
    if (this.#end !== null) return { kind: this.#end };
    if (!(error instanceof TidegateError)) throw error;
    if (error.problem.code === "LEASE_SPENT") return { kind: "leaseSpent" };
    const why = `${error.message}. ${error.problem.next}`;
    return error.problem.code === "OLD_GENERATION" ? this.#superseded(why) : { kind: "failed", why };
  }

  /** A newer generation has the run: it is left where there is a next one to leave it to. */
  #superseded(why: string): Outcome {
    return this.#hold === null ? { kind: "failed", why } : { kind: "left" };
  }

  /** A process of this run, in the container as it is now. */
  #begin(command: readonly string[]): Reading {
    this.#standing = standingOf(this.#ports.clock.now());
    this.#differs = false;
    const { bootId } = this.#binding;
    return { procId: this.#ports.mintId("p"), command, bootId, heard: false, out: 0, err: 0 };
  }

  async #execute(): Promise<Outcome> {
    const from = this.#hold?.from ?? null;
    let reading = from === null ? this.#begin(this.#ask.command) : { ...from, heard: true };
    for (let told = ""; ;) {
      const process = `${reading.procId} ${reading.bootId}`;
      if (process !== told) await this.#events.onBegin?.(reading);
      told = process;
      if (this.#end !== null && !reading.heard) return { kind: this.#end };
      const outcome = await this.#outcomeOf(await this.#follow(reading), reading);
      if (outcome === "goOn") continue;
      if (outcome !== "gone") return outcome;
      if (this.#end !== null) return { kind: this.#end };
      const by = replacedBy(this.#standing);
      const resume = this.#resumes < (this.#hold?.resumes ?? Number.POSITIVE_INFINITY) ? this.#ask.resume : null;
      this.#events.onReplaced(resume);
      if (resume === null) return { kind: "replaced", by };
      this.#resumes += 1;
      reading = this.#begin(resume);
    }
  }

  #follow(reading: Reading): Promise<Followed> {
    const { resource, threadKey, runId, generation, env } = this.#ask;
    // In a later boot the process is asked after, not started: it may have ended there, and its record says how.
    const mayStart = this.#end === null && this.#isIn(reading) && !this.#differs;
    const ask = { resource, threadKey, runId, generation, env, command: mayStart ? reading.command : null };
    const wishes = { sink: this.#events, signal: this.#gone.signal, onFound: () => this.#events.onFound?.() };
    return follow(this.#ports.fleet, ask, reading, wishes);
  }

  /** Whether the container is still of the boot that the process was begun in. */
  #isIn(reading: Reading): boolean {
    return reading.bootId === this.#binding.bootId;
  }

  async #outcomeOf(followed: Followed, reading: Reading): Promise<Outcome | "goOn" | "gone"> {
    // What had ended by itself before it could be ended has ended so.
    const isItsOwn = followed.kind === "end" && OWN_ENDS.includes(followed.end.cause);
    if (this.#end !== null && !isItsOwn) return await this.#whileEnding(followed, this.#end);
    if (this.#end === "left") return { kind: "left" };
    switch (followed.kind) {
      case "end":
        return this.#ended(followed.end);
      case "cut":
        return this.#again(followed, reading);
      case "unregistered":
        return this.#again({ heard: false, why: "the run was not registered any more" }, reading);
      case "noProcess":
        if (reading.heard) return "gone";
        reading.bootId = this.#binding.bootId;
        return "goOn";
      case "differs":
        this.#differs = true;
        return "goOn";
      case "notStarted":
        return { kind: "notStarted", why: followed.why };
      case "superseded":
        return this.#superseded(followed.why);
      case "failed":
        return { kind: "failed", why: followed.why };
    }
  }

  /** A stream that is cut while its process is being ended is followed on, for as long as that may take. */
  async #whileEnding(followed: Followed, how: Ending): Promise<Outcome | "goOn"> {
    if (followed.kind !== "cut" || this.#gone.signal.aborted) return { kind: how };
    await this.#ports.real.sleep(REAL.recheckMs, this.#gone.signal).catch(() => undefined);
    return "goOn";
  }

  async #ended(end: ProcEnd): Promise<Outcome | "gone"> {
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
      case "lost": {
        // The container that says so is on its way out; what goes on begins in the next one.
        if (end.bootId !== this.#binding.bootId || this.#ask.resume === null) return "gone";
        const again = await this.#again({ heard: true, why: "its container ended" }, null);
        return again === "goOn" ? "gone" : again;
      }
    }
  }

  /** Attaches again after a cut, until the output of what is left can be followed on or every try was in vain. */
  async #again(
    cut: { readonly heard: boolean; readonly why: string },
    left: Reading | null,
  ): Promise<Outcome | "goOn"> {
    if (cut.heard) this.#toldReset = false;
    this.#note({ kind: "cut", heard: cut.heard }, cut.why);
    try {
      return await this.#attaching(cut.why, left);
    } catch (error) {
      // Told to end meanwhile: how it ends is heard without another attach, if it is.
      if (this.#end === null || this.#end === "left") throw error;
      return "goOn";
    }
  }

  async #attaching(why: string, left: Reading | null): Promise<Outcome | "goOn"> {
    const { clock } = this.#ports;
    for (;;) {
      const { step } = this.#standing;
      switch (step.do) {
        case "follow":
          return "goOn";
        case "giveUp":
          return { kind: "replaced", by: "transport" };
        case "pause":
          await clock.sleep(step.at - clock.now(), this.#ending.signal);
          this.#note({ kind: "woke" }, why);
          break;
        case "attach":
          await this.#attachAgain(left);
      }
    }
  }

  async #attachAgain(left: Reading | null): Promise<void> {
    try {
      await this.#attachAnew();
    } catch (error) {
      if (this.#end !== null || !isAway(error, true)) throw error;
      return this.#note({ kind: "unattached" }, error instanceof TidegateError ? error.problem.detail : "");
    }
    if (left !== null && this.#isIn(left) && !this.#toldReset) this.#events.onReset();
    this.#toldReset = true;
    this.#note({ kind: "attached" }, "");
  }

  /** Takes a fact of how well the run is heard, and tells what it changes. */
  #note(fact: StandingFact, why: string): void {
    const now = this.#ports.clock.now();
    const known = this.#standing.failures;
    this.#standing = nextStanding(this.#standing, fact, now);
    const { failures, step, silentSince } = this.#standing;
    if (failures > known)
      this.#events.onTransport({ silentMs: now - silentSince, failures, goesOn: step.do !== "giveUp", why });
    else if (fact.kind === "cut") this.#events.onCut(why);
  }

  async #endWithLease(): Promise<void> {
    const { clock } = this.#ports;
    try {
      await clock.sleep(this.#leaseUntil - clock.now(), this.#over.signal);
    } catch {
      return;
    }
    await this.#beginEnding("leaseSpent");
  }

  /** Ends the run's processes; what they still say is read until they are gone, but not for ever. */
  async #beginEnding(how: "stopped" | "leaseSpent"): Promise<void> {
    if (this.#end !== null || this.#over.signal.aborted) return;
    this.#end = how;
    this.#events.onEnding?.(how);
    this.#ending.abort(new Error(how));
    const gone = (): void => this.#gone.abort(new Error(how));
    void this.#ports.real.sleep(REAL.processGoneMs, this.#over.signal).then(gone, gone);
    if (!(await this.#isTold())) gone();
  }

  /** Has the run's processes ended, asked again while the fleet is away. Whatever it did not hear the release makes good. */
  async #isTold(): Promise<boolean> {
    const { fleet, real } = this.#ports;
    const { resource, threadKey, runId, generation } = this.#ask;
    while (!this.#gone.signal.aborted) {
      try {
        await fleet.op({ resource, threadKey, runId, generation, op: "stop" });
        return true;
      } catch (error) {
        if (!isAway(error, true)) return false;
        await real.sleep(REAL.recheckMs, this.#gone.signal).catch(() => undefined);
      }
    }
    return false;
  }

  /** Nothing is followed any more, and nothing is ended: also what was being stopped is the next caller's to stop. */
  #leave(): void {
    this.#end = "left";
    this.#ending.abort(new Error("left"));
    this.#gone.abort(new Error("left"));
  }
}

/**
 * Executes in an attached workspace until the run has ended; `left` only where the caller's hold says so. Its registration
 * stands: to give that back is its caller's. Rejects only on a defect, or with what its events reject with.
 */
export function execute(ports: WorkPorts, ask: WorkAsk, events: WorkEvents, start: Start): Promise<Outcome> {
  return new Execution(ports, ask, events, start).run(start.stop);
}
