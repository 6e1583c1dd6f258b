// What a deploy says behind its live gate: what the reconcile came to, who stays closed after the lift and to which ends,
// and how each of them opened.

import { endOf } from "#core/drain.ts";
import { isSettled, type ReconcileEntry } from "#core/reconcile.ts";
import { clockOf, MINUTE } from "#core/time.ts";
import type { ReconcileAnswer } from "#wire/drain.ts";
import type { AuditRow } from "#wire/fleet.ts";
import { shortNameOf } from "#wire/names.ts";
import { info, notice, warning, type Line } from "#deploy/line.ts";
import type { DeployTurn } from "#deploy/run.ts";

/** What has been said of the reconcile: over how many residents it goes, and for how many minutes the last of them are held. */
export interface HoldTelling {
  readonly residents: number;
  readonly heldMinute: number;
}

/** `sample, other`. */
export const namesOf = (resources: readonly string[]): string => resources.map(shortNameOf).join(", ");

const answerIn = ({ seen }: DeployTurn): ReconcileAnswer | undefined =>
  seen.find((one) => one.kind === "reconciled")?.answer;
const rowsIn = ({ seen }: DeployTurn): readonly AuditRow[] => seen.find((one) => one.kind === "audit")?.rows ?? [];

const whyWords = ({ resource, why }: ReconcileEntry): string =>
  why === null ? shortNameOf(resource) : `${shortNameOf(resource)} (${why})`;

const OPEN_WORDS = { deferred: "deferred", stale: "stale", error: "failed", asked: "not answered yet" } as const;

/** `3 containers current, no restart`; `2 restarted, 1 deferred: other (1 process is alive in it)`. */
export function reconcileWords(entries: readonly ReconcileEntry[]): string {
  const of = (state: ReconcileEntry["state"]): ReconcileEntry[] => entries.filter((entry) => entry.state === state);
  const [current, restarted, inactive] = [of("current").length, of("restarted").length, of("inactive").length];
  const idle = inactive === 0 ? [] : [`${inactive} not running`];
  if (restarted === 0 && entries.every(isSettled)) {
    if (current === 0) return "no container runs, nothing to restart";
    return [`${current} container${current === 1 ? "" : "s"} current`, ...idle, "no restart"].join(", ");
  }
  const open = (["deferred", "stale", "error", "asked"] as const).flatMap((state) => {
    const these = of(state);
    return these.length === 0 ? [] : [`${these.length} ${OPEN_WORDS[state]}: ${these.map(whyWords).join(", ")}`];
  });
  const settled = [
    ...(restarted === 0 ? [] : [`${restarted} restarted`]),
    ...(current === 0 ? [] : [`${current} current`]),
  ];
  return [...settled, ...idle, ...open].join(", ");
}

function killedLines(entries: readonly ReconcileEntry[]): Line[] {
  return entries
    .filter((entry) => entry.killed > 0)
    .map(({ resource, killed }) =>
      warning(`the restart of ${shortNameOf(resource)} ended ${killed} process${killed === 1 ? "" : "es"} of runs`),
    );
}

/** What came of `POST /reconcile`. */
export function reconciledLines(telling: HoldTelling, turn: DeployTurn): { telling: HoldTelling; lines: Line[] } {
  const answer = answerIn(turn);
  if (turn.fact.kind !== "reconciling" || answer === undefined) return { telling, lines: [] };
  const { entries } = answer.operation;
  const words = reconcileWords(entries);
  const line = entries.every(isSettled) ? info(words) : warning(words);
  return { telling: { ...telling, residents: entries.length }, lines: [line, ...killedLines(entries)] };
}

/** A reconcile that this deploy gave up, with what then brings each container onto the image. */
export function unreconciledLines({ before, after }: DeployTurn): Line[] {
  if (after.unreconciled === null || after.unreconciled === before.unreconciled) return [];
  return [
    warning(`not reconciled (${after.unreconciled}) — each container comes onto the image at its next quiet attach`),
  ];
}

/** Who stays closed after the lift: that each opens on its own report, at the bound, and what stands behind the bound. */
export function heldUpFrontLines({ residents }: HoldTelling, { fact, after }: DeployTurn, keepsImage: boolean): Line[] {
  if (fact.kind !== "lifted" || fact.held.length === 0) return [];
  const { held } = fact;
  const { drain } = after;
  const one = held.length === 1;
  const still = keepsImage
    ? `${one ? "has" : "have"} not reported ${one ? "its" : "their"} image yet`
    : `still report${one ? "s" : ""} the pre-deploy image`;
  const opens = one ? "reopens on its report" : "each reopens on its own report";
  const ends = drain === null ? "" : `, bound ${clockOf(endOf(drain).at)}, backstop ${clockOf(drain.until)}`;
  const open = residents - held.length;
  return [
    ...(open > 0 ? [notice(`fleet reopened for ${open} of ${residents} residents`)] : []),
    warning(`fleet stays closed — ${namesOf(held)} ${still}; ${opens}${ends}`),
  ];
}

function openedWords(resource: string, turn: DeployTurn): string {
  const rows = rowsIn(turn).filter((row) => row.drainId === turn.after.drainId);
  const freed = rows.findLast((row) => row.what === "freed" && row.resource === resource);
  const entry = answerIn(turn)?.operation.entries.find((one) => one.resource === resource);
  const name = shortNameOf(resource);
  if (freed?.cause === "released")
    return `${name} reopened — released by ${freed.principal}: ${freed.reason ?? "no reason"}`;
  if (freed !== undefined && entry?.state === "inactive") return `${name} reopened — no container runs there`;
  if (freed !== undefined) return `${name} reopened — it reports image ${entry?.image ?? "unknown"}`;
  if (answerIn(turn) === undefined) return `${name} is held no more by this deploy — a later one has taken over`;
  return `${name} reopened — an admin lifted what held it`;
}

/** How each resident that was held opened. */
export function openedLines(turn: DeployTurn): Line[] {
  const { before, after, fact } = turn;
  if (fact.kind !== "heldBy") return [];
  return before.held
    .filter((resource) => !after.held.includes(resource))
    .map((resource) =>
      after.stale.includes(resource)
        ? warning(
            `${shortNameOf(resource)} opened at its bound without a report — stale; restarted at its next quiet attach`,
          )
        : notice(openedWords(resource, turn)),
    );
}

/** Each minute of the hold: who is held still, and what they last said. */
export function heldMinuteLines(telling: HoldTelling, turn: DeployTurn): { telling: HoldTelling; lines: Line[] } {
  const answer = answerIn(turn);
  const { after } = turn;
  if (turn.fact.kind !== "heldBy" || answer === undefined || after.held.length === 0) return { telling, lines: [] };
  const heldMinute = Math.floor((answer.now - answer.operation.since) / MINUTE);
  if (heldMinute <= telling.heldMinute) return { telling, lines: [] };
  const held = answer.operation.entries.filter((entry) => after.held.includes(entry.resource));
  return {
    telling: { ...telling, heldMinute },
    lines: [
      info(`held for ${heldMinute}m, to ${clockOf(answer.operation.until)} at the latest — ${reconcileWords(held)}`),
    ],
  };
}
