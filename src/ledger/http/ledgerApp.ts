// The ledger's HTTP face: every route of the table, its bearer, its body and its one error door. It decides nothing.

import { Hono, type Context } from "hono";
import type * as z from "zod";
import { PROTOCOL } from "#core/preflight.ts";
import type { Scope } from "#core/scopes.ts";
import { judged, secretsIn } from "#http/bearer.ts";
import { jsonBody } from "#http/body.ts";
import { problemAnswer, requestIdOf } from "#http/problemAnswer.ts";
import { problemIn, problemOf, raise } from "#wire/errors.ts";
import * as wire from "#wire/ledger.ts";
import { entriesQuerySchema } from "#wire/ledgerLook.ts";
import { wordsBodySchema } from "#wire/ledgerWords.ts";
import { LEDGER_ROUTES, LEDGER_ROUTE_NAMES, type LedgerRouteName } from "#wire/ledgerRoutes.ts";
import { parsed, valueOf } from "#wire/parse.ts";
import { ledgerOf, type Answer, type LedgerPort } from "../port.ts";
import { messageOf, type Env, type Root } from "../root.ts";

/** One request on its way: who asks, and the JSON body of a POST or the query of a GET, not yet parsed. */
interface Asked {
  readonly scope: Scope;
  readonly given: unknown;
  /** Asks the object; what it refuses is raised, and one that cannot be asked is a part that cannot be read. */
  readonly ledger: <T>(ask: (ledger: LedgerPort) => Answer<T>) => Promise<T>;
}

type Handler = (asked: Asked) => Promise<unknown>;

/** A route that is its parsed body or query and one question to the object. */
const route =
  <B, T>(schema: z.ZodType<B>, ask: (ledger: LedgerPort, body: B) => Answer<T>): Handler =>
  ({ given, ledger }) => {
    const body = parsed(schema, given);
    return ledger((port) => ask(port, body));
  };

const HANDLERS: Readonly<Record<Exclude<LedgerRouteName, "healthz">, Handler>> = {
  begin: route(wire.generationBodySchema, (ledger, { by }) => ledger.begin(by)),
  ask: route(wire.ledgerAskBodySchema, (ledger, body) => ledger.ask(body)),
  dispatch: route(wire.dispatchBodySchema, (ledger, body) => ledger.dispatch(body)),
  giveBack: route(wire.returnBodySchema, (ledger, body) => ledger.giveBack(body)),
  progress: route(wire.progressBodySchema, (ledger, body) => ledger.progress(body)),
  output: route(wire.outputBodySchema, (ledger, body) => ledger.output(body)),
  heartbeat: route(wire.holderBodySchema, (ledger, { generation }) => ledger.heartbeat(generation)),
  handOff: route(wire.handOffBodySchema, (ledger, { generation, since }) => ledger.handOff(generation, since)),
  reclaim: route(wire.holderBodySchema, (ledger, { generation }) => ledger.reclaim(generation)),
  say: route(wire.ledgerMessageBodySchema, (ledger, body) => ledger.say(body)),
  end: ({ given, scope, ledger }) => {
    const body = parsed(wire.endBodySchema, given);
    return ledger((port) => port.end(body, scope));
  },
  note: route(wire.noteBodySchema, (ledger, body) => ledger.note(body)),
  told: route(wire.toldBodySchema, (ledger, body) => ledger.told(body)),
  words: route(wordsBodySchema, (ledger, body) => ledger.words(body)),
  entries: ({ given, ledger }) => {
    const { brief } = parsed(entriesQuerySchema, given);
    return brief === undefined ? ledger((port) => port.entries()) : ledger((port) => port.look());
  },
  history: route(wire.historyQuerySchema, (ledger, query) => ledger.history(query)),
  run: route(wire.runQuerySchema, (ledger, { id }) => ledger.run(id)),
  outputFrom: route(wire.outputQuerySchema, (ledger, query) => ledger.outputFrom(query)),
  card: route(wire.cardBodySchema, (ledger, body) => ledger.card(body)),
  cards: route(wire.cardQuerySchema, (ledger, query) => ledger.cards(query)),
  keepReceipt: route(wire.receiptBodySchema, (ledger, { receipt }) => ledger.keepReceipt(receipt)),
  receipts: route(wire.receiptQuerySchema, (ledger, query) => ledger.receipts(query)),
};

/** An object of this boot that is gone, as by an update of its code: a fresh one answers. */
const isReset = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "retryable" in error && error.retryable === true;

async function asked<T>(env: Env, ask: (ledger: LedgerPort) => Answer<T>): Promise<T> {
  const answer = await ask(ledgerOf(env)).catch((error: unknown) =>
    raise(isReset(error) ? "ROLLING" : "UNREADABLE", `the ledger: ${messageOf(error)}`),
  );
  return valueOf(answer);
}

function answerProblem(root: Root, context: Context, requestId: string, error: unknown): Response {
  const problem = problemIn(error) ?? problemOf("INTERNAL", `request ${requestId}`);
  const level = problem.status >= 500 ? "error" : "info";
  root.log(level, "refused", { requestId, path: context.req.path, code: problem.code, error: messageOf(error) });
  return problemAnswer(problem, requestId);
}

async function answer(env: Env, root: Root, request: Request, name: LedgerRouteName): Promise<unknown> {
  const scope = await judged(secretsIn(env), request, LEDGER_ROUTES[name]);
  if (name === "healthz") {
    const { build, generation, drainId } = root.settings;
    return { ok: true, protocol: PROTOCOL, build, generation, drainId, now: root.now() };
  }
  const given =
    LEDGER_ROUTES[name].method === "POST"
      ? await jsonBody(request)
      : Object.fromEntries(new URL(request.url).searchParams);
  return HANDLERS[name]({ scope, given, ledger: (ask) => asked(env, ask) });
}

/** The app. Routes come from the table, so that it cannot promise what is not served; it is made once and holds nothing. */
export function ledgerApp(rootOf: (env: Env) => Root): Hono<{ Bindings: Env }> {
  const app = new Hono<{ Bindings: Env }>();
  for (const name of LEDGER_ROUTE_NAMES) {
    app.on(LEDGER_ROUTES[name].method, LEDGER_ROUTES[name].path, async (context) => {
      const requestId = requestIdOf(context.req.raw);
      const root = rootOf(context.env);
      try {
        const body = await answer(context.env, root, context.req.raw, name);
        return Response.json(body, { headers: { "x-request-id": requestId } });
      } catch (error) {
        return answerProblem(root, context, requestId, error);
      }
    });
  }
  app.notFound((context) => {
    const methods = LEDGER_ROUTE_NAMES.map((name) => LEDGER_ROUTES[name])
      .filter(({ path }) => path === context.req.path)
      .map(({ method }) => method);
    const problem =
      methods.length > 0
        ? problemOf("WRONG_METHOD", `${context.req.path} takes ${methods.join(", ")}`, { methods })
        : problemOf("NO_ROUTE", context.req.path);
    return answerProblem(rootOf(context.env), context, requestIdOf(context.req.raw), { problem });
  });
  app.onError((error, context) => answerProblem(rootOf(context.env), context, requestIdOf(context.req.raw), error));
  return app;
}
