// The agent's composition root: the only place here that reads the environment, makes clocks and listens. It runs
// inside a container, on loopback, and says where by a file. Told to stop it ends its runs, records it and exits 0.

import { createAdaptorServer } from "@hono/node-server";
import { randomBytes } from "node:crypto";
import { mkdir, realpath } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { REAL } from "#core/budgets.ts";
import { AGENT_PROTOCOL, type WhoAmI } from "#wire/agent.ts";
import { makeClock } from "./clock.ts";
import { readConfig } from "./config.ts";
import { agentDoor } from "./http.ts";
import { addRoutes } from "./routes.ts";
import { writeRecord } from "./records.ts";
import { openWorkspace } from "./workspace.ts";

const machine = makeClock();

function log(line: string, fields: Record<string, unknown> = {}): void {
  process.stderr.write(`${JSON.stringify({ at: new Date(machine.now()).toISOString(), line, ...fields })}\n`);
}

function logError(error: unknown): void {
  log("a request failed", { error: error instanceof Error ? error.stack : String(error) });
}

async function main(): Promise<void> {
  const config = await readConfig(process.env);
  const clock = makeClock(config.clock);
  const bootId = randomBytes(16).toString("hex");
  await mkdir(config.data, { recursive: true, mode: 0o700 });
  const workspace = await openWorkspace({
    data: await realpath(config.data),
    own: { ...process.env },
    image: config.image,
    bootId,
    clock,
    machine,
    log,
  });
  const whoAmI: WhoAmI = {
    imageId: config.image.id,
    bootId,
    protocol: AGENT_PROTOCOL,
    pid: process.pid,
    since: clock.now(),
  };
  const app = agentDoor(config.token, logError);
  addRoutes(app, { workspace, whoAmI, clock, machine, log: logError });
  const server = createAdaptorServer({ fetch: app.fetch });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    log("the agent stops", { bootId });
    await workspace.procs.shutdown(REAL.containerGraceMs);
    // Followers get the terminal records before their sockets go.
    server.close();
    await machine.sleep(REAL.endLookLongestMs);
    process.exit(0);
  };
  // The agent's end is the end of every run in its container: a defect in one request must not be.
  process.on("uncaughtException", logError);
  process.on("unhandledRejection", logError);
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void stop().catch(logError));
  await writeRecord(config.portFile, { port, bootId, pid: process.pid });
  log("the agent listens", { port, bootId, imageId: config.image.id });
}

await main().catch((error: unknown) => {
  log("the agent cannot start", { error: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
});
