// A repository as people type it: its resource, `owner/name`, or its name alone where that is unique.

import { shortNameOf } from "#wire/names.ts";
import { nearestWord } from "#node/nearestWord.ts";
import { CliError } from "./exit.ts";

/**
 * The one of these resources that was meant; throws, naming what is near, when there is none or more than one. `option`
 * is named where the name was an option's.
 */
export function resolveRepo(typed: string, resources: readonly string[], option?: string): string {
  const where = option === undefined ? "" : `${option}: `;
  const exact = resources.find((resource) => resource === typed || resource === `repo:${typed}`);
  if (exact !== undefined) return exact;
  const named = resources.filter((resource) => shortNameOf(resource) === typed);
  const [only, another] = named;
  if (only !== undefined && another === undefined) return only;
  if (only !== undefined)
    throw new CliError(
      `${where}"${typed}" names ${named.length} repositories: ${named.join(", ")}`,
      `type one of them in full, such as ${only}`,
    );
  const near = nearestWord(typed, [...resources.map(shortNameOf), ...resources]);
  const hint = near === undefined ? "" : `; did you mean "${near}"?`;
  const next = resources.length === 0 ? "npx tidegate repo add <path or url>" : "npx tidegate repo list";
  throw new CliError(`${where}no repository is called "${typed}"${hint}`, next);
}
