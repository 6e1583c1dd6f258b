// The product's own fleet Worker in real workerd over a platform that is not the product's. There is no supervisor: the
// test starts and ends workerd as it says, over one storage, which is what a swap and a crash are to the Worker.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { DEFAULT_LEASES } from "#core/budgets.ts";
import type { ReconcileState } from "#core/reconcile.ts";
import { bundleWorker, keepBundle, type Bundle } from "#embed/bundles.ts";
import { fleetSources } from "#embed/sources.ts";
import { endWorkerd, startWorkerd } from "#embed/workerd.ts";
import { workerdSecrets } from "#embed/workerdConfig.ts";
import { scaledFromNow } from "#node/clock.ts";
import { makeBearers } from "#node/tokens.ts";
import { reconcileAnswerSchema, releaseHoldAnswerSchema, type DrainBody, type ReconcileAnswer } from "#wire/drain.ts";
import { onboardLineSchema, type OnboardLine } from "#wire/attach.ts";
import { jsonOf } from "#wire/parse.ts";
import { HOST_PROTOCOL, type ClockSetting, type ProcessId } from "#wire/host.ts";
import { FleetStack, type Attached, type Run } from "../embedded/fleetStack.ts";
import { eventually } from "../embedded/hostStack.ts";
import { FakePlatform } from "./fakePlatform.ts";

/** The image that a fleet begins on, and the ones that its deploys bring. */
export const [OLD, NEW, NEWER] = ["image-old", "image-new", "image-newer"] as const;

/** What is served: an image that it pins, its generation and the drain it came under. */
interface Upload {
  readonly image: string;
  readonly generation: number;
  readonly drainId: string | null;
}

const lineSchema = z.looseObject({ level: z.string(), event: z.string(), resource: z.string().optional() });

/** One line of the Worker's log. */
type LogLine = z.infer<typeof lineSchema>;

let bundled: Promise<Bundle> | undefined;
/** The same Worker for every fleet of this process. */
const theWorker = (): Promise<Bundle> => (bundled ??= bundleWorker(fleetSources().worker, fleetSources().root));

/** A fleet whose workerd the test owns. */
export class ContractFleet extends FleetStack {
  readonly platform: FakePlatform;
  readonly #clock: ClockSetting;
  #workerd: ProcessId | undefined;
  #upload: Upload = { image: OLD, generation: 1, drainId: null };
  /** Runs that were told to leave: whatever comes now is not under them. */
  readonly #leaving = new Set<string>();
  readonly #admitted = new Map<string, string>();

  constructor(platform: FakePlatform, scale: number) {
    super(scale);
    this.platform = platform;
    this.#clock = scaledFromNow(Date.now(), scale);
    platform.whoIsThere = (resource) => this.#whoIsThere(resource);
  }

  /** A fleet that serves the old image. */
  static async begin(scale: number): Promise<ContractFleet> {
    const platform = new FakePlatform(OLD);
    await platform.listen();
    const fleet = new ContractFleet(platform, scale);
    keepBundle(fleet.paths, await theWorker());
    makeBearers(fleet.paths.tokens);
    await fleet.#serve();
    return fleet;
  }

