// The shape of `tidegate.jsonc`. Every object is strict: a key that nothing reads is a mistake of its writer, never ignored.

import * as z from "zod";
import { DEFAULT_LEASES, type Leases } from "#core/budgets.ts";
import { parseDuration } from "#core/time.ts";

/** Where the fleet listens when nobody says otherwise. */
const DEFAULT_PORT = 8790;

const lease = z
  .string({ error: 'wants a span with its unit, such as "45m" or "1h30m"' })
  .refine((text) => (parseDuration(text) ?? 0) > 0, { error: 'wants a span with its unit, such as "45m" or "1h30m"' });

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

const kindSchema = z.strictObject({ lease });

const imageSchema = z.strictObject({
  setup: z.string().max(20_000).optional(),
  files: z.array(relativePath).max(500).optional(),
  tools: z.record(toolName, toolVersion).optional(),
  env: z.record(envName, z.string().max(20_000)).optional(),
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
  fleetUrl: z.url({ protocol: /^https?$/ }).optional(),
});

/** What goes into a container's image, with nothing left out. */
export interface ImageDefinition {
  readonly setup: string | null;
  readonly files: readonly string[];
  readonly tools: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
}

/** A configuration with its defaults filled in. */
export interface Config {
  readonly port: number;
  /** The lease of each kind, the built-in ones included, in ms. */
  readonly leases: Leases;
  readonly image: ImageDefinition;
  /** The fleet that the CLI talks to, where it is not this folder's own. */
  readonly fleetUrl: string | null;
}

/** Fills in what a configuration leaves out; the file's kinds replace the built-in ones of the same name. */
export function configOf(file: z.infer<typeof configSchema>): Config {
  const leases: Record<string, number> = { ...DEFAULT_LEASES };
  for (const [name, kind] of Object.entries(file.kinds ?? {})) leases[name] = parseDuration(kind.lease) ?? 0;
  const { setup = null, files = [], tools = {}, env = {} } = file.image ?? {};
  return {
    port: file.port ?? DEFAULT_PORT,
    leases,
    image: { setup, files, tools, env },
    fleetUrl: file.fleetUrl ?? null,
  };
}

/** The keys that are known at a place in the file, for a did-you-mean; empty where any name goes. */
export function knownKeysAt(path: readonly PropertyKey[]): readonly string[] {
  if (path.length === 0) return Object.keys(configSchema.shape);
  if (path.length === 1 && path[0] === "image") return Object.keys(imageSchema.shape);
  if (path.length === 2 && path[0] === "kinds") return Object.keys(kindSchema.shape);
  return [];
}

/** The published JSON Schema of `tidegate.jsonc`. */
export function configJsonSchema(): unknown {
  return z.toJSONSchema(configSchema, { io: "input", unrepresentable: "any" });
}
