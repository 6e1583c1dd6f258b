// Runs with real processes beside restarts of their container, as one seed draws them. It knows which runs are registered
// and which process each has, and looks after every act whether exactly that process lives still.

import assert from "node:assert/strict";
import { allProcesses, commandLineOf, identityOf, isSameProcess } from "#node/processes.ts";
import type { ProcessId } from "#wire/host.ts";
import type { FleetStack, Run } from "./fleetStack.ts";

/** A run that was admitted and not told to leave. */
interface Known {
  readonly run: Run;
  readonly since: number;
  bootId: string;
  sleeper: ProcessId | null;
  /** Told to leave: whether it lives on is for the registry to say. */
  leaving: boolean;
}

/** What a seed can do; the words of a failure. */
export const ACTS = [
  "attach",
  "attachAgain",
  "exec",
  "detach",
  "detachUnderExec",
  "ask",
  "sealAndLift",
  "roll",
] as const;
export type Act = (typeof ACTS)[number];

const THREADS = 3;
const SLEEP_CHARS = 40;

/** The fleet's runs as the test was told of them. */
export class InterleavedRuns {
  readonly #fleet: FleetStack;
  readonly #residents: readonly string[];
  readonly #known = new Map<string, Known>();
  /** Residents whose container this seed rolls itself. */
  readonly #rolled = new Set<string>();
  /** The deploy whose reconcile is asked for, while it is not lifted. */
  #deploy: string | null = null;
  #seed = 0;
  #names = 0;
  #refused = 0;
  #rolls = 0;

  constructor(fleet: FleetStack, residents: readonly string[]) {
    this.#fleet = fleet;
    this.#residents = residents;
  }

  /** Attaches that a closed door refused. */
  get refused(): number {
    return this.#refused;
  }

  /** Rolls by the platform's own doing. */
  get rolls(): number {
    return this.#rolls;
  }

  /** How many runs are registered at this resident. */
  count(resource: string): number {
    return [...this.#known.values()].filter(({ run }) => run.resource === resource).length;
  }

  /** One seed: its acts at once, each begun a few turns after the one before; then everybody is looked at. */
  async play(seed: number, acts: readonly (readonly [Act, number])[]): Promise<void> {
    this.#seed = seed;
    const played = await Promise.allSettled(acts.map(([act, draw], nth) => this.#begin(act, draw, nth)));
    for (const one of played) if (one.status === "rejected") throw one.reason;
    await this.#settle();
    this.#assertAlive();
  }

  async #begin(act: Act, draw: number, nth: number): Promise<void> {
    for (let turns = Math.floor(nth * draw * 40); turns > 0; turns -= 1)
      await new Promise((resolve) => setImmediate(resolve));
    await this.#act(act, draw);
    this.#assertAlive();
  }

  #act(act: Act, draw: number): Promise<void> {
    const resource = this.#residents[Math.floor(draw * this.#residents.length)] ?? "";
    const pick = (fits: (known: Known) => boolean): Known | undefined => {
      const some = [...this.#known.values()].filter((known) => !known.leaving && fits(known));
      return some[Math.floor(draw * some.length)];
    };
    switch (act) {
      case "attach":
        return this.#attach(resource);
      case "attachAgain":
        return this.#with(
          pick(() => true),
          (known) => this.#attachAgain(known),
        );
      case "exec":
        return this.#with(
          pick(({ sleeper }) => sleeper === null),
          (known) => this.#exec(known),
        );
      case "detach":
        return this.#with(this.#oldest(pick, draw), (known) => this.#detach(known));
      case "detachUnderExec":
        return this.#with(this.#oldest(pick, draw), async (known) => {
          await Promise.all([this.#detach(known), this.#exec(known), this.#attachAgain(known)]);
        });
      case "ask":
        return this.#ask();
      case "sealAndLift":
        return this.#sealAndLift();
      case "roll":
        return this.#roll(resource);
    }
  }

