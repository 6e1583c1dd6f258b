// `deploy all`: what is slow comes first, then the lock, the guard against older releases, and the runner. What a test
// needs to stand between runner and fleet it hands over as another `makePort`; the command line has no such option.

import { budgetsOf, LIMIT, type Budgets } from "#core/budgets.ts";
import type { Build, Without } from "#core/drain.ts";
import type { DeployMode } from "#core/rolloutState.ts";
import { clockOf } from "#core/time.ts";
import type { Residents } from "#wire/fleet.ts";
import type { Receipt } from "#wire/receipt.ts";
import { findHostControl } from "#node/hostClient.ts";
import { clientDoor, servedBy } from "#deploy/clientDoor.ts";
import { deploy } from "#deploy/deploy.ts";
import { DEPLOY_EXIT } from "#deploy/endings.ts";
import { viewOf } from "#deploy/facts.ts";
import type { FleetPortParts } from "#deploy/fleetPort.ts";
import { byItself, inFlightWords, runWords } from "#deploy/lines.ts";
import { takeDeployLock } from "#deploy/lock.ts";
import { changesOf, planOf, planWords, swapFor } from "#deploy/plan.ts";
import type { DeployPort } from "#deploy/port.ts";
import type { Interrupts } from "#deploy/run.ts";
import type { DeployStep } from "#deploy/steps.ts";
import { judgeSuperseding, type Superseding } from "#deploy/supersede.ts";
import { embeddedSwap } from "#deploy/swap.ts";
import { planRelease, prepareRelease, type PreparedRelease, type ReleaseAsk } from "#embed/release.ts";
import type { Sources } from "#embed/sources.ts";
import type { FleetAccess } from "./access.ts";
import type { Cli } from "./cli.ts";
import type { Confirm } from "./confirm.ts";
import { DeployTeller } from "./deployTeller.ts";
import { CliError, EXIT } from "./exit.ts";
import { mintDrainId } from "./ids.ts";
import { checkWithout, deployReasonOf, leftOutOf, type WithoutAsked } from "./without.ts";

/** What was typed. */
export interface DeployAsked extends WithoutAsked {
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly rollback: boolean;
  readonly by: string | null;
}

/** What a deploy is put together from beside the command's world. */
export interface DeployRoot {
  readonly sources: Sources;
  readonly confirm: Confirm;
  readonly makePort: (parts: FleetPortParts) => DeployPort;
}

interface Begun {
  readonly cli: Cli;
  readonly asked: DeployAsked;
  readonly root: DeployRoot;
  readonly access: FleetAccess;
  readonly drainId: string;
  readonly stop: AbortSignal;
  readonly teller: DeployTeller;
}

function checkTexts({ by, reason }: DeployAsked): void {
  if (by !== null && (by === "" || by.length > LIMIT.byChars)) {
    throw new CliError(`--by: wants 1 to ${LIMIT.byChars} characters`, "--by ann");
  }
  if (reason !== null && (reason === "" || reason.length > LIMIT.reasonChars)) {
    throw new CliError(`--reason: wants 1 to ${LIMIT.reasonChars} characters`, '--reason "new model"');
  }
}

/** The residents that are left out, by their full names. */
async function leftOut({ access, asked, stop }: Begun): Promise<Without[]> {
  if (asked.without.length === 0) return [];
  const { residents } = await clientDoor(access.transport).residents(false, stop);
  const known = residents.map((row) => row.resource);
  return leftOutOf(asked, known);
}

/** How this deploy swaps: as was typed, else by what the release changes and what is configured. */
function modeOf(asked: DeployAsked, access: FleetAccess, from: Build | null, to: Build): DeployMode {
  if (asked.force) return "forced";
  if (access.bearers.drain === "") return "undrained";
  return swapFor(changesOf(from, to), access.config.residentSwap);
}

