// `deploy all` and `deploy restart`: what is slow comes first, then the lock, the guard against older releases, and the runner. What a test
// needs to stand between runner and fleet it hands over as another `makePort`; the command line has no such option.

import { budgetsOf, LIMIT, type Budgets } from "#core/budgets.ts";
import type { Build, Without } from "#core/drain.ts";
import { clockOf } from "#core/time.ts";
import type { Residents } from "#wire/fleet.ts";
import type { Receipt } from "#wire/receipt.ts";
import { findHostControl } from "#node/hostClient.ts";
import type { HostStatus } from "#wire/host.ts";
import { clientDoor } from "#deploy/clientDoor.ts";
import { deploy } from "#deploy/deploy.ts";
import { DEPLOY_EXIT } from "#deploy/endings.ts";
import { lookAtBot, viewOf } from "#deploy/facts.ts";
import type { FleetPortParts } from "#deploy/fleetPort.ts";
import { byItself, inFlightWords, runWords } from "#deploy/lines.ts";
import { liftLeftBehind } from "#deploy/leftBehind.ts";
import { takeDeployLock } from "#deploy/lock.ts";
import { planOf, planWords } from "#deploy/plan.ts";
import type { DeployPort } from "#deploy/port.ts";
import type { Interrupts } from "#deploy/run.ts";
import { choiceWords } from "#deploy/stepLines.ts";
import { judgeSuperseding, type Superseding } from "#deploy/supersede.ts";
import { planRelease, prepareRelease, type ReleaseAsk } from "#embed/release.ts";
import type { Sources } from "#embed/sources.ts";
import type { FleetAccess } from "./access.ts";
import type { Cli } from "./cli.ts";
import type { Confirm } from "./confirm.ts";
import {
  besideOf,
  choicesFor,
  modeOf,
  plannedOf,
  servedRelease,
  stepFacts,
  type Chosen,
  type Offered,
  type Planned,
} from "./deploySteps.ts";
import { DeployTeller } from "./deployTeller.ts";
import { CliError, EXIT } from "./exit.ts";
import { mintDrainId } from "./ids.ts";
import { checkSteps } from "./stepsTyped.ts";
import { checkWithout, deployReasonOf, leftOutOf, type WithoutAsked } from "./without.ts";

