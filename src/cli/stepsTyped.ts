// Steps of a deploy as a person types them, checked before anything is read or built.

import { STEPS, type StepName } from "#wire/host.ts";
import { CliError } from "./exit.ts";

const isStep = (word: string): word is StepName => STEPS.some((step) => step === word);

/** Step names as they were typed; throws, listing them, for a word that is none. */
export function stepsTyped(words: readonly string[], option: string, next: string): readonly StepName[] {
  return words.map((word) => {
    if (isStep(word)) return word;
    throw new CliError(`${option}: "${word}" is no step; the steps are ${STEPS.join(", ")}`, next);
  });
}

/** Refuses a step that is both asked for and left out, and to leave out all there are. */
export function checkSteps({ only, skip }: Readonly<Record<"only" | "skip", readonly StepName[]>>): void {
  if (STEPS.every((step) => skip.includes(step)))
    throw new CliError("--skip: every step is left out, so there is nothing to deploy", "npx tidegate deploy plan");
  const both = only.find((step) => skip.includes(step));
  if (both === undefined) return;
  throw new CliError(`--only ${both} and --skip ${both} leave nothing of it`, `npx tidegate deploy --only ${both}`);
}
