// A receipt as text: the same on a terminal, in a job's summary and from `deploy show`.

import { clockOf, formatDuration, type Instant } from "#core/time.ts";
import { shortNameOf } from "#wire/names.ts";
import type { Receipt, ReceiptAsk, ReceiptStep } from "#wire/receipt.ts";
import { plain } from "./plain.ts";
import { table } from "./table.ts";

type Row = readonly [string, string];

const at = (instant: Instant | "unknown" | null): string =>
  typeof instant === "number" ? clockOf(instant) : (instant ?? "—");
const change = (from: string, to: string): string => (from === to ? from : `${from} → ${to}`);

type Resident = Exclude<Receipt["residents"], "unknown">[number];

const RECONCILE_WORDS: Readonly<Record<Resident["reconcile"], string>> = {
  restarted: "restarted",
  current: "current, no restart",
  inactive: "no container runs",
  deferred: "not restarted yet",
  stale: "its object runs an older Worker",
  error: "cannot be reached",
  asked: "has not answered",
  unknown: "",
};

const HOLD_WORDS: Readonly<Record<Resident["hold"], string>> = {
  reported: "reported",
  bound: "opened at its bound without a report: stale",
  released: "released by a person",
  lifted: "lifted by an admin's force",
  held: "still closed when last seen",
  none: "",
  unknown: "how its hold ended is unknown",
};

/** As much of a boot's id as tells two apart. */
const shortBoot = (id: string): string => id.slice(0, 8);

const END_WORDS: Readonly<Record<Receipt["inFlight"][number]["how"], string>> = {
  released: "ended, given back",
  leaseEnded: "its lease ended",
  endedByAdmin: "ended by an admin",
  killed: "KILLED by the swap",
  inFlight: "still in flight",
  unknown: "ended, how is unknown",
};

const OUTCOME_WORDS: Readonly<Record<ReceiptStep["outcome"], string>> = {
  none: "not begun",
  refused: "refused",
  failed: "failed",
  landed: "landed",
  unknown: "unknown whether it landed",
};

function stepWords({ outcome, why, since, until, generation }: ReceiptStep): string {
  const came = outcome === "none" && since !== null ? "nothing swapped" : OUTCOME_WORDS[outcome];
  const took = since === null || until === null ? "" : `, ${formatDuration(until - since)}`;
  const number = generation === null ? "" : `, generation ${generation}`;
  return `${came}${took}${number}${why === null ? "" : `: ${why}`}`;
}

/** Each step, where there was more to swap than the fleet. */
function stepRows({ steps }: Receipt): Row[] {
  if (steps.every((one) => one.step === "resident")) return [];
  const cells = steps.map((one) => {
    const from = one.from === "unknown" ? "unknown" : `${one.from.commit}/${one.from.bundle}`;
    return [one.step, `${from} → ${one.to.commit}/${one.to.bundle}`, stepWords(one)];
  });
  return table(["", "", ""], cells, false).map((line, index): Row => [index === 0 ? "steps" : "", line]);
}

/** Whether the fleet was to be swapped; a receipt without steps is of a build that swapped nothing else. */
const swapsFleet = ({ steps }: Receipt): boolean => steps.length === 0 || steps.some((one) => one.step === "resident");

function shapeRows({ build, generation }: Receipt): Row[] {
  const from = build.from === "unknown" ? null : build.from;
  const image =
    from === null
      ? `unknown → ${build.to.image}`
      : `${change(from.image, build.to.image)}${from.image === build.to.image ? " (unchanged)" : ""}`;
  const generations =
    generation.to === null ? `${generation.from}` : change(String(generation.from), String(generation.to));
  return [
    [
      "build",
      `${from === null ? "unknown" : from.commit} → ${build.to.commit}   bundle ${from === null ? "unknown" : from.bundle} → ${build.to.bundle}`,
    ],
    ["image", image],
    ["generation", generations],
  ];
}

