// One ask on a page: its card first, then its times, what was asked and said, and what it left.

import { cardWords } from "#core/card.ts";
import { clockOf, type Instant } from "#core/time.ts";
import type { RunDetail } from "#wire/bot.ts";
import type { KeptOutput } from "#wire/ledger.ts";
import { shortNameOf } from "#wire/names.ts";
import { doorWords, stopCommand, watchCommand } from "./cardLines.ts";
import { plain, shortened } from "./plain.ts";
import { table } from "./table.ts";
import { instantWords, spanWords } from "./times.ts";

/** A text that others wrote, under its heading, with its own lines. */
function quoted(heading: string, text: string): string[] {
  const lines = text.replace(/\s+$/, "").split("\n");
  return text.trim() === "" ? [] : ["", heading, ...lines.map((line) => `  ${plain(line)}`.trimEnd())];
}

function timeLines(run: RunDetail): string[] {
  const { now, askedAt, admittedAt, leaseUntil, endedAt, ranMs, tries } = run;
  const again = tries > 1 ? `   begun ${tries} times` : "";
  const lease = endedAt === null && leaseUntil !== null ? [`lease     until ${instantWords(leaseUntil, now)}`] : [];
  const ran = ranMs === null ? "   it never ran" : `   ran ${spanWords(ranMs)}`;
  return [
    `asked     ${instantWords(askedAt, now)}`,
    ...(admittedAt === null
      ? []
      : [`admitted  ${instantWords(admittedAt, now)}   after ${spanWords(admittedAt - askedAt)}${again}`]),
    ...lease,
    ...(endedAt === null ? [] : [`ended     ${instantWords(endedAt, now)}${ran}`]),
  ];
}

function bytesWords({ length, truncated }: KeptOutput): string {
  const left = truncated === null ? "" : ` (${truncated.to - truncated.from} of them not kept)`;
  return `${length} bytes${left}`;
}

type Said = RunDetail["messages"][number];

/** Whether what was said has reached the run: a follow-up is kept for its end, and what is left then becomes an ask. */
function reachWords({ kind, reached, seq }: Said, { messages, endedAt }: RunDetail): string {
  if (reached) return "arrived";
  if (endedAt === null) return kind === "followUp" ? "for afterwards" : "not yet";
  // A stop counts as said until the run has ended by it, and is an answer to whatever was said before it.
  if (kind === "stop") return "heeded";
  return messages.some((one) => one.kind === "stop" && one.seq > seq) ? "dropped by the stop" : "left";
}

function messageLines(run: RunDetail): string[] {
  const { messages } = run;
  if (messages.length === 0) return [];
  const rows = messages.map((message) => [
    `${clockOf(message.at).slice(0, 5)}Z`,
    message.kind === "followUp" ? "follow-up" : message.kind,
    reachWords(message, run),
    shortened(message.text, 200),
  ]);
  return ["", ...table(["SAID", "AS", "IT HAS", "TEXT"], rows)];
}

function noteLines({ notes }: RunDetail): string[] {
  if (notes.length === 0) return [];
  const rows = notes.map(({ at, kind, text }) => [`${clockOf(at).slice(0, 8)}Z`, kind, shortened(text, 200)]);
  return ["", ...table(["NOTED", "KIND", "TEXT"], rows)];
}

/** What it became of, belongs to, and led to. */
function kinLines({ ref, parent, leftId }: RunDetail): string[] {
  return [
    ...(ref === null ? [] : [`ref       ${plain(ref)}`]),
    ...(parent === null ? [] : [`parent    run ${parent}`]),
    ...(leftId === null ? [] : [`left      run ${leftId}: what was said to this one and did not reach it`]),
  ];
}

/** The page's lines. `now` is the stack's. */
export function runPage(run: RunDetail, now: Instant = run.now): string[] {
  const { id, resource, kind, threadKey, by, channel, card, output, endedAt } = run;
  const door = doorWords(card, now);
  return [
    `run ${id}   ${shortNameOf(resource)}   ${kind}   thread ${threadKey}   by ${shortened(by, 80)} over ${channel}`,
    `card      ${plain(cardWords(card, now))}`,
    ...(door === null ? [] : [`door      ${door}`]),
    ...timeLines(run),
    ...kinLines(run),
    `output    out ${bytesWords(output.out)}, err ${bytesWords(output.err)}`,
    ...quoted("ASK", run.text),
    ...messageLines(run),
    ...noteLines(run),
    ...quoted("WRITE-UP", run.writeUp ?? ""),
    "",
    endedAt === null
      ? `watch it: ${watchCommand(id)}   stop it: ${stopCommand(id)}`
      : `its output again: ${watchCommand(id)}`,
  ];
}
