// The first signal in each state: the effect under way gives way, the fleet is opened, and an upload is never called off.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeployEffectName } from "#core/rolloutState.ts";
import { ends, rehearse, says, viewed, type Script } from "#deploy/deployForTests.ts";
import { runOf } from "#deploy/recordsForTests.ts";

const before: readonly DeployEffectName[] = ["preflight", "mint"];
const closed: readonly DeployEffectName[] = ["drain", "look", "pause", "pulse", "seal", "confirm"];
const uploading: readonly DeployEffectName[] = ["upload", "readBack"];
const signalled = (effect: Exclude<DeployEffectName, "done">): Script => {
  const hang = { [effect]: ["hang"] };
  if (effect === "mint")
    return { signalIn: effect, facts: { look: [viewed([runOf("r1", 10)])], pulse: [{ kind: "over" }], ...hang } };
  if (effect === "pulse" || effect === "pause")
    return { signalIn: effect, facts: { look: [viewed([runOf("r1", 10)])], ...hang } };
  return { signalIn: effect, facts: effect === "readBack" ? { upload: ["throw"], ...hang } : hang };
};
for (const effect of [...before, ...closed, ...uploading]) {
  if (effect === "done" || effect === "lift") continue;
  test(`a signal during ${effect} ends it and says what is known`, async (context) => {
    const deployed = await rehearse(context, {
      ...signalled(effect),
      signal: effect === "seal" ? "SIGTERM" : "SIGINT",
    });
    ends(deployed, "stopped", effect === "seal" ? 143 : 130);
    const lifts = deployed.effects.filter((one) => one === "lift").length;
    assert.equal(lifts, closed.includes(effect) ? 1 : 0);
    assert.deepEqual(deployed.aborted.includes(effect), effect !== "upload", "an upload is not cut off by a signal");
    says(
      deployed,
      uploading.includes(effect)
        ? /during the upload — whether it lands is unknown; the fleet opens by itself at 04:59:00Z/
        : /SIG(INT|TERM) — stops/,
    );
    if (uploading.includes(effect)) assert.equal(deployed.receipt.outcome, "unknown");
  });
}

test("a signal during the live gate lifts what has landed, and does not say that it was seen", async (context) => {
  const deployed = await rehearse(context, { ...signalled("liveGate"), signal: "SIGINT" });
  ends(deployed, "stopped", 130);
  assert.equal(deployed.effects.filter((one) => one === "lift").length, 1);
  assert.equal(deployed.receipt.outcome, "landed");
  says(deployed, /^SIGINT — the swap has landed; lifts$/);
  says(deployed, /not seen served/);
});

test("a signal during the reconcile lifts what is live, and nothing is said of its containers", async (context) => {
  const deployed = await rehearse(context, { ...signalled("reconcile"), signal: "SIGTERM" });
  ends(deployed, "stopped", 143);
  assert.deepEqual(deployed.effects.slice(-3), ["reconcile", "lift", "done"]);
  says(deployed, /^SIGTERM — the swap has landed; lifts$/);
  says(deployed, /^deployed 7b02d9e — ended by SIGTERM before its containers had reported$/);
});

test("a signal during the lift lets it end", async (context) => {
  const deployed = await rehearse(context, { signalIn: "lift" });
  ends(deployed, "deployed", 0);
  says(deployed, /^fleet reopened$/);
});
