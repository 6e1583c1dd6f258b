// Closing, sealing and opening, as the registry carries them out: each step is one pure decision and one write.

import { decideDrain, decideLift, liveDrains, type Drain } from "#core/drain.ts";
import { decideLook } from "#core/look.ts";
import { countLook, registeredUntil, sumOf } from "#core/quiet.ts";
import { fail, ok, type Result } from "#core/result.ts";
import {
  abandonSeal,
  beginHandoff,
  beginSeal,
  finishSeal,
  nextSeal,
  sealOf,
  type SealEffect,
  type SealFact,
  type SealReply,
  type SealResult,
} from "#core/seal.ts";
import { REAL } from "#core/budgets.ts";
import { clockOf, type Instant } from "#core/time.ts";
import type { DrainBody, UndrainBody } from "#wire/drain.ts";
import { problemOf, type Problem } from "#wire/errors.ts";
import { residentOf, type LookQuestion, type LookReply, type UndrainReply } from "../ports.ts";
import { messageOf, within } from "../root.ts";
import { changed, settleEnded, writeBook } from "./registry.ts";
import { noteUnreadable, takeReport } from "./reports.ts";
import type { Registry } from "./registryParts.ts";
import { endWaiting, forgetWaiting, noteWaiting } from "./waiting.ts";

/** One question of a resident: answered, and its attach counted, in one step (protocol.md, "The gate", 3). */
export function look(registry: Registry, question: LookQuestion): LookReply {
  const { store, root } = registry;
  const { resource, runId, parent, seal, kind } = question;
  if (store.meta(resource) === undefined) return { kind: "unknownResident" };
  const now = root.clock.now();
  const parentUntil = parent === null ? null : registeredUntil(store.entries(), parent);
  const book = store.book();
  const answer = decideLook(book, { resource, runId, look: question.look, parentUntil, seal, kind }, now);
  if (answer.kind === "closed") {
    noteWaiting(registry, question);
    return { ...answer, quietBy: sumOf(store.entries()).quietBy };
  }
  if (answer.book !== book) writeBook(registry, answer.book);
  store.writeEntry(countLook(store.entry(resource), { ...question.look, runId, at: now }));
  endWaiting(registry, runId, true);
  return { kind: "open", parentUntil: answer.parentUntil, sealStands: answer.sealStands };
}

/** `POST /drain`. */
export function drain(
  registry: Registry,
  body: DrainBody,
  principal: string,
): Result<{ kind: "created" | "renewed"; drain: Drain; now: Instant }, Problem> {
  const { store, root, audit } = registry;
  settleEnded(registry);
  forgetWaiting(registry);
  const now = root.clock.now();
  const answer = decideDrain(store.book(), { ...body, principal }, now);
  if (answer.kind === "over") return fail(problemOf("DRAIN_OVER", `drain ${body.id} was lifted or has ended`));
  if (answer.kind === "busy") {
    const { by, since, id } = answer.drain;
    const detail = `${by} has been deploying since ${clockOf(since)} (drain ${id})`;
    return fail(problemOf("DEPLOY_IN_PROGRESS", detail, { draining: answer.drain }));
  }
  writeBook(registry, answer.book);
  const { kind } = answer;
  if (kind === "created" || !body.deploy) {
    audit.add(
      { what: kind === "created" ? "drain" : "renew", principal, drainId: body.id, by: body.by, reason: body.reason },
      now,
    );
  }
  changed(registry);
  return ok({ kind, drain: answer.drain, now });
}

/** What a lift opened, in the audit log. */
function tellLift({ audit, root }: Registry, drain: Drain, held: readonly string[], how: LiftTold): void {
  const now = root.clock.now();
  const { principal, forced } = how;
  const { id: drainId, by, reason } = drain;
  audit.add({ what: "lift", principal, drainId, by, reason: forced ? "forced" : reason }, now);
  audit.add({ what: "reopen", principal, drainId, by, reason, cause: "lifted" }, now);
  for (const resource of held) audit.add({ what: "held", principal: "registry", drainId, by, resource }, now);
}

