// What a supervisor runs: one workerd behind the front, and the containers. Only one workerd lives at a time over the
// storage, and one that ends by itself is started again with what it served.

import { setTimeout as pause } from "node:timers/promises";
import { REAL } from "#core/budgets.ts";
import type { Clock } from "#node/clock.ts";
import { readConfig } from "#node/config.ts";
import { Failure, wordsOf } from "#node/failure.ts";
import { lookAtDrains, lookInFlight, type Drains, type Look } from "#node/fleetLook.ts";
import { logOf } from "#node/log.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import type { Bearers } from "#node/tokens.ts";
import {
  HOST_PROTOCOL,
  type ClockSetting,
  type HostBuild,
  type InFlight,
  type ProcessId,
  type Settings,
} from "#wire/host.ts";
import type { ContainerHost } from "#embed/containerHost.ts";
import type { Front } from "#embed/front.ts";
import { readRelease, type Release } from "#embed/releaseFile.ts";
import { releaseRuns } from "#embed/releaseRuns.ts";
import { endWorkerd, startWorkerd, type Workerd } from "#embed/workerd.ts";
import { workerdSecrets } from "#embed/workerdConfig.ts";

/** What a stack stands on. */
export interface StackParts {
  readonly paths: StatePaths;
  readonly clock: Clock;
  readonly clockSetting: ClockSetting;
  readonly bearers: Bearers;
  readonly hostToken: string;
  readonly hostUrl: string;
  readonly front: Front;
  readonly containers: ContainerHost;
  readonly path: string;
  /** Writes down which workerd lives, as soon as it does. */
  readonly onWorkerd: (id: ProcessId | null) => void;
}

/** What is served: a build, its generation and the drain it came under. */
export interface Upload {
  readonly build: HostBuild;
  readonly generation: number;
  readonly drainId: string | null;
}

/** The running stack. */
export class Stack {
  readonly parts: StackParts;
  #workerd: Workerd | undefined;
  /** Moves with every wanted start and end, so that a watcher of an older workerd does nothing. */
  #turn = 0;
  #line: Promise<unknown> = Promise.resolve();

  constructor(parts: StackParts) {
    this.parts = parts;
  }

  /** The process that serves, or `undefined`. */
  get workerd(): Workerd | undefined {
    return this.#workerd;
  }

  /** What release.json says; a stack that serves has one. */
  release(): Release {
    const release = readRelease(this.parts.paths);
    if (release === undefined) throw new Failure("INTERNAL", "release.json is gone");
    return release;
  }

  /** Starts this upload and leads the front to it; the front goes on holding when it does not start. */
  async serve(upload: Upload): Promise<void> {
    const turn = ++this.#turn;
    await this.#alone(() => this.#serve(turn, upload));
  }

  /** Serves this upload as soon as it can be started, trying again and again, each time after a longer pause. */
  keepTrying(upload: Upload): void {
    void this.#restart(++this.#turn, upload);
  }

  /** Holds new connections, ends the workerd that serves and waits until it is gone. */
  async endServing(): Promise<void> {
    this.#turn += 1;
    await this.#alone(async () => {
      this.parts.front.lead({ kind: "hold" });
      if (this.#workerd === undefined) return;
      await endWorkerd(this.#workerd.id);
      this.#workerd = undefined;
      this.parts.onWorkerd(null);
    });
  }

  /** Holds new connections while something is checked, and leads them on unless the check says that the end has come. */
  async holding(check: () => Promise<"leadOn" | "stay">): Promise<void> {
    this.parts.front.lead({ kind: "hold" });
    let next: "leadOn" | "stay" = "leadOn";
    try {
      next = await check();
    } finally {
      if (next === "leadOn" && this.#workerd !== undefined)
        this.parts.front.lead({ kind: "up", port: this.#workerd.port });
    }
  }

  /** The registry's drains, asked of the workerd that serves. */
  async drains(): Promise<Look<Drains>> {
    const port = this.#workerd?.port;
    return port === undefined ? { kind: "unreadable", why: "workerd is down" } : lookAtDrains(port, this.parts.bearers);
  }

  /** What is in flight, asked of the workerd that serves. */
  async inFlight(): Promise<Look<InFlight[]>> {
    const port = this.#workerd?.port;
    return port === undefined ? { kind: "unreadable", why: "workerd is down" } : lookInFlight(port, this.parts.bearers);
  }

  /** Releases every run in flight, at most for `boundMs`. */
  async releaseRuns(boundMs: number): Promise<void> {
    await releaseRuns(this.#workerd?.port, this.parts.bearers, boundMs);
  }

  #settings(upload: Upload): Settings {
    const { leases } = readConfig(this.parts.paths.config);
    const kinds = Object.entries(leases).map(([name, leaseMs]) => [name, { leaseMs }] as const);
    const { clockSetting, hostUrl } = this.parts;
    return { protocol: HOST_PROTOCOL, clock: clockSetting, ...upload, kinds: Object.fromEntries(kinds), hostUrl };
  }

  #start(upload: Upload): Promise<Workerd> {
    const { paths, bearers, hostToken, path, onWorkerd } = this.parts;
    const secrets = workerdSecrets(bearers, hostToken);
    return startWorkerd({ paths, path, secrets, settings: this.#settings(upload), onSpawned: onWorkerd });
  }

  async #serve(turn: number, upload: Upload): Promise<void> {
    const workerd = await this.#start(upload);
    this.#workerd = workerd;
    this.parts.front.lead({ kind: "up", port: workerd.port });
    logOf("supervisor").info("the fleet is served", {
      generation: upload.generation,
      build: upload.build,
      pid: workerd.id.pid,
    });
    void workerd.ended.then(() => {
      if (turn === this.#turn) void this.#restart(turn, upload);
    });
  }

  /** One start or end of workerd at a time, so that there are never two. */
  #alone<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#line.then(act, act);
    this.#line = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  }

  /** A workerd that ended by itself comes back with what it served. */
  async #restart(turn: number, upload: Upload): Promise<void> {
    this.#workerd = undefined;
    this.parts.front.lead({ kind: "hold" });
    for (let waitMs: number = REAL.restartFirstMs; ; waitMs = Math.min(REAL.restartLongestMs, waitMs * 2)) {
      logOf("supervisor").warn("workerd is down", { generation: upload.generation, againInMs: waitMs });
      await pause(waitMs);
      const done = await this.#alone(async () => {
        if (turn !== this.#turn) return true;
        await this.#serve(turn, upload);
        return true;
      }).catch((error: unknown) => {
        logOf("supervisor").error("workerd does not start", { error: wordsOf(error) });
        return false;
      });
      if (done) return;
    }
  }
}