  async #with(known: Known | undefined, act: (known: Known) => Promise<void>): Promise<void> {
    if (known !== undefined) await act(known);
  }

  /** Half of the time the run that is there longest leaves, so that nobody stays for ever. */
  #oldest(pick: (fits: (known: Known) => boolean) => Known | undefined, draw: number): Known | undefined {
    const [oldest] = [...this.#known.values()].filter(({ leaving }) => !leaving).toSorted((a, b) => a.since - b.since);
    return draw < 0.5 ? oldest : pick(() => true);
  }

  async #attach(resource: string): Promise<void> {
    const taken = [...this.#known.values()].map(({ run }) => `${run.resource} ${run.threadKey}`);
    const threads = Array.from({ length: THREADS }, (_, n) => `seeds:${n}`);
    const threadKey = threads.find((thread) => !taken.includes(`${resource} ${thread}`));
    if (threadKey === undefined) return;
    const run: Run = { resource, threadKey, runId: `seed-${this.#seed}-${(this.#names += 1)}` };
    const known: Known = { run, since: this.#seed, bootId: "", sleeper: null, leaving: true };
    this.#known.set(run.runId, known);
    const { binding, problem } = await this.#fleet.attach(run);
    if (binding !== undefined) return void Object.assign(known, { bootId: binding.bootId, leaving: false });
    this.#known.delete(run.runId);
    if (problem?.code === "DRAINING") this.#refused += 1;
    else assert.ok(this.#rolled.has(resource), `${run.runId} is not admitted: ${JSON.stringify(problem)}`);
  }

  /** A registered run is admitted again, onto the container that it has. */
  async #attachAgain(known: Known): Promise<void> {
    const { run, bootId } = known;
    const { binding, problem } = await this.#fleet.attach(run);
    if (known.leaving || this.#rolled.has(run.resource)) return;
    assert.deepEqual([binding?.again, binding?.bootId], [true, bootId], `${run.runId}: ${JSON.stringify(problem)}`);
  }

  async #exec(known: Known): Promise<void> {
    const { run } = known;
    const name = `sleep ${1_000_000 + (this.#names += 1)}`;
    const id = `proc-${this.#names}-${this.#seed}`;
    try {
      await this.#fleet.exec(run, { id, shell: `echo up; exec ${name}` }, (out) => out.includes("up"));
    } catch (error) {
      if (known.leaving || this.#rolled.has(run.resource)) return;
      throw error;
    }
    if (known.leaving || this.#rolled.has(run.resource)) return;
    // The shell has said its word and becomes the sleeper within the next few looks.
    for (let look = 0; look < 100 && known.sleeper === null; look += 1) {
      const row = allProcesses().find((one) => commandLineOf(one, SLEEP_CHARS) === name);
      if (row !== undefined) known.sleeper = identityOf(row.pid) ?? null;
      else await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(known.sleeper ?? (known.leaving || this.#rolled.has(run.resource)), `${run.runId} has its sleeper`);
  }

  async #detach(known: Known): Promise<void> {
    known.leaving = true;
    await this.#fleet.detach(known.run);
  }

  /** While a deploy stands its reconcile is asked for again; behind its lift the residents are refreshed. */
  async #ask(): Promise<void> {
    if (this.#deploy === null) await this.#fleet.residents(true);
    else assert.equal((await this.#fleet.ask("drain", "/reconcile", { id: this.#deploy })).status, 202);
  }

  /** A deploy that tries to seal and gives up. */
  async #sealAndLift(): Promise<void> {
    const id = `seal-${this.#seed}-${(this.#names += 1)}`;
    const body = { id, minutes: 65, by: "a seed", reason: "it tries", deploy: true };
    const { status } = await this.#fleet.ask("drain", "/drain", body);
    if (status !== 200) return;
    await this.#fleet.ask("drain", "/seal", { id });
    await this.#fleet.lift(id, "none");
  }

  /** The platform ends the container under whoever is in it: the one restart that nobody here prevents. */
  async #roll(resource: string): Promise<void> {
    this.#rolled.add(resource);
    this.#rolls += 1;
    await this.#fleet.control().roll(resource);
  }

  /** What the registry says of those whose acts crossed each other, and of a container that the seed rolled. */
  async #settle(): Promise<void> {
    for (const resource of this.#rolled) await this.#afterRoll(resource);
    this.#rolled.clear();
    if (![...this.#known.values()].some(({ leaving }) => leaving)) return;
    const { runs } = await this.#fleet.untilResidents("nobody is on his way", ({ attaching }) => attaching === 0);
    for (const [runId, known] of this.#known) {
      if (!known.leaving) continue;
      if (!runs.some((row) => row.runId === runId)) this.#known.delete(runId);
      else await this.#recall(known);
    }
  }

  async #afterRoll(resource: string): Promise<void> {
    for (const known of this.#known.values())
      if (known.run.resource === resource && !known.leaving) await this.#recall(known);
  }

  /** A run that lives on, as it is now. */
  async #recall(known: Known): Promise<void> {
    known.bootId = (await this.#fleet.admitted(known.run)).bootId;
    known.leaving = false;
    if (known.sleeper !== null && !isSameProcess(known.sleeper)) known.sleeper = null;
  }

  #assertAlive(): void {
    for (const { run, sleeper, leaving } of this.#known.values()) {
      if (leaving || sleeper === null || this.#rolled.has(run.resource)) continue;
      const where = `${run.runId} at ${run.resource}, seed ${this.#seed}`;
      assert.ok(isSameProcess(sleeper), `the process of ${where} has ended under it`);
    }
  }

  /** A resident gets a run with a process, if it has none. */
  async occupy(resource: string): Promise<void> {
    if (this.count(resource) === 0) await this.#attach(resource);
    for (const known of this.#known.values())
      if (known.run.resource === resource && known.sleeper === null) await this.#exec(known);
    this.#assertAlive();
  }

  /** A deploy's reconcile may be asked for from now on; null: no longer. */
  under(deploy: string | null): void {
    this.#deploy = deploy;
    this.#assertAlive();
  }

  /** Everybody leaves. */
  async leave(): Promise<void> {
    this.#assertAlive();
    for (const known of this.#known.values()) await this.#detach(known);
    this.#known.clear();
  }
}
