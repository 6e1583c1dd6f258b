// A repository as people name it: its resource, `owner/name`, or its name alone where that is unique. The registry says
// which there are; while it cannot be read, a resource that is named in full is taken at its word.

import type { FleetClient } from "#client/fleet.ts";
import { nearestWord } from "#node/nearestWord.ts";
import { raise, TidegateError } from "#wire/errors.ts";
import { resourceSchema, shortNameOf } from "#wire/names.ts";

/** The one of these that was meant; undefined when there is none or more than one. */
function meant(typed: string, resources: readonly string[]): string | undefined {
  const exact = resources.find((resource) => resource === typed || resource === `repo:${typed}`);
  if (exact !== undefined) return exact;
  const [only, another] = resources.filter((resource) => shortNameOf(resource) === typed);
  return another === undefined ? only : undefined;
}

function refuse(typed: string, resources: readonly string[]): never {
  const named = resources.filter((resource) => shortNameOf(resource) === typed);
  if (named.length > 1)
    raise("BAD_FIELD", `resource: "${typed}" names ${named.length} repositories: ${named.join(", ")}`, {
      field: "resource",
    });
  const near = nearestWord(typed, [...resources.map(shortNameOf), ...resources]);
  const hint = near === undefined ? "" : `; did you mean "${near}"?`;
  return raise("NO_SUCH_RESIDENT", `no repository is called "${typed}"${hint}`, { field: "resource" });
}

/** The fleet's repositories, as the registry told them last. */
export class Repositories {
  readonly #fleet: FleetClient;
  #known: readonly string[] = [];

  constructor(fleet: FleetClient) {
    this.#fleet = fleet;
  }

  /** The resource that was named; raises, naming what is near, when there is none or more than one. */
  async resolve(typed: string): Promise<string> {
    const exact = this.#known.find((resource) => resource === typed);
    if (exact !== undefined) return exact;
    try {
      const { residents } = await this.#fleet.residents();
      this.#known = residents.map(({ resource }) => resource);
    } catch (error) {
      if (!(error instanceof TidegateError)) throw error;
      const known = resourceSchema.safeParse(typed).success ? typed : meant(typed, this.#known);
      if (known === undefined) throw error;
      return known;
    }
    return meant(typed, this.#known) ?? refuse(typed, this.#known);
  }
}
