// The bot's composition root: the one place here that reads the environment, makes clocks, listens and hears signals. What
// ends it is SIGTERM; everything that it knew is in the ledger by then.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { resolve } from "node:path";
import { brokenRelations, budgetsOf } from "#core/budgets.ts";
import { attachWith } from "#client/attach.ts";
import { fleetClient } from "#client/fleet.ts";
import { ledgerClient } from "#client/ledger.ts";
import type { MintId, OpenSocket } from "#client/ports.ts";
import type { Transport } from "#client/transport.ts";
import { Turnstile } from "#client/turnstile.ts";
import { Watch } from "#client/watch.ts";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import { readConfig } from "#node/config.ts";
import { listenOn } from "#node/httpServer.ts";
import { pathsOf } from "#node/stateFolder.ts";
import { withEnv, type Bearers } from "#node/tokens.ts";
import { problemOf } from "#wire/errors.ts";
import { problemAnswer } from "#http/problemAnswer.ts";
import { botSettingsSchema, type BotSettings } from "#wire/host.ts";
import { jsonOf, parseWith } from "#wire/parse.ts";
import { beginBot } from "./bot.ts";
import { Secrets } from "./harness/secrets.ts";
import { logWith, type Log } from "./log.ts";
import type { BotParts } from "./parts.ts";

const NO_BEARERS: Bearers = { admin: "", operator: "", read: "", drain: "" };
const real = clockOf(REAL_TIME);

function settingsOf(text: string | undefined): BotSettings {
  const parsed = parseWith(botSettingsSchema, jsonOf(text ?? ""));
  if (!parsed.ok) throw new Error(`TIDEGATE_BOT: ${parsed.error.detail}`);
  return parsed.value;
}

// Node's WebSocket takes headers for its upgrade, which the standard's types do not know.
const openSocket: OpenSocket = (url, headers) => {
  const options: object = { headers };
  return new WebSocket(url, options);
};

/** 80 random bits: an id lives as long as the history does. */
const mintId: MintId = (prefix) => `${prefix}-${randomBytes(10).toString("hex")}`;

function signalNumber(name: string): number {
  const found = Object.entries(constants.signals).find(([known]) => known === name);
  return found?.[1] ?? constants.signals.SIGKILL;
}

function secretsIn(home: string, own: readonly string[]): Secrets {
  return new Secrets({
    own,
    variable: (name) => process.env[name],
    file: (path) => {
      try {
        return readFileSync(resolve(home, path), "utf8");
      } catch {
        return undefined;
      }
    },
  });
}

function partsOf(settings: BotSettings, bearers: Bearers, secrets: Secrets, log: Log): BotParts {
  const kinds = settings.kinds ?? readConfig(pathsOf(settings.home).config).kinds;
  const leases = Object.entries(kinds).map(([name, { leaseMs }]) => [name, leaseMs] as const);
  const budgets = budgetsOf(Object.fromEntries(leases));
  const broken = brokenRelations(budgets);
  if (broken.length > 0) throw new Error(`the kinds break a relation between clocks: ${broken.join("; ")}`);
  const clock = clockOf(settings.clock);
  const transportTo = (url: string): Transport => ({
    baseUrl: url.replace(/\/+$/, ""),
    fetch: (to, init) => fetch(to, init),
    bearer: (scope) => bearers[scope],
    real,
  });
  const transport = transportTo(settings.fleetUrl);
  const fleet = fleetClient(transport);
  const watch = new Watch({ transport, clock, openSocket });
  const attach = attachWith({ fleet, clock, turnstile: new Turnstile({ clock, watch }) });
  const ledger = ledgerClient({ ...transportTo(settings.ledgerUrl), what: "ledger" });
  const { build, generation, drainId, roll } = settings;
  const upload = { build, generation, drainId };
  return {
    upload,
    roll,
    kinds,
    budgets,
    fleet,
    attach,
    watch,
    ledger,
    clock,
    real,
    mintId,
    signalNumber,
    secrets,
    log,
  };
}

/** What is answered until the bot has its number: its port is taken first, since one that is taken is no bot's end. */
async function starting(): Promise<Response> {
  return problemAnswer(problemOf("ROLLING", "the bot is starting: ask again in a few seconds"));
}

async function main(): Promise<void> {
  // A supervisor that went away reads nothing any more: that ends no bot.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  const settings = settingsOf(process.env["TIDEGATE_BOT"]);
  const bearers = withEnv(NO_BEARERS, process.env);
  const own = Object.values(bearers).filter((bearer) => bearer !== "");
  const secrets = secretsIn(settings.home, own);
  const mask = (text: string): string => secrets.mask(text);
  const log = logWith(real, { write: (line) => void process.stderr.write(`${line}\n`), mask });
  const failed = (error: unknown): void => log("error", "an error that nobody took", { error });
  process.on("uncaughtException", failed);
  process.on("unhandledRejection", failed);
  let answer: (request: Request) => Promise<Response> = starting;
  const { port, close } = await listenOn(settings.port, (request) => answer(request));
  const bot = await beginBot(partsOf(settings, bearers, secrets, log), bearers, settings.gone);
  answer = bot.fetch;
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void bot.end().catch(failed));
  process.stdout.write(`${JSON.stringify({ event: "listen", port, number: bot.desk.number })}\n`);
  await bot.ended;
  await close();
}

try {
  await main();
  process.exit(0);
} catch (error) {
  process.stderr.write(`${JSON.stringify({ event: "the bot cannot start", error: String(error) })}\n`);
  process.exit(1);
}
