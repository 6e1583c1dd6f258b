// `attach` with its two waits: one deadline however drain and wake alternate, the stop at once, and everything that is
// neither of the two waits answered as it came. The decisions are core/wait.ts's; this performs them.

import { CLOCK } from "#core/budgets.ts";
import { saidEnd } from "#core/drain.ts";
import { expectedOpen } from "#core/readiness.ts";
import type { Instant, Ms } from "#core/time.ts";
import { nextWait, waitedOf, waitOf, wakeWait, type WaitAnswer, type WaitState } from "#core/wait.ts";
import { waitWords } from "#core/waitWords.ts";
import type { AttachBody, Binding } from "#wire/attach.ts";
import { drainingSchema } from "#wire/drain.ts";
import { problemOf, TidegateError, type ErrorCode } from "#wire/errors.ts";
import { ResidentDrainingError } from "./drainingError.ts";
import type { FleetClient } from "./fleet.ts";
import type { Clock } from "./ports.ts";
import { keyOf, type Known, type Ticket } from "./ticket.ts";
import { isUnreachable } from "./transport.ts";
import type { Turnstile } from "./turnstile.ts";

/** What a person sees of a wait, from its start, at each change and each minute. */
export interface WaitNote {
  readonly resource: string;
  readonly cause: "draining" | "transient";
  readonly since: Instant;
  /** When this wait gives up. */
  readonly bound: Instant;
  /** When the drain ends by itself, or the hold of this resident; null while a container rolls. */
  readonly until: Instant | null;
  readonly quietBy: Instant | null;
  readonly by: string | null;
  readonly reason: string | null;
  /** The one line of every screen. */
  readonly line: string;
}

/** Who asks, without what the wait itself decides. */
export type AttachAsk = Omit<AttachBody, "remainingMs">;

/** How one attach is to be carried out. */
export interface AttachWishes {
  /** When the run's lease ends by this clock; null without one, and its kind's begins at the admission. */
  readonly leaseUntil: Instant | null;
  readonly signal: AbortSignal;
  readonly onWait?: (note: WaitNote) => void;
  readonly onProgress?: (line: string) => void;
  /** The door has let it in; its workspace is being made. */
  readonly onDoor?: () => void;
  /** A run in flight that goes on: it passes every closed door, so it stands in no line. */
  readonly again?: boolean;
  /** False: a closed door is this call's answer (a typed question wants the drain's record, not a wait). */
  readonly wait?: boolean;
}

/** A binding and what was waited for it. */
export interface Attached {
  readonly binding: Binding;
  /** All of the wait. */
  readonly wokeAfterMs: Ms;
  /** The drain's share of it. */
  readonly drainWaitMs: Ms;
}

export type Attach = (ask: AttachAsk, wishes: AttachWishes) => Promise<Attached>;

/** What an attach is given. */
export interface AttachPorts {
  readonly fleet: FleetClient;
  readonly turnstile: Turnstile;
  readonly clock: Clock;
}

interface Answer {
  readonly meant: WaitAnswer;
  readonly known: Known | null;
  readonly binding: Binding | null;
  readonly error: unknown;
}

/** The record that a refusal carries. A refusal without one is no drain, whatever its words are. */
export function knownOf(error: unknown): Known | null {
  if (!(error instanceof TidegateError)) return null;
  const parsed = drainingSchema.safeParse(error.problem["draining"]);
  if (!parsed.success) return null;
  const { id, deploy, phase, reason, by, phaseUntil = null } = parsed.data;
  const until = saidEnd({ phase, until: parsed.data.until, phaseUntil });
  const quietBy = error.problem["quietBy"];
  return { id, deploy, phase, until, reason, by, quietBy: typeof quietBy === "number" ? quietBy : null };
}

const AWAY: readonly ErrorCode[] = ["ROLLING", "UNREACHABLE"];
/** What a newcomer is refused by, but what says nothing of a run that is registered. */
const AWAY_OF_REGISTERED: readonly ErrorCode[] = [...AWAY, "UNREADABLE", "AGENT_FAILED", "INTERNAL"];

/** Whether the fleet or the container is away, so that asking again may be answered. A run in flight outwaits more of it. */
export function isAway(error: unknown, registered: boolean): boolean {
  const codes = registered ? AWAY_OF_REGISTERED : AWAY;
  return error instanceof TidegateError && codes.includes(error.problem.code);
}

function answerOf(error: unknown, registered: boolean): Answer {
  const refused: Answer = { meant: { kind: "refused" }, known: null, binding: null, error };
  if (!(error instanceof TidegateError)) return refused;
  if (isAway(error, registered)) return { ...refused, meant: { kind: "transient" } };
  const known = knownOf(error);
  if (known === null) return refused;
  return { ...refused, known, meant: { kind: "draining", until: known.until, quietBy: known.quietBy } };
}

/** One caller's walk through the door. */
class Walk {
  readonly #ports: AttachPorts;
  readonly #ask: AttachAsk;
  readonly #wishes: AttachWishes;
  readonly #ticket: Ticket;
  #state: WaitState;
  #last: Answer | null = null;
  #saidKey = "";
  #nextNoteAt: Instant = 0;

  constructor(ports: AttachPorts, ask: AttachAsk, wishes: AttachWishes) {
    this.#ports = ports;
    this.#ask = ask;
    this.#wishes = wishes;
    const passes = wishes.again === true || ask.parent !== null;
    this.#ticket = ports.turnstile.ticket(ask.resource, passes);
    this.#state = waitOf(this.#remaining(), ports.clock.now());
  }

