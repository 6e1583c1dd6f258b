// A typed client of the fleet Worker, made from the route table: whatever it answers has been parsed, whatever it throws
// is a `TidegateError` told apart by its code.

import * as z from "zod";
import { CLOCK, REAL } from "#core/budgets.ts";
import { outputLine, type OutputLine } from "#wire/agent.ts";
import {
  attachLineSchema,
  detachAnswerSchema,
  onboardLineSchema,
  opAnswerSchema,
  readAnswerSchema,
  writeAnswerSchema,
  type AttachBody,
  type Binding,
  type DetachAnswer,
  type DetachBody,
  type ExecBody,
  type OnboardBody,
  type OnboardLine,
  type OpBody,
  type RebuildBody,
  type WriteAnswer,
  type WriteBody,
} from "#wire/attach.ts";
import {
  drainAnswerSchema,
  drainsSchema,
  reconcileAnswerSchema,
  releaseHoldAnswerSchema,
  undrainAnswerSchema,
  type DrainBody,
  type Drains,
  type ReconcileAnswer,
  type UndrainBody,
} from "#wire/drain.ts";
import { TidegateError } from "#wire/errors.ts";
import { auditSchema, healthSchema, residentsSchema, type AuditRow, type Health, type Residents } from "#wire/fleet.ts";
import { linesOf } from "./lines.ts";
import { call, open, unreachable, type Transport } from "./transport.ts";

/** What an attach tells while it is under way. */
export interface AttachHooks {
  readonly signal?: AbortSignal | undefined;
  /** The door has let this run in: its row is written and the workspace is being made. */
  readonly onDoor?: (() => void) | undefined;
  readonly onProgress?: ((line: string) => void) | undefined;
}

/** What an exec tells while it is under way. */
export interface ExecHooks {
  readonly signal?: AbortSignal | undefined;
  /** The process is there: it was begun by this, or found. */
  readonly onFound?: (() => void) | undefined;
}

/** Which run something is asked about. */
export interface OfRun {
  readonly resource: string;
  readonly threadKey: string;
  readonly runId: string;
}

/** Which run something is done to, and as which generation of whoever holds it. */
export interface OfHeldRun extends OfRun {
  readonly generation: number;
}

/** Which resident something was done to. */
export interface OfResource {
  readonly resource: string;
}

const ofResourceSchema = z.object({ resource: z.string() });

/** What an onboarding came to: the branch that is the default, and its commit. */
export type Onboarded = Omit<Extract<OnboardLine, { type: "resident" }>, "type">;

export type DrainSaid = z.infer<typeof drainAnswerSchema>;
export type UndrainSaid = z.infer<typeof undrainAnswerSchema>;
export type HoldReleased = z.infer<typeof releaseHoldAnswerSchema>;
export type OpSaid = z.infer<typeof opAnswerSchema>;

/** Every route of the fleet that a caller uses. */
export interface FleetClient {
  readonly transport: Transport;
  health(): Promise<Health>;
  residents(wishes?: { readonly fresh?: boolean; readonly signal?: AbortSignal }): Promise<Residents>;
  drains(): Promise<Drains>;
  drain(body: DrainBody): Promise<DrainSaid>;
  undrain(body: UndrainBody): Promise<UndrainSaid>;
  /** `handoff`: begins the swap over the runs in flight, for a release that keeps the image. */
  seal(id: string, handoff?: boolean): Promise<DrainSaid>;
  reconcile(id: string): Promise<ReconcileAnswer>;
  /** How far the reconcile of this drain has come. */
  reconciled(id: string): Promise<ReconcileAnswer>;
  releaseHold(body: { readonly resource: string; readonly reason: string }): Promise<HoldReleased>;
  audit(wishes?: { readonly after?: number; readonly limit?: number }): Promise<readonly AuditRow[]>;
  attach(body: AttachBody, hooks?: AttachHooks): Promise<Binding>;
  /** Streams a process's output. It ends without an `end` line when the stream was cut off in an orderly way. */
  exec(body: ExecBody, hooks?: ExecHooks): AsyncGenerator<OutputLine, void, void>;
  detach(body: DetachBody): Promise<DetachAnswer>;
  op(body: OpBody): Promise<OpSaid>;
  read(body: OfRun & { readonly path: string }): Promise<{ readonly data: string }>;
  write(body: WriteBody): Promise<WriteAnswer>;
  onboard(body: OnboardBody, hooks?: AttachHooks): Promise<Onboarded>;
  /** A new container with a fresh mirror; `force` ends the runs in flight there first. */
  rebuild(body: RebuildBody, hooks?: AttachHooks): Promise<Onboarded>;
  offboard(resource: string): Promise<OfResource>;
  reconfigure(body: {
    readonly resource: string;
    readonly setup?: string | null;
    readonly test?: string | null;
  }): Promise<OfResource>;
  releaseRun(body: { readonly runId: string; readonly reason: string }): Promise<Pick<DetachAnswer, "kind">>;
}

