// The replay's supervisor, a process of its own. Its clock is the one in the state folder, as for every process of the stage.

import { parseArgs } from "node:util";
import { runSupervisor } from "#embed/runSupervisor.ts";
import { fleetSources, ownSources } from "#embed/sources.ts";
import { problemOf } from "#node/failure.ts";
import { platformBefore, type Platform } from "./platform.ts";

const { values } = parseArgs({
  options: {
    home: { type: "string", default: "" },
    stuck: { type: "string", default: "" },
    bot: { type: "boolean", default: false },
  },
});

let between: Platform | undefined;

async function platform(hostUrl: string): Promise<string> {
  if (values.stuck === "") return hostUrl;
  between = await platformBefore(hostUrl, values.stuck);
  return between.url;
}

try {
  await runSupervisor({
    home: values.home,
    sources: values.bot ? ownSources() : fleetSources(),
    env: process.env,
    port: 0,
    platform,
    progress: (line) => process.stderr.write(`${line}\n`),
    say: (line) => process.stderr.write(`${line}\n`),
    onReady: () => process.stdout.write("ready\n"),
  });
} catch (error) {
  process.stderr.write(`${problemOf(error).detail}\n`);
  process.exitCode = 1;
} finally {
  between?.close();
}
