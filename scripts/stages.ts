// What `npm test` and `npm run check` consist of, as data: each stage, what it runs, and beside which others it may run.

import fs from "node:fs";
import path from "node:path";

/** The folder of the whole package. */
export const root = path.resolve(import.meta.dirname, "..");

/** One program to run; it counts as one check. */
export interface Command {
  readonly name: string;
  readonly argv: readonly string[];
}

interface StageBase {
  readonly name: string;
  /** Past it the stage is ended and has failed. */
  readonly boundMs: number;
}

/** A stage of programs that pass or fail as a whole. */
export interface CommandStage extends StageBase {
  readonly commands: () => Command[];
}

/** A stage of node:test files. */
export interface TestStage extends StageBase {
  readonly globs: readonly string[];
  /** How many files run at once. */
  readonly atOnce: number;
  /** Past it one test has failed. */
  readonly testBoundMs: number;
  /** Whether it measures the coverage of core/, which is a check of its own. */
  readonly coversCore?: true;
  /** Whether what its tests print is shown although they pass. */
  readonly loud?: true;
}

export type Stage = CommandStage | TestStage;

/** Where code is. A linter that is given no folder lints node_modules. */
const codeFolders = ["src", "test", "scripts"];

function existing(folders: readonly string[]): string[] {
  return folders.filter((folder) => fs.existsSync(path.join(root, folder)));
}

/** The type rooms that have files: the one of Node at the root, and those in a folder of their own. */
function typeRooms(): Command[] {
  const own = fs
    .globSync("src/*/tsconfig*.json", { cwd: root })
    .toSorted()
    .filter((config) => {
      const files = fs.globSync("**/*.{ts,tsx}", { cwd: path.join(root, path.dirname(config)) });
      return files.some((file) => file.includes(".test.") === config.includes(".test."));
    });
  return ["tsconfig.json", ...own].map((config) => ({ name: `types of ${config}`, argv: ["tsc", "-p", config] }));
}

const SECOND = 1000;

/** Every stage there is, in the order in which they are told. */
export const stages: readonly Stage[] = [
  {
    name: "lint",
    boundMs: 120 * SECOND,
    commands: () => [{ name: "oxlint", argv: ["oxlint", "--deny-warnings", ...existing(codeFolders)] }],
  },
  { name: "types", boundMs: 120 * SECOND, commands: typeRooms },
  { name: "tidy", boundMs: 120 * SECOND, globs: ["test/tidy/**/*.test.ts"], atOnce: 2, testBoundMs: 60 * SECOND },
  {
    name: "format",
    boundMs: 60 * SECOND,
    commands: () => [{ name: "oxfmt (mend it: npm run format)", argv: ["oxfmt", "--check", ...existing(codeFolders)] }],
  },
  {
    name: "dead",
    boundMs: 60 * SECOND,
    commands: () => [{ name: "knip", argv: ["knip", "--no-progress"] }],
  },
  { name: "docs", boundMs: 60 * SECOND, globs: ["test/docs/**/*.test.ts"], atOnce: 2, testBoundMs: 60 * SECOND },
  {
    name: "unit",
    boundMs: 600 * SECOND,
    globs: ["src/**/*.test.ts", "test/unit/**/*.test.ts", "test/property/**/*.test.ts"],
    atOnce: 2,
    testBoundMs: 60 * SECOND,
    coversCore: true,
  },
  {
    name: "explorer",
    boundMs: 900 * SECOND,
    globs: ["test/explorer/**/*.test.ts"],
    atOnce: 1,
    testBoundMs: 240 * SECOND,
    loud: true,
  },
  {
    name: "embedded",
    boundMs: 900 * SECOND,
    globs: ["test/contract/**/*.test.ts", "test/embedded/**/*.test.ts"],
    atOnce: 2,
    testBoundMs: 240 * SECOND,
  },
  {
    name: "replay",
    boundMs: 900 * SECOND,
    globs: ["test/replay/**/*.test.ts"],
    atOnce: 1,
    testBoundMs: 150 * SECOND,
  },
  { name: "chaos", boundMs: 600 * SECOND, globs: ["test/chaos/**/*.test.ts"], atOnce: 1, testBoundMs: 300 * SECOND },
  { name: "e2e", boundMs: 900 * SECOND, globs: ["test/e2e/**/*.test.ts"], atOnce: 1, testBoundMs: 180 * SECOND },
];

/**
 * Which stages run one after another; two rows of one group run side by side. The short ones come first, alone; then
 * the explorer keeps one core busy while the embedded tests mostly wait beside it, and what is played in real time follows it.
 */
export const order: readonly (readonly (readonly string[])[])[] = [
  [["lint", "types", "tidy", "format", "dead", "docs", "unit"]],
  [
    ["explorer", "replay", "chaos"],
    ["embedded", "e2e"],
  ],
];

/** The stages of each way to start the runner. `check` is everything. */
export const selections = {
  quick: ["lint", "types", "tidy", "unit"],
  test: ["lint", "types", "tidy", "unit", "explorer", "replay", "embedded", "e2e"],
  check: stages.map((stage) => stage.name),
} as const;
