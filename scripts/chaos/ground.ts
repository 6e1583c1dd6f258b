// The ground of a chaos: a home folder of its own with a fleet as `npm start` brings it up, ten times as fast as real time, and
// the processes of it that may die. What is on it is real, and all of it ends with it.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { accessOf, type FleetAccess } from "#cli/access.ts";
import { REAL } from "#core/budgets.ts";
import { clockOf, REAL_TIME, scaledFromNow } from "#node/clock.ts";
import { writeJsonFile } from "#node/files.ts";
import { allProcesses, environOf, readProcess, sendSignal, type ProcessRow } from "#node/processes.ts";
import { pathsOf, stackIdOf, type StatePaths } from "#node/stateFolder.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import { Actor } from "../replay/actor.ts";

const root = resolve(import.meta.dirname, "../..");
const SCALE = 10;
const real = clockOf(REAL_TIME);

/** What of a fleet may die. */
export const PARTS = ["fleet", "ledger", "bot", "supervisor"] as const;
export type Part = (typeof PARTS)[number];

/** One home, and what is done in it. */
export class Ground {
  readonly home = mkdtempSync(join(tmpdir(), "tidegate-chaos-"));
  readonly paths: StatePaths = pathsOf(this.home);
  readonly #actors: Actor[] = [];
  readonly #over = new AbortController();
  #releases = 1;

  /** Makes the home, and brings the fleet up in it. */
  async begin(): Promise<void> {
    writeFileSync(this.paths.config, JSON.stringify({ port: 0, image: { files: ["sample/VERSION"] } }));
    mkdirSync(this.paths.state, { mode: 0o700 });
    writeJsonFile(this.paths.clock, scaledFromNow(Date.now(), SCALE));
    await this.bringUp();
    // A first start makes a repository once it is up.
    while ((await this.access.fleet.residents()).residents.length === 0) await this.rests(REAL.lookEveryMs);
  }

  /** Starts a supervisor and waits until all that it keeps is up. */
  async bringUp(): Promise<void> {
    const up = this.types("up");
    const isUp = (): boolean => {
      const file = readSupervisorFile(this.paths);
      return file !== undefined && file.supervisor.pid === up.pid && file.ready;
    };
    for (const end = performance.now() + 4 * REAL.startMs; !isUp(); await this.rests(REAL.lookEveryMs))
      if (up.over !== undefined || performance.now() > end) throw new Error(`it does not come up: ${up.words("err")}`);
  }

  /** The fleet and the bot as the command line reaches them now. */
  get access(): FleetAccess {
    return accessOf({ cwd: this.home, env: {}, packageRoot: this.home, real });
  }

  /** A command line as a person types it, in a process of its own. */
  types(...args: string[]): Actor {
    const env = { ...process.env, TIDEGATE_HOME: this.home, NO_COLOR: "1" };
    const actor = new Actor(args, { cwd: this.home, env, program: join(root, "bin/tidegate") }, real);
    this.#actors.push(actor);
    return actor;
  }

  /** Another image, as a person makes it. */
  changesImage(): void {
    this.#releases += 1;
    writeFileSync(join(this.home, "sample/VERSION"), `${this.#releases}\n`);
  }

  /** A process of the fleet; undefined while there is none. */
  pidOf(part: Part): number | undefined {
    const file = readSupervisorFile(this.paths);
    if (file === undefined || readProcess(file.supervisor.pid)?.startTicks !== file.supervisor.startTicks)
      return undefined;
    if (part === "supervisor") return file.supervisor.pid;
    if (part === "fleet") return file.workerd?.pid;
    const children = allProcesses().filter(({ parent }) => parent === file.supervisor.pid);
    const isPart = ({ pid, command }: ProcessRow): boolean =>
      part === "bot"
        ? environOf(pid)["TIDEGATE_BOT"] !== undefined
        : command === "workerd" && pid !== file.workerd?.pid;
    return children.find(isPart)?.pid;
  }

  /** The lines that runs have left in a file of the home. */
  marks(name: string): readonly string[] {
    try {
      return readFileSync(join(this.home, name), "utf8").split("\n").slice(0, -1);
    } catch {
      return [];
    }
  }

  /** Waits; rejects once the ground is cleared. */
  rests(ms: number): Promise<void> {
    return real.sleep(ms, this.#over.signal);
  }

  /** Ends every process of the home and takes the folder away. */
  async clear(): Promise<void> {
    this.#over.abort(new Error("the ground is cleared"));
    const container = `${stackIdOf(this.paths)}/`;
    const isHere = ({ pid }: ProcessRow): boolean => {
      const env = environOf(pid);
      return env["TIDEGATE_HOME"] === this.home || env["TIDEGATE_CONTAINER"]?.startsWith(container) === true;
    };
    for (let left = allProcesses().filter(isHere); left.length > 0; left = allProcesses().filter(isHere)) {
      for (const { pid } of left) sendSignal(pid, "SIGKILL");
      await real.sleep(REAL.lookEveryMs);
    }
    await Promise.all(this.#actors.map(({ ended }) => ended));
    rmSync(this.home, { recursive: true, force: true });
  }
}