/** What was typed. */
export interface DeployAsked extends WithoutAsked, Chosen {
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

/** What is deployed; a restart deploys what is served. */
interface Release extends Offered {
  readonly imageWasBuilt: boolean;
}

/** Builds the release, or only says what it would be; nothing is built for a restart. */
async function releaseOf(begun: Begun, status: HostStatus, make: typeof prepareRelease): Promise<Release> {
  if (begun.asked.restart !== null) return { ...servedRelease(status), imageWasBuilt: true };
  return make(releaseAsk(begun));
}

/** Which steps are done. Of the fleet it is the fleet's own word that counts, where it can be read. */
function planned({ access, asked }: Begun, status: HostStatus, from: Build | null, release: Offered): Planned {
  return plannedOf(choicesFor(stepFacts(status, from, release), asked), access, release);
}

/** Whether what is served is newer than this release, and which of it that is. */
interface Judged {
  readonly kind: Superseding["kind"];
  readonly live: string;
}

/** Judges every step that is done by the commit that is served there; one that is newer is what counts. */
async function judged({ asked, root, teller }: Begun, to: Build, { shapes }: Planned): Promise<Judged> {
  const served = [...new Set(shapes.flatMap(({ from }) => (from === null ? [] : [from.commit])))];
  if (asked.restart !== null) return { kind: "same", live: to.commit };
  const all: Judged[] = [];
  for (const live of served) {
    const superseding = await judgeSuperseding(root.sources.root, live, to.commit);
    all.push({ kind: superseding.kind, live });
    if (superseding.kind !== "unknown") continue;
    const text = `whether ${live} is newer than ${to.commit} cannot be told: ${superseding.why}`;
    teller.line({ level: "warning", text });
  }
  const order = ["older", "unknown", "newer", "same"];
  const [first] = all.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  return first ?? { kind: "same", live: to.commit };
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
  const status = await findHostControl(access.paths).status();
  const release = await releaseOf(begun, status, planRelease);
  const residents = await clientDoor(access.transport).residents(false, stop);
  const { build: to, imageWasBuilt } = release;
  const { build: from } = residents;
  const chosen = planned(begun, status, from, release);
  const { choices, shapes, steps } = chosen;
  const superseding = (await judged(begun, to, chosen)).kind;
  const { bot } = besideOf(access, status, release);
  const sources = {
    choices,
    steps,
    mode: modeOf(asked, access, { shapes, released: release.released }),
    from,
    to,
    imageWasBuilt,
    superseding,
    view: viewOf(residents, without, await lookAtBot(bot, stop)),
    without,
    budgets: budgetsFor(residents, access),
  };
  const plan = planOf(sources, access.clock.now());
  teller.plan(plan, [...planWords(plan), ...(asked.force ? forceWords(residents, steps.resident, to) : [])]);
}

/** Which runs a forced swap takes along, as far as can be told beforehand. */
function forceWords(residents: Residents, swapsFleet: boolean, to: Build): string[] {
  const { runs, attaching } = viewOf(residents);
  if (!swapsFleet) return ["--force: closes nothing and waits for nobody; runs live on in their containers"];
  if (runs.length === 0) return [`--force: ${inFlightWords(runs, attaching)}`];
  const kills = residents.build.image !== to.image;
  const head = kills
    ? "--force kills, since the image changes:"
    : "--force cuts these off for a moment; the image stays, so their containers do too:";
  return [head, ...runs.map((run) => `  ${runWords(run)} until ${clockOf(run.leaseUntil)}`)];
}

/** A forced deploy names what it kills before anything, and goes on only when somebody has said yes. */
async function consented(begun: Begun, residents: Residents | null, words: readonly string[]): Promise<void> {
  const { teller, asked, root, stop } = begun;
  const unread = ["--force: the fleet cannot be read, so nobody can say which runs it kills"];
  for (const text of residents === null ? unread : words) teller.line({ level: "warning", text });
  if (asked.yes) return;
  const answer = await root.confirm("Deploy over them?", stop);
  if (answer === undefined)
    throw new CliError("--force wants --yes where nobody can be asked", "npx tidegate deploy --force --yes");
  if (!answer)
    throw new CliError("not deployed; without --force a deploy waits for them", "npx tidegate deploy", EXIT.refused);
}

function refuseOlder({ asked }: Begun, { kind, live }: Judged): void {
  if (kind !== "older" || asked.rollback) return;
  throw new CliError(
    `the live release ${live} is newer than this one`,
    "when going back is meant: npx tidegate deploy --rollback",
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

/** Nothing is left of the release to be done: said, and no error. */
function nothingLeft({ teller }: Begun, { choices }: Planned): number {
  for (const choice of choices) teller.line({ level: "info", text: choiceWords(choice) });
  teller.line({ level: "notice", text: "nothing to deploy" });
  return EXIT.done;
}

async function carryOut(begun: Begun): Promise<number> {
  const { asked, access, teller } = begun;
  const without = await leftOut(begun);
  const status = await findHostControl(access.paths).status();
  const release = await releaseOf(begun, status, prepareRelease);
  const residents = await readFleet(begun);
  const plan = planned(begun, status, residents?.build ?? null, release);
  if (plan.shapes.length === 0) return nothingLeft(begun, plan);
  if (residents !== null) refuseOlder(begun, await judged(begun, release.build, plan));
  const words = residents === null ? [] : forceWords(residents, plan.steps.resident, release.build);
  if (asked.force) await consented(begun, residents, words);
  const staying = plan.choices.filter((choice) => !choice.included && choice.from !== null);
  for (const choice of staying) teller.line({ level: "info", text: choiceWords(choice) });
  return runThrough(begun, { status, release, residents, plan, without });
}

/** What a deploy goes by once it is to be done. */
interface Going {
  readonly status: HostStatus;
  readonly release: Release;
  readonly residents: Residents | null;
  readonly plan: Planned;
  readonly without: readonly Without[];
}

async function runThrough(begun: Begun, { status, release, residents, plan, without }: Going): Promise<number> {
  const { cli, asked, access, root, teller, stop, drainId } = begun;
  const to = release.build;
  const { shapes, steps } = plan;
  const fleet = clientDoor(access.transport);
  const beside = besideOf(access, status, release);
  const lifted = asked.force ? [] : await liftLeftBehind(access.paths, { fleet, bot: beside.bot }, stop);
  for (const line of lifted) teller.line(line);
  const { receipt, file } = await deploy({
    paths: access.paths,
    fleet,
    ...beside,
    watch: access.watch,
    clock: access.clock,
    budgets: budgetsFor(residents, access),
    shapes,
    steps,
    restart: asked.restart !== null,
    mode: modeOf(asked, access, { shapes, released: release.released }),
    without,
    drainId,
    asker: { by: asked.by ?? byOf(cli), reason: deployReasonOf(asked, without, to) },
    from: residents?.build ?? null,
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
  checkSteps(asked);
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
