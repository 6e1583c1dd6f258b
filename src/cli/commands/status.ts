// `tidegate status`, also plain `tidegate`: the one screen. What cannot be read is said to be unknown.

import type { Command } from "commander";
import { CLOCK } from "#core/budgets.ts";
import { SECOND } from "#core/time.ts";
import type { HostStatus } from "#wire/host.ts";
import { hostControl } from "#node/hostClient.ts";
import { liveSupervisor } from "#node/supervisorFile.ts";
import type { FleetAccess } from "../access.ts";
import type { Cli } from "../cli.ts";
import { EXIT } from "../exit.ts";
import { isNews } from "../render/eventLine.ts";
import { problemWords } from "../render/problem.ts";
import { readBot } from "../readBot.ts";
import { statusJson, statusLine, statusScreen, type StatusView } from "../render/statusScreen.ts";

const EVENTS = 10;

async function hostOf({ paths }: FleetAccess): Promise<HostStatus | null> {
  const file = liveSupervisor(paths);
  return file === undefined
    ? null
    : hostControl(file)
        .status()
        .catch(() => null);
}

/** Reads everything on the screen once. `fresh` asks the busy residents, so that suspects are named. */
export async function readStatus(access: FleetAccess, fresh: boolean): Promise<StatusView> {
  const { fleet, url, clock, config } = access;
  const [residents, events, host, bot] = await Promise.all([
    fleet.residents({ fresh }).catch((error: unknown) => ({ error })),
    fleet.audit({ limit: EVENTS }).catch(() => []),
    hostOf(access),
    readBot(access, { limit: 1 }),
  ]);
  const readAt = clock.now();
  if ("error" in residents) {
    const { code, what, next } = problemWords(residents.error);
    // What is read here is what the advice would tell to read.
    const unreached =
      host === null ? "npm start" : "read .tidegate/log/workerd.log; npx tidegate status --watch shows it back";
    const mend = code === "UNREACHABLE" ? unreached : next;
    // Where the whole stack is away its bot is away with it.
    const away = bot.kind === "unknown" && host === null && config.botUrl === null ? { ...bot, next: mend } : bot;
    return { fleet: { kind: "unknown", url, why: what, next: mend }, host, bot: away, events: [], readAt };
  }
  return { fleet: { kind: "read", residents, url }, host, bot, events: events.filter(isNews), readAt };
}

async function once(cli: Cli): Promise<void> {
  const view = await readStatus(cli.access(), true);
  if (cli.options().json) cli.output.data(JSON.stringify(statusJson(view), null, 2));
  else for (const line of statusScreen(view, cli.real.now())) cli.output.data(line);
  if (view.fleet.kind === "unknown") cli.exit(EXIT.failed);
}

/** Draws over itself on a terminal; elsewhere says a line at each change and each minute. */
async function drawer(cli: Cli): Promise<{ draw(view: StatusView): void; done(): void }> {
  const { output } = cli;
  if (output.isTerminal.out && !cli.options().ndjson) {
    const { createLogUpdate } = await import("log-update");
    const screen = createLogUpdate(output.stdout);
    return { draw: (view) => screen(statusScreen(view, cli.real.now()).join("\n")), done: () => screen.done() };
  }
  let last = "";
  let lastAt = 0;
  const draw = (view: StatusView): void => {
    const now = cli.access().clock.now();
    const words = statusLine(view).slice("00:00:00Z ".length);
    if (words === last && now - lastAt < CLOCK.noteEveryMs) return;
    last = words;
    lastAt = now;
    output.data(cli.options().ndjson ? JSON.stringify(statusJson(view)) : statusLine(view));
  };
  return { draw, done: () => undefined };
}

async function watched(cli: Cli): Promise<void> {
  const access = cli.access();
  const { stop, release } = cli.interrupts.take(() => "");
  const screen = await drawer(cli);
  const letGo = access.watch.hold();
  let changed = Promise.withResolvers<void>();
  const deaf = access.watch.subscribe(() => changed.resolve());
  try {
    while (!stop.aborted) {
      screen.draw(await readStatus(access, false));
      const pause = new AbortController();
      const signal = AbortSignal.any([stop, pause.signal]);
      await Promise.race([cli.real.sleep(SECOND, signal).catch(() => undefined), changed.promise]);
      pause.abort();
      changed = Promise.withResolvers<void>();
    }
  } finally {
    screen.done();
    deaf();
    letGo();
    release();
    cli.exit(cli.interrupts.code());
  }
}

/** Adds the command. */
export function addStatus(program: Command, cli: Cli): void {
  program
    .command("status")
    .description("the fleet on one screen: open or drained and why, residents, runs in flight, events")
    .option("-w, --watch", "keep it up to date until Ctrl-C")
    .action(async (wishes: { watch?: boolean }) => (wishes.watch === true ? watched(cli) : once(cli)));
}
