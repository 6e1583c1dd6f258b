// How a deploy ended, in words and as an exit code. What is not known is said as unknown, never as deployed or failed.

import { namesOf } from "#deploy/holdLines.ts";
import { info, warning, type Line } from "#deploy/line.ts";
import { byItself, inFlightWords, runWords, stillClosedWords, withoutWords } from "#deploy/lines.ts";
import type { DeployState, DeployStop } from "#core/rolloutState.ts";
import { PROTOCOL } from "#core/preflight.ts";
import { clockOf, formatDuration, hourMinuteOf, MINUTE, SECOND, type Ms } from "#core/time.ts";
import { shortNameOf } from "#wire/names.ts";
import type { Receipt, ReceiptStep } from "#wire/receipt.ts";

/** Exit codes of `deploy` (docs/errors.md, "Exit codes"). */
export const DEPLOY_EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  denied: 4,
  partial: 5,
  stale: 6,
  pending: 8,
} as const;

/** Residents that no report is known of: held to the bound, or to the last look at them. */
const unreported = ({ stale, held }: DeployState): readonly string[] => [...new Set([...stale, ...held])];

/** Whether some step has landed and another, by all that is known, has not. */
const isPartial = ({ stop, landed }: DeployState): boolean =>
  landed.length > 0 && (stop?.kind === "refused" || stop?.kind === "failed" || stop?.kind === "denied");

/** The exit code of a deploy that has ended. */
export function exitCodeOf(state: DeployState): number {
  if (isPartial(state)) return DEPLOY_EXIT.partial;
  switch (state.stop?.kind) {
    case "deployed":
      return unreported(state).length > 0 || state.unreconciled !== null ? DEPLOY_EXIT.stale : DEPLOY_EXIT.done;
    case "refused":
      return DEPLOY_EXIT.refused;
    case "denied":
      return DEPLOY_EXIT.denied;
    case "unknown":
      return DEPLOY_EXIT.pending;
    case "stopped":
      return state.stop.signal === "SIGINT" ? 130 : 143;
    default:
      return DEPLOY_EXIT.failed;
  }
}

function refusedWords(state: DeployState, stop: Extract<DeployStop, { kind: "refused" }>): string {
  const { by } = stop;
  switch (by.kind) {
    case "busy": {
      const waited = formatDuration(state.budgetUntil - state.startedAt);
      const who = by.runs.map((run) => `${runWords(run)} until ${hourMinuteOf(run.leaseUntil)}`).join(", ");
      return `the wait of ${waited} ran out with ${inFlightWords(by.runs, by.attaching, by.botInFlight)}${who === "" ? "" : `: ${who}`}`;
    }
    case "unreadable":
      return `the fleet cannot be read: ${by.what.join(", ")}`;
    case "deployInProgress":
      return `${by.drain.by} has been deploying since ${clockOf(by.drain.since)} (drain ${by.drain.id})`;
    case "protocolApart":
      return `the fleet speaks protocol ${by.theirs} and this build ${PROTOCOL}`;
    case "uploadRefused":
      return `the swap was refused: ${by.why}`;
    case "sealTaken":
      return "the drain ended between seal and swap, so nothing was uploaded";
  }
}

/** Whether the upload was seen served: only then is a reconcile asked for. */
const wasLive = ({ reconcileUntil }: DeployState): boolean => reconcileUntil > 0;

function stoppedWords(state: DeployState, signal: string): string {
  const { outcome, held } = state;
  if (outcome === "unknown") return `${signal} during the upload: whether it lands is unknown`;
  if (held.length > 0) return `left by ${signal} while ${namesOf(held)} had not reported`;
  return wasLive(state) ? `ended by ${signal} before its containers had reported` : `ended by ${signal}`;
}

/** Why a deploy ended as it did, without its advice; null for one that simply landed. */
export function whyOf(state: DeployState): string | null {
  const { stop } = state;
  switch (stop?.kind) {
    case undefined:
      return "the deploy has not ended";
    case "deployed":
      return null;
    case "refused":
      return refusedWords(state, stop);
    case "failed":
    case "denied":
      return stop.why;
    case "unknown": {
      const part = state.outcome === "none" ? state.steps.parts[0] : undefined;
      const [what, who] = part === undefined ? ["upload", "fleet"] : [`swap of the ${part}`, part];
      return `nobody knows whether the ${what} landed: the ${who} did not serve it before the swap bound`;
    }
    case "stopped":
      return stoppedWords(state, stop.signal);
  }
}

function adviceOf(state: DeployState): string {
  const { stop } = state;
  const unseen = state.outcome === "unknown" || state.outcome === "landed";
  if (stop?.kind === "unknown" || unseen) return "see what is served: npx tidegate status";
  if (stop?.kind === "denied") return "use a bearer of the scope named: .tidegate/tokens.json has them on this machine";
  if (stop?.kind === "refused" && stop.by.kind === "busy")
    return "see what runs: npx tidegate status; to kill it: npx tidegate deploy --force";
  if (stop?.kind === "refused" && stop.by.kind === "deployInProgress")
    return "wait for it; a dead one ends by itself within two minutes: npx tidegate drain status";
  if (stop?.kind === "refused" && stop.by.kind === "protocolApart")
    return "only npx tidegate deploy --force passes over that";
  return "then again: npx tidegate deploy";
}

/** `1 s`: under a minute in whole seconds begun, above it as everywhere. */
const closedWords = (span: Ms): string => (span < MINUTE ? `${Math.ceil(span / SECOND)} s` : formatDuration(span));