  async walk(): Promise<Attached> {
    try {
      this.#queueUp();
      for (;;) {
        const { step } = this.#state;
        if (step.do === "attach") await this.#attach();
        else if (step.do === "pause") await this.#pause(step);
        else return this.#end(step);
      }
    } finally {
      this.#ticket.leave();
    }
  }

  #remaining(): Ms | null {
    const { leaseUntil } = this.#wishes;
    return leaseUntil === null ? null : Math.max(0, leaseUntil - this.#ports.clock.now());
  }

  /** A newcomer goes behind those who wait already; a run in flight and a child pass every door. */
  #queueUp(): void {
    if (this.#ticket.passes || this.#wishes.wait === false || !this.#ticket.othersWait) return;
    this.#ticket.wait();
    if (this.#ticket.mayAsk) return;
    const until = this.#ticket.known?.until ?? this.#state.deadline;
    this.#state = nextWait(this.#state, { kind: "draining", until, quietBy: null }, this.#ports.clock.now());
  }

  async #attach(): Promise<void> {
    this.#wishes.signal.throwIfAborted();
    this.#ticket.asking();
    const answer = await this.#answer();
    this.#last = answer;
    const waits =
      answer.meant.kind === "draining" && this.#wishes.wait === false ? { kind: "refused" as const } : answer.meant;
    this.#state = nextWait(this.#state, waits, this.#ports.clock.now());
    if (waits.kind === "draining" && answer.known !== null)
      return this.#ticket.answered({ kind: "draining", known: answer.known });
    this.#ticket.answered({ kind: waits.kind === "admitted" ? "admitted" : "other" });
  }

  async #answer(): Promise<Answer> {
    const { signal, onProgress, onDoor } = this.#wishes;
    const remainingMs = this.#remaining();
    if (remainingMs === 0)
      throw new TidegateError(problemOf("LEASE_SPENT", `${this.#ask.runId} has nothing of its lease left`));
    try {
      const hooks = { signal, onProgress, onDoor: () => (this.#ticket.passed(), onDoor?.()) };
      const binding = await this.#ports.fleet.attach({ ...this.#ask, remainingMs }, hooks);
      return { meant: { kind: "admitted" }, known: null, binding, error: null };
    } catch (error) {
      signal.throwIfAborted();
      return answerOf(error, this.#wishes.again === true);
    }
  }

  async #pause(step: Extract<WaitState["step"], { do: "pause" }>): Promise<void> {
    const { clock } = this.#ports;
    const { signal } = this.#wishes;
    if (step.cause === "transient") {
      this.#note("transient", null, (this.#state.wakeSince ?? clock.now()) + CLOCK.wakeWaitMs);
      await clock.sleep(step.at - clock.now(), signal);
      this.#state = wakeWait(this.#state, clock.now());
      return;
    }
    const known = this.#ticket.known ?? this.#last?.known ?? null;
    this.#note("draining", known, this.#state.deadline);
    const now = clock.now();
    await this.#ticket.rest(clock, Math.min(this.#state.deadline, this.#nextNoteAt) - now, signal);
    const woken = wakeWait(this.#state, clock.now());
    if (this.#ticket.mayAsk || woken.step.do === "spent") this.#state = woken;
  }

  /** Says the wait at its start, when what is known of it changes, and each minute. */
  #note(cause: WaitNote["cause"], known: Known | null, bound: Instant): void {
    const now = this.#ports.clock.now();
    const key = known === null ? cause : keyOf(known);
    if (key === this.#saidKey && now < this.#nextNoteAt) return;
    this.#saidKey = key;
    this.#nextNoteAt = now + CLOCK.noteEveryMs;
    this.#wishes.onWait?.({
      resource: this.#ask.resource,
      cause,
      since: this.#state.since,
      bound,
      until: known?.until ?? null,
      quietBy: known?.quietBy ?? null,
      by: known?.by ?? null,
      reason: known?.reason ?? null,
      line: known === null ? this.#unknownLine(cause, now) : lineOf(known, now),
    });
  }

  /** What is said while no drain is known. */
  #unknownLine(cause: WaitNote["cause"], now: Instant): string {
    if (cause === "draining") return waitWords("line", null, now);
    return waitWords(isUnreachable(this.#last?.error) ? "fleet" : "resident", null, now);
  }

  #end(step: Extract<WaitState["step"], { do: "admitted" | "refused" | "spent" }>): Attached {
    const waited = waitedOf(this.#state, this.#ports.clock.now());
    const binding = this.#last?.binding ?? null;
    if (step.do === "admitted" && binding !== null) return { binding, ...waited };
    if (step.do === "spent" && step.cause === "draining") {
      throw new ResidentDrainingError(
        this.#ask.resource,
        waited.wokeAfterMs,
        this.#ticket.known?.until ?? this.#state.until,
      );
    }
    throw this.#last?.error;
  }
}

/**
 * The line of a wait at a drained door. A person's drain ends when it says; a deploy's when what is in flight has ended,
 * and with nothing in flight at once, since its swap takes less than the minute that every line rounds up to. From the
 * swap on it is the phase's own bound: what is in flight then says nothing of when this resident reopens.
 */
function lineOf(known: Known, now: Instant): string {
  const forQuiet = known.deploy && known.phase === "draining";
  const expected = forQuiet ? expectedOpen(known, known.quietBy ?? now, 0) : known.until;
  return waitWords(known.deploy ? "deploy" : "drain", expected, now);
}

/** The attach of this process (protocol.md, "The caller's wait"): one code for CLI, bot, plan runner and simulator. */
export function attachWith(ports: AttachPorts): Attach {
  return (ask, wishes) => new Walk(ports, ask, wishes).walk();
}