/** The runner's view of this process's signals. */
function interruptsOf(cli: Cli, stop: AbortSignal): Interrupts {
  const named = (): "SIGINT" | "SIGTERM" => (cli.interrupts.code() === EXIT.interrupted ? "SIGINT" : "SIGTERM");
  return {
    onFirst(listener) {
      const fire = (): void => listener(named());
      if (stop.aborted) fire();
      else stop.addEventListener("abort", fire, { once: true });
      return () => stop.removeEventListener("abort", fire);
    },
  };
}

function stepOf(begun: Begun, build: Build): DeployStep {
  const { access } = begun;
  const swap = embeddedSwap(() => findHostControl(access.paths), build);
  return { name: "resident", drained: true, swap, live: (signal) => servedBy(access.transport, signal) };
}

async function judged(begun: Begun, release: PreparedRelease, residents: Residents): Promise<Superseding> {
  const live = residents.build.commit;
  const superseding = await judgeSuperseding(begun.root.sources.root, live, release.build.commit);
  if (superseding.kind === "unknown") {
    begun.teller.line({
      level: "warning",
      text: `whether ${live} is newer than ${release.build.commit} cannot be told: ${superseding.why}`,
    });
  }
  return superseding;
}

function releaseAsk({ access, root, cli, teller, stop }: Begun): ReleaseAsk {
  return {
    paths: access.paths,
    sources: root.sources,
    building: { progress: (line) => teller.building(line), signal: stop, env: cli.env },
  };
}

async function dryRun(begun: Begun): Promise<void> {
  const { access, teller, asked, stop } = begun;
  const without = await leftOut(begun);
  const release = await planRelease(releaseAsk(begun));
  const residents = await clientDoor(access.transport).residents(false, stop);
  const superseding = (await judged(begun, release, residents)).kind;
  const { build: to, imageWasBuilt } = release;
  const { build: from } = residents;
  const sources = {
    step: "resident",
    mode: modeOf(asked, access, from, to),
    from,
    to,
    imageWasBuilt,
    superseding,
    view: viewOf(residents, without),
    without,
    budgets: budgetsFor(residents, access),
  };
  const plan = planOf(sources, access.clock.now());
  teller.plan(plan, [...planWords(plan), ...(asked.force ? forceWords(residents, to) : [])]);
}

/** Which runs a forced swap takes along, as far as can be told beforehand. */
function forceWords(residents: Residents, to: Build): string[] {
  const { runs, attaching } = viewOf(residents);
  if (runs.length === 0) return [`--force: ${inFlightWords(runs, attaching)}`];
  const kills = residents.build.image !== to.image;
  const head = kills
    ? "--force kills, since the image changes:"
    : "--force cuts these off for a moment; the image stays, so their containers do too:";
  return [head, ...runs.map((run) => `  ${runWords(run)} until ${clockOf(run.leaseUntil)}`)];
}

/** A forced deploy names what it kills before anything, and goes on only when somebody has said yes. */
async function consented(begun: Begun, residents: Residents | null, to: Build): Promise<void> {
  const { teller, asked, root, stop } = begun;
  const unread = ["--force: the fleet cannot be read, so nobody can say which runs it kills"];
  for (const text of residents === null ? unread : forceWords(residents, to)) teller.line({ level: "warning", text });
  if (asked.yes) return;
  const answer = await root.confirm("Deploy over them?", stop);
  if (answer === undefined)
    throw new CliError("--force wants --yes where nobody can be asked", "npx tidegate deploy --force --yes");
  if (!answer) throw new CliError("not deployed", "npx tidegate deploy waits for them", EXIT.refused);
}

function refuseOlder(begun: Begun, superseding: Superseding, residents: Residents): void {
  if (superseding.kind !== "older" || begun.asked.rollback) return;
  const live = residents.build.commit;
  throw new CliError(
    `the live release ${live} is newer than this one`,
    "npx tidegate deploy --rollback, when going back is meant",
    EXIT.refused,
  );
}