/** What was swapped, where that is not the fleet alone. */
function whatWords({ steps }: Receipt): string {
  const names = steps.map((one) => one.step);
  return names.join() === "resident" || names.length === 0 ? "" : ` (${names.join(", ")})`;
}

const verbOf = ({ restart }: Receipt): string => (restart ? "restarted" : "deployed");

/** `deployed 7b02d9e`, with what of it was swapped. */
const doneWords = (receipt: Receipt): string => `${verbOf(receipt)} ${receipt.build.to.commit}${whatWords(receipt)}`;

/** Which steps have come how far; empty for a deploy of one step. */
function stepsWords({ steps }: Receipt): string {
  if (steps.length < 2) return "";
  const named = (words: string, is: (step: ReceiptStep) => boolean): string[] => {
    const these = steps.filter(is).map((one) => one.step);
    return these.length === 0 ? [] : [`${words}: ${these.join(", ")}`];
  };
  return [
    ...named("landed", (one) => one.outcome === "landed"),
    ...named("unknown", (one) => one.outcome === "unknown"),
    ...named("not landed", (one) => one.outcome !== "landed" && one.outcome !== "unknown"),
  ].join("; ");
}

function deployedWords(receipt: Receipt): string {
  const { mode, closedMs, cut, killed } = receipt;
  const known = typeof closedMs === "number";
  if (mode === "handoff") {
    const streams = `cut ${cut ?? 0} stream${cut === 1 ? "" : "s"}`;
    return `${doneWords(receipt)} — closed ${known ? closedWords(closedMs) : "unknown"} · ${streams} · killed ${killed}`;
  }
  return `${doneWords(receipt)}${known ? `, closed ${formatDuration(closedMs)}` : ""}, killed ${killed}`;
}

/** Without the drain bearer nobody can reconcile: the containers come onto the image one by one. */
function laterLines({ mode }: DeployState, { build }: Receipt): Line[] {
  const isLater = mode === "undrained" && build.imageChanged !== false;
  return isLater ? [info("each container comes onto the image at its next quiet attach, not before")] : [];
}

/** Containers whose word is missing, and what to do about each. */
function unreportedLines(state: DeployState, receipt: Receipt): Line[] {
  const { stale, held, stop } = state;
  if (stop?.kind !== "deployed") return [];
  const never = unreported(state);
  const unseen = held.filter((resource) => !stale.includes(resource));
  return [
    ...laterLines(state, receipt),
    ...(never.length === 0 ? [] : [warning(`never reported the new image: ${namesOf(never)}`)]),
    ...(unseen.length === 0 ? [] : [info(`who still holds ${namesOf(unseen)}: npx tidegate drain status`)]),
    ...stale.map((one) =>
      info(`a new container for ${shortNameOf(one)}: npx tidegate repo rebuild ${shortNameOf(one)}`),
    ),
  ];
}

function headOf(state: DeployState, receipt: Receipt): Line {
  const { stop } = state;
  const why = whyOf(state) ?? "";
  if (stop?.kind === "deployed") {
    const isFine = receipt.killed === 0 && exitCodeOf(state) === DEPLOY_EXIT.done;
    return { level: isFine ? "notice" : "warning", text: deployedWords(receipt) };
  }
  if (stop?.kind === "stopped" && wasLive(state)) return warning(`${doneWords(receipt)} — ${why}`);
  if (state.outcome === "unknown" || stop?.kind === "unknown")
    return { level: "error", text: `unknown whether it landed — ${why}` };
  if (state.landed.length > 0 && state.outcome !== "landed") {
    const level = stop?.kind === "stopped" ? "warning" : "error";
    return { level, text: `partly ${verbOf(receipt)} ${receipt.build.to.commit} — ${why}` };
  }
  if (stop?.kind === "failed" && state.outcome === "failed")
    return { level: "error", text: `the swap failed — ${why}` };
  if (state.outcome === "landed") return { level: "warning", text: `${doneWords(receipt)}, not seen served — ${why}` };
  const level = stop?.kind === "stopped" ? "warning" : "error";
  return { level, text: `nothing ${verbOf(receipt)} — ${why}` };
}

/** The last lines of a deploy: how it ended, what to type next, and at the very end what still closes the fleet. */
export function endingLines(state: DeployState, receipt: Receipt): readonly Line[] {
  const { level, text } = headOf(state, receipt);
  const head: Line = { level, text: `${text}${withoutWords(receipt.without)}` };
  const steps = state.stop?.kind === "deployed" ? "" : stepsWords(receipt);
  const advice: Line[] = state.stop?.kind === "deployed" ? [] : [{ level: "info", text: adviceOf(state) }];
  const left: Line[] = state.asked && state.lifted !== "open" ? [{ level: "warning", text: byItself(state) }] : [];
  const remaining = receipt.reopened?.stillClosedBy ?? [];
  const closed = remaining === "unknown" || remaining.length === 0 ? [] : [stillClosed(remaining)];
  const came: Line[] = steps === "" ? [] : [{ level, text: steps }];
  return [head, ...came, ...unreportedLines(state, receipt), ...advice, ...left, ...closed];
}

function stillClosed(remaining: readonly { by: string; reason: string; until: number }[]): Line {
  return {
    level: "warning",
    text: `fleet stays closed by ${stillClosedWords(remaining)} — npx tidegate drain lift opens it`,
  };
}
