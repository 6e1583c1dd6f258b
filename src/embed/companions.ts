// What stands beside the fleet: the ledger, a workerd of its own over its own storage, and the bot. Each is served behind
// a front of its own, so that its swap holds what connects and refuses nobody.

import { join } from "node:path";
import { CLOCK, REAL } from "#core/budgets.ts";
import { readConfig } from "#node/config.ts";
import { logOf } from "#node/log.ts";
import { killExactly } from "#node/processes.ts";
import { releasedOf } from "#node/released.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import { bearerVariables } from "#node/tokens.ts";
import type { BotConfig, BotSettings, HostBuild, Part, ProcessId } from "#wire/host.ts";
import { hasBundle } from "#embed/bundles.ts";
import { BotLineage } from "#embed/botLineage.ts";
import { endBot, hurryBot, startBot } from "#embed/botProcess.ts";
import type { Front } from "#embed/front.ts";
import type { PreparedParts } from "#embed/release.ts";
import { notLanded, readRelease, writeRelease, type Release } from "#embed/releaseFile.ts";
import { Served, type Serving } from "#embed/served.ts";
import { fellSilent, watchOver } from "#embed/silence.ts";
import { settingsOf, type Stack, type Upload } from "#embed/stack.ts";
import { endWorkerd, startWorkerd } from "#embed/workerd.ts";
import { LEDGER_WORKER } from "#embed/workerdConfig.ts";

/** What the companions stand on beside the stack. */
export interface CompanionParts {
  readonly stack: Stack;
  readonly fronts: { readonly ledger: Front; readonly bot: Front };
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The ledger's own places in the state folder. */
function ledgerPaths(paths: StatePaths): StatePaths {
  const folder = join(paths.state, "ledger");
  return {
    ...paths,
    run: join(folder, "run"),
    storage: join(folder, "storage"),
    storageLock: join(folder, "storage.lock"),
  };
}

/** What is served of the bot; without a configuration, as an older supervisor wrote it down, the file's is taken. */
interface BotUpload extends Upload {
  readonly config: BotConfig | null;
}

/** The ledger and the bot of one stack. */
export class Companions {
  readonly ledger: Served<Upload>;
  readonly bot: Served<BotUpload>;
  readonly #parts: CompanionParts;
  readonly #lineage = new BotLineage();
  readonly #begun = Promise.withResolvers<void>();
  #hurried = false;
  #isEnding = false;
  /** How the bot that serves leaves its runs: as it was started with, or as somebody has said since. */
  #leaves: BotSettings["roll"] = "drain";

  constructor(parts: CompanionParts) {
    this.#parts = parts;
    const { stack, fronts } = parts;
    const { paths, bearers, path } = stack.parts;
    this.ledger = new Served<Upload>({
      name: "ledger",
      front: fronts.ledger,
      start: (upload) =>
        startWorkerd({
          worker: LEDGER_WORKER,
          paths: ledgerPaths(paths),
          path,
          secrets: bearerVariables(bearers),
          settings: settingsOf(stack.parts, upload, {}),
          onSpawned: () => undefined,
        }),
      lingers: () => false,
      end: ({ id }) => endWorkerd(id),
      onProcess: () => undefined,
    });
    this.bot = new Served<BotUpload>({
      name: "bot",
      front: fronts.bot,
      start: (upload) => this.#startBot(upload),
      lingers: () => !this.#leavesAtOnce(),
      end: (serving) => endBot(serving, this.#botBoundMs(), this.#leavesAtOnce()),
      onProcess: () => undefined,
    });
  }

  async #startBot(upload: BotUpload): Promise<Serving> {
    const { stack, fronts, env } = this.#parts;
    const { paths, bearers, clockSetting } = stack.parts;
    const { build, generation, drainId } = upload;
    const { kinds, roll } = upload.config ?? releasedOf(readConfig(paths.config)).bot;
    this.#leaves = roll;
    const gone = this.#lineage.gone();
    const settings: BotSettings = {
      port: 0,
      fleetUrl: stack.fleet.url,
      ledgerUrl: fronts.ledger.url,
      home: paths.home,
      clock: clockSetting,
      roll,
      kinds,
      build,
      generation,
      drainId,
      gone,
    };
    const onSpawned = (id: ProcessId): void => this.#lineage.began(id);
    const bot = await startBot({ paths, settings, env: { ...env, ...bearerVariables(bearers) }, onSpawned });
    this.#lineage.answers(bot);
    void this.#replaceSilent(bot);
    return bot;
  }