/** Ending a run's processes takes their grace, so what ends runs gets longer than a plain request. */
const ENDING_MS = REAL.requestMs + CLOCK.stopGraceMs + REAL.frontHoldMs;

async function attached(transport: Transport, body: AttachBody, hooks: AttachHooks): Promise<Binding> {
  const { signal } = hooks;
  const response = await open(transport, "attach", { body, signal, boundMs: REAL.frontHoldMs });
  hooks.onDoor?.();
  for await (const line of linesOf(transport, response, attachLineSchema, signal)) {
    if (line.type === "progress") hooks.onProgress?.(line.line);
    if (line.type === "error") throw new TidegateError(line.problem);
    if (line.type === "binding") return line.binding;
  }
  throw unreachable(transport, new Error("the answer to /attach ended without a result"), true);
}

/** Follows a resident that is made or made anew to its last line. */
async function made(
  transport: Transport,
  route: "onboard" | "rebuild",
  body: OnboardBody | RebuildBody,
  hooks: AttachHooks,
): Promise<Onboarded> {
  const { signal } = hooks;
  const boundMs = route === "rebuild" ? ENDING_MS + REAL.frontHoldMs : REAL.frontHoldMs;
  const response = await open(transport, route, { body, signal, boundMs });
  for await (const line of linesOf(transport, response, onboardLineSchema, signal)) {
    if (line.type === "progress") hooks.onProgress?.(line.line);
    if (line.type === "error") throw new TidegateError(line.problem);
    if (line.type === "resident") return line;
  }
  throw unreachable(transport, new Error(`the answer to /${route} ended without a result`), false);
}

async function* executed(
  transport: Transport,
  body: ExecBody,
  { signal, onFound }: ExecHooks,
): AsyncGenerator<OutputLine, void, void> {
  const response = await open(transport, "exec", { body, signal, boundMs: REAL.frontHoldMs });
  onFound?.();
  yield* linesOf(transport, response, outputLine, signal);
}

/** The client of one fleet. */
export function fleetClient(transport: Transport): FleetClient {
  const post = <T>(
    route: Parameters<typeof call>[1],
    schema: z.ZodType<T>,
    body: unknown,
    boundMs?: number,
  ): Promise<T> => call(transport, route, schema, { body, ...(boundMs === undefined ? {} : { boundMs }) });
  return {
    transport,
    health: () => call(transport, "healthz", healthSchema),
    residents: ({ fresh = false, signal } = {}) =>
      call(transport, "residents", residentsSchema, { signal, ...(fresh ? { query: { fresh: 1 } } : {}) }),
    drains: () => call(transport, "drains", drainsSchema),
    drain: (body) => post("drain", drainAnswerSchema, body),
    undrain: (body) => call(transport, "undrain", undrainAnswerSchema, { body, as: body.force ? "admin" : undefined }),
    seal: (id, handoff = false) => post("seal", drainAnswerSchema, { id, handoff }, REAL.sealMs),
    reconcile: (id) => post("reconcile", reconcileAnswerSchema, { id }),
    reconciled: (id) => call(transport, "reconciled", reconcileAnswerSchema, { query: { id } }),
    releaseHold: (body) => post("releaseHold", releaseHoldAnswerSchema, body),
    audit: async (query = {}) => (await call(transport, "audit", auditSchema, { query: { ...query } })).rows,
    attach: (body, hooks = {}) => attached(transport, body, hooks),
    exec: (body, hooks = {}) => executed(transport, body, hooks),
    detach: (body) => post("detach", detachAnswerSchema, body, ENDING_MS),
    op: (body) => post("op", opAnswerSchema, body, ENDING_MS),
    read: (body) => post("read", readAnswerSchema, body),
    write: (body) => post("write", writeAnswerSchema, body),
    onboard: (body, hooks = {}) => made(transport, "onboard", body, hooks),
    rebuild: (body, hooks = {}) => made(transport, "rebuild", body, hooks),
    offboard: (resource) => post("offboard", ofResourceSchema, { resource }, ENDING_MS),
    reconfigure: (body) => post("reconfigure", ofResourceSchema, body),
    releaseRun: (body) => post("releaseRun", detachAnswerSchema.pick({ kind: true }), body, ENDING_MS),
  };
}
