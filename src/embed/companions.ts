// What stands beside the fleet: the ledger, a workerd of its own over its own storage, and the bot. Each is served behind
// a front of its own, so that its swap holds what connects and refuses nobody.

import { join } from "node:path";
import { CLOCK, REAL } from "#core/budgets.ts";
import { readConfig } from "#node/config.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import { bearerVariables } from "#node/tokens.ts";
import type { BotSettings, HostBuild, Part } from "#wire/host.ts";
import { hasBundle } from "#embed/bundles.ts";
import { endBot, startBot } from "#embed/botProcess.ts";
import type { Front } from "#embed/front.ts";
import type { PreparedParts } from "#embed/release.ts";
import { notLanded, readRelease, writeRelease, type Release } from "#embed/releaseFile.ts";
import { Served } from "#embed/served.ts";
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

/** The ledger and the bot of one stack. */
export class Companions {
  readonly ledger: Served<Upload>;
  readonly bot: Served<Upload>;
  readonly #parts: CompanionParts;
  #hurried = false;
  /** How the bot that serves leaves its runs, as it was started with. */
  #roll: BotSettings["roll"] = "drain";

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
          settings: settingsOf(stack.parts, upload),
          onSpawned: () => undefined,
        }),
      lingers: () => false,
      end: ({ id }) => endWorkerd(id),
      onProcess: () => undefined,
    });
    this.bot = new Served<Upload>({
      name: "bot",
      front: fronts.bot,
      start: (upload) => this.#startBot(upload),
      lingers: () => this.#roll === "drain" && !this.#hurried,
      end: (serving) => endBot(serving, this.#botBoundMs(), this.#hurried),
      onProcess: () => undefined,
    });
  }

  #startBot(upload: Upload) {
    const { stack, fronts, env } = this.#parts;
    const { paths, bearers, clockSetting } = stack.parts;
    const { build, generation, drainId } = upload;
    this.#roll = readConfig(paths.config).bot.roll;
    return startBot({
      paths,
      env: { ...env, ...bearerVariables(bearers) },
      settings: {
        port: 0,
        fleetUrl: stack.fleet.url,
        ledgerUrl: fronts.ledger.url,
        home: paths.home,
        clock: clockSetting,
        roll: this.#roll,
        build,
        generation,
        drainId,
      },
    });
  }

  /** How long a bot may take to end, in real time: it waits for its runs by the stack's clock. */
  #botBoundMs(): number {
    const { scale } = this.#parts.stack.parts.clockSetting;
    return this.#hurried ? REAL.processGoneMs : CLOCK.botHoldMs / scale + REAL.processGoneMs;
  }

  /** Serves what release.json says of both; what it does not say yet, or says of a bundle that is gone, is this folder's. */
  async serve(release: Release, prepare: () => Promise<PreparedParts>): Promise<void> {
    const known = [release.parts.ledger, release.parts.bot];
    const folder = known.every((part) => part !== null && this.#has(part.build)) ? null : await prepare();
    const ledger = this.#partOf(release.parts.ledger, folder?.ledger ?? null);
    const bot = this.#partOf(release.parts.bot, folder?.bot ?? null);
    const { paths } = this.#parts.stack.parts;
    writeRelease(paths, { ...(readRelease(paths) ?? release), parts: { ledger, bot } });
    if (ledger !== null) await this.ledger.serve(ledger);
    if (bot !== null) await this.bot.serve(bot);
  }

  #has({ bundle }: HostBuild): boolean {
    return hasBundle(this.#parts.stack.parts.paths, bundle);
  }

  #partOf(known: Part | null, folder: HostBuild | null): Part | null {
    const { clock } = this.#parts.stack.parts;
    if (known !== null && this.#has(known.build)) return notLanded(known);
    if (folder === null) return null;
    const generation = (known?.generation ?? 0) + 1;
    return { build: folder, generation, drainId: null, since: clock.now(), pending: null, last: null };
  }

  /** Ends the bot at once, its runs handed off, then the ledger. */
  async end(): Promise<void> {
    this.#hurried = true;
    await this.bot.endServing();
    await this.ledger.endServing();
  }
}
