// `deploy --without <resident> --reason <text>`: one broken resident is left out of a deploy, by a name that a person
// types and for a reason that every line of it repeats.

import { LIMIT } from "#core/budgets.ts";
import type { Build, Without } from "#core/drain.ts";
import { namesOf } from "#deploy/holdLines.ts";
import { CliError } from "./exit.ts";
import { resolveRepo } from "./repoName.ts";

/** What was typed of it. */
export interface WithoutAsked {
  readonly force: boolean;
  readonly reason: string | null;
  /** Residents, as they were typed. */
  readonly without: readonly string[];
}

/** Refuses what does not go together, before anything is read. */
export function checkWithout({ without, reason, force }: WithoutAsked): void {
  const [first] = without;
  if (first === undefined) return;
  if (force) {
    const next = 'the same without --without, or: npx tidegate deploy --without <repository> --reason "why"';
    throw new CliError("--without: --force waits for nobody, so there is nobody to leave out", next);
  }
  if (reason === null) {
    throw new CliError(
      "--without: wants a --reason",
      `npx tidegate deploy --without ${first} --reason "its disk is broken"`,
    );
  }
}

/** The residents that are left out, by their full names; throws, naming what is near, for one that is not there. */
export function leftOutOf({ without, reason }: WithoutAsked, known: readonly string[]): Without[] {
  const named = new Set(without.map((typed) => resolveRepo(typed, known, "--without")));
  return [...named].map((resource) => ({ resource, reason: reason ?? "" }));
}

/** Why a deploy is done, in the words that every refusal repeats; a resident that is left out is named there too. */
export function deployReasonOf(
  { reason, restart }: Pick<WithoutAsked, "reason"> & { readonly restart: readonly string[] | null },
  without: readonly Without[],
  to: Build,
): string {
  const deploying = `${restart === null ? "deploy" : "restart"} ${to.commit}`;
  if (without.length === 0) return reason ?? deploying;
  const names = namesOf(without.map((one) => one.resource));
  return `${deploying} without ${names}: ${reason ?? ""}`.slice(0, LIMIT.reasonChars);
}
