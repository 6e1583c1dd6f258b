// What `tidegate up` does: brings the fleet of this folder up and stays. The first start has a sample to try it on.

import { relative } from "node:path";
import { existsSync } from "node:fs";
import { followEvents } from "#client/events.ts";
import { readConfig } from "#node/config.ts";
import { pathsOf } from "#node/stateFolder.ts";
import { runSupervisor } from "#embed/runSupervisor.ts";
import { ownSources } from "#embed/sources.ts";
import type { Supervisor } from "#embed/supervisor.ts";
import type { WatchFrame } from "#wire/fleet.ts";
import { accessOf, homeOf, type FleetAccess } from "./access.ts";
import type { Cli } from "./cli.ts";
import { CliError } from "./exit.ts";
import { eventLine, isNews } from "./render/eventLine.ts";
import { problemWords } from "./render/problem.ts";
import { runChanges } from "./render/runChanges.ts";
import { startScreen } from "./render/startScreen.ts";
import { makeSample, SAMPLE } from "./sample.ts";
import { readStatus } from "./commands/status.ts";

/** How a fleet is to be brought up. */
export interface UpWishes {
  readonly port?: string;
  readonly sample: boolean;
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new CliError(`--port: "${text}" is no port; it wants a number from 0 to 65535`, "npm start -- --port 8790");
}

async function onboardSample(cli: Cli, access: FleetAccess): Promise<void> {
  const url = `${access.paths.home}/${SAMPLE.folder}`;
  if (!existsSync(url)) return;
  try {
    await access.fleet.onboard({ resource: SAMPLE.resource, url, setup: null, test: SAMPLE.test });
  } catch (error) {
    const { what, next } = problemWords(error);
    cli.output.say(`tidegate: the sample is not onboarded: ${what}\n  next: ${next}`);
  }
}

/** Prints what happens from now on, until the stack ends. */
function tellEvents(cli: Cli, access: FleetAccess, after: number, over: AbortSignal): void {
  const { ndjson, json } = cli.options();
  const print = (row: unknown, line: string): void => {
    if (ndjson) cli.output.data(JSON.stringify(row));
    else if (!json) cli.output.data(line);
  };
  void followEvents(
    access.transport,
    after,
    (row) => {
      if (ndjson || isNews(row)) print(row, eventLine(row));
    },
    over,
  ).catch((error: unknown) => cli.output.say(`tidegate: events are no longer shown: ${problemWords(error).what}`));
  let before: WatchFrame | null = null;
  access.watch.subscribe(() => {
    const { frame } = access.watch;
    if (frame === null || ndjson) return;
    for (const line of runChanges(before, frame)) print(null, line);
    before = frame;
  });
  const letGo = access.watch.hold();
  over.addEventListener("abort", letGo, { once: true });
}

async function ready(cli: Cli, supervisor: Supervisor, sample: boolean): Promise<void> {
  const access = accessOf(cli);
  if (supervisor.isFirstStart && sample) await onboardSample(cli, access);
  const over = new AbortController();
  void supervisor.ended.then(() => over.abort());
  const { fleet, bot, events } = await readStatus(access, false);
  const host = supervisor.status();
  const changed =
    supervisor.folder === null
      ? false
      : Object.values(supervisor.folder.changed).some(Boolean) && !supervisor.isFirstStart;
  if (cli.options().json || cli.options().ndjson)
    cli.output.data(JSON.stringify({ ready: true, url: host.url, pid: host.pid, host }));
  else {
    const stateFolder = `./${relative(cli.cwd, access.paths.state)}`;
    const { notes } = supervisor;
    for (const line of startScreen({ version: cli.version, fleet, bot, host, stateFolder, notes, changed }))
      cli.output.data(line);
    for (const row of events.slice(-3)) cli.output.data(eventLine(row));
  }
  tellEvents(cli, access, events.at(-1)?.id ?? 0, over.signal);
}

/** Brings the fleet up and stays until it has ended. */
export async function up(cli: Cli, wishes: UpWishes): Promise<void> {
  const home = homeOf(cli);
  const paths = pathsOf(home);
  const { image } = readConfig(paths.config);
  const named = image.files.some((file) => file.startsWith(`${SAMPLE.folder}/`));
  const port = wishes.port === undefined ? {} : { port: portOf(wishes.port) };
  const say = (line: string): void => cli.output.say(line);
  cli.interrupts.surviveBrokenPipe();
  await runSupervisor({
    home,
    sources: ownSources(),
    env: cli.env,
    ...port,
    prepare: () => {
      if (wishes.sample && (named || !existsSync(paths.release))) makeSample(home);
    },
    progress: (line) => {
      if (!cli.options().quiet) say(`tidegate: ${line}`);
    },
    say: (line) => say(`\ntidegate: ${line}`),
    onReady: (supervisor) => {
      ready(cli, supervisor, wishes.sample).catch((error: unknown) => {
        const { what, next } = problemWords(error);
        say(`tidegate: up, but not shown: ${what}\n  next: ${next}`);
      });
    },
  });
}
