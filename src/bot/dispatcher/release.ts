// The seventh stage: the run gives its registration back. What cannot be given back ends by itself with its lease, and that
// is said.

import { release as detach } from "#client/release.ts";
import type { LiveRun } from "../runs.ts";
import { note, type Desk } from "./desk.ts";

/** Detaches; `attached` says whether the fleet is known to have the run, else it is looked for twice. */
export async function release(desk: Desk, { entry }: LiveRun, attached: boolean): Promise<void> {
  const { id, resource, threadKey } = entry.ask;
  const body = { resource, threadKey, runId: id, generation: desk.number };
  const { work, notReleased } = await detach(desk.parts, body, attached);
  if (notReleased !== null)
    note(desk, id, "not_released", { text: `its registration stands until its lease ends: ${notReleased}`, ms: null });
  if (work !== null && (work.ahead > 0 || work.dirty)) {
    const kept = work.dirty ? ", and files that are not committed" : "";
    note(desk, id, "work", { text: `${work.branch} at ${work.head}: ${work.ahead} commits ahead${kept}`, ms: null });
  }
}
