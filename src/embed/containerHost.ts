// The containers of this machine: one a resource, started detached so that it outlives the supervisor, adopted by the next
// one. What is done to one container is done in order; two starts of one are one. It looks at no registration.

import { closeSync, openSync } from "node:fs";
import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { LIMIT, REAL } from "#core/budgets.ts";
import { Failure, wordsOf } from "#node/failure.ts";
import { readJsonFile, removeFile, tailOf } from "#node/files.ts";
import { logOf } from "#node/log.ts";
import { identityOf, isSameProcess, waitUntil } from "#node/processes.ts";
import { stackIdOf, type StatePaths } from "#node/stateFolder.ts";
import { newSecret } from "#node/tokens.ts";
import type { ClockSetting, ContainerState, Ended, Inside, ProcessId, Rolled, Running, Started } from "#wire/host.ts";
import { containerEnv } from "#embed/containerEnv.ts";
import {
  containerPaths,
  layOutContainer,
  portFileSchema,
  readRecords,
  removeContainer,
  setDataAside,
  slugOf,
  writeRecord,
  type ContainerPaths,
  type ContainerRecord,
  type RunningRecord,
} from "#embed/containerFiles.ts";
import { builtImage, imageFolder, type ImageFile } from "#embed/image.ts";
import { endInside, findAgent, freezeInside, insideOf, MARK, thawInside, type Marked } from "#embed/inside.ts";
import { containerCommand, type Isolation } from "#embed/isolation.ts";

/** What the container host stands on. */
export interface ContainerHostParts {
  readonly paths: StatePaths;
  readonly isolation: Isolation;
  readonly clock: ClockSetting;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
}

/** What was found at a supervisor's start. */
export interface Adoption {
  readonly adopted: readonly Running[];
  readonly gone: readonly string[];
  readonly unreadable: readonly string[];
}

/** What replacing every container did. */
export interface Replacement {
  readonly ended: readonly Ended[];
  readonly notStarted: readonly string[];
}

const runningOf = (record: RunningRecord): Running => ({
  state: "running",
  resource: record.resource,
  url: `http://127.0.0.1:${record.port}`,
  token: record.token,
  bootId: record.bootId,
  imageId: record.imageId,
  pid: record.process.pid,
  since: record.since,
});

/** An end of a container that did not run. */
const nobodyOf = (resource: string): Ended => ({ resource, bootId: null, imageId: null, processes: [] });

/** Starts, stops, rolls and lists the containers of one stack. */
export class ContainerHost {
  readonly #parts: ContainerHostParts;
  readonly #records = new Map<string, ContainerRecord>();
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #starts = new Map<string, Promise<Started>>();
  #imageId = "";

  constructor(parts: ContainerHostParts) {
    this.#parts = parts;
  }

  /** Every start from now on is of this image. */
  useImage(imageId: string): void {
    this.#imageId = imageId;
  }

  /** Takes over the containers that still live from a supervisor that died, and notes those that do not. */
  async adopt(): Promise<Adoption> {
    const adopted: Running[] = [];
    const gone: string[] = [];
    const unreadable: string[] = [];
    for (const { slug, read } of readRecords(this.#parts.paths)) {
      const record = read.kind === "value" ? read.value : undefined;
      if (record === undefined || slugOf(record.resource) !== slug) {
        unreadable.push(slug);
        continue;
      }
      this.#records.set(record.resource, record);
      if (record.state === "running" && isSameProcess(record.process)) {
        thawInside(this.#marked(record.resource, record.process, record.agentPid));
        adopted.push(runningOf(record));
      } else if (record.state !== "gone") {
        await this.#endMarked(record.resource, record.process);
        this.#noteGone(record.resource, record.imageId);
        gone.push(record.resource);
      }
    }
    return { adopted, gone, unreadable };
  }

  /** Starts a resource's container unless it runs; concurrent calls are one start. */
  start(resource: string): Promise<Started> {
    const underway = this.#starts.get(resource);
    if (underway !== undefined) return underway;
    const begun = this.#inTurn(resource, () => this.#start(resource)).finally(() => this.#starts.delete(resource));
    this.#starts.set(resource, begun);
    return begun;
  }

  /** Ends a container and everything inside it; one that does not run is fine. */
  stop(resource: string): Promise<Ended> {
    return this.#inTurn(resource, () => this.#stop(resource));
  }

  /** Ends a container with everything inside and starts it again, on the image of the day. `bootId`: only that boot. */
  roll(resource: string, bootId?: string): Promise<Rolled> {
    return this.#inTurn(resource, async () => {
      const running = this.#alive(resource);
      if (bootId !== undefined && running !== undefined && running.bootId !== bootId)
        return { ended: nobodyOf(resource), container: runningOf(running) };
      const ended = await this.#stop(resource);
      const { container } = await this.#start(resource);
      return { ended, container };
    });
  }

