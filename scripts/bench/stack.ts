// The stacks of a bench, from the bench's side: started, reached by the product's own client, and ended with nothing left.

import { rmSync } from "node:fs";
import { readRecords } from "#embed/containerFiles.ts";
import type { Sources } from "#embed/sources.ts";
import { killExactly } from "#node/processes.ts";
import { pathsOf } from "#node/stateFolder.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import { callerOf, type Caller } from "./caller.ts";
import { Child } from "./child.ts";
import { stackUpSchema, type Reach } from "./stackUp.ts";

const END_WITHIN_MS = 20_000;

/** A stack that is up. */
export interface BenchStack {
  readonly name: string;
  readonly reach: Reach;
  readonly caller: Caller;
  end(): Promise<void>;
}

/** What a stack that had to be killed has left behind. */
function clearAfter(home: string): void {
  const paths = pathsOf(home);
  const workerd = readSupervisorFile(paths)?.workerd;
  if (workerd) killExactly(workerd);
  for (const { read } of readRecords(paths)) {
    if (read.kind === "value" && read.value.state !== "gone") killExactly(read.value.process);
  }
  rmSync(home, { recursive: true, force: true });
}

/** What a stack is started with. */
export interface StackAsk {
  readonly name: string;
  readonly sources: Sources;
  readonly residents: readonly string[];
  /** Gives up a start. */
  readonly signal: AbortSignal;
}

/** Starts a stack and onboards its residents. */
export async function startStack({ name, sources, residents, signal }: StackAsk): Promise<BenchStack> {
  const child = new Child(`the stack ${name}`, import.meta.resolve("./stackUp.ts"), sources);
  let home: string | undefined;
  const end = async (): Promise<void> => {
    const byItself = await child.end(END_WITHIN_MS);
    if (!byItself && home !== undefined) clearAfter(home);
  };
  const giveUp = (): void => void end();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    const up = await child.next(stackUpSchema);
    home = up.home;
    const reach = { url: up.url, bearers: up.bearers };
    const caller = callerOf(reach);
    for (const resource of residents) {
      signal.throwIfAborted();
      await caller.fleet.onboard({ resource, url: "bench", setup: null, test: null });
    }
    return { name, reach, caller, end };
  } catch (error) {
    await end();
    throw error;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
