// Runs a program of the agent's own (git, cp, a setup) to its end: output captured within bounds, its whole group
// ended when it takes too long. Runs of callers are not started here (procs.ts).

import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { AGENT_LIMITS } from "./bounds.ts";
import type { Clock } from "./clock.ts";

export interface ToolCall {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly machine: Clock;
  readonly boundMs: number;
  /** Each line of stderr (and of stdout too, when `bothLines`), as it comes. */
  readonly onLine?: (line: string) => void;
  readonly bothLines?: boolean;
  /** Ends what left the group: `close` waits for every holder of the pipes. */
  readonly onExit?: () => void;
}

export interface ToolEnd {
  readonly exit: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/** Runs it; a program that cannot be started answers exit 127 with the reason on stderr. */
export async function runTool(call: ToolCall): Promise<ToolEnd> {
  const [file, ...args] = call.argv;
  const child = spawn(file, args, { cwd: call.cwd, env: call.env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const stdout = collect(child.stdout, AGENT_LIMITS.toolOutputBytes, call.bothLines ? call.onLine : undefined);
  const stderr = collect(child.stderr, AGENT_LIMITS.toolErrorBytes, call.onLine);
  const over = new AbortController();
  let timedOut = false;
  void call.machine.sleep(call.boundMs, over.signal).then(() => {
    if (over.signal.aborted || child.pid === undefined) return;
    timedOut = true;
    endGroup(child.pid);
  });
  const exit = await new Promise<number | null>((resolve) => {
    child.once("error", (error) => {
      stderr.push(Buffer.from(error.message));
      resolve(127);
    });
    child.once("exit", () => {
      if (child.pid !== undefined) endGroup(child.pid);
      call.onExit?.();
    });
    child.once("close", (code) => resolve(code));
  });
  over.abort();
  return { exit, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString("utf8"), timedOut };
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is gone.
  }
}

function collect(stream: Readable, cap: number, onLine?: (line: string) => void): Buffer[] {
  const chunks: Buffer[] = [];
  let size = 0;
  const decoder = new StringDecoder("utf8");
  let rest = "";
  stream.on("data", (chunk: Buffer) => {
    if (size < cap) chunks.push(chunk.subarray(0, cap - size));
    size += chunk.length;
    if (!onLine) return;
    const lines = (rest + decoder.write(chunk)).split(/[\r\n]+/);
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") onLine(line);
  });
  stream.on("end", () => rest !== "" && onLine?.(rest));
  return chunks;
}
