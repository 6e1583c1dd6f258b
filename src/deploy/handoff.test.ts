// A release that keeps the image, swapped under its runs: nobody is waited for but who is still attaching, nobody is said
// to have ended, and the last line counts what was cut. And a deploy that leaves a resident out, named in all it says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ends, rehearse, says, viewed, type Script } from "#deploy/deployForTests.ts";
import { entryOf, FROM, reconciledOf, reconciling, runOf, T0 } from "#deploy/recordsForTests.ts";
import type { Performed } from "#deploy/port.ts";

const KEPT = { ...FROM, image: "c9e0" };
const SAMPLE = "repo:local/sample";

/** The same look, with this many processes of runs in the resident. */
function withOps(look: Performed, opsInFlight: number): Performed {
  const seen = (look.seen ?? []).map((one) => {
    if (one.kind !== "residents") return one;
    const residents = one.residents.residents.map((row) => ({ ...row, opsInFlight }));
    return { ...one, residents: { ...one.residents, residents } };
  });
  return { ...look, seen };
}

const current = (_: unknown, now: number): Performed =>
  reconciling(reconciledOf(now, [entryOf(SAMPLE, { state: "current", bootId: "boot1" })]));

const handoff = (facts: NonNullable<Script["facts"]>): Script => ({
  mode: "handoff",
  from: KEPT,
  facts: { reconcile: [current], ...facts },
});

test("runs live on under a handoff: no wait, no end of theirs, and what was cut is counted", async (context) => {
  const runs = [runOf("r1", 45), runOf("r2", 45)];
  const deployed = await rehearse(context, handoff({ preflight: [viewed(runs)], look: [withOps(viewed(runs), 2)] }));
  assert.deepEqual(deployed.effects, [
    "preflight",
    "drain",
    "look",
    "seal",
    "confirm",
    "upload",
    "liveGate",
    "reconcile",
    "lift",
    "done",
  ]);
  says(deployed, /^handoff — the image stays, so the runs in flight live on;/);
  says(deployed, /^r1 \(sample, cli:r1\) lives on$/);
  says(deployed, /^handed off — 2 runs in flight, and nobody attaches before the swap, or 04:59:00Z$/);
  says(deployed, /^1 container current, no restart$/);
  assert.equal(deployed.lines.at(-1), "deployed 7b02d9e — closed 1 s · cut 2 streams · killed 0");
  assert.equal(
    deployed.lines.some((line) => /ended|waits for|waited/.test(line)),
    false,
  );
  ends(deployed, "deployed", 0);
  assert.deepEqual(
    deployed.receipt.inFlight.map((run) => run.how),
    ["inFlight", "inFlight"],
  );
  assert.deepEqual([deployed.receipt.cut, deployed.receipt.killed, deployed.receipt.mode], [2, 0, "handoff"]);
});

test("who is still attaching is waited for", async (context) => {
  const coming = runOf("r2", 45, { state: "attaching" });
  const deployed = await rehearse(
    context,
    handoff({
      preflight: [viewed([runOf("r1", 45), coming])],
      look: [viewed([runOf("r1", 45), coming]), viewed([runOf("r1", 45), { ...coming, state: "running" }])],
    }),
  );
  assert.deepEqual(deployed.effects.filter((effect) => effect === "look").length, 2);
  says(deployed, /^waits for r2 \(sample, cli:r2\) — its lease ends 05:29$/);
  ends(deployed, "deployed", 0);
});

test("nothing is cut by a handoff that swaps nothing, and nobody knows it of one that may have", async (context) => {
  const look = [withOps(viewed([runOf("r1", 45)]), 3)];
  const refused = await rehearse(
    context,
    handoff({ look, upload: [{ kind: "uploaded", outcome: "refused", why: "busy" }] }),
  );
  assert.equal(refused.receipt.cut, 0);
  const unknown = await rehearse(
    context,
    handoff({ look, upload: ["throw"], readBack: [{ kind: "unreadable", why: "starting" }], lift: ["throw"] }),
  );
  assert.equal(unknown.receipt.cut, "unknown");
  assert.equal((await rehearse(context)).receipt.cut, null, "a drained deploy has no streams to cut");
});

test("a resident that is left out is named in every line, in the receipt, and nobody says that its runs ended", async (context) => {
  const broken = runOf("r9", 45, { resource: "repo:local/broken" });
  const met = viewed([runOf("r1", 10)]);
  const seen = (met.seen ?? []).map((one) =>
    one.kind === "residents"
      ? {
          ...one,
          residents: {
            ...one.residents,
            runs: [...one.residents.runs, { ...broken, kind: "run" as const, generation: 0, since: T0 }],
          },
        }
      : one,
  );
  const deployed = await rehearse(context, {
    without: [{ resource: "repo:local/broken", reason: "its disk" }],
    facts: { look: [{ ...met, seen }, viewed([])] },
  });
  says(deployed, /^broken is left out \(its disk\) — neither waited for, nor sealed, nor held$/);
  const said = deployed.lines.slice(2);
  assert.deepEqual(
    said.filter((line) => !line.endsWith(" — without broken")),
    [],
  );
  assert.deepEqual(deployed.receipt.without, [{ resource: "repo:local/broken", reason: "its disk" }]);
  assert.deepEqual(
    deployed.receipt.inFlight.map((run) => [run.runId, run.how]),
    [
      ["r1", "unknown"],
      ["r9", "inFlight"],
    ],
  );
});
