// Reads `tidegate.jsonc`. A file that is wrong anywhere is refused whole, naming each place: half a configuration is never used.

import { readFileSync } from "node:fs";
import {
  findNodeAtLocation,
  getNodeValue,
  parseTree,
  printParseErrorCode,
  type Node,
  type ParseError,
} from "jsonc-parser";
import { brokenRelations, budgetsOf, LEASE_BETWEEN, LIMIT, type Leases } from "#core/budgets.ts";
import { formatDuration } from "#core/time.ts";
import { configOf, configSchema, knownKeysAt, type Config } from "#wire/config.ts";
import { Failure } from "#node/failure.ts";
import { nearestWord } from "#node/nearestWord.ts";
import { issueWords } from "#wire/issueWords.ts";

/** What zod says is wrong; a key that a record refuses carries its reasons one level down. */
interface Issue {
  readonly code: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
  readonly issues?: readonly { readonly message: string }[];
}

/** What keeps the text from being JSON, by the parser's own names of it. */
const SYNTAX: Readonly<Partial<Record<string, string>>> = {
  InvalidSymbol: "this is no value of JSON",
  InvalidNumberFormat: "this is no number",
  PropertyNameExpected: "a key in double quotes is wanted here",
  ValueExpected: "a value is wanted here",
  ColonExpected: "a colon is wanted here",
  CommaExpected: "a comma is wanted here",
  CloseBraceExpected: "a closing } is wanted here",
  CloseBracketExpected: "a closing ] is wanted here",
  EndOfFileExpected: "the file goes on behind its end",
  InvalidCommentToken: "this is no comment",
  UnexpectedEndOfComment: "a comment has no end",
  UnexpectedEndOfString: "a text has no closing quote",
  UnexpectedEndOfNumber: "a number has no end",
  InvalidUnicode: "this is no \\u escape",
  InvalidEscapeCharacter: "there is no such escape in a text",
  InvalidCharacter: "a text has a character that must be escaped",
};

function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return `tidegate.jsonc:${before.length}:${(before.at(-1) ?? "").length + 1}`;
}

const segmentsOf = (path: readonly PropertyKey[]): (string | number)[] =>
  path.map((part) => (typeof part === "number" ? part : String(part)));

function unknownKeys(text: string, tree: Node, issue: Issue): string[] {
  return (issue.keys ?? []).map((key) => {
    const node = findNodeAtLocation(tree, [...segmentsOf(issue.path), key]);
    const meant = nearestWord(key, knownKeysAt(issue.path));
    const hint = meant === undefined ? `known are ${knownKeysAt(issue.path).join(", ")}` : `did you mean "${meant}"?`;
    return `${placeOf(text, node?.parent?.offset ?? 0)} unknown key "${[...issue.path, key].join(".")}"; ${hint}`;
  });
}

/** Where a path stands; of what is missing, where it would. */
function nodeAt(tree: Node, path: readonly (string | number)[]): Node | undefined {
  return findNodeAtLocation(tree, [...path]) ?? (path.length === 0 ? undefined : nodeAt(tree, path.slice(0, -1)));
}

/** Each lease of the file that is too short or too long for the clocks that follow from it. */
function unfitLeases(text: string, tree: Node, leases: Leases): string[] {
  const { moreThanMs, lessThanMs } = LEASE_BETWEEN;
  return Object.entries(leases).flatMap(([kind, leaseMs]) => {
    const path = ["kinds", kind, "lease"];
    const isShort = leaseMs <= moreThanMs;
    if (!isShort && leaseMs < lessThanMs) return [];
    const bound = isShort
      ? `must be more than ${formatDuration(moreThanMs)}, which a run that waits keeps of it`
      : `must be less than ${formatDuration(lessThanMs)}: a deploy waits as long as the longest lease`;
    return [
      `${placeOf(text, nodeAt(tree, path)?.offset ?? 0)} "${path.join(".")}" is ${formatDuration(leaseMs)} and ${bound}`,
    ];
  });
}

function wordsOfIssue(text: string, tree: Node, issue: Issue): string[] {
  if (issue.code === "unrecognized_keys") return unknownKeys(text, tree, issue);
  const node = nodeAt(tree, segmentsOf(issue.path));
  return [
    `${placeOf(text, node?.offset ?? 0)} "${issue.path.join(".") || "(the whole file)"}" ${issue.issues?.[0]?.message ?? issue.message}`,
  ];
}

/** Two parts on one port: whichever came second could never listen. */
function checkPorts(text: string, tree: Node, { port, bot }: Config): void {
  if (port === 0 || port !== bot.port) return;
  const node = findNodeAtLocation(tree, ["bot", "port"]);
  const both = `"port" and "bot.port" are both ${port}; the fleet and the bot each want one of their own`;
  throw new Failure("CONFIG_INVALID", `${placeOf(text, node?.offset ?? 0)} ${both}`);
}

/** The bot is given its kinds in one piece. */
function checkKinds(text: string, tree: Node, { kinds }: Config): void {
  const bytes = Buffer.byteLength(JSON.stringify(kinds));
  if (bytes <= LIMIT.kindsBytes) return;
  const node = findNodeAtLocation(tree, ["kinds"]);
  const many = `"kinds" are ${bytes} bytes as JSON, and a bot is given at most ${LIMIT.kindsBytes}: put long words into files`;
  throw new Failure("CONFIG_INVALID", `${placeOf(text, node?.offset ?? 0)} ${many}`);
}

/** Parses the text of a `tidegate.jsonc`; throws CONFIG_INVALID that names every place that is wrong. */
export function parseConfig(text: string): Config {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const first = errors[0];
  if (first !== undefined || tree === undefined) {
    const what =
      text.trim() === "" || first === undefined
        ? "the file is empty; {} is a configuration"
        : (SYNTAX[printParseErrorCode(first.error)] ?? "this is no JSON");
    throw new Failure("CONFIG_INVALID", `${placeOf(text, first?.offset ?? 0)} ${what}`);
  }
  const value: unknown = getNodeValue(tree);
  const parsed = configSchema.safeParse(value, { error: issueWords });
  if (!parsed.success) {
    const issues: readonly Issue[] = parsed.error.issues;
    throw new Failure("CONFIG_INVALID", issues.flatMap((issue) => wordsOfIssue(text, tree, issue)).join("\n"));
  }
  const config = configOf(parsed.data);
  checkPorts(text, tree, config);
  checkKinds(text, tree, config);
  const unfit = unfitLeases(text, tree, config.leases);
  if (unfit.length > 0) throw new Failure("CONFIG_INVALID", unfit.join("\n"));
  const broken = brokenRelations(budgetsOf(config.leases));
  if (broken.length > 0)
    throw new Failure("CONFIG_INVALID", `tidegate.jsonc "kinds" break a relation between clocks: ${broken.join("; ")}`);
  return config;
}

/** Reads the file at `path`; one that is not there is a configuration that says nothing. */
export function readConfig(path: string): Config {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return configOf({});
    throw new Failure(
      "CONFIG_INVALID",
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return parseConfig(text);
}
