// A command line before a fake fleet: the real grammar and commands, with what they write kept, and answers from a test.

import { budgetsOf } from "#core/budgets.ts";
import { scene, type FakeFleet } from "#client/clientForTests.ts";
import { pathsOf } from "#node/stateFolder.ts";
import { configOf } from "#wire/config.ts";
import type { FleetAccess } from "./access.ts";
import type { Cli, GlobalOptions } from "./cli.ts";
import { exitOf } from "./exit.ts";
import { completed, programOf } from "./program.ts";
import { problemLines, problemWords } from "./render/problem.ts";

/** A command line, and everything that came of what was typed in it. */
export interface TypedCli {
  readonly cli: Cli;
  readonly server: FakeFleet;
  readonly out: () => string;
  readonly err: () => string;
  /** Types a command; answers what the process would end with. */
  type(...typed: string[]): Promise<number>;
}

/** An answer of the fleet as JSON. */
const answer = (value: unknown): Response =>
  new Response(JSON.stringify(value), { headers: { "content-type": "application/json" } });

function accessFor({ clock, transport, fleet, watch, attach }: ReturnType<typeof scene>): FleetAccess {
  const config = configOf({});
  const bearers = { admin: "a", operator: "o", read: "r", drain: "d" };
  const place = { paths: pathsOf("/nowhere"), url: "http://fleet" };
  return { ...place, config, budgets: budgetsOf(config.leases), bearers, clock, transport, fleet, watch, attach };
}

/** A command line whose fleet answers these paths. */
export function cliWith(answers: Readonly<Record<string, unknown>>, options: Partial<GlobalOptions> = {}): TypedCli {
  const stage = scene();
  for (const [path, value] of Object.entries(answers)) {
    stage.server.answers.set(path, () => (value instanceof Response ? value.clone() : answer(value)));
  }
  const access = accessFor(stage);
  const [out, err]: [string[], string[]] = [[], []];
  let code = 0;
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
      bytes: () => Promise.resolve(),
      say: (line) => void err.push(line),
      isTerminal: { out: false, err: false },
      stdout,
      stderr,
    },
    interrupts: {
      take: () => ({ stop: new AbortController().signal, release: () => undefined }),
      code: () => 0,
      brokenPipe: () => undefined,
      surviveBrokenPipe: () => undefined,
    },
    real: stage.clock,
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
      code = exitOf(error);
    }
    return code;
  };
  return { cli, server: stage.server, out: () => out.join("\n"), err: () => err.join("\n"), type };
}
