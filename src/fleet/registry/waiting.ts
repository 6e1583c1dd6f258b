// Who met the closed door, in order of arrival. It is told and never decided by: a run that waits holds nothing here, and one
// whose caller died is forgotten when the next drain closes an open fleet.

import { liveDrains } from "#core/drain.ts";
import type { LookQuestion } from "../ports.ts";
import type { Registry } from "./registryParts.ts";

/** Notes a run that was refused, once. */
export function noteWaiting({ store, root }: Registry, { runId, resource, threadKey }: LookQuestion): void {
  if (store.waiting().some((one) => one.runId === runId)) return;
  store.writeWaiting({ runId, resource, threadKey, since: root.clock.now() });
}

/** A run waits no more: it was admitted, or its caller gave up. An admission is a row of the audit log. */
export function endWaiting({ store, root, audit }: Registry, runId: string, admitted: boolean): void {
  const waited = store.waiting().find((one) => one.runId === runId);
  if (waited === undefined) return;
  store.dropWaiting(runId);
  const now = root.clock.now();
  const reason = `${now - waited.since} ms at the closed door`;
  audit.add(
    { what: admitted ? "waited" : "gaveUp", principal: "registry", resource: waited.resource, runId, reason },
    now,
  );
}

/** Before a drain closes an open fleet nobody waits: what is noted still is of callers that died. */
export function forgetWaiting({ store, root }: Registry): void {
  if (liveDrains(store.book(), root.clock.now()).length > 0) return;
  for (const { runId } of store.waiting()) store.dropWaiting(runId);
}
