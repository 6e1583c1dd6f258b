// The bot's door from outside: which bot answers and what it has, and the copy of a deploy's drain that closes it.

import { REAL } from "#core/budgets.ts";
import { SCOPE_ENV } from "#core/scopes.ts";
import { PROTOCOL } from "#core/preflight.ts";
import { clockOf } from "#core/time.ts";
import type { BotDrainAnswer, BotHealth, BotUndrainAnswer } from "#wire/bot.ts";
import { drainBodySchema, undrainBodySchema } from "#wire/drain.ts";
import { raise } from "#wire/errors.ts";
import type { Front, Handler } from "./asked.ts";
import { parsed } from "#wire/parse.ts";

/** `GET /healthz`. */
export const healthz: Handler = async ({ front }) => {
  const { desk, queue } = front;
  const { build, generation, drainId } = desk.parts.upload;
  const health: BotHealth = {
    ok: true,
    protocol: PROTOCOL,
    build,
    generation,
    number: desk.number,
    drainId,
    now: desk.parts.clock.now(),
    inFlight: desk.runs.inFlight,
    queued: queue.waits.size,
    draining: desk.doors.pending,
    rolling: front.isEnding(),
    held: desk.doors.held,
  };
  return Response.json(health);
};

/** `POST /drain`. A copy is a deploy's, so that its pulse ends it: what a person closes is the registry's to tell. */
export const drain: Handler = async ({ front, scope, given }) => {
  const { desk, queue } = front;
  const { doors, parts } = desk;
  const body = parsed(drainBodySchema(parts.budgets.capMinutes), given);
  if (!body.deploy) raise("BAD_FIELD", "deploy: the bot has a copy of a deploy's drain alone", { field: "deploy" });
  const answer = doors.drain({ ...body, principal: scope });
  switch (answer.kind) {
    case "over":
      return raise("DRAIN_OVER", `drain ${body.id} was lifted or has ended`);
    case "busy": {
      const { by, since, id } = answer.drain;
      const detail = `${by} has been deploying since ${clockOf(since)} (drain ${id})`;
      return raise("DEPLOY_IN_PROGRESS", detail, { draining: answer.drain });
    }
    case "created":
    case "renewed": {
      const { kind, drain: copy } = answer;
      queue.waits.note();
      const answered: BotDrainAnswer = {
        now: parts.clock.now(),
        kind,
        drain: copy,
        queued: queue.waits.under([body.id]),
      };
      return Response.json(answered);
    }
  }
};

/** A bot that has only just begun reads its queue first; one whose ledger is silent says what it knows. */
async function queueRead({ desk, queue }: Front): Promise<void> {
  const over = new AbortController();
  await Promise.race([queue.waits.read, desk.parts.real.sleep(REAL.connectMs, over.signal).catch(() => undefined)]);
  over.abort();
}

/** `POST /undrain`. Admin's force lifts whatever stands. */
export const undrain: Handler = async ({ front, scope, given }) => {
  const { desk, queue } = front;
  const { doors, parts } = desk;
  const { id, force } = parsed(undrainBodySchema, given);
  if (force && scope !== "admin") raise("BEYOND_SCOPE", `force needs the admin bearer (${SCOPE_ENV.admin})`);
  const ids = id === undefined ? doors.pendingAll.map((one) => one.id) : [id];
  queue.waits.note();
  const kinds = ids.map((one) => doors.lift(one).kind);
  await queueRead(front);
  const answered: BotUndrainAnswer = {
    now: parts.clock.now(),
    kind: kinds.includes("lifted") ? "lifted" : "already",
    deferredUntil: null,
    remaining: [...doors.pendingAll],
    held: [],
    heldUntil: null,
    queued: queue.waits.under(ids),
  };
  return Response.json(answered);
};
