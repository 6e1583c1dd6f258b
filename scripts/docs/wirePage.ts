// docs/wire.md: the routes of the Workers from their own tables and schemas, then the two APIs behind the fleet's, whose
// routes are read out of the source, so that one without words here stops the generator.

import type * as z from "zod";
import { budgetsOf, DEFAULT_LEASES } from "#core/budgets.ts";
import { SCOPE_ENV, SCOPES } from "#core/scopes.ts";
import * as agent from "#wire/agent.ts";
import * as attach from "#wire/attach.ts";
import * as bot from "#wire/bot.ts";
import * as drain from "#wire/drain.ts";
import * as errors from "#wire/errors.ts";
import * as fleet from "#wire/fleet.ts";
import * as host from "#wire/host.ts";
import * as ledger from "#wire/ledger.ts";
import * as ledgerWords from "#wire/ledgerWords.ts";
import { LEDGER_ROUTES } from "#wire/ledgerRoutes.ts";
import * as names from "#wire/names.ts";
import { ROUTES, type Route, type RouteName } from "#wire/routes.ts";
import { AGENT_ROUTES, CONTAINER_ROUTES, CONTROL_ROUTES, type ApiRoute } from "./apiRoutes.ts";
import { opening, page, table } from "./markdown.ts";
import { interfaceFields, registeredRoutes } from "./readCode.ts";
import { schemaTable, type Named } from "./schemaWords.ts";

const budgets = budgetsOf(DEFAULT_LEASES);

/** The schemas that the fleet's table names; one of them is made for a fleet's own bound. */
const FLEET_SCHEMAS: Readonly<Record<string, unknown>> = {
  ...attach,
  ...drain,
  ...fleet,
  outputFrameSchema: agent.outputLine,
  drainBodySchema: drain.drainBodySchema(budgets.capMinutes),
};

const NAMED: Named = new Map<unknown, string>([
  [drain.drainSchema, "Drain"],
  [drain.buildSchema, "Build"],
  [host.buildSchema, "Build"],
  [fleet.runRowSchema, "Run in flight"],
  [fleet.residentRowSchema, "Resident"],
  [attach.bindingSchema, "Binding"],
  [attach.workSchema, "Work"],
  [errors.problemSchema, "Problem"],
  [agent.procEnd, "End of a process"],
  [ledger.cardSchema, "Card"],
  [ledger.askSchema, "Ask"],
  [ledger.entrySchema, "Entry"],
  [ledger.verdictSchema, "Verdict"],
  [names.resourceSchema, "Resource"],
  [names.threadKeySchema, "Thread key"],
  [names.idSchema, "Id"],
]);

/** Routes whose answers the table names by a schema that their handler gives a part of. */
const isSchema = (value: unknown): value is z.ZodType =>
  typeof value === "object" && value !== null && "safeParse" in value;

/** One table of routes as a page shows it. `mark` tells its headings from another's. */
interface Table {
  readonly mark: string;
  readonly routes: Readonly<Record<string, Route>>;
  readonly schemas: Readonly<Record<string, unknown>>;
  readonly streamed: Readonly<Record<string, string>>;
}

function schemaNamed({ schemas }: Table, name: string): z.ZodType {
  const schema = schemas[name];
  if (!isSchema(schema)) throw new Error(`the route table names ${name}, which no file of wire/ exports`);
  return schema;
}

function scopesOf({ scopes }: Route): string {
  return scopes === "public" ? "no bearer" : ["admin", ...scopes].join(", ");
}

function matrix({ mark, routes }: Table): string {
  const rows = Object.values(routes).map(({ method, path, scopes }) => {
    const held = SCOPES.map((scope) => {
      if (scopes === "public") return "public";
      return scope === "admin" || scopes.some((one) => one === scope) ? "yes" : "—";
    });
    const anchor = `${mark}${method} ${path}`
      .toLowerCase()
      .replaceAll(/[^a-z0-9 _-]/g, "")
      .replaceAll(" ", "-");
    return [`[\`${method} ${path}\`](#${anchor})`, ...held];
  });
  return table(["route", ...SCOPES], rows);
}

function routeOf(of: Table, name: string, route: Route): string {
  const { method, path, body, answers, says } = route;
  const parts = [`### ${of.mark}${method} ${path}`, `${says} Passes: ${scopesOf(route)}.`];
  if (body !== null) parts.push("Body:", schemaTable(schemaNamed(of, body), "input", NAMED));
  parts.push(of.streamed[name] ?? "Answer:", schemaTable(schemaNamed(of, answers), "output", NAMED));
  return parts.map((part) => part.trim()).join("\n\n");
}

const routesOf = (of: Table): string[] => Object.entries(of.routes).map(([name, route]) => routeOf(of, name, route));

/** Where an answer is more than one JSON object. */
const STREAMED: Readonly<Partial<Record<RouteName, string>>> = {
  attach:
    "Answer, once admitted: `application/x-ndjson`, whose last line is the binding or an error. A refusal is a real status before the first byte.",
  onboard: "Answer: `application/x-ndjson`, whose last line is the resident or an error.",
  exec: "Answer: `application/x-ndjson`. Only a line of `type` `end` is the process's end; a stream that stops without one was cut, and is asked for again from the offsets read.",
  watch:
    "Answer: WebSocket. The first frame is the state, each later one a change; `ping` is answered with `pong`. Each frame:",
  events: "Answer: `text/event-stream`; `id` is the row's, `event` its `what`, and the data of each:",
};

