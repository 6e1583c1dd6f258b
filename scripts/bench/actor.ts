// The other process of a bench: it watches for quiet as a deployer does, or waits at the doors as a bot with many runs
// does. It stands on the product's own client and tells when things happened on the machine's clock.

import * as z from "zod";
import type { AttachAsk, WaitNote } from "#client/attach.ts";
import { HOUR } from "#core/time.ts";
import { quietWatch } from "#deploy/quietWatch.ts";
import { callerOf, machineNs, newAsk, type Caller } from "./caller.ts";
import { argumentOf, tell } from "./child.ts";
import { reachSchema } from "./stackUp.ts";

const orderSchema = z.discriminatedUnion("do", [
  /** Tells `armed` once it sees this drain over one run, and `told` when nothing is in flight. */
  z.object({ do: z.literal("quiet"), how: z.enum(["watch", "poll"]), drainId: z.string() }),
  /** Tells `waiting` once all wait at closed doors, and `admitted` when all are in. */
  z.object({ do: z.literal("wait"), resources: z.array(z.string()), count: z.number() }),
]);
/** What the bench asks of an actor. */
export type Order = z.infer<typeof orderSchema>;

const at = z.string().transform(BigInt);
/** What an actor says, each with the machine's clock. */
export const armedSchema = z.object({ say: z.literal("armed") });
export const toldSchema = z.object({ say: z.literal("told"), at });
export const waitingSchema = z.object({ say: z.literal("waiting") });
export const admittedSchema = z.object({
  say: z.literal("admitted"),
  firstAt: at,
  lastAt: at,
  /** By arrival at each door. `away`: the fleet or its container did not answer this one, so that it had to come again. */
  runs: z.array(z.object({ resource: z.string(), runId: z.string(), threadKey: z.string(), away: z.boolean() })),
});

/** Within every kind's lease, so that no wait is cut short. */
const LEASE_MS = HOUR / 2;
const never = new AbortController().signal;

interface Watched {
  readonly drains: readonly { readonly id: string }[];
  readonly runs: readonly unknown[];
  readonly attaching: number;
}

const stands = (seen: Watched | null, drainId: string): boolean =>
  seen !== null && seen.runs.length === 1 && seen.attaching === 0 && seen.drains.some(({ id }) => id === drainId);

async function quietByWatch({ watch }: Caller, drainId: string): Promise<void> {
  const fed = quietWatch();
  const armed = Promise.withResolvers<void>();
  const feed = (): void => {
    if (watch.frame === null) return;
    fed.feed(watch.frame);
    if (stands(watch.frame, drainId)) armed.resolve();
  };
  const stop = watch.subscribe(feed);
  try {
    feed();
    await armed.promise;
    fed.mark();
    const quiet = fed.until(({ runs, attaching }) => runs.length === 0 && attaching === 0, never);
    tell({ say: "armed" });
    await quiet;
    tell({ say: "told", at: String(machineNs()) });
  } finally {
    stop();
  }
}

async function quietByPolls({ fleet }: Caller, drainId: string): Promise<void> {
  let seen = await fleet.residents();
  while (!stands(seen, drainId)) seen = await fleet.residents();
  tell({ say: "armed" });
  while (seen.runs.length > 0 || seen.attaching > 0) seen = await fleet.residents();
  tell({ say: "told", at: String(machineNs()) });
}

/** As many asks, dealt to the residents in turn. */
function asksOf({ resources, count }: { resources: readonly string[]; count: number }): AttachAsk[] {
  return Array.from({ length: count }, (_, n) => newAsk(resources[n % resources.length] ?? ""));
}

interface Admitted {
  readonly ask: AttachAsk;
  readonly at: bigint;
}

function tellAdmitted(asks: readonly AttachAsk[], admitted: readonly Admitted[], away: ReadonlySet<string>): void {
  const ends = admitted.map((one) => one.at).toSorted((a, b) => (a < b ? -1 : 1));
  const runs = asks.map(({ resource, runId, threadKey }) => ({ resource, runId, threadKey, away: away.has(runId) }));
  const [firstAt, lastAt] = [ends[0], ends.at(-1)];
  tell({ say: "admitted", firstAt: String(firstAt), lastAt: String(lastAt), runs });
}

/** One waiter of each resident comes first and meets the closed door; those behind it queue up without a request. */
async function waitAtDoors({ attach, clock }: Caller, order: Extract<Order, { do: "wait" }>): Promise<void> {
  const asks = asksOf(order);
  const away = new Set<string>();
  const inLine = async (ask: AttachAsk, onWaits: () => void): Promise<Admitted> => {
    const onWait = ({ cause }: WaitNote): void => {
      if (cause === "transient") away.add(ask.runId);
      onWaits();
    };
    const wishes = { leaseUntil: clock.now() + LEASE_MS, signal: never, onWait };
    await attach(ask, wishes);
    return { ask, at: machineNs() };
  };
  const arrive = async (arriving: readonly AttachAsk[]): Promise<Promise<Admitted>[]> => {
    const lines = arriving.map((ask) => {
      const waits = Promise.withResolvers<void>();
      return { waits: waits.promise, ends: inLine(ask, waits.resolve) };
    });
    await Promise.all(lines.map(({ waits, ends }) => Promise.race([waits, ends])));
    return lines.map(({ ends }) => ends);
  };
  const first = await arrive(asks.slice(0, order.resources.length));
  const rest = await arrive(asks.slice(order.resources.length));
  tell({ say: "waiting" });
  tellAdmitted(asks, await Promise.all([...first, ...rest]), away);
}

function perform(caller: Caller, order: Order): Promise<void> {
  switch (order.do) {
    case "quiet":
      return order.how === "watch" ? quietByWatch(caller, order.drainId) : quietByPolls(caller, order.drainId);
    case "wait":
      return waitAtDoors(caller, order);
  }
}

function main(): void {
  const { reach, watches } = argumentOf(z.object({ reach: reachSchema, watches: z.boolean() }));
  const caller = callerOf(reach);
  if (watches) caller.watch.hold();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
  process.on("message", (word) => {
    perform(caller, orderSchema.parse(word)).catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  });
  process.once("disconnect", () => process.exit(0));
}

if (import.meta.main) main();