  /** A bot that lives and answers nobody is ended, and so replaced: its runs live in their containers, and go on under the next. */
  async #replaceSilent(bot: Serving): Promise<void> {
    if (!(await fellSilent(watchOver(bot), REAL.silentMs))) return;
    const { pid } = bot.id;
    logOf("supervisor").error("the bot answers nobody; it is ended and replaced", { pid, silentMs: REAL.silentMs });
    killExactly(bot.id);
  }

  /** The bot that serves is to hand its runs off as soon as it is asked to end, whatever it was started with. */
  leaveAtOnce(): void {
    this.#leaves = "handoff";
  }

  #leavesAtOnce(): boolean {
    return this.#hurried || this.#leaves === "handoff";
  }

  /** How long a bot may take to end, in real time: it waits for its runs by the stack's clock. */
  #botBoundMs(): number {
    const { scale } = this.#parts.stack.parts.clockSetting;
    return this.#leavesAtOnce() ? REAL.processGoneMs : CLOCK.botHoldMs / scale + REAL.processGoneMs;
  }

  /** Resolves once both were served for the first time, or could not be: nothing is swapped before. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  /** Serves what release.json says of both; what it does not say yet, or says of a bundle that is gone, is this folder's. */
  async serve(release: Release, prepare: () => Promise<PreparedParts>): Promise<void> {
    try {
      await this.#serveFirst(release, prepare);
    } finally {
      this.#begun.resolve();
    }
  }

  async #serveFirst(release: Release, prepare: () => Promise<PreparedParts>): Promise<void> {
    const known = [release.parts.ledger, release.parts.bot];
    const folder = known.every((part) => part !== null && this.#has(part.build)) ? null : await prepare();
    const { paths } = this.#parts.stack.parts;
    const { bot: config } = releasedOf(readConfig(paths.config));
    const ledger = this.#partOf(release.parts.ledger, folder?.ledger ?? null, null);
    const bot = this.#partOf(release.parts.bot, folder?.bot ?? null, config);
    writeRelease(paths, { ...(readRelease(paths) ?? release), parts: { ledger, bot } });
    // An end that is asked for meanwhile ends what serves by then, and nothing may begin behind it.
    if (ledger !== null && !this.#isEnding) await this.ledger.serve(ledger);
    if (bot !== null && !this.#isEnding) await this.bot.serve(bot);
  }

  #has({ bundle }: HostBuild): boolean {
    return hasBundle(this.#parts.stack.parts.paths, bundle);
  }

  /** `config` is what a bot is released with that is new, or that an older supervisor wrote down without. */
  #partOf(known: Part | null, folder: HostBuild | null, config: BotConfig | null): Part | null {
    const { clock } = this.#parts.stack.parts;
    if (known !== null && this.#has(known.build)) return { ...notLanded(known), config: known.config ?? config };
    if (folder === null) return null;
    const generation = (known?.generation ?? 0) + 1;
    return { build: folder, generation, drainId: null, since: clock.now(), config, pending: null, last: null };
  }

  /** A bot that ends is not waited for any more: it hands its runs off at once, as does whichever is asked to end from now on. */
  hurry(): void {
    this.#hurried = true;
    if (this.bot.serving !== undefined) hurryBot(this.bot.serving);
  }

  /** Ends the bot at once, its runs handed off, then the ledger. */
  async end(): Promise<void> {
    this.#hurried = true;
    this.#isEnding = true;
    await this.bot.endServing();
    await this.ledger.endServing();
  }
}
