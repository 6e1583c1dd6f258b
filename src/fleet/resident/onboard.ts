// The first provision of a resident: it passes the gate like any other work, and its failure leaves nothing behind.

import type { AttachAsk } from "#core/registration.ts";
import type { MirrorResult } from "#wire/agent.ts";
import type { Binding, OnboardBody } from "#wire/attach.ts";
import { problemOf } from "#wire/errors.ts";
import { registryOf } from "../ports.ts";
import { messageOf } from "../root.ts";
import { problemAnswer } from "../problemAnswer.ts";
import { beginAttach } from "./attach.ts";
import { streamFlight, type Flight, type Landing, type Workspace } from "./flight.ts";
import { release } from "./release.ts";
import { agentOf, type Resident } from "./resident.ts";

async function makeMirror(
  resident: Resident,
  { url, setup }: OnboardBody,
  say: (line: string) => void,
): Promise<MirrorResult> {
  const agent = await agentOf(resident, true);
  if (agent === undefined) throw new Error("the container did not start");
  return agent.mirror({ url, setup, ref: null }, say);
}

/** What the provision came to, told to the registry: it stands, or the resident goes again with everything it made. */
async function settle(resident: Resident, landing: Landing<Binding>): Promise<Landing<Binding>> {
  const { env, resource } = resident;
  if ("problem" in landing) {
    await registryOf(env).offboard(resource, "registry", landing.problem.detail);
    return landing;
  }
  await release(resident, landing.binding.runId, { who: "replaced" });
  await registryOf(env).onboarded(resource);
  return landing;
}

/** `POST /onboard` in the resident: container, mirror, setup of the default branch; streamed. */
export async function provisionResident(resident: Resident, body: OnboardBody): Promise<Response> {
  const runId = `provision-${crypto.randomUUID()}`;
  const ask: AttachAsk = {
    runId,
    threadKey: "provision",
    generation: 0,
    kind: "provision",
    runKind: "provision",
    remainingMs: null,
    parent: null,
    replace: { by: "nobody" },
  };
  let commit = "";
  const flight = beginAttach(resident, ask, async (say): Promise<Workspace> => {
    const mirror = await makeMirror(resident, body, say);
    commit = mirror.commit;
    return { path: "", branch: mirror.ref, base: mirror.commit, head: mirror.commit };
  });
  const refusal = await flight.refused;
  const broken = (error: unknown): Landing<Binding> => ({ problem: problemOf("INTERNAL", messageOf(error)) });
  const landing = flight.landing.then((landed) => settle(resident, landed)).catch(broken);
  if (refusal !== null) {
    await landing;
    return problemAnswer(refusal.problem);
  }
  const settled: Flight<Binding> = { ...flight, landing };
  const last = (landed: Landing<Binding>): Record<string, unknown> =>
    "binding" in landed
      ? { type: "resident", resource: resident.resource, ref: landed.binding.branch, commit }
      : { type: "error", ...landed };
  return new Response(streamFlight(settled, last), { headers: { "content-type": "application/x-ndjson" } });
}