const FLEET: Table = { mark: "", routes: ROUTES, schemas: FLEET_SCHEMAS, streamed: STREAMED };
const BOT: Table = {
  mark: "bot ",
  routes: bot.BOT_ROUTES,
  schemas: { ...FLEET_SCHEMAS, ...ledger, ...bot },
  streamed: {
    output: "Answer: `text/event-stream`, to the end of the run. The data of each event:",
    events: "Answer: `text/event-stream`; `id` is the card's number in the ledger. The data of each:",
  },
};
const LEDGER: Table = {
  mark: "ledger ",
  routes: LEDGER_ROUTES,
  schemas: { ...fleet, ...ledger, ...ledgerWords },
  streamed: {},
};

function shape(name: string, schema: z.ZodType): string {
  return `### ${name}\n\n${schemaTable(schema, "output", NAMED)}`;
}

function drainShape(): string {
  const rows = interfaceFields("src/core/drain.ts", "Drain").map(({ name, type, says }) => [
    `\`${name}\``,
    `\`${type}\``,
    says,
  ]);
  const sealing = interfaceFields("src/core/drain.ts", "Sealing").map(({ name, type }) => `\`${name}\`: \`${type}\``);
  return `### Drain\n\nInstants are milliseconds of the registry's clock; \`until\` and \`phaseUntil\` are exclusive.\n\n${table(["field", "is", ""], rows)}\n\`sealing\` is ${sealing.join(", ")}.`;
}

function api(routes: Readonly<Record<string, ApiRoute>>, found: readonly string[]): string {
  const missing = found.filter((route) => routes[route] === undefined);
  const gone = Object.keys(routes).filter((route) => !found.includes(route));
  if (missing.length + gone.length > 0)
    throw new Error(
      `scripts/docs/apiRoutes.ts: without words ${missing.join(", ") || "none"}; not in the source ${gone.join(", ") || "none"}`,
    );
  const parts = Object.entries(routes).map(([route, { says, asks, answers }]) => {
    const asked = asks === null ? [] : [`Asks:`, schemaTable(asks, "input", NAMED)];
    return [`### ${route}`, says, ...asked, "Answer:", schemaTable(answers, "output", NAMED)].join("\n\n");
  });
  return parts.map((part) => part.trim()).join("\n\n");
}

/** The whole document. */
export function wirePage(): string {
  const envs = SCOPES.map((scope) => [`\`${scope}\``, `\`${SCOPE_ENV[scope]}\``]);
  return page(
    opening(
      "The wire",
      `Five HTTP APIs: the fleet's own, which callers and deployers use; the bot's, for whoever asks; the ledger's, for the bot and for a deploy's receipt; the
agent's, inside each container; the host's, by which the fleet Worker has containers and the command line has the supervisor. A body is JSON (\`content-type:
application/json\`), unknown fields of it are ignored, and nothing is clamped: what does not fit is a 400 that names the
field. Instants and spans are whole milliseconds. Errors: [errors.md](errors.md).`,
    ),
    "## Scopes",
    "`Authorization: Bearer …`. Four bearers; admin passes everywhere, every other one its own routes and nothing else. An empty one grants nothing.",
    table(["scope", "environment"], envs),
    matrix(FLEET),
    "## The fleet",
    ...routesOf(FLEET),
    "## The bot",
    "The same bearers, on the bot's own address.",
    matrix(BOT),
    ...routesOf(BOT),
    "## The ledger",
    "The same bearers, on the ledger's own address.",
    matrix(LEDGER),
    ...routesOf(LEDGER),
    "## Shapes",
    shape("Resource", names.resourceSchema),
    shape("Thread key", names.threadKeySchema),
    shape("Id", names.idSchema),
    drainShape(),
    shape("Build", drain.buildSchema),
    shape("Run in flight", fleet.runRowSchema),
    shape("Resident", fleet.residentRowSchema),
    shape("Binding", attach.bindingSchema),
    shape("Work", attach.workSchema),
    shape("Card", ledger.cardSchema),
    shape("Ask", ledger.askSchema),
    shape("Entry", ledger.entrySchema),
    shape("Verdict", ledger.verdictSchema),
    shape("Problem", errors.problemSchema),
    shape("End of a process", agent.procEnd),
    "## The agent",
    "On loopback, at a port and with a token that only the host and the fleet Worker know. Long answers are `application/x-ndjson`.",
    api(AGENT_ROUTES, registeredRoutes("src/agent/routes.ts", /^add\w*Routes$/)),
    "## The host: containers",
    "For the fleet Worker, with the host token. Loopback, on the supervisor's own port.",
    api(
      CONTAINER_ROUTES,
      registeredRoutes("src/embed/hostRoutes.ts", /^containerRoutes$/).map((route) =>
        route.replace(" /", " /containers/").replace(/\/$/, ""),
      ),
    ),
    "## The host: control",
    "For the command line and the deploy runner, with the control token of `supervisor.json`.",
    api(
      CONTROL_ROUTES,
      registeredRoutes("src/embed/hostRoutes.ts", /^controlRoutes$/).map((route) => route.replace(" /", " /control/")),
    ),
  );
}
