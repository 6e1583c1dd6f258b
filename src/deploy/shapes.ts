// The steps that a deploy can have, which of them it has, and why: by what this stack runs, what the release changes, and what
// a person typed. A step that is left out is named with its reason, never silently absent.

import type { Build } from "#core/drain.ts";
import { PARTS, type DeployMode, type Steps } from "#core/rolloutState.ts";
import type { Reconfigured } from "#node/released.ts";
import { STEPS, type StepName } from "#wire/host.ts";

/** One step that is done: from which build to which. */
export interface StepShape {
  readonly step: StepName;
  /** Null when nobody can say what is served. */
  readonly from: Build | null;
  readonly to: Build;
}

/** What is known of one step before it is chosen. */
export interface StepFacts {
  readonly step: StepName;
  /** Whether this stack runs it. */
  readonly runs: boolean;
  readonly from: Build | null;
  /** Null where this folder has none to put in its place. */
  readonly to: Build | null;
  /** What of its configuration the release changes. */
  readonly reconfigured: Reconfigured;
}

/** What was typed of the steps, by their names. */
export interface StepsAsked {
  readonly only: readonly StepName[];
  readonly skip: readonly StepName[];
}

/** One step as it was chosen; `why` it is done, or left out. */
export interface StepChoice {
  readonly step: StepName;
  readonly included: boolean;
  readonly why: string;
  readonly from: Build | null;
  readonly to: Build | null;
  readonly reconfigured: Reconfigured;
}

type Changes = Reconfigured | "bundle" | "image" | "unknown";

function changesIn({ step, from, to, reconfigured }: StepFacts): Changes {
  if (from === null || to === null) return "unknown";
  if (step === "resident" && from.image !== to.image) return "image";
  return from.bundle === to.bundle ? reconfigured : "bundle";
}

const CHANGE_WORDS: Readonly<Record<Changes, string>> = {
  nothing: "its bundle is unchanged",
  leases: "its leases change",
  kinds: "its kinds change",
  roll: "how it leaves its runs changes",
  bundle: "its bundle changes",
  image: "its image changes",
  unknown: "what is served is unknown",
};

/** Why it stays although nobody looked at what it changes; leases are the bot's too, which may be swapped without it. */
const leftOut = ({ reconfigured }: StepFacts, by: string): Pick<StepChoice, "included" | "why"> => ({
  included: false,
  why: `left out by ${by}${reconfigured === "leases" ? "; its leases change, and until it is deployed no lease is longer than they were" : ""}`,
});

function chosen(facts: StepFacts, asked: StepsAsked, isQuietRelease: boolean): Pick<StepChoice, "included" | "why"> {
  const { step, runs, to } = facts;
  if (!runs) return { included: false, why: "this stack runs none" };
  if (to === null) return { included: false, why: "this folder has none" };
  if (asked.skip.includes(step)) return leftOut(facts, "--skip");
  const changes = changesIn(facts);
  const why = CHANGE_WORDS[changes];
  if (asked.only.length > 0) {
    return asked.only.includes(step)
      ? { included: true, why }
      : leftOut(facts, `--only ${asked.only.join(" --only ")}`);
  }
  if (changes !== "nothing") return { included: true, why };
  const stands = step === "resident" && isQuietRelease;
  return stands
    ? { included: true, why: "nothing changes, so it is swapped for itself" }
    : { included: false, why: `${why}, so it stays` };
}

/** Chooses the steps of a release: what has changed; the fleet where nothing has; and a person's word over both. */
export function chooseSteps(facts: readonly StepFacts[], asked: StepsAsked): readonly StepChoice[] {
  const isQuietRelease = facts.every((one) => !one.runs || one.to === null || changesIn(one) === "nothing");
  return facts.map((one) => {
    const { step, from, to, reconfigured } = one;
    return { step, from, to, reconfigured, ...chosen(one, asked, isQuietRelease) };
  });
}

/** Chooses the steps of a restart, whose facts offer the builds that are served. */
export function chooseRestart(facts: readonly StepFacts[], named: readonly StepName[]): readonly StepChoice[] {
  return facts.map(({ step, runs, from, to, reconfigured }) => {
    const wanted = named.length === 0 || named.includes(step);
    const why = !runs ? "this stack runs none" : wanted ? "the same build again" : "not named, so it stays";
    return { step, from, to, reconfigured, included: runs && wanted, why };
  });
}

/** The steps that are done, in their order. */
export function shapesOf(choices: readonly StepChoice[]): readonly StepShape[] {
  return STEPS.flatMap((step) =>
    choices.flatMap(({ step: name, included, from, to }) =>
      name === step && included && to !== null ? [{ step, from, to }] : [],
    ),
  );
}

/**
 * The steps as the machine takes them. A bot that hands its runs off is swapped without a wait, but where the fleet is
 * swapped too, which waits for them anyway (protocol.md, "The deploy runner").
 */
export function stepsOf(shapes: readonly Pick<StepShape, "step">[], botRoll: "drain" | "handoff"): Steps {
  const has = (step: StepName): boolean => shapes.some((one) => one.step === step);
  const resident = has("resident");
  return { parts: PARTS.filter(has), resident, waits: resident || !has("bot") || botRoll === "drain" };
}

/** What a release changes of the fleet; `unknown` when nobody can say what is served. */
export type FleetChanges = "image" | "worker" | "nothing" | "unknown";

/** What a release changes of the fleet that is served. */
export function changesOf(from: Build | null, to: Build): FleetChanges {
  if (from === null) return "unknown";
  if (from.image !== to.image) return "image";
  return from.bundle === to.bundle ? "nothing" : "worker";
}

/** What is configured of how this stack is swapped. */
export interface SwapConfig {
  readonly residentSwap: "drain" | "handoff";
  readonly botRoll: "drain" | "handoff";
}

/**
 * How a release is to be swapped, as far as a person has not said otherwise: by what it changes and what is configured. A bot
 * that waits for its runs cannot be swapped under them.
 */
export function swapFor(shapes: readonly StepShape[], config: SwapConfig): Extract<DeployMode, "drained" | "handoff"> {
  const fleet = shapes.find((one) => one.step === "resident");
  if (fleet === undefined || config.residentSwap !== "handoff") return "drained";
  const changes = changesOf(fleet.from, fleet.to);
  const keepsImage = changes === "worker" || changes === "nothing";
  const botWaits = shapes.some((one) => one.step === "bot") && config.botRoll === "drain";
  return keepsImage && !botWaits ? "handoff" : "drained";
}