/** Why nobody was closed out. */
function openWords({ mode, steps }: Receipt): string {
  const names = steps.map((one) => one.step).join();
  if (names === "ledger") return "never: the ledger alone closes nothing";
  const drains = mode === "drained" || mode === "handoff";
  return drains ? "never: the drain was not granted" : "never: this deploy did not drain";
}

function closedRows(receipt: Receipt): Row[] {
  const { closed, closedMs, reopened } = receipt;
  if (closed === null) return [["closed", openWords(receipt)]];
  const open = reopened === null ? "unknown: see `npx tidegate drain status`" : `${at(reopened.at)}, ${reopened.cause}`;
  const long = typeof closedMs === "number" ? `, closed ${formatDuration(closedMs)}` : "";
  const still = reopened === null || reopened.stillClosedBy === "unknown" ? [] : reopened.stillClosedBy;
  return [
    ["closed", `${at(closed.since)} by ${closed.by} (${closed.principal} bearer): ${closed.reason}`],
    ["reopened", `${open}${long}`],
    ...still.map((drain): Row => ["still closed", `by ${drain.by} (${drain.reason}) until ${at(drain.until)}`]),
  ];
}

function runRows({ inFlight }: Receipt): Row[] {
  if (inFlight.length === 0) return [["in flight", "nothing"]];
  const cells = inFlight.map((run) => [
    run.runId,
    shortNameOf(run.resource),
    run.threadKey,
    END_WORDS[run.how],
    at(run.endedAt),
  ]);
  return table(["", "", "", "", ""], cells, false).map((line, index): Row => [index === 0 ? "in flight" : "", line]);
}

/** What the reconcile came to at one resident, and how its hold ended; nothing where neither was. */
function reconcileWords({ reconcile, why, hold, holdEndedAt, killed }: Resident): string {
  const ended = holdEndedAt === null ? "" : ` ${at(holdEndedAt)}`;
  return [
    `${RECONCILE_WORDS[reconcile]}${why === null ? "" : ` (${why})`}`,
    hold === "none" ? "" : `${HOLD_WORDS[hold]}${ended}`,
    killed === 0 ? "" : `its restart ended ${killed} process${killed === 1 ? "" : "es"} of runs`,
  ]
    .filter((part) => part.trim() !== "")
    .join(", ");
}

function residentRows(receipt: Receipt): Row[] {
  const { residents, unreconciled, without } = receipt;
  const left = without.map(({ resource, reason }): Row => ["left out", `${shortNameOf(resource)}: ${reason}`]);
  if (!swapsFleet(receipt)) return left;
  const undone = unreconciled === null ? [] : [["reconcile", `not done: ${unreconciled}`] as const];
  if (residents === "unknown") return [["residents", "unknown"], ...left, ...undone];
  const each = residents.map((one, index): Row => {
    const words = reconcileWords(one);
    const image = `image ${change(one.imageBefore, one.imageAfter)}`;
    const boot = `boot ${change(shortBoot(one.bootBefore), shortBoot(one.bootAfter))}`;
    return [
      index === 0 ? "residents" : "",
      `${shortNameOf(one.resource)}   ${image}   ${boot}${words === "" ? "" : `   ${words}`}`,
    ];
  });
  return [...each, ...left, ...undone];
}

const LEFT_WORDS: Readonly<Record<ReceiptAsk["how"], string>> = {
  queued: "",
  started: "",
  ended: ", then stopped",
  unknown: ", how it left the queue is unknown",
};

function askWords({ waitedMs, cause, how }: ReceiptAsk): string {
  const behind = cause === "thread" ? ", behind its thread's run too" : "";
  return `${waitedMs === "unknown" ? "unknown" : formatDuration(waitedMs)}${behind}${LEFT_WORDS[how]}`;
}

