// The supervisor: it holds the state folder, keeps the public port, runs one workerd and the containers, and answers the host
// API. Killed, it takes workerd along and leaves containers and runs alive for the next one; asked to end, it ends everything.

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { REAL } from "#core/budgets.ts";
import { clockOf, type Clock } from "#node/clock.ts";
import { readConfig } from "#node/config.ts";
import { Failure, wordsOf } from "#node/failure.ts";
import { removeFile, writeJsonFile } from "#node/files.ts";
import { openHost } from "#node/httpServer.ts";
import { logOf, openLog, setLogsAside } from "#node/log.ts";
import { identityOf } from "#node/processes.ts";
import { pathsOf, type StatePaths } from "#node/stateFolder.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import { newSecret, withEnv, type Bearers } from "#node/tokens.ts";
import {
  HOST_PROTOCOL,
  type ClockSetting,
  type HostStatus,
  type InFlight,
  type ProcessId,
  type SupervisorFile,
} from "#wire/host.ts";
import { besidePort } from "#wire/config.ts";
import { Companions } from "#embed/companions.ts";
import { ContainerHost, type Adoption } from "#embed/containerHost.ts";
import { openFront, type Front } from "#embed/front.ts";
import { firstServe } from "#embed/firstServe.ts";
import { hostApp, type HostControls } from "#embed/hostRoutes.ts";
import { isolationWords, probeIsolation, type Isolation } from "#embed/isolation.ts";
import { pruneState } from "#embed/pruning.ts";
import { prepareParts, type PreparedRelease } from "#embed/release.ts";
import type { Sources } from "#embed/sources.ts";
import { Stack } from "#embed/stack.ts";
import { holdState, type HeldState } from "#embed/stateGuard.ts";
import { SwapDesk } from "#embed/swap.ts";

/** What a supervisor is started with. */
export interface SupervisorOptions {
  readonly home: string;
  readonly sources: Sources;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Wins over the configured port; 0 takes any. */
  readonly port?: number;
  /** The clock of a new state folder; an existing one keeps its own. */
  readonly clock?: ClockSetting;
  /** How containers are kept apart; probed where it is not said. */
  readonly isolation?: Isolation;
  /** Where the fleet Worker finds its containers, given where this host listens: something may stand in between. */
  readonly platform?: (hostUrl: string) => Promise<string>;
  readonly progress: (line: string) => void;
  /** Makes what this folder's release is made of, once folder and port are held; until then a start changes nothing. */
  readonly prepare?: () => void;
  /** Gives up a start that still builds. */
  readonly signal: AbortSignal;
}

/** A supervisor that is up. */
export interface Supervisor {
  readonly clock: Clock;
  /** The bearers that this stack takes, the environment's in place of the file's. */
  readonly bearers: Bearers;
  /** What happened at the start that a person should know. */
  readonly notes: readonly string[];
  readonly adoption: Adoption;
  /** What this folder says next to what is served; null when it does not build. */
  readonly folder: PreparedRelease | null;
  readonly isFirstStart: boolean;
  status(): HostStatus;
  /** What is in flight; throws REGISTRY_UNREADABLE. */
  inFlight(): Promise<readonly InFlight[]>;
  /** Ends everything; throws IN_FLIGHT, SWAP_BUSY or REGISTRY_UNREADABLE unless `now`. Resolves when nothing is left. */
  down(now: boolean): Promise<void>;
  /** Resolves when the end is over, whoever asked for it. */
  readonly ended: Promise<void>;
}

interface Undo {
  readonly steps: (() => void | Promise<void>)[];
}

async function undoAll(undo: Undo): Promise<void> {
  for (const step of undo.steps.toReversed()) {
    try {
      await step();
    } catch (error) {
      logOf("supervisor").error("a step of the end failed", { error: wordsOf(error) });
    }
  }
}

/** Keeps supervisor.json: made when the host listens, moved with each workerd. */
class OwnFile {
  readonly #paths: StatePaths;
  #file: SupervisorFile;

  constructor(paths: StatePaths, urls: { url: string; hostUrl: string; controlToken: string }) {
    const supervisor = identityOf(process.pid);
    if (supervisor === undefined) throw new Failure("INTERNAL", "this process cannot be read in /proc");
    this.#paths = paths;
    const parent = identityOf(process.ppid) ?? null;
    this.#file = {
      protocol: HOST_PROTOCOL,
      supervisor,
      parent,
      since: Date.now(),
      ...urls,
      workerd: null,
      ledgerUrl: null,
      botUrl: null,
      ready: false,
    };
    this.update({});
  }

  get now(): SupervisorFile {
    return this.#file;
  }

  update(change: Partial<SupervisorFile>): void {
    this.#file = { ...this.#file, ...change };
    writeJsonFile(this.#paths.supervisor, this.#file);
  }
}