  override async dispose(): Promise<void> {
    if (this.#workerd !== undefined) await endWorkerd(this.#workerd);
    await this.platform.close();
    await super.dispose();
    assert.deepEqual(this.platform.underRun, [], "rolls that were asked under a registered run");
  }

  async #serve(): Promise<void> {
    const { image, generation, drainId } = this.#upload;
    const build = { commit: `commit-${generation}`, bundle: (await theWorker()).id, image };
    const kinds = Object.fromEntries(Object.entries(DEFAULT_LEASES).map(([name, leaseMs]) => [name, { leaseMs }]));
    const { port } = await startWorkerd({
      paths: this.paths,
      settings: {
        protocol: HOST_PROTOCOL,
        clock: this.#clock,
        build,
        generation,
        drainId,
        kinds,
        hostUrl: this.platform.url,
      },
      secrets: workerdSecrets(makeBearers(this.paths.tokens), this.platform.token),
      path: process.env["PATH"] ?? "",
      onSpawned: (id) => (this.#workerd = id),
    });
    this.via = `http://127.0.0.1:${port}`;
  }

  /** Ends workerd in the middle of whatever it does; nobody answers until it comes back. */
  async fall(): Promise<void> {
    assert.ok(this.#workerd);
    await endWorkerd(this.#workerd);
  }

  /** The same upload again, over the same storage. */
  comeBack(): Promise<void> {
    return this.#serve();
  }

  /** The next generation: another image, brought by this drain. Starts are of that image from then on. */
  async upload(drainId: string, image: string): Promise<void> {
    await this.fall();
    this.#upload = { image, generation: this.#upload.generation + 1, drainId };
    this.platform.image = image;
    await this.#serve();
  }

  /** The part of a deploy before its swap. */
  async closeAndSeal(id: string, image: string, more: Partial<DrainBody> = {}): Promise<void> {
    await this.drain(id, { build: { commit: "commit", bundle: "bundle", image }, ...more });
    const stop = await this.pulsing(id);
    await this.seal(id);
    stop();
  }

  /** The part of a deploy before its reconcile. */
  async swapped(id: string, image: string, more: Partial<DrainBody> = {}): Promise<void> {
    await this.closeAndSeal(id, image, more);
    await this.upload(id, image);
  }

  /** `POST /reconcile`, which must begin or go on. */
  async reconcile(id: string): Promise<ReconcileAnswer> {
    const { status, body, text } = await this.ask("drain", "/reconcile", { id });
    assert.equal(status, 202, text);
    return reconcileAnswerSchema.parse(body);
  }

  /** `GET /reconcile`. */
  async reconciled(id: string): Promise<ReconcileAnswer> {
    const { status, body, text } = await this.ask("drain", `/reconcile?id=${id}`);
    assert.equal(status, 200, text);
    return reconcileAnswerSchema.parse(body);
  }

  /** What the operation says of one resident. */
  async wordOf(id: string, resource: string): Promise<ReconcileAnswer["operation"]["entries"][number]> {
    const { operation } = await this.reconciled(id);
    const entry = operation.entries.find((one) => one.resource === resource);
    assert.ok(entry, `${resource} is part of the operation`);
    return entry;
  }

  /** Waits until these residents are held and no others. */
  untilHeld(id: string, resources: readonly string[]): Promise<ReconcileAnswer> {
    return eventually(`held: ${resources.join(", ")}`, async () => {
      const answer = await this.reconciled(id);
      return isDeepStrictEqual(answer.held, resources) ? answer : undefined;
    });
  }

  /** Waits until the operation says this of one resident. */
  async untilSays(id: string, resource: string, state: ReconcileState): Promise<void> {
    await eventually(`${resource} is ${state}`, async () =>
      (await this.wordOf(id, resource)).state === state ? true : undefined,
    );
  }

  /** A person waits for this resident no more. */
  async releaseHold(resource: string): Promise<z.infer<typeof releaseHoldAnswerSchema>> {
    const { body } = await this.ask("drain", "/holds/release", { resource, reason: "a test says so" });
    return releaseHoldAnswerSchema.parse(body);
  }

  /** A rebuild, to its last line. */
  async rebuild(resource: string, force = false): Promise<OnboardLine> {
    const { status, text } = await this.ask("admin", "/rebuild", { resource, force });
    assert.equal(status, 200, text);
    return onboardLineSchema.parse(jsonOf(text.trimEnd().split("\n").at(-1) ?? ""));
  }

  /** A few answers of the fleet later: whatever was going to happen at once has happened, unless this says that it has. */
  async aFewAnswersLater(has: () => boolean = () => false): Promise<void> {
    for (let look = 0; look < 25 && !has(); look += 1) await this.residents();
  }

  /** Waits until no drain closes anything. */
  async untilOpen(): Promise<void> {
    await this.untilResidents("nothing closes the fleet", ({ drains }) => drains.length === 0);
  }

  /** What the audit log tells of this drain: `what resource cause`, each word that it has. */
  async told(id: string): Promise<string[]> {
    return (await this.auditRows())
      .filter((row) => row.drainId === id)
      .map(({ what, resource, cause }) => [what, resource, cause].filter((word) => word !== null).join(" "));
  }

  /** The Worker's log, line by line. */
  log(): LogLine[] {
    return readFileSync(join(this.paths.log, "workerd.log"), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => lineSchema.parse(JSON.parse(line)));
  }

  /** Containers that a warning of the Worker names as stale. */
  namedStale(): (string | undefined)[] {
    return this.log()
      .filter(({ level, event }) => level === "warn" && event.includes("a container is stale"))
      .map(({ resource }) => resource);
  }

  /** Waits until the registry's alarm has told of a drain's end, which nothing but the telling depends on. */
  async untilTold(id: string, last: string): Promise<void> {
    await eventually(`the audit log says: ${last}`, async () =>
      (await this.told(id)).at(-1) === last ? true : undefined,
    );
  }

  override async attach(...asked: Parameters<FleetStack["attach"]>): Promise<Attached> {
    const attached = await super.attach(...asked);
    const { binding } = attached;
    if (binding !== undefined) this.#admitted.set(binding.runId, binding.resource);
    return attached;
  }

  override detach(run: Run, generation = 0): ReturnType<FleetStack["detach"]> {
    this.#leaving.add(run.runId);
    this.#admitted.delete(run.runId);
    return super.detach(run, generation);
  }

  /** Registered runs as the fleet itself says it, and those that this test was told are admitted; none while it is down. */
  async #whoIsThere(resource: string): Promise<string[]> {
    const told = [...this.#admitted].filter(([, where]) => where === resource).map(([runId]) => runId);
    const runs = await this.residents().then(
      (residents) => residents.runs,
      () => [],
    );
    const running = runs.filter((run) => run.resource === resource && run.state === "running");
    return [...new Set([...told, ...running.map(({ runId }) => runId)])].filter((runId) => !this.#leaving.has(runId));
  }

  /** A refusal of the closed door at this resident, by a drain of this phase. */
  async assertClosed(resource: string, phase: string): Promise<void> {
    const { status, headers, problem } = await this.attach(this.newRun(resource));
    assert.deepEqual([status, problem?.code, headers.has("retry-after")], [503, "DRAINING", true], resource);
    assert.equal(this.refusedBy(problem).phase, phase, resource);
  }

  /** A run is admitted here, and ends at once; answers the image that it was admitted onto. */
  async assertOpen(resource: string): Promise<string> {
    const run = this.newRun(resource);
    const { image } = await this.admitted(run);
    await this.detach(run);
    return image;
  }
}
