// The fleet Worker's routes, once, for both ends: the Worker registers from this table, clients call by it, docs/wire.md prints it.

import type { Scope } from "#core/scopes.ts";

/** One route of a table. */
export interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Scopes that pass beside admin; `public` needs no bearer. */
  readonly scopes: readonly Scope[] | "public";
  /** What the body is, by the schema's name in wire/, or null. */
  readonly body: string | null;
  readonly answers: string;
  readonly says: string;
}

/** The table (protocol.md, "Scopes"). */
export const ROUTES = {
  healthz: {
    method: "GET",
    path: "/healthz",
    scopes: "public",
    body: null,
    answers: "healthSchema",
    says: "Which upload answers: build, generation, the drain that brought it.",
  },
  residents: {
    method: "GET",
    path: "/residents",
    scopes: ["read"],
    body: null,
    answers: "residentsSchema",
    says: "The fleet's sum: drains, residents, runs in flight. `?fresh=1` asks the busy residents.",
  },
  drains: {
    method: "GET",
    path: "/drain",
    scopes: ["read"],
    body: null,
    answers: "drainsSchema",
    says: "The live drains, and the one that ends last.",
  },
  drain: {
    method: "POST",
    path: "/drain",
    scopes: ["drain"],
    body: "drainBodySchema",
    answers: "drainAnswerSchema",
    says: "Close admission, or renew: a record with its own end.",
  },
  undrain: {
    method: "POST",
    path: "/undrain",
    scopes: ["drain"],
    body: "undrainBodySchema",
    answers: "undrainAnswerSchema",
    says: "Lift one drain by its id; idempotent.",
  },
  seal: {
    method: "POST",
    path: "/seal",
    scopes: ["drain"],
    body: "sealBodySchema",
    answers: "drainAnswerSchema",
    says: "Every resident promises to be quiet; success begins the swap.",
  },
  reconcile: {
    method: "POST",
    path: "/reconcile",
    scopes: ["drain"],
    body: "reconcileBodySchema",
    answers: "reconcileAnswerSchema",
    says: "202: every container is brought onto the deployed image, and its resident held until it reports; idempotent.",
  },
  reconciled: {
    method: "GET",
    path: "/reconcile",
    scopes: ["drain", "read"],
    body: null,
    answers: "reconcileAnswerSchema",
    says: "That operation, resident by resident. `?id=` names the drain.",
  },
  releaseHold: {
    method: "POST",
    path: "/holds/release",
    scopes: ["drain"],
    body: "releaseHoldBodySchema",
    answers: "releaseHoldAnswerSchema",
    says: "One resident is waited for no more, with a reason: it opens.",
  },
  watch: {
    method: "GET",
    path: "/watch",
    scopes: ["read", "operator"],
    body: null,
    answers: "watchFrameSchema",
    says: "WebSocket: the state, then each change.",
  },
  events: {
    method: "GET",
    path: "/events",
    scopes: ["read"],
    body: null,
    answers: "auditRowSchema",
    says: "SSE: what happened, from `Last-Event-ID` on.",
  },
  audit: {
    method: "GET",
    path: "/audit",
    scopes: ["read"],
    body: null,
    answers: "auditSchema",
    says: "Who closed, sealed and opened what, when and why.",
  },
  attach: {
    method: "POST",
    path: "/attach",
    scopes: ["operator"],
    body: "attachBodySchema",
    answers: "attachLineSchema",
    says: "The one door: a run is admitted with a worktree, or refused.",
  },
  detach: {
    method: "POST",
    path: "/detach",
    scopes: ["operator"],
    body: "detachBodySchema",
    answers: "detachAnswerSchema",
    says: "A run ends: its processes, then its registration; its work stays.",
  },
  exec: {
    method: "POST",
    path: "/exec",
    scopes: ["operator"],
    body: "execBodySchema",
    answers: "outputFrameSchema",
    says: "Start a process once by its id, and stream its output from an offset.",
  },
  read: {
    method: "POST",
    path: "/read",
    scopes: ["operator"],
    body: "readBodySchema",
    answers: "readAnswerSchema",
    says: "One file of the thread's worktree.",
  },
  write: {
    method: "POST",
    path: "/write",
    scopes: ["operator"],
    body: "writeBodySchema",
    answers: "writeAnswerSchema",
    says: "Write one file of the thread's worktree.",
  },
  op: {
    method: "POST",
    path: "/op",
    scopes: ["operator"],
    body: "opBodySchema",
    answers: "opAnswerSchema",
    says: "Stop, push or look at a run in flight.",
  },
  onboard: {
    method: "POST",
    path: "/onboard",
    scopes: [],
    body: "onboardBodySchema",
    answers: "onboardLineSchema",
    says: "A repository becomes a resident; streamed, since a clone and a setup take their time.",
  },
  offboard: {
    method: "POST",
    path: "/offboard",
    scopes: [],
    body: "offboardBodySchema",
    answers: "offboardBodySchema",
    says: "A resident goes, with its container.",
  },
  reconfigure: {
    method: "POST",
    path: "/reconfigure",
    scopes: [],
    body: "reconfigureBodySchema",
    answers: "offboardBodySchema",
    says: "Change a resident's setup or test command.",
  },
  rebuild: {
    method: "POST",
    path: "/rebuild",
    scopes: [],
    body: "rebuildBodySchema",
    answers: "onboardLineSchema",
    says: "A resident gets a new container and a fresh mirror; streamed. `force` ends its runs first.",
  },
  releaseRun: {
    method: "POST",
    path: "/runs/release",
    scopes: [],
    body: "releaseBodySchema",
    answers: "detachAnswerSchema",
    says: "End one run in flight, with a reason.",
  },
} as const satisfies Record<string, Route>;

export type RouteName = keyof typeof ROUTES;
export const ROUTE_NAMES = Object.keys(ROUTES).filter((name): name is RouteName => name in ROUTES);
