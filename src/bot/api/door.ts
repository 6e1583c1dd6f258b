// The bot's door from outside: which bot answers and what it has, and the copy of a deploy's drain that closes it.

import { SCOPE_ENV } from "#core/scopes.ts";
import { PROTOCOL } from "#core/preflight.ts";
import { clockOf } from "#core/time.ts";
import type { BotHealth } from "#wire/bot.ts";
import { drainBodySchema, undrainBodySchema } from "#wire/drain.ts";
import { raise } from "#wire/errors.ts";
import type { Handler } from "./asked.ts";
import { parsed } from "./body.ts";

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
    queued: queue.size,
    draining: desk.doors.pending,
    rolling: front.isEnding(),
    held: desk.doors.held,
  };
  return Response.json(health);
};

/** `POST /drain`. */
export const drain: Handler = async ({ front, scope, given }) => {
  const { doors, parts } = front.desk;
  const body = parsed(drainBodySchema(parts.budgets.capMinutes), given);
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
    case "renewed":
      return Response.json({ now: parts.clock.now(), kind: answer.kind, drain: answer.drain });
  }
};

/** `POST /undrain`. Admin's force lifts whatever stands. */
export const undrain: Handler = async ({ front, scope, given }) => {
  const { doors, parts } = front.desk;
  const { id, force } = parsed(undrainBodySchema, given);
  if (force && scope !== "admin") raise("BEYOND_SCOPE", `force needs the admin bearer (${SCOPE_ENV.admin})`);
  const ids = id === undefined ? doors.pendingAll.map((one) => one.id) : [id];
  const kinds = ids.map((one) => doors.lift(one).kind);
  return Response.json({
    now: parts.clock.now(),
    kind: kinds.includes("lifted") ? "lifted" : "already",
    deferredUntil: null,
    remaining: doors.pendingAll,
    held: [],
    heldUntil: null,
  });
};
