// The first provision of a resident, and its rebuild: both pass the gate like any other work, under a row of their own,
// and what their container then says of itself is the resident's report.

import type { AttachAsk } from "#core/registration.ts";
import { cycledStep, cycleStep } from "#core/resident.ts";
import { clockOf } from "#core/time.ts";
import { problemAnswer } from "#http/problemAnswer.ts";
import type { Binding, OnboardBody } from "#wire/attach.ts";
import { problemOf, raise } from "#wire/errors.ts";
import { registryOf } from "../ports.ts";
import { messageOf } from "../root.ts";
import { beginAttach } from "./attach.ts";
import { alone, currentAgent, othersMaking } from "./cycle.ts";
import { streamFlight, type Landing, type Workspace } from "./flight.ts";
import { release } from "./release.ts";
import type { Resident } from "./resident.ts";

type Say = (line: string) => void;

/** What is made, and what is done once it stands or could not be made. */
interface Making {
  readonly kind: "provision" | "rebuild";
  /** Before the mirror is made, under the row of this run. */
  readonly prepare: (runId: string, say: Say) => Promise<void>;
  readonly settle: (landing: Landing<Binding>) => Promise<Landing<Binding>>;
}

async function makeMirror(resident: Resident, { url, setup }: OnboardBody, say: Say): Promise<Workspace> {
  const agent = await currentAgent(resident, null);
  const { ref, commit } = await agent.mirror({ url, setup, ref: null }, say);
  return { path: "", branch: ref, base: commit, head: commit };
}

/** Makes container, mirror and setup of the default branch under a registration; streamed, a refusal is a real status. */
async function make(resident: Resident, body: OnboardBody, making: Making): Promise<Response> {
  const runId = `${making.kind}-${crypto.randomUUID()}`;
  const ask: AttachAsk = {
    runId,
    threadKey: making.kind,
    generation: 0,
    kind: making.kind,
    runKind: making.kind,
    remainingMs: null,
    parent: null,
    replace: { by: "nobody" },
  };
  const flight = beginAttach(resident, ask, async (say) => {
    await making.prepare(runId, say);
    return makeMirror(resident, body, say);
  });
  const refusal = await flight.refused;
  const broken = (error: unknown): Landing<Binding> => ({ problem: problemOf("INTERNAL", messageOf(error)) });
  const landing = flight.landing.then(making.settle).catch(broken);
  if (refusal !== null) {
    await landing;
    return problemAnswer(refusal.problem);
  }
  const last = (landed: Landing<Binding>): Record<string, unknown> =>
    "binding" in landed
      ? { type: "resident", resource: resident.resource, ref: landed.binding.branch, commit: landed.binding.head }
      : { type: "error", ...landed };
  return new Response(streamFlight({ ...flight, landing }, last), {
    headers: { "content-type": "application/x-ndjson" },
  });
}

/** `POST /onboard` in the resident. What comes to nothing leaves nothing behind. */
export function provisionResident(resident: Resident, body: OnboardBody): Promise<Response> {
  const { env, resource } = resident;
  return make(resident, body, {
    kind: "provision",
    prepare: () => Promise.resolve(),
    async settle(landing) {
      if ("problem" in landing) {
        await registryOf(env).offboard(resource, "registry", landing.problem.detail);
        return landing;
      }
      await release(resident, landing.binding.runId, { who: "replaced" });
      await registryOf(env).onboarded(resource);
      return landing;
    },
  });
}

/** A new container with nothing in it, once nothing but the rebuild itself is registered here. */
function renew(resident: Resident, runId: string): Promise<void> {
  const { storage, container, memory } = resident;
  return alone(resident, async () => {
    const found = storage.step((store) => cycleStep(store, { own: runId, live: othersMaking(resident, runId) }));
    if (found.kind === "busy") raise("RESIDENT_BUSY", found.why);
    try {
      memory.inside = null;
      await container.renew();
    } finally {
      storage.step((store) => ({ store: cycledStep(store), found: null }));
    }
  });
}

/** `POST /rebuild` in the resident: refused over runs in flight, which `force` ends first. */
export async function rebuildResident(resident: Resident, body: OnboardBody, force: boolean): Promise<Response> {
  const { storage } = resident;
  const { rows } = storage.now();
  if (rows.length > 0 && !force) {
    const names = rows.map((row) => `${row.runId} (${row.threadKey}, until ${clockOf(row.leaseUntil)})`).join(", ");
    return problemAnswer(problemOf("RESIDENT_BUSY", `in flight: ${names}`, { runs: rows.map((row) => row.runId) }));
  }
  for (const { runId } of rows) await release(resident, runId, { who: "admin", reason: "rebuild" });
  return make(resident, body, {
    kind: "rebuild",
    async prepare(runId, say) {
      say("a new container, with a fresh mirror");
      await renew(resident, runId);
    },
    async settle(landing) {
      if ("binding" in landing) await release(resident, landing.binding.runId, { who: "replaced" });
      return landing;
    },
  });
}