interface LiftTold {
  readonly principal: string;
  readonly forced: boolean;
}

const ALREADY = { kind: "already", deferredUntil: null, held: [], heldUntil: null } as const;

function liftOne(
  registry: Registry,
  id: string,
  body: UndrainBody,
  principal: string,
): Omit<UndrainReply, "remaining"> {
  const { store, root, audit } = registry;
  const now = root.clock.now();
  const before = store.book();
  const answer = decideLift(before, { id, outcome: body.outcome, force: body.force }, root.settings.drainId, now);
  if (answer.kind === "deferred") {
    audit.add(
      { what: "liftDeferred", principal, drainId: id, by: answer.drain.by, reason: `upload ${body.outcome}` },
      now,
    );
    return { kind: "deferred", deferredUntil: answer.at, held: [], heldUntil: null };
  }
  writeBook(registry, answer.book);
  if (answer.kind === "already") return ALREADY;
  const { held, drain } = answer;
  // A lift that is sent again finds the record reopening: it was told the first time, and opens nothing more.
  const again = held.length > 0 && liveDrains(before, now).some((one) => one.id === id && one.phase === "reopening");
  if (!again) tellLift(registry, drain, held, { principal, forced: body.force });
  return { kind: "lifted", deferredUntil: null, held, heldUntil: held.length === 0 ? null : drain.phaseUntil };
}

/** A record that this build cannot read ends by nobody's clock: an admin's force takes it away, and the log says so. */
function dropUnread({ store, root, audit }: Registry, principal: string): void {
  if (store.dropUnreadDrains() === 0) return;
  audit.add({ what: "lift", principal, reason: "forced: records that this build cannot read" }, root.clock.now());
}

/** `POST /undrain`: one drain by its id, or, by an admin's force, every one. */
export function undrain(registry: Registry, body: UndrainBody, principal: string): UndrainReply & { now: Instant } {
  const { store, root } = registry;
  settleEnded(registry);
  const now = root.clock.now();
  const ids = body.id === undefined ? liveDrains(store.book(), now).map((live) => live.id) : [body.id];
  if (body.id === undefined) dropUnread(registry, principal);
  const replies = ids.map((id) => liftOne(registry, id, body, principal));
  changed(registry);
  const remaining = liveDrains(store.book(), now);
  const told = replies.find((reply) => reply.kind === "deferred") ?? replies.find((reply) => reply.kind === "lifted");
  return { ...(told ?? ALREADY), remaining, now };
}

function unreadable(registry: Registry, resource: string, why: string): SealReply {
  noteUnreadable(registry, resource, why);
  return { resource, word: { kind: "unreadable" } };
}

async function askOne(
  registry: Registry,
  resource: string,
  seal: { drainId: string; attempt: number; until: Instant },
): Promise<SealReply> {
  try {
    const reply = await within(REAL.sealAskMs, residentOf(registry.env, resource).seal(seal));
    if (reply === undefined) return unreadable(registry, resource, "it does not answer");
    takeReport(registry, reply.report);
    const { found } = reply;
    if (found.kind !== "busy") return { resource, word: found };
    return { resource, word: { kind: "busy", runIds: found.rows.map((row) => row.runId) } };
  } catch (error) {
    return unreadable(registry, resource, messageOf(error));
  }
}

function unseal(registry: Registry, id: string, effect: Extract<SealEffect, { do: "unseal" }>): void {
  writeBook(registry, abandonSeal(registry.store.book(), id, effect.attempt, registry.root.clock.now()));
  for (const resource of effect.resources) {
    const told = residentOf(registry.env, resource).unseal(effect.attempt);
    registry.state.waitUntil(
      told.catch((error: unknown) => registry.root.log("info", "unseal lost", { resource, error: messageOf(error) })),
    );
  }
}