/** The fleet as it is. One that cannot be read refuses every deploy but a forced one, by which it may be mended. */
async function readFleet({ access, asked, stop }: Begun): Promise<Residents | null> {
  try {
    return await clientDoor(access.transport).residents(false, stop);
  } catch (error) {
    if (!asked.force || stop.aborted) throw error;
    return null;
  }
}

/** The fleet's own numbers, which it was started with; this folder's where it cannot be read. */
function budgetsFor(residents: Residents | null, access: FleetAccess): Budgets {
  if (residents === null) return access.budgets;
  return { ...budgetsOf({ fleet: residents.longestLeaseMs }), capMinutes: residents.capMinutes };
}

async function carryOut(begun: Begun): Promise<number> {
  const { cli, asked, access, root, teller, stop, drainId } = begun;
  const without = await leftOut(begun);
  const release = await prepareRelease(releaseAsk(begun));
  const fleet = clientDoor(access.transport);
  const residents = await readFleet(begun);
  if (residents !== null) refuseOlder(begun, await judged(begun, release, residents), residents);
  if (asked.force) await consented(begun, residents, release.build);
  const to = release.build;
  const from = residents?.build ?? null;
  const { receipt, file } = await deploy({
    paths: access.paths,
    fleet,
    watch: access.watch,
    clock: access.clock,
    budgets: budgetsFor(residents, access),
    step: stepOf(begun, to),
    mode: modeOf(asked, access, from, to),
    without,
    drainId,
    asker: { by: asked.by ?? byOf(cli), reason: deployReasonOf(asked, without, to) },
    from,
    to,
    mint: mintDrainId,
    interrupts: interruptsOf(cli, stop),
    makePort: root.makePort,
    onLine: (line) => teller.line(line),
    onTurn: (turn, soFar) => teller.turn(turn, soFar),
  });
  teller.receipt(receipt, file);
  return exitCodeFor(cli, receipt);
}

const byOf = (cli: Cli): string => (cli.env["GITHUB_ACTOR"] ?? cli.who).slice(0, LIMIT.byChars);

/** A signal that the deploy took ends the process by its own code; one that came when all was over changes nothing. */
function exitCodeFor(cli: Cli, receipt: Receipt): number {
  return receipt.result === "stopped" ? cli.interrupts.code() : (receipt.exitCode ?? DEPLOY_EXIT.failed);
}

async function locked(begun: Begun): Promise<number> {
  const { access, asked, cli, drainId } = begun;
  const by = asked.by ?? byOf(cli);
  const lock = takeDeployLock(access.paths, { since: access.clock.now(), by, drainId });
  if (lock.kind === "held") {
    const who =
      lock.holder === null
        ? "another process"
        : `${lock.holder.by} (pid ${lock.holder.process.pid}) since ${clockOf(lock.holder.since)}`;
    throw new CliError(`${who} deploys from this folder`, "wait for it, then again: npx tidegate deploy", EXIT.refused);
  }
  try {
    return await carryOut(begun);
  } finally {
    lock.release();
  }
}

/** Deploys what this folder says (protocol.md, "The deploy runner") and sets the exit code. */
export async function deployAll(cli: Cli, asked: DeployAsked, root: DeployRoot): Promise<void> {
  checkTexts(asked);
  checkWithout(asked);
  const access = cli.access();
  findHostControl(access.paths);
  const teller = new DeployTeller(cli);
  const lastWords = (): string =>
    teller.state === null ? "left at once; nothing was closed" : `left at once — ${byItself(teller.state)}`;
  const { stop, release } = cli.interrupts.take(lastWords);
  const begun: Begun = { cli, asked, root, access, stop, teller, drainId: mintDrainId() };
  try {
    if (asked.dryRun) return await dryRun(begun);
    cli.exit(await locked(begun));
  } finally {
    teller.close();
    release();
  }
}
