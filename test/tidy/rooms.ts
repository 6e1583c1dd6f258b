// The one table of who may import whom. The tidy test and the lint configuration are both held to it.

/** What one room of src/ may name in an import, beside its own files. */
export interface Room {
  /** Other rooms; `core/budgets` stands for that one file. */
  readonly rooms: readonly string[];
  /** Packages, with everything under them. */
  readonly packages: readonly string[];
  /** Whole schemes such as `node:`. */
  readonly schemes: readonly string[];
}

const budgetsOnly = ["core/budgets", "core/time"];

/** The rooms of src/ by name. A folder that is not here is not a room. */
export const rooms: Readonly<Record<string, Room>> = {
  core: { rooms: [], packages: [], schemes: [] },
  wire: { rooms: ["core"], packages: ["zod"], schemes: [] },
  http: { rooms: ["core", "wire"], packages: [], schemes: [] },
  fleet: { rooms: ["core", "wire", "http"], packages: ["hono", "zod", "@logtape/logtape"], schemes: ["cloudflare:"] },
  ledger: { rooms: ["core", "wire", "http"], packages: ["hono", "zod", "@logtape/logtape"], schemes: ["cloudflare:"] },
  agent: {
    rooms: ["wire", ...budgetsOnly],
    packages: ["hono", "@hono/node-server", "zod", "execa"],
    schemes: ["node:"],
  },
  client: { rooms: ["core", "wire"], packages: ["p-retry", "eventsource-parser", "zod"], schemes: [] },
  node: {
    rooms: ["core", "wire"],
    packages: ["@hono/node-server", "@logtape/logtape", "execa", "hono", "jsonc-parser", "zod"],
    schemes: ["node:"],
  },
  embed: {
    rooms: ["wire", "node", ...budgetsOnly, "core/pruning"],
    packages: ["@hono/node-server", "esbuild", "execa", "hono", "workerd", "zod"],
    schemes: ["node:"],
  },
  bot: {
    rooms: ["core", "wire", "http", "client", "node"],
    packages: ["@slack/bolt", "@slack/types", "hono", "zod"],
    schemes: ["node:"],
  },
  deploy: { rooms: ["core", "wire", "client", "node"], packages: ["execa", "zod"], schemes: ["node:"] },
  cli: {
    rooms: ["core", "wire", "client", "node", "deploy", "sim", "embed"],
    packages: ["@bomb.sh/tab", "commander", "log-update", "zod"],
    schemes: ["node:"],
  },
  console: { rooms: ["core", "wire"], packages: ["preact", "@preact/signals", "d3-scale"], schemes: [] },
  sim: { rooms: ["core", "wire", "client"], packages: [], schemes: [] },
};

/** What a test beside its file may import beyond its room's own list. */
export const testExtras = { packages: ["fast-check"], schemes: ["node:"] } as const;

/** The lint pattern (gitignore style) that forbids a room everything but its own list. */
export function lintPattern(name: string, room: Room): string[] {
  const files = room.rooms.map((other) => (other.includes("/") ? `!#${other}.ts` : `!#${other}/**`));
  const packages = room.packages.flatMap((one) => [`!${one}`, `!${one}/**`]);
  return [
    "*",
    `!#${name}/**`,
    "!./**",
    "!../**",
    ...files,
    ...packages,
    ...room.schemes.flatMap((one) => [`!${one}*`, `!${one}*/**`]),
  ];
}