async function perform(registry: Registry, id: string, effect: SealEffect): Promise<SealFact> {
  const { store, root } = registry;
  switch (effect.do) {
    case "begin": {
      const begun = beginSeal(store.book(), id, root.clock.now());
      if (begun.kind === "asking") writeBook(registry, begun.book);
      const left = liveDrains(store.book(), root.clock.now()).find((live) => live.id === id)?.without ?? [];
      const asked = store.metas().filter((meta) => !left.some((one) => one.resource === meta.resource));
      return { kind: "begun", begun, residents: asked.map((meta) => meta.resource) };
    }
    case "ask": {
      const { attempt, until } = effect;
      return {
        kind: "asked",
        replies: await Promise.all(
          effect.resources.map((one) => askOne(registry, one, { drainId: id, attempt, until })),
        ),
      };
    }
    case "finish": {
      const finished = finishSeal(store.book(), id, effect.attempt, root.clock.now());
      if (finished.kind === "sealed") writeBook(registry, finished.book);
      return { kind: "finished", finished };
    }
    default:
      if (effect.do === "unseal") unseal(registry, id, effect);
      return { kind: "unsealed" };
  }
}

async function sealFleet(registry: Registry, id: string): Promise<SealResult> {
  let state = sealOf(id);
  while (state.effect.do !== "answer") state = nextSeal(state, await perform(registry, id, state.effect));
  return state.effect.result;
}

const namesOf = (replies: readonly SealReply[]): string =>
  replies
    .map(({ resource, word }) =>
      word.kind === "busy" ? `${resource} has ${word.runIds.join(", ")}` : `${resource} is ${word.kind}`,
    )
    .join("; ");

/** `POST /seal`: walks `nextSeal` over this registry and its residents. */
export async function seal(
  registry: Registry,
  id: string,
  principal: string,
): Promise<Result<{ drain: Drain; now: Instant }, Problem>> {
  const { audit, root } = registry;
  settleEnded(registry);
  const asked = root.clock.now();
  const result = await sealFleet(registry, id);
  const now = root.clock.now();
  if (result.kind === "over") return fail(problemOf("DRAIN_OVER", `drain ${id} was lifted or has ended`));
  if (result.kind === "busy") {
    const detail =
      result.residents.length === 0 ? "a run was admitted while the residents were asked" : namesOf(result.residents);
    audit.add({ what: "sealRefused", principal, drainId: id, reason: detail }, now);
    changed(registry);
    const unreadable = result.residents
      .filter((reply) => reply.word.kind === "unreadable")
      .map((reply) => reply.resource);
    return fail(problemOf("SEAL_BUSY", detail, { residents: result.residents, unreadable }));
  }
  const { by, reason, phaseSince } = result.drain;
  const isNew = phaseSince >= asked;
  if (isNew) audit.add({ what: "seal", principal, drainId: id, by, reason }, now);
  if (isNew) changed(registry);
  return ok({ drain: result.drain, now });
}

/** `POST /seal` with `handoff`: the swap begins over the runs in flight, in one step of the registry's own. */
export function handOff(
  registry: Registry,
  id: string,
  principal: string,
): Result<{ drain: Drain; now: Instant }, Problem> {
  const { audit, root, store } = registry;
  settleEnded(registry);
  const now = root.clock.now();
  const begun = beginHandoff(store.book(), id, root.settings.build, now);
  if (begun.kind === "over") return fail(problemOf("DRAIN_OVER", `drain ${id} was lifted or has ended`));
  if (begun.kind === "imageChanges")
    return fail(problemOf("IMAGE_CHANGES", `it would go from image ${begun.from} to ${begun.to}`));
  const { by, reason } = begun.drain;
  if (begun.book !== store.book()) {
    writeBook(registry, begun.book);
    audit.add({ what: "handOff", principal, drainId: id, by, reason }, now);
    changed(registry);
  }
  return ok({ drain: begun.drain, now });
}
