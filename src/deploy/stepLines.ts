// What a deploy says of its steps: from which build to which, why each is done or left out, the swap of the ledger and the
// bot, and the bot's door, which is closed with the fleet's.

import { CLOCK } from "#core/budgets.ts";
import type { Build } from "#core/drain.ts";
import type { PartName } from "#core/rolloutState.ts";
import { clockOf, formatDuration, MINUTE, SECOND, type Ms } from "#core/time.ts";
import { info, notice, warning, type Line } from "#deploy/line.ts";
import type { DeployTurn } from "#deploy/run.ts";
import type { StepChoice, StepShape } from "#deploy/shapes.ts";
import type { Uploaded } from "#deploy/steps.ts";

/** A build in a few characters: its commit, and its bundle where the commit alone does not tell two apart. */
export function buildWords(build: Build, other: Build | null): string {
  const same = other !== null && other.commit === build.commit && other.bundle !== build.bundle;
  return same || build.commit === "none" ? `${build.commit}/${build.bundle}` : build.commit;
}

function imageWords(from: Build | null, to: Build): string {
  if (from === null) return `image ${to.image}`;
  return from.image === to.image ? `image ${to.image} unchanged` : `image ${from.image} → ${to.image}`;
}

const fromTo = (from: Build | null, to: Build): string =>
  `${from === null ? "unknown" : buildWords(from, to)} → ${buildWords(to, from)}`;

function shapeWords({ step, from, to }: StepShape): string {
  return `${step}: ${fromTo(from, to)}${step === "resident" ? `, ${imageWords(from, to)}` : ""}`;
}

/** The shape of one step: from build → to build, and of the fleet whether the image changes. */
export const shapeLine = (shape: StepShape): Line => info(shapeWords(shape));

/** One step as a plan says it: what it would do and why, or why it is left out. */
export function choiceWords({ step, included, why, from, to }: StepChoice): string {
  return included && to !== null ? `${shapeWords({ step, from, to })} — ${why}` : `${step}: ${why}`;
}

/** `340ms` in tenths of a second, `2m` above a minute. */
export const tookWords = (span: Ms): string =>
  span < MINUTE ? `${(span / SECOND).toFixed(1)}s` : formatDuration(span);

const partIn = ({ before }: DeployTurn): PartName | undefined =>
  before.effect.do === "roll" || before.effect.do === "rollGate" ? before.effect.part : undefined;

const answerIn = ({ seen }: DeployTurn): Uploaded | undefined => seen.find((one) => one.kind === "rolled")?.uploaded;

const unanswered = (part: PartName, why: string, { after }: DeployTurn): Line =>
  warning(
    `the swap of the ${part} gave no answer (${why}) — reading back what it serves, until ${clockOf(after.partUntil)}`,
  );

/** What came of the swap or the proof of a part. */
function provenLines(turn: DeployTurn, part: PartName, shapes: readonly StepShape[]): Line[] {
  const { before, after, fact } = turn;
  const rolls = before.effect.do === "roll";
  if (fact.kind === "lost" && rolls) return [unanswered(part, fact.why, turn)];
  if (fact.kind === "uploaded" && fact.outcome === "unknown" && rolls) return [unanswered(part, fact.why, turn)];
  if (fact.kind === "uploaded" && fact.outcome === "landed" && rolls) {
    const ms = answerIn(turn)?.ms ?? null;
    return [info(`${part} swapped${ms === null ? "" : ` in ${tookWords(ms)}`}`)];
  }
  if (fact.kind !== "serves" || fact.served === null || !after.landed.includes(part)) return [];
  const commit = shapes.find((one) => one.step === part)?.to.commit ?? "it";
  return [notice(`${part} live — its /healthz serves ${commit}, generation ${fact.served.generation}`)];
}

/** The swap of the ledger and the bot: its beginning, its answer, and its live gate. */
export function rollLines(turn: DeployTurn, shapes: readonly StepShape[]): Line[] {
  const { before, after } = turn;
  const part = partIn(turn);
  const proven = part === undefined ? [] : provenLines(turn, part, shapes);
  if (after.effect.do !== "roll" || after.effect === before.effect) return proven;
  const { part: next } = after.effect;
  const shape = shapes.find((one) => one.step === next);
  const words = shape === undefined ? "" : ` — ${fromTo(shape.from, shape.to)}`;
  return [...proven, info(`swapping the ${next}${words}`)];
}

/** Whether the bot has last refused this drain as over; what was said of that stands until it takes the drain again. */
export function hasDropped(dropped: boolean, { before, seen }: DeployTurn): boolean {
  const door = seen.find((one) => one.kind === "botDoor");
  return door === undefined || before.effect.do === "lift" ? dropped : !door.closed;
}

/** The bot's door, said once it is closed, where it does not take the drain any more, and where it could not be opened. */
export function botDoorLines(dropped: boolean, { before, after, seen }: DeployTurn): Line[] {
  const door = seen.find((one) => one.kind === "botDoor");
  if (door === undefined) return [];
  const { do: effect } = before.effect;
  if (effect !== "lift" && !door.closed)
    return dropped
      ? []
      : [warning(`the bot takes this drain for over (${door.why}) — its door is closed by the fleet's own record`)];
  if (effect === "drain") return [notice("the bot's door is closed with it — new asks are queued")];
  if (effect !== "lift" || after.effect.do === "lift" || door.why === null) return [];
  const bound = formatDuration(CLOCK.pulseBoundMs);
  return [warning(`the bot was not told of the lift (${door.why}) — its door opens by itself within ${bound}`)];
}
