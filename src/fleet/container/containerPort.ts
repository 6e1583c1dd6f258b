// The container of one resident, as the resident sees it. The embedded host fills this port over loopback; a platform's
// own containers fill it elsewhere. Everything that belongs to a container is told apart by its boot id.

import * as z from "zod";
import { REAL } from "#core/budgets.ts";
import { raise, titled } from "#wire/errors.ts";
import {
  containerSchema,
  hostProblemSchema,
  rolledSchema,
  startedSchema,
  type ContainerState,
  type Rolled,
  type Running,
} from "#wire/host.ts";
import type { Env, Root } from "../root.ts";
import { bounded, messageOf } from "../root.ts";

export interface ContainerPort {
  /** Starts the container, or finds it running; calls at once join. ROLLING while it cannot be had. */
  ensure(): Promise<Running>;
  look(): Promise<ContainerState>;
  /**
   * Ends the container of this boot with every process inside and starts it again, on the image that the platform has for
   * it now. One that has another boot by then is left alone.
   */
  restart(bootId: string): Promise<Rolled>;
  /** Ends the container and takes its data away, so that the next start begins with nothing. */
  renew(): Promise<void>;
  /** Ends every process inside and forgets the container with its data. */
  remove(): Promise<void>;
  /** A request to something that listens inside. */
  fetch(url: string, init: RequestInit): Promise<Response>;
}

const anySchema = z.unknown();

/** An answer of the host; whatever it refuses is a container that is not there right now. */
function readAnswer<T>(route: string, answer: Response, body: unknown, schema: z.ZodType<T>): T {
  const problem = hostProblemSchema.safeParse(body);
  const refusal = problem.success ? titled(problem.data) : `the host answered ${answer.status}`;
  if (!answer.ok) raise("ROLLING", refusal);
  const parsed = schema.safeParse(body);
  return parsed.success ? parsed.data : raise("ROLLING", `the host's answer to ${route} cannot be read`);
}

/** The container of a resource on the embedded host. */
export function hostContainer(env: Env, root: Root, resource: string): ContainerPort {
  const ask = <T>(route: string, schema: z.ZodType<T>, more: Readonly<Record<string, string>> = {}): Promise<T> =>
    bounded(REAL.startMs, async (signal) => {
      const answer = await env.HOST_NET.fetch(`${root.settings.hostUrl}/containers/${route}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${env.HOST_TOKEN ?? ""}` },
        body: JSON.stringify({ resource, ...more }),
        signal,
      }).catch((error: unknown) => raise("ROLLING", `the container host does not answer: ${messageOf(error)}`));
      return readAnswer(route, answer, await answer.json().catch(() => undefined), schema);
    });
  return {
    ensure: async () => (await ask("start", startedSchema)).container,
    look: () => ask("look", containerSchema),
    restart: (bootId) => ask("roll", rolledSchema, { bootId }),
    renew: async () => void (await ask("renew", anySchema)),
    remove: async () => void (await ask("remove", anySchema)),
    fetch: (url, init) => env.HOST_NET.fetch(url, init),
  };
}
