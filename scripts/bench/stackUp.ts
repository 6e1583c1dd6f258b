// One embedded stack as a process of its own: the product's supervisor, workerd and fleet Worker, over a state folder of
// its own. It ends with everything it made as soon as the bench lets go of it or dies.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { startSupervisor } from "#embed/supervisor.ts";
import { argumentOf, tell } from "./child.ts";

/** What a stack is started with: what it is built from. */
export const stackAskSchema = z.object({ root: z.string(), worker: z.string(), agent: z.string() });

const bearers = z.object({ admin: z.string(), operator: z.string(), read: z.string(), drain: z.string() });

/** Where a stack answers, and by which bearers. */
export const reachSchema = z.object({ url: z.string(), bearers });
export type Reach = z.infer<typeof reachSchema>;

/** What a stack says once it is up; `home` is its state's place. */
export const stackUpSchema = reachSchema.extend({ home: z.string(), generation: z.number() });

/** The person's own bearers are for the person's own fleet. */
function ownEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(RESIDENT|TIDEGATE)_/.test(name)));
}

async function main(): Promise<void> {
  const sources = argumentOf(stackAskSchema);
  const home = mkdtempSync(join(tmpdir(), "tidegate-bench-"));
  const giveUp = new AbortController();
  const letGo = new Promise<void>((resolve) => {
    process.once("disconnect", () => {
      giveUp.abort(new Error("the bench let go"));
      resolve();
    });
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  try {
    const supervisor = await startSupervisor({
      home,
      sources,
      env: ownEnvironment(),
      port: 0,
      isolation: { kind: "groups", why: "the bench runs nothing inside" },
      progress: () => undefined,
      signal: giveUp.signal,
    });
    const { url, generation } = supervisor.status();
    tell({ url, home, generation, bearers: supervisor.bearers });
    await letGo;
    await supervisor.down(true);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
  process.exit(0);
}

if (import.meta.main) await main();