/** Who waited in the bot's queue; nothing where nobody did, and where no bot was part of it. */
function queuedRows({ queued }: Receipt): Row[] {
  if (queued === null) return [];
  if (queued === "unknown") return [["queued", "unknown: the bot does not say who waited in its queue"]];
  const { asks, more } = queued;
  const cells = asks.map((one) => [one.id, shortNameOf(one.resource), one.threadKey, one.by, askWords(one)]);
  const lines = asks.length === 0 ? [] : table(["", "", "", "", ""], cells, false);
  const all = more === 0 ? lines : [...lines, `and ${more} more`];
  return all.map((line, index): Row => [index === 0 ? "queued" : "", line]);
}

function waitedRow(receipt: Receipt): Row {
  const { waited } = receipt;
  if (waited === "unknown") return ["waited", "unknown: the registry does not say who waited"];
  const each = waited.map(
    (one) =>
      `${one.runId} (${one.threadKey}) ${one.waitedMs === "unknown" ? "unknown" : formatDuration(one.waitedMs)}${one.gaveUp ? ", then gave up" : ""}`,
  );
  const nobody = queuedRows(receipt).length === 0 ? "nobody" : "nobody at the fleet's door";
  return ["waited", each.length === 0 ? nobody : each.join(", ")];
}

function killedRows({ killed, killedProcesses, cut }: Receipt): Row[] {
  const dead = killedProcesses.map((one): Row => [
    "",
    `pid ${one.pid}   ${one.runId}   ${shortNameOf(one.resource)}   ${one.command}`,
  ]);
  const streams: Row[] =
    cut === null ? [] : [["cut", `${cut} stream${cut === 1 ? "" : "s"} of output, picked up again`]];
  return [...streams, ["killed", String(killed)], ...dead];
}

/** The receipt's lines. `file` is where it is kept, where that is of use. */
export function receiptLines(receipt: Receipt, file: string | null = null): string[] {
  const { phases, result, why, drainId, step, by, startedAt, endedAt, outcome, mode, restart } = receipt;
  const took =
    endedAt === null
      ? "not ended: it goes on, or its deployer was killed"
      : `took ${formatDuration(endedAt - startedAt)}`;
  const rows: Row[] = [
    ["began", `${new Date(startedAt).toISOString()} by ${by}, ${took}`],
    ...stepRows(receipt),
    ...(swapsFleet(receipt) ? shapeRows(receipt) : []),
    ...closedRows(receipt),
    ...runRows(receipt),
    ["phases", phases.map((one) => `${one.phase} ${formatDuration(one.until - one.since)}`).join(" · ") || "none"],
    ...residentRows(receipt),
    waitedRow(receipt),
    ...queuedRows(receipt),
    ...killedRows(receipt),
    ...(outcome === "landed" ? [] : [["upload", outcome] as const]),
    ...(why === null ? [] : [["why", why] as const]),
    ...(file === null ? [] : [["kept in", file] as const]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    `${restart ? "restart" : "deploy"} ${drainId}   ${step}   ${result}${mode === "drained" ? "" : ` (${mode})`}`,
    ...rows.map(([name, value]) => `  ${name.padEnd(width)}  ${plain(value)}`.trimEnd()),
  ];
}

const killedWords = (killed: Receipt["killed"]): string => (killed === "unknown" ? "unknown" : String(killed));

/** Past deploys as a table. */
export function receiptTable(receipts: readonly Receipt[], headers: boolean): string[] {
  const rows = receipts.map((one) => [
    new Date(one.startedAt).toISOString().slice(0, 19).concat("Z"),
    one.drainId,
    one.result,
    `${one.build.from === "unknown" ? "unknown" : one.build.from.commit} → ${one.build.to.commit}`,
    typeof one.closedMs === "number" ? formatDuration(one.closedMs) : (one.closedMs ?? "—"),
    killedWords(one.killed),
    one.by,
  ]);
  return table(["BEGAN", "DRAIN", "RESULT", "BUILD", "CLOSED", "KILLED", "BY"], rows, headers);
}
