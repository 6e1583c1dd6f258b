// A zod schema in words for a reader: each field, its type, whether it must be there, and what it may be. Made from the
// JSON Schema that zod gives, so that the words are those of the parser itself.

import * as z from "zod";
import { table } from "./markdown.ts";

interface Json {
  readonly type?: string | string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Json[];
  readonly oneOf?: readonly Json[];
  readonly items?: Json;
  readonly properties?: Readonly<Record<string, Json>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Json | boolean;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly contentEncoding?: string;
  readonly not?: unknown;
  /** The name of a shape that is told once, elsewhere on the page. */
  readonly named?: string;
}

/** Shapes that are told once and linked, by the schema object itself. */
export type Named = ReadonlyMap<unknown, string>;

function jsonOf(schema: z.ZodType, io: "input" | "output", named: Named): Json {
  const made = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const name = named.get(zodSchema);
      if (name === undefined || Object.is(zodSchema, schema)) return;
      for (const key of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, key);
      Object.assign(jsonSchema, { named: name });
    },
  });
  return made as Json;
}

/** The only long lists of words on the wire are those of codes. */
const MANY = 16;

const anchor = (name: string): string => `[${name}](#${name.toLowerCase().replaceAll(" ", "-")})`;

const isWide = (value: number | undefined): boolean =>
  value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER;

function numberWords(json: Json): string {
  const what = json.type === "integer" ? "whole number" : "number";
  const least = json.exclusiveMinimum === undefined ? json.minimum : undefined;
  const above = json.exclusiveMinimum === undefined ? "" : ` above ${json.exclusiveMinimum}`;
  const from = isWide(least) ? above : ` from ${least}`;
  return `${what}${from}${isWide(json.maximum) ? "" : ` to ${json.maximum}`}`;
}

function textWords(json: Json): string {
  if (json.contentEncoding === "base64" || json.format === "base64") return "base64";
  if (json.format === "uri") return "URL";
  const most = json.maxLength === undefined ? "" : `, at most ${json.maxLength} characters`;
  return `text${most}${json.pattern === undefined ? "" : `, \`${json.pattern}\``}`;
}

/** A type in one line. */
function wordsOf(json: Json): string {
  if (json.named !== undefined) return anchor(json.named);
  if (json.const !== undefined) return `\`${JSON.stringify(json.const)}\``;
  if (json.enum && json.enum.length > MANY) return "a code of [errors.md](errors.md)";
  if (json.enum) return json.enum.map((one) => `\`${String(one)}\``).join(", ");
  if (Array.isArray(json.type)) return json.type.map((type) => wordsOf({ ...json, type })).join(" or ");
  const choices = json.anyOf ?? json.oneOf;
  if (choices) return [...new Set(choices.map(wordsOf))].join(" or ");
  switch (json.type) {
    case "integer":
    case "number":
      return numberWords(json);
    case "string":
      return textWords(json);
    case "array":
      return `list of ${json.items === undefined ? "anything" : wordsOf(json.items)}`;
    case "object":
      return objectWords(json);
    default:
      return json.type ?? (json.not === undefined ? "anything" : "nothing");
  }
}

function objectWords(json: Json): string {
  const fields = Object.entries(json.properties ?? {}).filter(([, inner]) => Object.keys(inner).length > 0);
  if (fields.length > 0) return `{${fields.map(([name, inner]) => `${name}: ${wordsOf(inner)}`).join("; ")}}`;
  const values = typeof json.additionalProperties === "object" ? wordsOf(json.additionalProperties) : "anything";
  return `names to ${values}`;
}

function needWords(json: Json, required: boolean, io: "input" | "output"): string {
  if (io === "input" && json.default !== undefined) return `else \`${JSON.stringify(json.default)}\``;
  return required ? "always" : "optional";
}

function fieldsTable(json: Json, io: "input" | "output"): string {
  const required = json.required ?? [];
  const rows = Object.entries(json.properties ?? {}).map(([name, inner]) => [
    `\`${name}\``,
    wordsOf(inner),
    needWords(inner, required.includes(name), io),
  ]);
  return table(["field", "is", io === "input" ? "needed" : "there"], rows);
}

/** The fields of a body (`input`) or of an answer (`output`); of a choice, one line a variant. */
export function schemaTable(schema: z.ZodType, io: "input" | "output", named: Named): string {
  const json = jsonOf(schema, io, named);
  const choices = json.anyOf ?? json.oneOf;
  if (choices === undefined) return json.properties ? fieldsTable(json, io) : `${wordsOf(json)}\n`;
  return choices.map((one) => `- ${wordsOf(one)}`).join("\n");
}
