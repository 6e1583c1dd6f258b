// A resident: one repository's workspace and the gate to it. Its storage orders rows and seal; each method is a shell.

import { DurableObject } from "cloudflare:workers";
import { CLOCK } from "#core/budgets.ts";
import { bootStep, sealStep, touchStep, unsealStep, type Seal } from "#core/resident.ts";
import type { ReconcileWord } from "#core/reconcile.ts";
import type { ReleaseAnswer } from "#core/release.ts";
import { fail, ok, type Result } from "#core/result.ts";
import { problemAnswer } from "#http/problemAnswer.ts";
import {
  attachBodySchema,
  detachBodySchema,
  onboardBodySchema,
  rebuildBodySchema,
  type OnboardBody,
} from "#wire/attach.ts";
import { problemIn, problemOf, type Problem } from "#wire/errors.ts";
import { parseWith } from "#wire/parse.ts";
import { hostContainer } from "../container/containerPort.ts";
import { registryOf, type Report, type ResidentPort, type SealReplyOf, type Ticket, type TicketAsk } from "../ports.ts";
import { messageOf, rootOf, type Env } from "../root.ts";
import { attach, oldGeneration } from "./attach.ts";
import { alone, cycle } from "./cycle.ts";
import { provisionResident, rebuildResident } from "./onboard.ts";
import { endSpentLeases, release, sweepIfDue } from "./release.ts";
import { agentOf, arm, flush, newMemory, reportOf, suspectsOf, type Resident } from "./resident.ts";
import { residentStorage } from "./store.ts";

/** One resident (protocol.md, "The gate"): storage, boot and alarm; what it answers is in the pieces it is a shell over. */
export class ResidentDO extends DurableObject<Env> implements ResidentPort {
  #resident: Resident | undefined;

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    const meta = residentStorage(state.storage).meta();
    if (meta !== undefined) this.#boot(meta.resource);
  }

  /** A boot of a resident that exists: what was being attached is gone, and the registry is told so. */
  #boot(resource: string): Resident {
    const root = rootOf(this.env, resource);
    const storage = residentStorage(this.ctx.storage);
    storage.step((store) => ({ store: bootStep(store), found: null }));
    root.log("info", "boot", { incarnation: storage.now().incarnation });
    const container = hostContainer(this.env, root, resource);
    const resident: Resident = {
      env: this.env,
      root,
      state: this.ctx,
      storage,
      resource,
      container,
      memory: newMemory(),
    };
    this.#resident = resident;
    if (storage.sweepAt() === null) storage.writeSweepAt(root.clock.now() + CLOCK.sweepIdleMs);
    arm(resident);
    flush(resident);
    return resident;
  }

  #known(): Resident {
    if (this.#resident === undefined) throw new Error("this resident was never onboarded");
    return this.#resident;
  }

  async seal(seal: Seal): Promise<SealReplyOf> {
    const resident = this.#known();
    const found = resident.storage.step((store) => sealStep(store, seal));
    return { found, report: reportOf(resident, null) };
  }

  async unseal(attempt: number): Promise<void> {
    this.#known().storage.step((store) => ({ store: unsealStep(store, attempt), found: null }));
  }

  async fresh(): Promise<Report> {
    const resident = this.#known();
    const suspects = await suspectsOf(resident);
    return reportOf(resident, suspects);
  }

  async reconcile(wanted: string): Promise<{ word: ReconcileWord; report: Report }> {
    const resident = this.#known();
    const word = await cycle(resident, { wanted, own: null });
    return { word, report: reportOf(resident, null) };
  }

  async configure(meta: OnboardBody): Promise<void> {
    this.#known().storage.writeMeta(meta);
  }

  async endRun(runId: string, reason: string): Promise<ReleaseAnswer> {
    const { kind } = await release(this.#known(), runId, { who: "admin", reason });
    return { kind };
  }

  async forget(): Promise<void> {
    const resident = this.#resident;
    // Behind a restart that is under way: one that came after it would start a container that nobody owns.
    if (resident !== undefined) await alone(resident, () => resident.container.remove());
    if (resident !== undefined) resident.memory.gone = true;
    this.#resident = undefined;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  async ticket({ threadKey, runId, generation }: TicketAsk): Promise<Result<Ticket, Problem>> {
    const resident = this.#known();
    let number: number | null = null;
    if (runId !== null) {
      const found = resident.storage.step((store) => touchStep(store, { threadKey, runId, generation }));
      if (found.kind === "unregistered") return fail(problemOf("NEEDS_ATTACH", `thread ${threadKey}, run ${runId}`));
      if (found.kind === "oldGeneration") return fail(oldGeneration(found.row));
      number = found.row.seq;
      flush(resident);
    }
    await agentOf(resident, false);
    const { running } = resident.memory;
    if (running === null) return fail(problemOf("ROLLING", "the container does not run"));
    const { url, token, bootId } = running;
    const slug = resident.storage.slug(threadKey) ?? "";
    return ok({ url, token, bootId, slug, number });
  }

  /** `/attach`, `/detach`, `/onboard` and `/rebuild`, whose bodies the Worker has capped and whose bearer it has judged. */
  override async fetch(request: Request): Promise<Response> {
    const body: unknown = await request.json();
    const { pathname } = new URL(request.url);
    try {
      if (pathname === "/onboard") return await this.#onboard(body);
      if (this.#resident === undefined) return problemAnswer(problemOf("NO_SUCH_RESIDENT", "it was never onboarded"));
      if (pathname === "/attach") return await this.#attach(this.#resident, body);
      return pathname === "/rebuild"
        ? await this.#rebuild(this.#resident, body)
        : await this.#detach(this.#resident, body);
    } catch (error) {
      return problemAnswer(problemIn(error) ?? problemOf("INTERNAL", messageOf(error)));
    }
  }

  async #onboard(body: unknown): Promise<Response> {
    const parsed = parseWith(onboardBodySchema, body);
    if (!parsed.ok) return problemAnswer(parsed.error);
    residentStorage(this.ctx.storage).writeMeta(parsed.value);
    return provisionResident(this.#boot(parsed.value.resource), parsed.value);
  }

  async #rebuild(resident: Resident, body: unknown): Promise<Response> {
    const parsed = parseWith(rebuildBodySchema, body);
    const meta = resident.storage.meta();
    if (!parsed.ok) return problemAnswer(parsed.error);
    if (meta === undefined) return problemAnswer(problemOf("UNREADABLE", "its repository is not known"));
    return rebuildResident(resident, meta, parsed.value.force);
  }

  async #attach(resident: Resident, body: unknown): Promise<Response> {
    const parsed = parseWith(attachBodySchema, body);
    return parsed.ok ? attach(resident, parsed.value) : problemAnswer(parsed.error);
  }

  async #detach(resident: Resident, body: unknown): Promise<Response> {
    const parsed = parseWith(detachBodySchema, body);
    if (!parsed.ok) return problemAnswer(parsed.error);
    const { runId, generation } = parsed.value;
    const released = await release(resident, runId, { who: "caller", generation });
    // A run that was never admitted may have met the closed door; telling that it left is all there is to do, and may be lost.
    if (released.kind === "absent")
      this.ctx.waitUntil(
        registryOf(this.env)
          .gaveUp(runId)
          .catch(() => undefined),
      );
    return Response.json(released);
  }

  override async alarm(): Promise<void> {
    const resident = this.#resident;
    if (resident === undefined) return;
    resident.memory.armedAt = null;
    try {
      await endSpentLeases(resident);
      await sweepIfDue(resident);
      flush(resident);
    } finally {
      arm(resident);
    }
  }
}
