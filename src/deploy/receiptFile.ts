// Receipts are kept in the state folder, whole or not at all, one file a deploy: written while it goes on, so that one
// whose deployer was killed still says how far it came.

import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { receiptSchema, type Receipt } from "#wire/receipt.ts";
import { readJsonFile, removeFile, writeJsonFile } from "#node/files.ts";
import type { StatePaths } from "#node/stateFolder.ts";

const ID = /^[A-Za-z0-9][A-Za-z0-9_-]{5,63}$/;
const fileOf = (paths: StatePaths, drainId: string): string => join(paths.deploys, `${drainId}.json`);

/** Keeps a receipt under its drain's id; a deploy that went on under a new id leaves nothing under its older ones. */
export function keepReceipt(paths: StatePaths, receipt: Receipt): string {
  mkdirSync(paths.deploys, { recursive: true, mode: 0o700 });
  const file = fileOf(paths, receipt.drainId);
  writeJsonFile(file, receipt);
  for (const id of receipt.drainIds) if (id !== receipt.drainId) removeFile(fileOf(paths, id));
  return file;
}

/** The receipts of a state folder: those that can be read, the latest first, and the names of the others. */
export interface ReceiptList {
  readonly receipts: readonly Receipt[];
  readonly unreadable: readonly string[];
}

/** Reads every receipt there is. */
export function readReceipts(paths: StatePaths): ReceiptList {
  let names: string[];
  try {
    names = readdirSync(paths.deploys);
  } catch {
    return { receipts: [], unreadable: [] };
  }
  const reads = names
    .filter((name) => name.endsWith(".json") && ID.test(name.slice(0, -".json".length)))
    .map((name) => ({ name, read: readJsonFile(join(paths.deploys, name), receiptSchema) }));
  const receipts = reads.flatMap(({ read }) => (read.kind === "value" ? [read.value] : []));
  const unreadable = reads.flatMap(({ name, read }) => (read.kind === "unreadable" ? [name] : []));
  return { receipts: receipts.toSorted((a, b) => b.startedAt - a.startedAt), unreadable };
}

/** Every receipt that can be read, the latest first. */
export const listReceipts = (paths: StatePaths): readonly Receipt[] => readReceipts(paths).receipts;

/** How many receipts cannot be read, and which; null where each can. */
export function unreadableWords({ unreadable }: ReceiptList, { deploys }: StatePaths): string | null {
  if (unreadable.length === 0) return null;
  const [first, ...more] = unreadable;
  const count = more.length === 0 ? "1 receipt" : `${unreadable.length} receipts`;
  return `${count} in ${deploys} cannot be read and ${more.length === 0 ? "is" : "are"} left out: ${first}${more.length === 0 ? "" : " …"}`;
}

/** What `deploy show` was asked for: `last`, a drain's id (any that the deploy used), or the beginning of one. */
export type ReceiptFound =
  | { readonly kind: "found"; readonly receipt: Receipt }
  | { readonly kind: "missing" }
  | { readonly kind: "ambiguous"; readonly ids: readonly string[] };

/** Finds a receipt by what a person typed. */
export function findReceipt(paths: StatePaths, asked: string): ReceiptFound {
  const all = listReceipts(paths);
  const exact = asked === "last" ? all.slice(0, 1) : all.filter((receipt) => receipt.drainIds.includes(asked));
  const matches =
    exact.length > 0 || asked === "last" ? exact : all.filter((receipt) => receipt.drainId.startsWith(asked));
  const [first, ...more] = matches;
  if (first === undefined) return { kind: "missing" };
  if (more.length > 0) return { kind: "ambiguous", ids: matches.map((receipt) => receipt.drainId) };
  return { kind: "found", receipt: first };
}
