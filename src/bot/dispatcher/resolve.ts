// The second stage: which repository and kind are meant, and whether such a run could be started at all. What is wrong is
// said now, by its field, and not after an hour in the queue.

import type { Ask } from "#core/ask.ts";
import { formatDuration } from "#core/time.ts";
import { nearestWord } from "#node/nearestWord.ts";
import type { Kind } from "#wire/config.ts";
import { raise } from "#wire/errors.ts";
import type { Desk } from "./desk.ts";
import type { Draft } from "./intake.ts";

/** The kind of this name, or undefined where no such kind is configured. */
export function kindNamed({ parts }: Pick<Desk, "parts">, name: string): Kind | undefined {
  return Object.hasOwn(parts.kinds, name) ? parts.kinds[name] : undefined;
}

function refuseKind({ parts }: Desk, name: string): never {
  const known = Object.keys(parts.kinds);
  const near = nearestWord(name, known);
  const hint = near === undefined ? `known are ${known.join(", ")}` : `did you mean "${near}"?`;
  return raise("BAD_FIELD", `kind: no kind is called "${name}"; ${hint}`, { field: "kind" });
}

/** The ask with its repository found; raises what keeps it from ever being run. */
export async function resolve(desk: Desk, draft: Draft): Promise<Ask> {
  const { secrets, budgets } = desk.parts;
  const kind = kindNamed(desk, draft.kind) ?? refuseKind(desk, draft.kind);
  const found = secrets.of(draft.kind, kind);
  if (found.kind === "missing") raise("BAD_FIELD", `kind: ${found.why}`, { field: "kind", next: found.next });
  const longest = budgets.longestLeaseMs;
  if (draft.leaseMs !== null && draft.leaseMs > longest)
    raise("BAD_FIELD", `leaseMs: is beyond the longest configured lease, ${formatDuration(longest)}`, {
      field: "leaseMs",
    });
  return { ...draft, resource: await desk.repositories.resolve(draft.resource) };
}
