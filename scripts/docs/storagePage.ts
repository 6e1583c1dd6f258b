// docs/storage.md: everything that is kept, with its fields read from the schema that reads it. It stops when the source
// stores under a key, or joins a name to the state folder, that no row tells of, and when a row tells of nothing.

import { opening, page, table } from "./markdown.ts";
import { interfaceFields, joinedNames, schemaFields, storedKeys } from "./readCode.ts";
import { filesBelow } from "../../test/tidy/source.ts";
import { LEDGER } from "./ledgerRows.ts";
import { CONTAINER, DATA, REGISTRY, RESIDENT, STATE, type Kept, type Shape } from "./storageRows.ts";

/** The files whose joined names are places in the state folder, and names in them that are not. */
const STATE_FILES: Readonly<Record<string, readonly string[]>> = {
  "src/node/stateFolder.ts": ["tidegate.jsonc", ".tidegate"],
  "src/embed/bundles.ts": [],
  "src/embed/image.ts": [],
  "src/embed/trash.ts": [],
  "src/embed/pruning.ts": [],
  "src/embed/workerd.ts": [],
  "src/embed/workerdConfig.ts": [],
  "src/embed/botProcess.ts": ["setpriv"],
  "src/embed/companions.ts": [],
  "src/embed/supervisor.ts": [],
  "src/embed/containerFiles.ts": [],
  "src/deploy/lock.ts": [],
  "src/deploy/receiptFile.ts": [],
  "src/agent/layout.ts": [],
  "src/agent/procRecord.ts": [],
  "src/agent/prepared.ts": [],
};

/** The outputs of a process are joined by a variable. */
const BY_VARIABLE = ["out", "err"];

function isSchema(shape: Shape | string): shape is Shape {
  return typeof shape !== "string";
}

function fieldsOf(shape: Shape): string {
  if (shape.schema !== undefined)
    return schemaFields(shape.file, shape.schema)
      .map((field) => (field.startsWith("…") ? `all of \`${field.slice(1)}\`` : `\`${field}\``))
      .join(", ");
  return interfaceFields(shape.file, shape.type ?? "")
    .map(({ name }) => `\`${name}\``)
    .join(", ");
}

function where(shape: Shape): string {
  return ` ([\`${shape.schema ?? shape.type}\`](../${shape.file}))`;
}

function rows(kept: readonly Kept[]): string {
  return table(
    ["key", "holds", "written by", "cleared by"],
    kept.map(({ key, shape, writer, clearer }) => [
      `\`${key.endsWith(":") ? `${key}<…>` : key}\``,
      isSchema(shape) ? fieldsOf(shape) + where(shape) : shape,
      writer,
      clearer,
    ]),
  );
}

const apart = (what: string, told: readonly string[], found: readonly string[]): string[] => [
  ...found
    .filter((one) => !told.includes(one))
    .map((one) => `${what}: ${one} has no row in scripts/docs/storageRows.ts`),
  ...told.filter((one) => !found.includes(one)).map((one) => `${what}: nothing in the source keeps ${one}`),
];

/** Every place of the rows in its parts, such as `images`, `<…>`, `bin`. */
const segmentsOf = (kept: readonly Kept[]): string[] => [
  ...new Set(kept.flatMap(({ key }) => key.split("/").filter((part) => part !== "" && part !== "<…>"))),
];

/** What the source keeps and the rows do not tell, and the other way round. */
export function storageGaps(): string[] {
  const objects = (folder: string): string[] => storedKeys(filesBelow(folder, /(?<!\.test)\.ts$/));
  const names = Object.entries(STATE_FILES).flatMap(([file, not]) =>
    joinedNames(file).filter((name) => !not.includes(name)),
  );
  const places = names.flatMap((name) => name.split("/")).filter((name) => !/^(\/|<…>$)/.test(name));
  return [
    ...apart(
      "RegistryDO",
      REGISTRY.map(({ key }) => key),
      objects("src/fleet/registry"),
    ),
    ...apart(
      "ResidentDO",
      RESIDENT.map(({ key }) => key),
      objects("src/fleet/resident"),
    ),
    ...apart(
      "LedgerDO",
      LEDGER.map(({ key }) => key),
      objects("src/ledger"),
    ),
    ...apart("the state folder", segmentsOf([...STATE, ...CONTAINER, ...DATA]), [
      ...new Set([...places, ...BY_VARIABLE]),
    ]),
  ];
}

/** The whole document. */
export function storagePage(): string {
  const gaps = storageGaps();
  if (gaps.length > 0) throw new Error(gaps.join("\n"));
  return page(
    opening(
      "Storage",
      `Everything that outlives a process: three kinds of Durable Object and the state folder. Fields are only added; a reader
ignores those that it does not know. What a build cannot read counts as standing where that is the safe side: an
unreadable row or seal refuses a deploy, an unreadable drain refuses no run, an unreadable entry of the ledger keeps its thread.`,
    ),
    "## RegistryDO",
    "One object. What was read is kept in memory, which lives as long as the object is the only writer; each write goes to both. Its one alarm is set for the next end of a drain and only tells: nothing depends on it.",
    rows(REGISTRY),
    "## ResidentDO",
    "One object a repository. Rows and seal change in one transaction a step. Its one alarm is set for whatever comes first: a lease's end and its grace, a word that the registry has not taken, the sweep of worktrees.",
    rows(RESIDENT),
    "## LedgerDO",
    "One object. What has not ended is kept in memory and written in one transaction a step, with whatever the step writes into the tables. It has no alarm: a lease that lapsed is found by the bot that reclaims.",
    rows(LEDGER),
    "## The state folder",
    "`.tidegate/`, mode 0700, beside `tidegate.jsonc`. Files are written beside their place and renamed, mode 0600.",
    rows(STATE),
    "### A container's folder",
    "`containers/<slug>/`. The record outlives the supervisor: the next one adopts the process by its pid, its start and the machine's boot.",
    rows(CONTAINER),
    "### A container's data",
    "`containers/<slug>/data/`. It outlives the container, so that a run goes on after its container was replaced.",
    rows(DATA),
  );
}
