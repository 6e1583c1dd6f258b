// What a start shows: what is up, and a first tour that really runs.

import type { HostStatus } from "#wire/host.ts";
import type { ResidentRow } from "#wire/fleet.ts";
import { shortNameOf } from "#wire/names.ts";
import { botLines, type BotRead } from "./askTables.ts";
import { bannerLines, type FleetRead } from "./fleetBanner.ts";
import { plain } from "./plain.ts";

/** Everything on the start screen. */
export interface StartView {
  readonly version: string;
  readonly fleet: FleetRead;
  readonly bot: BotRead;
  readonly host: HostStatus;
  readonly stateFolder: string;
  readonly notes: readonly string[];
  /** Whether what this folder says differs from what is served. */
  readonly changed: boolean;
}

const TOUR = `A deploy here closes the door to new runs, waits for the ones at work, swaps, and opens again. See it in a second terminal:

  1  npx tidegate run sample -- sh -c 'for i in $(seq 40); do echo step $i; sleep 1; done'
  2  echo 2 > sample/VERSION; npx tidegate deploy
                                      a new image while 1 works: waits for it, kills nobody, prints a receipt
  3  npx tidegate ask date --repo sample --watch
                                      while 2 waits: is told why and until when, keeps its place, starts on the new image

  Kill it:               kill -9 the deploy of step 2: the fleet opens again by itself within 2 minutes
  Without it:            echo 3 > sample/VERSION; npx tidegate deploy --force --yes     and see what it kills
  A whole night in 26 s: npm run replay
  Your repository:       npx tidegate repo add ~/src/app --setup 'npm ci' --test 'npm test'
  What is going on:      npx tidegate status --watch           Stop: Ctrl-C (asks while runs are in flight)`;

function residentLine(row: ResidentRow): string {
  const image =
    row.image === null ? "no container yet" : `1 container, image ${row.image.slice(0, 7)}, ${row.imageReport}`;
  const flight = row.runsInFlight === 1 ? "1 run in flight" : `${row.runsInFlight} runs in flight`;
  return `resident  ${shortNameOf(row.resource)}   ${row.readiness}   ${image}   ${flight}`;
}

/** The screen's lines, up to where the events begin. */
export function startScreen(view: StartView): string[] {
  const { version, fleet, bot, host, stateFolder, notes, changed } = view;
  const residents = fleet.kind === "read" ? fleet.residents.residents : [];
  const hasSample = residents.some((row) => shortNameOf(row.resource) === "sample");
  const other = ["Your repository: npx tidegate repo add ~/src/app --setup 'npm ci' --test 'npm test'"];
  return [
    `tidegate ${version}`,
    "",
    ...[...bannerLines(fleet), ...botLines(bot)].map((line) => `  ${line}`),
    ...residents.map((row) => `  ${residentLine(row)}`),
    `  state     ${stateFolder} (tokens readable by you only)   workerd ${host.workerdPid ?? "down"}   containers: ${host.isolation}`,
    ...notes.map((note) => `  note      ${plain(note)}`),
    ...(changed
      ? ["  note      this folder says another release than the one that is served: npx tidegate deploy"]
      : []),
    "",
    ...(hasSample ? TOUR.split("\n") : other),
    "",
    "Events, newest last:",
  ];
}
