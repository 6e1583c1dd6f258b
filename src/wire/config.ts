// The shape of `tidegate.jsonc`. Every object is strict: a key that nothing reads is a mistake of its writer, never ignored.

import * as z from "zod";
import { DEFAULT_LEASES, type Leases } from "#core/budgets.ts";
import { parseDuration } from "#core/time.ts";

/** Where the fleet listens when nobody says otherwise. */
const DEFAULT_PORT = 8790;

const SPAN = 'wants a span with its unit, such as "45m" or "1h30m"';
const lease = z
  .string({ error: ({ input }) => (input === undefined ? 'is missing: a span such as "45m"' : SPAN) })
  .refine((text) => (parseDuration(text) ?? 0) > 0, { error: SPAN });

const relativePath = z
  .string()
  .min(1)
  .max(500)
  .refine((path) => !path.startsWith("/") && !path.includes("\0") && !path.split("/").includes(".."), {
    error: "wants a path inside this folder, without `..`",
  });

const toolName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/, { error: "wants the name of a command, such as `node`" });
const toolVersion = z
  .string()
  .regex(/^\d+(\.\d+){0,3}$/, { error: 'wants the beginning of a version, such as "24" or "24.1"' });

const envName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: "wants the name of an environment variable" })
  .refine((name) => !/^(TIDEGATE|RESIDENT)_/.test(name), {
    error: "names that begin with TIDEGATE_ or RESIDENT_ are tidegate's own",
  });

const word = z
  .string()
  .max(20_000)
  .refine((text) => !text.includes("\0"), { error: "has a NUL" });
const command = z
  .array(word, { error: 'wants a list of words, such as ["sh", "-c", "make test"]' })
  .min(1, { error: "wants at least the name of a command" })
  .max(1_000)
  .refine((words) => words[0] !== "", { error: "names an empty command" });

const SOURCE = 'wants {"from": "NAME"} or {"file": "path"}: where the value stands, never the value';
const envSourceSchema = z
  .strictObject(
    { from: envName.optional(), file: word.min(1).max(500).optional() },
    { error: (issue) => (issue.code === "invalid_type" ? SOURCE : undefined) },
  )
  .refine(({ from, file }) => (from === undefined) !== (file === undefined), { error: SOURCE });

const kindSchema = z.strictObject({
  lease,
  command: command.optional(),
  resume: command.optional(),
  env: z.record(envName, envSourceSchema).optional(),
});

const imageSchema = z.strictObject({
  setup: z.string().max(20_000).optional(),
  files: z.array(relativePath).max(500).optional(),
  tools: z.record(toolName, toolVersion).optional(),
  env: z.record(envName, z.string().max(20_000)).optional(),
});

const residentSchema = z.strictObject({
  swap: z.enum(["drain", "handoff"], { error: 'wants "drain" or "handoff"' }).optional(),
});

const botSchema = z.strictObject({
  port: z.int().min(0).max(65_535).optional(),
  roll: z.enum(["drain", "handoff"], { error: 'wants "drain" or "handoff"' }).optional(),
});

/** `tidegate.jsonc` as written. */
export const configSchema = z.strictObject({
  $schema: z.string().optional(),
  port: z.int().min(0).max(65_535).optional(),
  kinds: z
    .record(
      z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, { error: "a kind is a small word, such as `coding`" }),
      kindSchema,
    )
    .optional(),
  image: imageSchema.optional(),
  resident: residentSchema.optional(),
  bot: botSchema.optional(),
  fleetUrl: z.url({ protocol: /^https?$/ }).optional(),
  botUrl: z.url({ protocol: /^https?$/ }).optional(),
});

/** What goes into a container's image, with nothing left out. */
export interface ImageDefinition {
  readonly setup: string | null;
  readonly files: readonly string[];
  readonly tools: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
}

/** Where the value of a variable stands: in the bot's own environment, or in a file. */
export type EnvSource = { readonly from: string } | { readonly file: string };

