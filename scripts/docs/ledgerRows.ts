// What the ledger keeps, in words: one row a key or a table.

import type { Kept } from "./storageRows.ts";

const ledgerStore = "src/ledger/store.ts";

/** LedgerDO, one object named `ledger`. */
export const LEDGER: readonly Kept[] = [
  {
    key: "entry:",
    shape: { file: "src/core/ask.ts", type: "Entry" },
    writer:
      "an ask that is admitted or queued, under its thread and its id; each step that changes it; what was left of a run at its end",
    clearer: "`POST /end`; a stop of an ask that waits",
  },
  {
    key: "held:",
    shape: "number: until when the entry of the same name is held, where that is all that has changed of it",
    writer: "each heartbeat of the bot that holds it; a boot that renews the leases",
    clearer: "the next step that writes the entry whole, or takes it away",
  },
  {
    key: "ledger",
    shape: { file: ledgerStore, schema: "counters" },
    writer: "each step that changes anything",
    clearer: "never",
  },
  {
    key: "boot",
    shape: "text: the start of the Worker's process under which the leases were last renewed by it",
    writer: "the object's first boot in a process",
    clearer: "the next one replaces it",
  },
  {
    key: "table runs",
    shape: { file: "src/ledger/history.ts", schema: "rowSchema" },
    writer: "the step that ends an ask or a run",
    clearer: "each new row, beyond the newest 5,000",
  },
  {
    key: "table keys",
    shape: "`key`, `id`: the ended ask that this was the key of, or that it was said to",
    writer: "the step that ends it",
    clearer: "each new row, beyond the newest 50,000",
  },
  {
    key: "table untold",
    shape: "`run`: an ended ask of whose end no card tells",
    writer: "the step that ends it",
    clearer: "the card of its end; with its run's row",
  },
  {
    key: "table notes",
    shape: { file: "src/ledger/history.ts", schema: "noteSchema" },
    writer: "`POST /notes` and `/words`",
    clearer: "each new one of its run, beyond 200; with its run's row",
  },
  {
    key: "table output",
    shape: "`run`, `stream`, `start`, `data`: bytes at an offset",
    writer: "`POST /output`",
    clearer:
      "more of it, once it lies behind the head and before the last part; with its run's 500th successor in the history",
  },
  {
    key: "table outputLength",
    shape: "`run`, `stream`, `length`: how much there was of it",
    writer: "`POST /output`",
    clearer: "with its run's 500th successor in the history",
  },
  {
    key: "table cards",
    shape: { file: "src/ledger/cards.ts", schema: "cardRowSchema" },
    writer: "`POST /cards` and `/words`, where it changes anything",
    clearer: "each new row, beyond the newest 10,000",
  },
  {
    key: "table heard",
    shape: "`generation`, `n`: the last word of this bot that was heard, as it counts them",
    writer: "`POST /words`",
    clearer: "the first words of the next bot",
  },
  {
    key: "table receipts",
    shape: "`drainId`, `receipt`: as the deployer wrote it",
    writer: "`POST /receipts`",
    clearer: "each new row, beyond the newest 200",
  },
];
