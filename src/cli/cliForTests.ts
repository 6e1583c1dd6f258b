// A command line before a fake fleet: the real grammar and commands, with what they write kept, and answers from a test.

import { Readable } from "node:stream";
import { budgetsOf } from "#core/budgets.ts";
import { botClient } from "#client/bot.ts";
import { scene, type FakeFleet } from "#client/clientForTests.ts";
import type { Clock } from "#client/ports.ts";
import type { Transport } from "#client/transport.ts";
import { pathsOf } from "#node/stateFolder.ts";
import { configOf } from "#wire/config.ts";
import type { FleetAccess } from "./access.ts";
import type { BotForTests } from "./botForTests.ts";
import type { Cli, GlobalOptions, Input } from "./cli.ts";
import { CliError, EXIT, exitOf } from "./exit.ts";
import { completed, exitOfUsage, programOf } from "./program.ts";
import { problemLines, problemWords } from "./render/problem.ts";

/** A command line, and everything that came of what was typed in it. */
export interface TypedCli {
  readonly cli: Cli;
  readonly server: FakeFleet;
  readonly out: () => string;
  readonly err: () => string;
  /** What a run's output came to on a stream. */
  readonly written: (to: "out" | "err") => Buffer;
  /** Ctrl-C. */
  readonly interrupt: () => void;
  /** Types a command; answers what the process would end with. */
  type(...typed: string[]): Promise<number>;
}

/** An answer of the fleet as JSON. */
const answer = (value: unknown): Response =>
  new Response(JSON.stringify(value), { headers: { "content-type": "application/json" } });

/** What a test may set beside the fleet's answers. */
export interface Stage {
  /** The bot of the stack; none without one. */
  readonly bot?: BotForTests;
  /** Whether somebody brings the bot back. */
  readonly isKept?: boolean;
  /** The machine's time; without it one that passes only when told. */
  readonly real?: Clock;
  /** The width of its terminal; none without it. */
  readonly width?: number;
  /** What is piped in; nothing without it. */
  readonly stdin?: Input;
}

function accessFor({ clock, transport, fleet, watch, attach }: ReturnType<typeof scene>, stage: Stage): FleetAccess {
  const config = configOf({});
  const bearers = { admin: "a", operator: "o", read: "r", drain: "d" };
  const place = { paths: pathsOf("/nowhere"), url: "http://fleet" };
  const url = stage.bot?.url ?? null;
  const toBot: Transport = {
    what: "bot",
    get baseUrl() {
      if (url === null) throw new CliError("this stack has no bot", "npm start", EXIT.failed);
      return url;
    },
    fetch: (to, init) => fetch(to, init),
    bearer: (scope) => bearers[scope],
    real: stage.real ?? clock,
  };
  const bot = { url: () => url, client: botClient(toBot), isKept: () => stage.isKept ?? true };
  return { ...place, config, budgets: budgetsOf(config.leases), bearers, clock, transport, fleet, watch, attach, bot };
}

/** A command line whose fleet answers these paths. */
export function cliWith(
  answers: Readonly<Record<string, unknown>>,
  options: Partial<GlobalOptions> = {},
  stage: Stage = {},
): TypedCli {
  const made = scene();
  for (const [path, value] of Object.entries(answers)) {
    made.server.answers.set(path, () => (value instanceof Response ? value.clone() : answer(value)));
  }
  const access = accessFor(made, stage);
  const [out, err]: [string[], string[]] = [[], []];
  const bytes: { readonly out: Buffer[]; readonly err: Buffer[] } = { out: [], err: [] };
  let code = 0;
  let interrupted = 0;
  let current = new AbortController();
  const { stdout, stderr } = process;
  const silent = { json: false, ndjson: false, quiet: false, verbose: false, headers: true };
  const cli: Cli = {
    env: {},
    cwd: "/nowhere",
    packageRoot: "/nowhere",
    version: "0",
    who: "ann@here",
    output: {
      data: (line) => void out.push(line),
      bytes: (to, given) => Promise.resolve(void bytes[to].push(Buffer.from(given))),
      say: (line) => void err.push(line),
      isTerminal: { out: false, err: false },
      width: () => stage.width ?? null,
      stdout,
      stderr,
    },
    stdin: stage.stdin ?? Readable.from([]),
    interrupts: {
      take: () => {
        current = new AbortController();
        return { stop: current.signal, release: () => undefined };
      },
      code: () => interrupted,
      brokenPipe: () => undefined,
      surviveBrokenPipe: () => undefined,
    },
    real: stage.real ?? made.clock,
    options: () => ({ ...silent, ...options }),
    access: () => access,
    exit: (given) => {
      code = given;
    },
  };
  const type = async (...typed: string[]): Promise<number> => {
    try {
      await programOf(cli, typed, []).parseAsync(completed(typed), { from: "user" });
    } catch (error) {
      err.push(problemLines(problemWords(error)));
      code = exitOfUsage(error) ?? exitOf(error);
    }
    return code;
  };
  const interrupt = (): void => {
    interrupted = EXIT.interrupted;
    current.abort(new Error("SIGINT"));
  };
  const written = (to: "out" | "err"): Buffer => Buffer.concat(bytes[to]);
  return { cli, server: made.server, out: () => out.join("\n"), err: () => err.join("\n"), written, interrupt, type };
}
