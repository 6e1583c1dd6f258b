// What the registry and the residents say to each other, and the Worker to both. Values only: an error's class does not
// survive the trip, so a refusal is an answer. A fresh stub is taken for each call, since a stub stays broken after an abort.

import type { Drain } from "#core/drain.ts";
import type { LookId, Word } from "#core/quiet.ts";
import type { Seal, SealFound } from "#core/resident.ts";
import type { Result } from "#core/result.ts";
import type { OnboardBody } from "#wire/attach.ts";
import type { DrainBody, Drains, ReconcileAnswer, UndrainBody } from "#wire/drain.ts";
import type { ReconcileWord } from "#core/reconcile.ts";
import type { RegistrationKind } from "#core/registration.ts";
import type { Problem } from "#wire/errors.ts";
import type { AuditRow, Residents } from "#wire/fleet.ts";
import type { ReleaseAnswer } from "#core/release.ts";
import type { Instant } from "#core/time.ts";
import type { Env } from "./root.ts";

/** What a resident asks the registry before it writes a row. */
export interface LookQuestion {
  readonly resource: string;
  readonly runId: string;
  readonly threadKey: string;
  readonly look: LookId;
  readonly parent: string | null;
  readonly seal: number | null;
  readonly kind: RegistrationKind;
}

export type LookReply =
  | { readonly kind: "open"; readonly parentUntil: Instant | null; readonly sealStands: boolean }
  | { readonly kind: "closed"; readonly drain: Drain; readonly quietBy: Instant | null }
  | { readonly kind: "unknownResident" };

/** A resident's word, with what only it can know of its container. */
export interface Report {
  readonly word: Word;
  readonly ops: number;
  readonly image: string | null;
  readonly bootId: string | null;
  /** Runs with no operation and no process; null when nobody looked into the container. */
  readonly suspects: readonly string[] | null;
}

export interface UndrainReply {
  readonly kind: "lifted" | "already" | "deferred";
  readonly deferredUntil: Instant | null;
  readonly remaining: readonly Drain[];
  /** Residents that stay closed, and until when at the latest. */
  readonly held: readonly string[];
  readonly heldUntil: Instant | null;
}

export interface HoldReleased {
  readonly now: Instant;
  readonly resource: string;
  readonly drainId: string;
  readonly held: readonly string[];
}

export interface RegistryPort {
  /** Whether this resource belongs to the fleet. */
  knows(resource: string): Promise<boolean>;
  look(question: LookQuestion): Promise<LookReply>;
  report(report: Report): Promise<void>;
  /** A caller that waited at the closed door waits no more. */
  gaveUp(runId: string): Promise<void>;
  drain(
    body: DrainBody,
    principal: string,
  ): Promise<Result<{ kind: "created" | "renewed"; drain: Drain; now: Instant }, Problem>>;
  undrain(body: UndrainBody, principal: string): Promise<UndrainReply & { now: Instant }>;
  seal(id: string, principal: string): Promise<Result<{ drain: Drain; now: Instant }, Problem>>;
  handOff(id: string, principal: string): Promise<Result<{ drain: Drain; now: Instant }, Problem>>;
  /** Holds every resident in one step and begins to bring the containers onto the image. */
  reconcile(id: string, principal: string): Promise<Result<ReconcileAnswer, Problem>>;
  reconciled(id: string): Promise<Result<ReconcileAnswer, Problem>>;
  releaseHold(resource: string, reason: string, principal: string): Promise<Result<HoldReleased, Problem>>;
  /** Whether a resident may be rebuilt now; its runs in flight are for the resident to judge. */
  mayRebuild(resource: string, principal: string): Promise<Result<null, Problem>>;
  drains(): Promise<Drains>;
  residents(fresh: boolean): Promise<Residents>;
  audit(after: number, limit: number): Promise<AuditRow[]>;
  /** Writes the resident down before it is made; refused for a known one, or while membership is frozen. */
  onboard(body: OnboardBody, principal: string): Promise<Result<null, Problem>>;
  onboarded(resource: string): Promise<void>;
  /** Forgets a resident: asked by a person, or because it could not be made. */
  offboard(resource: string, principal: string, failed: string | null): Promise<Result<null, Problem>>;
  reconfigure(
    change: { resource: string; setup?: string | null | undefined; test?: string | null | undefined },
    principal: string,
  ): Promise<Result<null, Problem>>;
  releaseRun(runId: string, reason: string, principal: string): Promise<Result<ReleaseAnswer, Problem>>;
  leaseEnded(resource: string, runId: string): Promise<void>;
  fetch(request: Request): Promise<Response>;
}

export interface SealReplyOf {
  readonly found: SealFound;
  readonly report: Report;
}

/** Who asks for a ticket: by which run, as which generation; null for a run where somebody only reads. */
export interface TicketAsk {
  readonly threadKey: string;
  readonly runId: string | null;
  readonly generation: number | null;
}

/** Where the agent of a registered run answers. */
export interface Ticket {
  /** Counts what is let through; it can be taken back by its number. Null for one who only reads. */
  readonly number: number | null;
  readonly url: string;
  readonly token: string;
  readonly bootId: string;
  /** The thread's folder there. */
  readonly slug: string;
}

export interface ResidentPort {
  seal(seal: Seal): Promise<SealReplyOf>;
  unseal(attempt: number): Promise<void>;
  /** Looks afresh, into the container too. */
  fresh(): Promise<Report>;
  /** Brings the container onto the image that a deploy wants; answers what came of it. */
  reconcile(wanted: string): Promise<{ readonly word: ReconcileWord; readonly report: Report }>;
  configure(meta: OnboardBody): Promise<void>;
  endRun(runId: string, reason: string): Promise<ReleaseAnswer>;
  forget(): Promise<void>;
  /**
   * Moves the row's `seq` and says where the agent is; refused without that registered run, and to an older generation of
   * it. A worktree is kept after its run, and who only reads moves nothing.
   */
  ticket(ask: TicketAsk): Promise<Result<Ticket, Problem>>;
  fetch(request: Request): Promise<Response>;
}

/** The one registry. */
export function registryOf(env: Env): RegistryPort {
  return env.REGISTRY.get(env.REGISTRY.idFromName("registry")) as unknown as RegistryPort;
}

/** The resident of one resource. */
export function residentOf(env: Env, resource: string): ResidentPort {
  return env.RESIDENT.get(env.RESIDENT.idFromName(resource)) as unknown as ResidentPort;
}
