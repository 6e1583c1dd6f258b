// One agent a data folder: two would start each process twice and each record the other's as lost. The kernel keeps
// the lock (an abstract socket named by the folder) and lets go of it however the agent dies.

import { createHash } from "node:crypto";
import { createServer } from "node:net";

/** Takes the folder for this process; throws when another agent has it. `folder` is its real path. */
export async function claimFolder(folder: string): Promise<void> {
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 32);
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(new Error(`another agent has ${folder}: ${error.message}`)));
    server.listen(`\0tidegate-agent-${name}`, resolve);
  });
  server.unref();
}
