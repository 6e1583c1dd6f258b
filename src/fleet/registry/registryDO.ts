// The registry: drains, the sum of what is in flight, who belongs to the fleet. One object; each method is a shell over one piece.

import { DurableObject } from "cloudflare:workers";
import type { ReleaseAnswer } from "#core/release.ts";
import type { Result } from "#core/result.ts";
import { unreadableDrains, type Drain } from "#core/drain.ts";
import type { OnboardBody } from "#wire/attach.ts";
import type { DrainBody, Drains, ReconcileAnswer, UndrainBody } from "#wire/drain.ts";
import type { Problem } from "#wire/errors.ts";
import type { AuditRow, Residents } from "#wire/fleet.ts";
import type { Instant } from "#core/time.ts";
import type { HoldReleased, LookQuestion, LookReply, RegistryPort, Report, UndrainReply } from "../ports.ts";
import { rootOf, type Env } from "../root.ts";
import { auditOf } from "./audit.ts";
import * as closing from "./closing.ts";
import * as membership from "./membership.ts";
import * as holds from "./holds.ts";
import { driveReconcile, reconcile, reconciled } from "./reconcile.ts";
import { arm, changed, tick } from "./registry.ts";
import type { Registry } from "./registryParts.ts";
import { takeReport } from "./reports.ts";
import { registryStore } from "./store.ts";
import { endWaiting } from "./waiting.ts";
import { drainsView, frameOf, residentsView } from "./views.ts";

/** The one registry (protocol.md, "The drain record", "Quiet, seal, swap"): what it answers is in the pieces it is a shell over. */
export class RegistryDO extends DurableObject<Env> implements RegistryPort {
  readonly #registry: Registry;

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    const audit = auditOf(state.storage.sql);
    const store = registryStore(state.storage.kv);
    this.#registry = { env, root: rootOf(env, "registry"), store, audit, state, telling: { due: false } };
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
    this.#registry.root.log("info", "boot");
    this.#noteGeneration();
    const unreadable = unreadableDrains(store.book());
    if (unreadable > 0)
      this.#registry.root.log("error", "drains that this build cannot read close nothing for a run", { unreadable });
  }

  #noteGeneration(): void {
    const { root, store, audit } = this.#registry;
    const { generation, drainId } = root.settings;
    if (store.servedGeneration() === generation) return;
    store.writeServedGeneration(generation);
    audit.add(
      { what: "swapped", principal: "registry", drainId, reason: `generation ${generation}` },
      root.clock.now(),
    );
  }

  async knows(resource: string): Promise<boolean> {
    return this.#registry.store.meta(resource) !== undefined;
  }

  /** The gate's question of a resident. */
  async look(question: LookQuestion): Promise<LookReply> {
    return closing.look(this.#registry, question);
  }

  async gaveUp(runId: string): Promise<void> {
    endWaiting(this.#registry, runId, false);
  }

  /** A resident's word out of its outbox. */
  async report(report: Report): Promise<void> {
    if (takeReport(this.#registry, report)) changed(this.#registry);
  }

  async drain(
    body: DrainBody,
    principal: string,
  ): Promise<Result<{ kind: "created" | "renewed"; drain: Drain; now: Instant }, Problem>> {
    return closing.drain(this.#registry, body, principal);
  }

  async undrain(body: UndrainBody, principal: string): Promise<UndrainReply & { now: Instant }> {
    return closing.undrain(this.#registry, body, principal);
  }

  async seal(id: string, principal: string): Promise<Result<{ drain: Drain; now: Instant }, Problem>> {
    return closing.seal(this.#registry, id, principal);
  }

  async handOff(id: string, principal: string): Promise<Result<{ drain: Drain; now: Instant }, Problem>> {
    return closing.handOff(this.#registry, id, principal);
  }

  async reconcile(id: string, principal: string): Promise<Result<ReconcileAnswer, Problem>> {
    return reconcile(this.#registry, id, principal);
  }

  async reconciled(id: string): Promise<Result<ReconcileAnswer, Problem>> {
    return reconciled(this.#registry, id);
  }

  async releaseHold(resource: string, reason: string, principal: string): Promise<Result<HoldReleased, Problem>> {
    return holds.releaseHold(this.#registry, resource, reason, principal);
  }

  async mayRebuild(resource: string, principal: string): Promise<Result<null, Problem>> {
    return membership.mayRebuild(this.#registry, resource, principal);
  }

  async drains(): Promise<Drains> {
    return drainsView(this.#registry);
  }

  async residents(fresh: boolean): Promise<Residents> {
    if (fresh) await membership.refresh(this.#registry);
    return residentsView(this.#registry);
  }

  async audit(after: number, limit: number): Promise<AuditRow[]> {
    return this.#registry.audit.after(after, limit);
  }

  async onboard(body: OnboardBody, principal: string): Promise<Result<null, Problem>> {
    return membership.onboard(this.#registry, body, principal);
  }

  async onboarded(resource: string): Promise<void> {
    membership.onboarded(this.#registry, resource);
  }

  async offboard(resource: string, principal: string, failed: string | null): Promise<Result<null, Problem>> {
    return membership.offboard(this.#registry, resource, principal, failed);
  }

  async reconfigure(
    change: { resource: string; setup?: string | null | undefined; test?: string | null | undefined },
    principal: string,
  ): Promise<Result<null, Problem>> {
    return membership.reconfigure(this.#registry, change, principal);
  }

  async releaseRun(runId: string, reason: string, principal: string): Promise<Result<ReleaseAnswer, Problem>> {
    return membership.releaseRun(this.#registry, runId, reason, principal);
  }

  async leaseEnded(resource: string, runId: string): Promise<void> {
    membership.leaseEnded(this.#registry, resource, runId);
  }

  /** `GET /watch`, whose bearer the Worker has judged: a hibernating socket that gets the state first. */
  override async fetch(_request: Request): Promise<Response> {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    server.send(JSON.stringify(frameOf(this.#registry)));
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Nobody says anything on the watch but `ping`, which the runtime answers. */
  override async webSocketMessage(): Promise<void> {}

  override async webSocketClose(socket: WebSocket): Promise<void> {
    socket.close();
  }

  override async alarm(): Promise<void> {
    try {
      tick(this.#registry);
      this.ctx.waitUntil(driveReconcile(this.#registry));
    } finally {
      arm(this.#registry);
    }
  }
}