  /** Ends a container and moves its data aside, so that its next start begins with nothing. */
  renew(resource: string): Promise<Ended> {
    return this.#inTurn(resource, async () => {
      const ended = await this.#stop(resource);
      setDataAside(this.#pathsOf(resource));
      return ended;
    });
  }

  /** Ends a container and removes its folder, its data too. */
  remove(resource: string): Promise<Ended> {
    return this.#inTurn(resource, async () => {
      const ended = await this.#stop(resource);
      removeContainer(this.#pathsOf(resource));
      this.#records.delete(resource);
      return ended;
    });
  }

  /** A container as it is now. */
  look(resource: string): ContainerState {
    const running = this.#alive(resource);
    if (running !== undefined) return runningOf(running);
    const record = this.#records.get(resource);
    return { state: "absent", resource, goneSince: record?.state === "gone" ? record.goneSince : null };
  }

  /** Every container that was ever started here and not removed. */
  list(): ContainerState[] {
    return [...this.#records.keys()].toSorted().map((resource) => this.look(resource));
  }

  /** The processes inside a container now; none when it does not run. */
  inside(resource: string): Inside[] {
    const running = this.#alive(resource);
    return running === undefined ? [] : insideOf(this.#marked(resource, running.process, running.agentPid));
  }

  /**
   * Stops and starts every container that runs on another image than this one. `onDoomed` is told what is about to end,
   * before it ends, so that a supervisor killed here leaves word of it.
   */
  async replaceAll(imageId: string, onDoomed: (doomed: Ended) => void): Promise<Replacement> {
    this.useImage(imageId);
    const waiting = [...new Set([...this.#records.keys(), ...this.#starts.keys()])];
    const ended: Ended[] = [];
    const notStarted: string[] = [];
    const worker = async (): Promise<void> => {
      for (let resource = waiting.pop(); resource !== undefined; resource = waiting.pop()) {
        await this.#inTurn(resource, () => this.#replace(resource, { imageId, ended, notStarted, onDoomed }));
      }
    };
    await Promise.all(Array.from({ length: LIMIT.provisioningSlots }, worker));
    return { ended, notStarted };
  }

  /** Ends every container; answers those that would not end. */
  async stopAll(): Promise<string[]> {
    const stuck: string[] = [];
    const resources = [...new Set([...this.#records.keys(), ...this.#starts.keys()])];
    const ends = resources.map(async (resource) => {
      await this.stop(resource).catch((error: unknown) => stuck.push(`${resource}: ${wordsOf(error)}`));
    });
    await Promise.all(ends);
    return stuck;
  }

  async #replace(
    resource: string,
    to: { imageId: string; ended: Ended[]; notStarted: string[]; onDoomed: (doomed: Ended) => void },
  ): Promise<void> {
    const running = this.#alive(resource);
    if (running === undefined || running.imageId === to.imageId) return;
    to.ended.push(await this.#stop(resource, to.onDoomed));
    try {
      await this.#start(resource);
    } catch (error) {
      logOf("containers").error("a container does not start on the new image", { resource, error: wordsOf(error) });
      to.notStarted.push(resource);
    }
  }

  /** One thing at a time for each container, in the order it was asked. */
  #inTurn<T>(resource: string, act: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(resource) ?? Promise.resolve();
    const turn = before.then(act, act);
    const settled = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#turns.set(resource, settled);
    void settled.then(() => {
      if (this.#turns.get(resource) === settled) this.#turns.delete(resource);
    });
    return turn;
  }

  #pathsOf(resource: string): ContainerPaths {
    return containerPaths(this.#parts.paths, resource);
  }

  #marked(resource: string, outer: ProcessId, agentPid: number | null): Marked {
    return { outer, agentPid, mark: `${stackIdOf(this.#parts.paths)}/${slugOf(resource)}` };
  }

  #alive(resource: string): RunningRecord | undefined {
    const record = this.#records.get(resource);
    return record?.state === "running" && isSameProcess(record.process) ? record : undefined;
  }

  #remember(record: ContainerRecord): void {
    this.#records.set(record.resource, record);
    writeRecord(this.#pathsOf(record.resource), record);
  }

  #noteGone(resource: string, imageId: string): void {
    const now = this.#parts.now();
    this.#remember({ state: "gone", resource, imageId, since: now, goneSince: now });
  }

  /** Ends whatever carries this container's mark; what does not end within the bound is a failure that names it. */
  async #endMarked(resource: string, outer: ProcessId, listed: readonly Inside[] = []): Promise<void> {
    const left = await endInside(this.#marked(resource, outer, null), listed);
    if (left.length === 0) return;
    const names = left.map((one) => `${one.pid} ${one.command}`).join(", ");
    throw new Failure("CONTAINER_STUCK", `${resource}: these do not end: ${names || "its init"}`);
  }

  async #stop(resource: string, onDoomed?: (doomed: Ended) => void): Promise<Ended> {
    const record = this.#records.get(resource);
    const running = this.#alive(resource);
    if (running === undefined) {
      if (record !== undefined && record.state !== "gone") {
        await this.#endMarked(resource, record.process);
        this.#noteGone(resource, record.imageId);
      }
      return nobodyOf(resource);
    }
    const marked = this.#marked(resource, running.process, running.agentPid);
    const processes = await freezeInside(marked);
    const ended: Ended = { resource, bootId: running.bootId, imageId: running.imageId, processes };
    onDoomed?.(ended);
    await this.#endMarked(resource, running.process, processes);
    this.#noteGone(resource, running.imageId);
    logOf("containers").info("a container is stopped", {
      resource,
      bootId: running.bootId,
      processes: processes.length,
    });
    return ended;
  }

  async #start(resource: string): Promise<Started> {
    const running = this.#alive(resource);
    if (running !== undefined) return { container: runningOf(running), fresh: false };
    const image = builtImage(this.#parts.paths, this.#imageId);
    if (image === undefined) throw new Failure("BUILD_MISSING", `image ${this.#imageId} is not built`);
    const files = this.#pathsOf(resource);
    const previous = this.#records.get(resource);
    const nobody: ProcessId = { pid: process.pid, startTicks: -1, machineBootId: "" };
    await this.#endMarked(resource, previous === undefined || previous.state === "gone" ? nobody : previous.process);
    const token = newSecret();
    layOutContainer(files, token);
    const child = this.#spawn(resource, files, image);
    const outer = child.pid === undefined ? undefined : identityOf(child.pid);
    if (outer === undefined) throw new Failure("CONTAINER_FAILED", `${resource}: its process cannot be started`);
    const since = this.#parts.now();
    this.#remember({ state: "starting", resource, process: outer, imageId: image.id, since });
    const ready = await this.#waitReady(resource, files, outer);
    const agentPid = await findAgent(this.#marked(resource, outer, null), ready.pid);
    removeFile(files.tokenFile);
    const record: RunningRecord = {
      state: "running",
      resource,
      process: outer,
      port: ready.port,
      token,
      imageId: image.id,
      bootId: ready.bootId,
      since,
      agentPid,
    };
    this.#remember(record);
    logOf("containers").info("a container is started", {
      resource,
      bootId: ready.bootId,
      imageId: image.id,
      pid: outer.pid,
    });
    return { container: runningOf(record), fresh: true };
  }

  #spawn(resource: string, files: ContainerPaths, image: ImageFile): ChildProcess {
    const { paths, isolation, env, clock } = this.#parts;
    const folder = imageFolder(paths, image.id);
    const mounts = { state: paths.state, data: files.data, image: folder, handover: files.handover };
    const { command, args } = containerCommand(isolation, mounts, [process.execPath, join(folder, "agent.mjs")]);
    const log = openSync(files.log, "a", 0o600);
    const child = spawn(command, args, {
      cwd: files.data,
      detached: true,
      stdio: ["ignore", log, log],
      env: {
        ...containerEnv(env, folder, image.env),
        TIDEGATE_DATA: files.data,
        TIDEGATE_IMAGE: folder,
        TIDEGATE_AGENT_TOKEN_FILE: files.tokenFile,
        TIDEGATE_PORT_FILE: files.portFile,
        TIDEGATE_CLOCK: JSON.stringify(clock),
        TIDEGATE_RESOURCE: resource,
        [MARK]: this.#marked(resource, { pid: 1, startTicks: 0, machineBootId: "" }, null).mark,
      },
    });
    closeSync(log);
    child.unref();
    child.once("error", (error) =>
      logOf("containers").error("a container's process fails", { resource, error: wordsOf(error) }),
    );
    child.once("exit", (code, signal) =>
      logOf("containers").info("a container's process ended", { resource, code, signal }),
    );
    return child;
  }

  async #waitReady(
    resource: string,
    files: ContainerPaths,
    outer: ProcessId,
  ): Promise<{ port: number; bootId: string; pid: number }> {
    const read = () => readJsonFile(files.portFile, portFileSchema);
    await waitUntil(() => read().kind === "value" || !isSameProcess(outer), REAL.startMs);
    const ready = read();
    if (ready.kind === "value" && isSameProcess(outer)) return ready.value;
    await this.#endMarked(resource, outer);
    this.#noteGone(resource, this.#imageId);
    throw new Failure("CONTAINER_FAILED", `${resource}: its agent does not come up\n${tailOf(files.log, 6)}`);
  }
}