/** What a run of one kind is: its lease, and the command that it runs as. */
export interface Kind {
  readonly leaseMs: number;
  /** Null: the ask's text is run by `sh -c`. */
  readonly command: readonly string[] | null;
  /** What goes on after the container was replaced; null: such a run ends. */
  readonly resume: readonly string[] | null;
  /** Everything that a run sees beyond its container's own. */
  readonly env: Readonly<Record<string, EnvSource>>;
}
export type Kinds = Readonly<Record<string, Kind>>;

/** A configuration with its defaults filled in. */
export interface Config {
  readonly port: number;
  /** The lease of each kind, the built-in ones included, in ms. */
  readonly leases: Leases;
  readonly kinds: Kinds;
  readonly image: ImageDefinition;
  /** How a release that keeps the image is swapped: over a quiet fleet, or under its runs. */
  readonly residentSwap: "drain" | "handoff";
  /** Where the bot listens, and how it leaves its runs when it is replaced. */
  readonly bot: { readonly port: number; readonly roll: "drain" | "handoff" };
  /** The fleet that the CLI talks to, where it is not this folder's own. */
  readonly fleetUrl: string | null;
  /** The bot that the CLI asks, where it is not this folder's own. */
  readonly botUrl: string | null;
}

/** The bot's port beside the fleet's: the next one; any where the fleet takes any. */
export const besidePort = (port: number): number => (port === 0 || port === 65_535 ? 0 : port + 1);

function sourceOf({ from, file }: z.infer<typeof envSourceSchema>): EnvSource {
  return from === undefined ? { file: file ?? "" } : { from };
}

function kindOf({ lease, command, resume, env }: z.infer<typeof kindSchema>): Kind {
  const sources = Object.entries(env ?? {}).map(([name, source]) => [name, sourceOf(source)] as const);
  const leaseMs = parseDuration(lease) ?? 0;
  return { leaseMs, command: command ?? null, resume: resume ?? null, env: Object.fromEntries(sources) };
}

/** The built-in kinds, and the file's in their place or beside them. */
function kindsOf(file: Readonly<Record<string, z.infer<typeof kindSchema>>>): Kinds {
  const builtIn = Object.entries(DEFAULT_LEASES).map(
    ([name, leaseMs]) => [name, { leaseMs, command: null, resume: null, env: {} }] as const,
  );
  const own = Object.entries(file).map(([name, kind]) => [name, kindOf(kind)] as const);
  return Object.fromEntries([...builtIn, ...own]);
}

/** Fills in what a configuration leaves out; the file's kinds replace the built-in ones of the same name. */
export function configOf(file: z.infer<typeof configSchema>): Config {
  const kinds = kindsOf(file.kinds ?? {});
  const leases = Object.fromEntries(Object.entries(kinds).map(([name, { leaseMs }]) => [name, leaseMs] as const));
  const { setup = null, files = [], tools = {}, env = {} } = file.image ?? {};
  return {
    port: file.port ?? DEFAULT_PORT,
    leases,
    kinds,
    image: { setup, files, tools, env },
    bot: { port: file.bot?.port ?? besidePort(file.port ?? DEFAULT_PORT), roll: file.bot?.roll ?? "drain" },
    residentSwap: file.resident?.swap ?? "drain",
    fleetUrl: file.fleetUrl ?? null,
    botUrl: file.botUrl ?? null,
  };
}

/** The keys that are known at a place in the file, for a did-you-mean; empty where any name goes. */
export function knownKeysAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.length === 0) return Object.keys(configSchema.shape);
  if (path.length === 1 && path[0] === "image") return Object.keys(imageSchema.shape);
  if (path.length === 1 && path[0] === "bot") return Object.keys(botSchema.shape);
  if (path.length === 1 && path[0] === "resident") return Object.keys(residentSchema.shape);
  if (path.length === 2 && path[0] === "kinds") return Object.keys(kindSchema.shape);
  if (path.length === 4 && path[0] === "kinds" && path[2] === "env") return Object.keys(envSourceSchema.shape);
  return [];
}

/** The published JSON Schema of `tidegate.jsonc`. */
export function configJsonSchema(): unknown {
  return z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" });
}
