// A run gives its registration back, whatever became of it. An attach that was given up may still be on its way in, so
// a release that finds nothing looks a second time.

import { CLOCK, LIMIT, REAL } from "#core/budgets.ts";
import type { DetachBody, Work } from "#wire/attach.ts";
import { TidegateError } from "#wire/errors.ts";
import type { FleetClient } from "./fleet.ts";
import type { Clock } from "./ports.ts";

/** What a release is given. */
export interface ReleasePorts {
  readonly fleet: FleetClient;
  readonly clock: Clock;
  readonly real: Clock;
}

/** What a release came to: the work that stays, or why the registration stands until its lease ends. */
export interface Released {
  readonly work: Work | null;
  readonly notReleased: string | null;
}

async function once(ports: ReleasePorts, body: DetachBody, attached: boolean): Promise<Work | null> {
  const first = await ports.fleet.detach(body);
  if (first.kind !== "absent" || attached) return first.work;
  await ports.real.sleep(REAL.recheckMs);
  return (await ports.fleet.detach(body)).work;
}

/** Detaches, trying again while the fleet or the container is away. */
export async function release(ports: ReleasePorts, body: DetachBody, attached: boolean): Promise<Released> {
  for (let tries = 1; ; tries += 1) {
    try {
      return { work: await once(ports, body, attached), notReleased: null };
    } catch (error) {
      if (!(error instanceof TidegateError)) throw error;
      const { code, detail } = error.problem;
      if (code === "NO_SUCH_RESIDENT" || code === "NO_SUCH_RUN") return { work: null, notReleased: null };
      const away = code === "UNREACHABLE" || code === "ROLLING";
      if (!away || tries >= LIMIT.tries) return { work: null, notReleased: detail };
      await ports.clock.sleep(CLOCK.retryMs);
    }
  }
}
