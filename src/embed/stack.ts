// What a supervisor runs: the fleet's workerd behind the public port, the containers, and beside them the ledger and the
// bot where the sources have them. What is served is what release.json says.

import type { Leases } from "#core/budgets.ts";
import type { Clock } from "#node/clock.ts";
import { readConfig } from "#node/config.ts";
import { Failure } from "#node/failure.ts";
import { lookAtDrains, lookInFlight, type Drains, type Look } from "#node/fleetLook.ts";
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
import { Served } from "#embed/served.ts";
import { endWorkerd, startWorkerd } from "#embed/workerd.ts";
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

/** Of the fleet also the lease of each kind; null where nobody wrote down what it was released with. */
export interface FleetUpload extends Upload {
  readonly leases: Leases | null;
}

/** The settings that a Worker of this stack is given for an upload. */
export function settingsOf({ clockSetting, hostUrl }: StackParts, upload: Upload, leases: Leases): Settings {
  const kinds = Object.entries(leases).map(([name, leaseMs]) => [name, { leaseMs }] as const);
  const { build, generation, drainId } = upload;
  return {
    protocol: HOST_PROTOCOL,
    clock: clockSetting,
    build,
    generation,
    drainId,
    kinds: Object.fromEntries(kinds),
    hostUrl,
  };
}

/** The running stack. */
export class Stack {
  readonly parts: StackParts;
  readonly fleet: Served<FleetUpload>;

  constructor(parts: StackParts) {
    this.parts = parts;
    const { paths, bearers, hostToken, path, onWorkerd, front } = parts;
    this.fleet = new Served<FleetUpload>({
      name: "fleet",
      front,
      start: (upload) =>
        startWorkerd({
          paths,
          path,
          secrets: workerdSecrets(bearers, hostToken),
          settings: settingsOf(parts, upload, upload.leases ?? readConfig(paths.config).leases),
          onSpawned: onWorkerd,
        }),
      lingers: () => false,
      end: ({ id }) => endWorkerd(id),
      onProcess: onWorkerd,
    });
  }

  /** What release.json says; a stack that serves has one. */
  release(): Release {
    const release = readRelease(this.parts.paths);
    if (release === undefined) throw new Failure("INTERNAL", "release.json is gone");
    return release;
  }

  /** The registry's drains, asked of the workerd that serves. */
  async drains(): Promise<Look<Drains>> {
    const port = this.fleet.serving?.port;
    return port === undefined ? { kind: "unreadable", why: "workerd is down" } : lookAtDrains(port, this.parts.bearers);
  }

  /** What is in flight, asked of the workerd that serves. */
  async inFlight(): Promise<Look<InFlight[]>> {
    const port = this.fleet.serving?.port;
    return port === undefined ? { kind: "unreadable", why: "workerd is down" } : lookInFlight(port, this.parts.bearers);
  }

  /** Releases every run in flight, at most for `boundMs`. */
  async releaseRuns(boundMs: number): Promise<void> {
    await releaseRuns(this.fleet.serving?.port, this.parts.bearers, boundMs);
  }
}
