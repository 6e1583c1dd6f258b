// The steps of a deploy from this folder: what its stack runs beside the fleet and serves there, by its supervisor; which of
// them are done; and what the runner swaps, proves and closes them with.

import type { Build } from "#core/drain.ts";
import { PARTS, type DeployMode, type PartName, type Steps } from "#core/rolloutState.ts";
import type { BotConfig, HostStatus, StepName } from "#wire/host.ts";
import type { Receipt } from "#wire/receipt.ts";
import { findHostControl } from "#node/hostClient.ts";
import { reconfigured, type Reconfigured, type Released } from "#node/released.ts";
import { clientBotDoor, partServedBy, receiptKeeper, servedBy } from "#deploy/clientDoor.ts";
import type { BotDoor } from "#deploy/fleetDoor.ts";
import type { PartSteps } from "#deploy/rollEffects.ts";
import {
  chooseRestart,
  chooseSteps,
  shapesOf,
  stepsOf,
  swapFor,
  type StepChoice,
  type StepFacts,
  type StepShape,
  type StepsAsked,
} from "#deploy/shapes.ts";
import type { DeployStep } from "#deploy/steps.ts";
import { embeddedSwap } from "#deploy/swap.ts";
import type { PreparedRelease } from "#embed/release.ts";
import type { FleetAccess } from "./access.ts";
import { besideTransport } from "./beside.ts";
import { CliError } from "./exit.ts";

/** What a deploy of this folder would put in the place of what is served. */
export type Offered = Pick<PreparedRelease, "build" | "parts" | "released">;

const releasedIn = ({ leases, parts }: HostStatus): Released => ({ leases, bot: parts.bot?.config ?? null });

/** What this stack serves, as a release that changes nothing. */
export function servedRelease(status: HostStatus): Offered {
  const { build, parts } = status;
  const builds = { ledger: parts.ledger?.build ?? null, bot: parts.bot?.build ?? null };
  return { build, parts: builds, released: releasedIn(status) };
}

const runsBeside = ({ botUrl, parts }: HostStatus, part: PartName): boolean => botUrl !== null && parts[part] !== null;

/** Each step: whether this stack runs it, what is served of it and what is offered. */
export function stepFacts(status: HostStatus, from: Build | null, offered: Offered): readonly StepFacts[] {
  const { build, parts, released } = offered;
  const changes = (step: StepName): Reconfigured => reconfigured(step, releasedIn(status), released);
  const beside = PARTS.map((part): StepFacts => ({
    step: part,
    runs: runsBeside(status, part),
    from: status.parts[part]?.build ?? null,
    to: parts[part],
    reconfigured: changes(part),
  }));
  return [...beside, { step: "resident", runs: true, from, to: build, reconfigured: changes("resident") }];
}

/** What was typed of the steps; `restart` names those of `deploy restart`, null for a deploy. */
export interface Chosen extends StepsAsked {
  readonly restart: readonly StepName[] | null;
}

/** Chooses; a step that was named and that this stack does not run is an error of whoever named it. */
export function choicesFor(facts: readonly StepFacts[], asked: Chosen): readonly StepChoice[] {
  const named = asked.restart ?? asked.only;
  const absent = facts.find((one) => named.includes(one.step) && (!one.runs || one.to === null));
  if (absent !== undefined) {
    const whose = absent.runs ? "this folder has none to deploy" : "this stack runs none";
    throw new CliError(`${asked.restart === null ? "--only " : ""}${absent.step}: ${whose}`, "npx tidegate status");
  }
  return asked.restart === null ? chooseSteps(facts, asked) : chooseRestart(facts, asked.restart);
}

/** A deploy's steps: each choice, those that are done, and as the machine takes them. */
export interface Planned {
  readonly choices: readonly StepChoice[];
  readonly shapes: readonly StepShape[];
  readonly steps: Steps;
}

/** How the bot leaves its runs in this deploy: as it is released with, and of one that does not say it as this folder says. */
const rollOf = ({ config }: Pick<FleetAccess, "config">, { released }: Pick<Offered, "released">): BotConfig["roll"] =>
  released.bot?.roll ?? config.bot.roll;

/** The steps of these choices, as what is offered is configured. */
export function plannedOf(
  choices: readonly StepChoice[],
  access: Pick<FleetAccess, "config">,
  offered: Pick<Offered, "released">,
): Planned {
  const shapes = shapesOf(choices);
  return { choices, shapes, steps: stepsOf(shapes, rollOf(access, offered)) };
}

/** How this deploy swaps: as was typed, else by what the release changes and how it is configured. */
export function modeOf(
  { force }: { readonly force: boolean },
  access: Pick<FleetAccess, "bearers" | "config">,
  { shapes, released }: { readonly shapes: readonly StepShape[] } & Pick<Offered, "released">,
): DeployMode {
  if (force) return "forced";
  if (access.bearers.drain === "") return "undrained";
  return swapFor(shapes, { residentSwap: access.config.residentSwap, botRoll: rollOf(access, { released }) });
}

/** What the runner acts with beside the fleet's door. */
export interface Beside {
  readonly bot: BotDoor | null;
  readonly keepInLedger: ((receipt: Receipt) => Promise<unknown>) | null;
  readonly step: DeployStep;
  readonly parts: PartSteps;
}

/** The doors, swaps and gates of one stack. */
export function besideOf(access: FleetAccess, status: HostStatus, { build, parts, released }: Offered): Beside {
  const find = () => findHostControl(access.paths);
  const at = { ledger: besideTransport(access, "ledger"), bot: besideTransport(access, "bot") };
  const partSteps = PARTS.flatMap((part): DeployStep[] => {
    const to = parts[part];
    if (to === null || !runsBeside(status, part)) return [];
    return [
      { name: part, swap: embeddedSwap(find, { step: part, build: to, released }), live: partServedBy(at[part], part) },
    ];
  });
  return {
    bot: runsBeside(status, "bot") ? clientBotDoor(at.bot) : null,
    keepInLedger: runsBeside(status, "ledger") ? receiptKeeper(at.ledger) : null,
    step: {
      name: "resident",
      swap: embeddedSwap(find, { step: "resident", build, released }),
      live: (signal) => servedBy(access.transport, signal),
    },
    parts: Object.fromEntries(partSteps.map((step) => [step.name, step] as const)),
  };
}