class RunningSupervisor implements HostControls {
  readonly stack: Stack;
  readonly desk: SwapDesk;
  readonly containers: ContainerHost;
  readonly companions: Companions | undefined;
  readonly ended: Promise<void>;
  readonly #own: OwnFile;
  readonly #isolation: Isolation;
  readonly #undo: Undo;
  readonly #resolveEnded: () => void;
  #phase: "starting" | "up" | "ending" = "starting";
  #notes: readonly string[] = [];

  constructor(parts: {
    stack: Stack;
    companions: Companions | undefined;
    own: OwnFile;
    isolation: Isolation;
    undo: Undo;
  }) {
    this.stack = parts.stack;
    this.containers = parts.stack.parts.containers;
    this.#own = parts.own;
    this.#isolation = parts.isolation;
    this.#undo = parts.undo;
    this.companions = parts.companions;
    this.desk = new SwapDesk(parts.stack, parts.companions);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#resolveEnded = resolve;
  }

  phase(): "starting" | "up" | "ending" {
    return this.#phase;
  }

  /** What is served was served once: the control routes open. */
  isUp(notes: readonly string[]): void {
    this.#notes = notes;
    this.#phase = "up";
    this.#own.update({ ready: true });
  }

  status(): HostStatus {
    const { supervisor, since, url } = this.#own.now;
    const { generation, drainId, build, leases, parts, last } = this.stack.release();
    return {
      pid: supervisor.pid,
      since,
      url,
      workerdPid: this.stack.fleet.serving?.id.pid ?? null,
      generation,
      drainId,
      build,
      leases,
      swapping: this.desk.swapping,
      lastSwap: last,
      botUrl: this.#own.now.botUrl,
      parts,
      isolation: isolationWords(this.#isolation),
      notes: [...this.#notes],
      containers: this.containers.list(),
    };
  }

  async inFlight(): Promise<readonly InFlight[]> {
    const look = await this.stack.inFlight();
    if (look.kind === "unreadable")
      throw new Failure("REGISTRY_UNREADABLE", look.why, "to end everything: npx tidegate down --now");
    return look.value;
  }

  /** Begins the end and returns. What is in flight is asked while new connections are held, so that none slips in between. */
  async down(now: boolean): Promise<void> {
    if (this.#phase === "ending") return;
    if (!now) {
      await this.stack.fleet.holding(async () => {
        if (this.desk.swapping !== null)
          throw new Failure("SWAP_BUSY", `the swap of drain ${this.desk.swapping} is under way`);
        const busy = await this.inFlight();
        if (busy.length > 0) throw new Failure("IN_FLIGHT", `runs are in flight: ${busy.map(busyWords).join("; ")}`);
        return "stay";
      });
    }
    this.#phase = "ending";
    void this.#end();
  }

  async #end(): Promise<void> {
    this.desk.hurry();
    await this.desk.settled().catch(() => undefined);
    logOf("supervisor").info("the stack ends");
    await this.companions?.end().catch((error: unknown) => {
      logOf("supervisor").error("ledger and bot do not end well", { error: wordsOf(error) });
    });
    await this.stack.releaseRuns(REAL.containerGraceMs).catch(() => undefined);
    await undoAll(this.#undo);
    this.#resolveEnded();
  }
}

const busyWords = ({ resource, runs, names }: InFlight): string =>
  `${resource} (${names.length > 0 ? names.join(", ") : `${runs} in flight`})`;

/** Everything that a start makes before anything is served. */
interface Frame {
  readonly running: RunningSupervisor;
  readonly adoption: Adoption;
}

async function makeFrame(options: SupervisorOptions, paths: StatePaths, held: HeldState, undo: Undo): Promise<Frame> {
  const front = await openFront(options.port ?? readConfig(paths.config).port);
  undo.steps.push(() => front.close());
  const clock = clockOf(held.clock);
  const isolation = options.isolation ?? probeIsolation();
  const [hostToken, controlToken] = [newSecret(), newSecret()];
  const containers = new ContainerHost({
    paths,
    isolation,
    clock: held.clock,
    env: options.env,
    now: () => clock.now(),
  });
  const host = await openHost();
  undo.steps.push(() => host.close());
  const own = new OwnFile(paths, { url: front.url, hostUrl: host.url, controlToken });
  undo.steps.push(() => removeFile(paths.supervisor));
  const platformUrl = (await options.platform?.(host.url)) ?? host.url;
  const stack = new Stack({
    paths,
    clock,
    clockSetting: held.clock,
    bearers: withEnv(held.bearers, options.env),
    hostToken,
    hostUrl: platformUrl,
    front,
    containers,
    path: options.env["PATH"] ?? "",
    onWorkerd: (workerd: ProcessId | null) => own.update({ workerd }),
  });
  const companions = await companionsOf(options, stack, own, undo);
  const running = new RunningSupervisor({ stack, companions, own, isolation, undo });
  host.serve(hostApp({ host: hostToken, control: controlToken }, running));
  const adoption = await containers.adopt();
  undo.steps.push(() => stack.fleet.endServing());
  return { running, adoption };
}

/** What to do where the bot's port is taken: the configured one, or the one beside `--port`. */
const BOT_PORT_NEXT = {
  configured: 'set "bot": {"port": …} in tidegate.jsonc',
  beside: "npm start -- --port <port>, where the next port is free for the bot too",
} as const;

/** Ledger and bot, each behind a front of its own; none where the sources have none. */
async function companionsOf(
  options: SupervisorOptions,
  stack: Stack,
  own: OwnFile,
  undo: Undo,
): Promise<Companions | undefined> {
  if (options.sources.ledger === undefined || options.sources.bot === undefined) return undefined;
  const { bot } = readConfig(stack.parts.paths.config);
  const port = options.port === undefined ? bot.port : besidePort(options.port);
  // Each is closed by the undo as soon as it is open: a front that is left behind keeps the process alive.
  const opened = async (asked: number): Promise<Front> => {
    const front = await openFront(asked, BOT_PORT_NEXT[options.port === undefined ? "configured" : "beside"]);
    undo.steps.push(() => front.close());
    return front;
  };
  const fronts = { ledger: await opened(0), bot: await opened(port) };
  own.update({ ledgerUrl: fronts.ledger.url, botUrl: fronts.bot.url });
  const companions = new Companions({ stack, fronts, env: options.env });
  undo.steps.push(() => companions.end());
  return companions;
}

function adoptionNotes(adoption: Adoption): string[] {
  const named = (list: readonly string[]): string => list.join(", ");
  return [
    ...(adoption.adopted.length > 0
      ? [`adopted running containers: ${named(adoption.adopted.map((one) => one.resource))}`]
      : []),
    ...(adoption.gone.length > 0 ? [`containers found dead: ${named(adoption.gone)}`] : []),
    ...(adoption.unreadable.length > 0
      ? [`not a container that can be read, left alone: containers/${named(adoption.unreadable)}`]
      : []),
  ];
}

async function stopContainers(containers: ContainerHost): Promise<void> {
  const stuck = await containers.stopAll();
  if (stuck.length > 0) logOf("supervisor").error("containers do not end", { stuck });
}

/** Brings the stack of a home up. On any failure everything that was begun is taken back, and containers are left alive. */
export async function startSupervisor(options: SupervisorOptions): Promise<Supervisor> {
  const paths = pathsOf(options.home);
  readConfig(paths.config);
  const leftOver = readSupervisorFile(paths)?.workerd ?? null;
  const isNew = !existsSync(paths.state);
  const held = holdState(paths, options.clock);
  const undo: Undo = { steps: [() => held.lock.release()] };
  try {
    undo.steps.unshift(await openLog({ file: join(paths.log, "supervisor.log"), level: options.env["TIDEGATE_LOG"] }));
    setLogsAside(paths.log);
    const aside = setInterval(() => setLogsAside(paths.log), REAL.logLookMs);
    undo.steps.push(() => clearInterval(aside));
    const { running, adoption } = await makeFrame(options, paths, held, undo);
    options.prepare?.();
    const building = { progress: options.progress, signal: options.signal, env: options.env };
    const ask = { paths, sources: options.sources, building };
    const served = await firstServe({ stack: running.stack, held, leftOver, ask });
    // What did not heed its release in time has no process any more once the containers are stopped.
    undo.steps.push(() => running.stack.releaseRuns(REAL.connectMs));
    undo.steps.push(() => stopContainers(running.containers));
    const left = pruneState(paths, Date.now());
    const notes = [...held.notes, ...adoptionNotes(adoption), ...served.notes, ...left];
    // A deployer whose swap was finished just now asks for its answer as soon as the fleet serves it.
    running.isUp(notes);
    await running.companions?.serve(running.stack.release(), () => prepareParts(ask));
    logOf("supervisor").info("the stack is up", { url: running.status().url, notes });
    return supervisorOf(running, { notes, adoption, folder: served.folder, isFirstStart: held.release === undefined });
  } catch (error) {
    logOf("supervisor").error("the stack does not come up", { error: wordsOf(error) });
    if (isNew && error instanceof Failure && error.code === "PORT_IN_USE") rmSync(paths.state, { recursive: true });
    await undoAll(undo);
    throw error;
  }
}

function supervisorOf(
  running: RunningSupervisor,
  start: Pick<Supervisor, "notes" | "adoption" | "folder" | "isFirstStart">,
): Supervisor {
  return {
    ...start,
    clock: running.stack.parts.clock,
    bearers: running.stack.parts.bearers,
    status: () => running.status(),
    inFlight: () => running.inFlight(),
    down: async (now) => {
      await running.down(now);
      await running.ended;
    },
    ended: running.ended,
  };
}
