// A deployer between its steps: the shipped machine's state, kept canonical. Its clock is its own: it may be slow, stall
// for good or die in any state, so nothing here ties its pauses to the time that passes for the fleet.

import type { Drain, DrainPhase } from "#core/drain.ts";
import type { DeployEffect, DeployFact, DeployState, DeployStop } from "#core/rolloutState.ts";
import { changed, DEPLOYERS, type Model, type Tuple } from "./model.ts";
import { NEVER } from "./world.ts";

const STANDING: Drain = {
  id: "",
  since: 0,
  until: NEVER,
  by: "",
  reason: "",
  principal: "",
  deploy: true,
  phase: "draining",
  phaseSince: 0,
  phaseUntil: null,
  build: null,
  sealing: { state: "none", attempt: 0, until: 0 },
  holds: [],
  reported: [],
  without: [],
};

/** A pause ends when the deployer's own clock says so, which may be any time: what it then does is tried each way. */
function effectOf(effect: DeployEffect): DeployEffect {
  if (effect.do !== "pause") return effect;
  if (effect.then === "holds") return { do: "holds" };
  return { do: "pause", at: 0, then: effect.then === "pulse" ? "look" : effect.then };
}

/** Whether it was deployed decides what the lift is followed by; nothing else of a stop does. */
const stopOf = (stop: DeployStop | null): DeployStop | null =>
  stop === null || stop.kind === "deployed" ? stop : { kind: "unknown" };

/** The deployer's state between two steps. What only its lines and its receipt read is left out, and so is its clock. */
function canonicalDeploy(state: DeployState): DeployState {
  const over = state.effect.do === "done";
  return {
    mode: state.mode,
    steps: state.steps,
    landed: [],
    drainId: state.drainId,
    effect: effectOf(state.effect),
    startedAt: 0,
    budgetUntil: NEVER,
    fromGeneration: state.fromGeneration,
    asked: state.asked,
    drain: state.drain === null || over ? null : STANDING,
    view: null,
    nextPulseAt: NEVER,
    nextLookAt: NEVER,
    swapUntil: state.swapUntil === 0 || over ? 0 : NEVER,
    partUntil: 0,
    tries: over ? 0 : state.tries,
    unreadableLooks: over ? 0 : state.unreadableLooks,
    outcome: state.outcome,
    stop: stopOf(state.stop),
    lifted: state.lifted,
    reconcileUntil: state.reconcileUntil === 0 || over ? 0 : NEVER,
    unreconciled: null,
    held: state.effect.do === "holds" ? state.held : [],
    holdUntil: state.effect.do === "holds" ? NEVER : 0,
    stale: [],
  };
}

/** The deployer's state, or undefined where this world has no such deployer. */
export function deployOfTuple(model: Model, tuple: Tuple, deployer: number): DeployState | undefined {
  return model.deploys.at(tuple[DEPLOYERS[deployer as 0 | 1]] as number) ?? undefined;
}

/** The number of a deployer that has not begun. */
export function firstDeploy(model: Model, deployer: number): number {
  const id = model.world.deployers[deployer]?.[0];
  if (id === undefined) return model.deploys.number(null);
  return model.deploys.number(canonicalDeploy(model.core.deployOf("drained", id, model.budgets, 0)));
}

/** What these carry beside their kind is for the deployer's lines. */
const CARRIES_A_DRAIN: ReadonlySet<DeployFact["kind"]> = new Set(["drained", "sealed", "reconciling"]);

/** A fact, and which of the deployer's instants have come on its own clock. */
export interface HeardWhen {
  readonly fact: DeployFact;
  readonly due: Partial<DeployState>;
}

/** The tuple after a deployer has taken a fact at an instant of its own clock. */
export function deployerHearsWhen(model: Model, tuple: Tuple, deployer: number, heard: HeardWhen): Tuple {
  const { fact, due } = heard;
  const place = DEPLOYERS[deployer as 0 | 1];
  const number = tuple[place] as number;
  const said = CARRIES_A_DRAIN.has(fact.kind) ? fact.kind : JSON.stringify(fact);
  const next = model.numbers.get(`${number}|${said}|${Object.keys(due).join()}`, () => {
    const state = { ...(model.deploys.at(number) as DeployState), ...due };
    return model.deploys.number(canonicalDeploy(model.core.nextDeploy(state, fact, 0)));
  });
  return changed(tuple, place, next);
}

/** The tuple after a deployer has taken a fact. */
export function deployerHears(model: Model, tuple: Tuple, deployer: number, fact: DeployFact): Tuple {
  return deployerHearsWhen(model, tuple, deployer, { fact, due: {} });
}

/** A record as an answer carries it. */
export const answeredDrain = (phase: DrainPhase): Drain => ({ ...STANDING, phase });
