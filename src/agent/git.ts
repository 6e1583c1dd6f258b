// Every call of git by the agent goes through here: no prompt, no hooks, no ext transport, no other language, and no
// credential in an argument, an answer or an error.

import { REAL } from "#core/budgets.ts";
import type { AgentErrorCode } from "#wire/agentErrors.ts";
import type { Clock } from "./clock.ts";
import { gitEnvironment, type Surroundings } from "./environment.ts";
import { AgentError } from "./errors.ts";
import { masked, secretsOf } from "./mask.ts";
import { runTool, type ToolEnd } from "./tool.ts";

const ALWAYS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "protocol.ext.allow=never",
  "safe.bareRepository=all",
  "submodule.recurse=false",
  "fetch.recurseSubmodules=false",
  "push.recurseSubmodules=no",
  "advice.detachedHead=false",
].flatMap((setting) => ["-c", setting]);

/** The name under which a call's `url` can be fetched and pushed; it stands in no config file. */
export const REMOTE = "tidegate-origin";

export interface GitCall {
  readonly cwd: string;
  readonly args: readonly string[];
  /** Reachable as REMOTE: passed by environment, so that `ps` shows no credential. */
  readonly url?: string;
  readonly onLine?: (line: string) => void;
}

/** git, bound to an environment and a clock. */
export class Git {
  readonly #env: Record<string, string>;
  readonly #machine: Clock;

  constructor(around: Surroundings, machine: Clock) {
    this.#env = gitEnvironment(around);
    this.#machine = machine;
  }

  /** Runs git and answers its end, whatever that is; stderr is already masked. */
  async run(call: GitCall): Promise<ToolEnd> {
    const secrets = call.url === undefined ? [] : secretsOf(call.url);
    const remote =
      call.url === undefined
        ? {}
        : {
            GIT_CONFIG_COUNT: "1",
            GIT_CONFIG_KEY_0: `remote.${REMOTE}.url`,
            GIT_CONFIG_VALUE_0: call.url,
          };
    const onLine = call.onLine;
    const end = await runTool({
      argv: ["git", ...ALWAYS, ...call.args],
      cwd: call.cwd,
      env: { ...this.#env, ...remote },
      machine: this.#machine,
      boundMs: REAL.gitMs,
      ...(onLine && { onLine: (line: string) => onLine(masked(line, secrets)) }),
    });
    return { ...end, stderr: masked(end.stderr, secrets) };
  }

  /** Runs git and answers its output; anything but exit 0 is an AgentError. */
  async text(call: GitCall, code: AgentErrorCode = "GIT_FAILED"): Promise<string> {
    const end = await this.run(call);
    if (end.exit === 0) return end.stdout.toString("utf8").trimEnd();
    throw new AgentError(code, sayOf(call.args, end));
  }

  /** Runs git for its NUL-separated output. */
  async list(call: GitCall): Promise<string[]> {
    return (await this.text(call)).split("\0").filter((entry) => entry !== "");
  }

  /** The full name of a commit, or undefined when the revision names none. */
  async commitOf(cwd: string, revision: string): Promise<string | undefined> {
    const end = await this.run({
      cwd,
      args: ["rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`],
    });
    return end.exit === 0 ? end.stdout.toString("utf8").trim() : undefined;
  }
}

/** What a failed call says, in one line, with its bound if that was what ended it. */
export function sayOf(args: readonly string[], end: ToolEnd): string {
  const words = end.stderr
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .slice(0, 6)
    .join(" · ");
  return end.timedOut
    ? `git ${args[0]} did not end within its bound`
    : `git ${args[0]}: ${words || `exit ${end.exit}`}`;
}
