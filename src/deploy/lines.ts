// What a deploy says while it goes on, as a pure fold over its turns: the same words on a terminal and in CI.

import { CLOCK, LIMIT } from "#core/budgets.ts";
import { endOf, type Build, type Without } from "#core/drain.ts";
import { outlasting, type FleetView, type InFlight } from "#core/preflight.ts";
import { closesNothing, type DeployMode, type DeployState, type Steps } from "#core/rolloutState.ts";
import { clockOf, formatDuration, hourMinuteOf, MINUTE, type Instant } from "#core/time.ts";
import { shortNameOf } from "#wire/names.ts";
import {
  heldMinuteLines,
  heldUpFrontLines,
  namesOf,
  openedLines,
  reconciledLines,
  unreconciledLines,
  type HoldTelling,
} from "#deploy/holdLines.ts";
import { info, notice, warning, type Line } from "#deploy/line.ts";
import type { DeployTurn } from "#deploy/run.ts";
import type { StepShape } from "#deploy/shapes.ts";
import { botDoorLines, buildWords, hasDropped, rollLines, tookWords } from "#deploy/stepLines.ts";

/** What has been said already, so that nothing is said twice. */
export interface Telling extends HoldTelling {
  readonly minute: number;
  readonly named: readonly InFlight[];
  readonly beyond: readonly string[];
  readonly sealRefused: boolean;
  readonly botDropped: boolean;
}

/** Nothing said yet. */
export const SILENT: Telling = {
  minute: 0,
  named: [],
  beyond: [],
  sealRefused: false,
  botDropped: false,
  residents: 0,
  heldMinute: 0,
};

/** `2 runs in flight`, `1 run in flight, 1 attaching`, `1 in the bot's hands`. */
export function inFlightWords(runs: readonly InFlight[], attaching: number, botInFlight = 0): string {
  const running = runs.filter((run) => run.state === "running").length;
  const coming = runs.length - running + attaching;
  const words = [
    ...(running > 0 || coming + botInFlight === 0 ? [`${running} run${running === 1 ? "" : "s"} in flight`] : []),
    ...(coming > 0 ? [`${coming} attaching`] : []),
    ...(botInFlight > 0 ? [`${botInFlight} in the bot's hands`] : []),
  ];
  return words.join(", ");
}

/** `r1 (sample, cli:8f2)`. */
export const runWords = (run: { runId: string; resource: string; threadKey: string }): string =>
  `${run.runId} (${shortNameOf(run.resource)}, ${run.threadKey})`;

const minutesOf = (span: number): string => `${Math.floor(span / MINUTE)}m`;

const MODE_LINES: Readonly<Record<DeployMode, readonly Line[]>> = {
  drained: [],
  handoff: [
    info("handoff — the image stays, so the runs in flight live on; who attaches waits the seconds of the swap"),
  ],
  undrained: [
    warning("RESIDENT_DRAIN_TOKEN is not set — waiting without a drain"),
    info(`waits at most ${minutesOf(CLOCK.undrainedWaitMs)} for a moment with nothing in flight`),
  ],
  forced: [],
};

/** What is said of a deploy that leaves the fleet alone. */
function partLines(mode: DeployMode, steps: Steps): readonly Line[] {
  if (mode === "forced") return [];
  if (closesNothing(steps)) return [info("the ledger alone — nothing is closed, and nobody is waited for")];
  const undrained =
    mode === "undrained" ? [warning("RESIDENT_DRAIN_TOKEN is not set — the bot is swapped without a drain")] : [];
  return [
    ...undrained,
    info("the bot hands its runs off — they live on in their containers, and nobody is waited for"),
  ];
}

/** What is said before the first effect. */
export function openingLines(mode: DeployMode, steps: Steps, without: readonly Without[] = []): readonly Line[] {
  const left = without.map(({ resource, reason }) =>
    warning(`${shortNameOf(resource)} is left out (${reason}) — neither waited for, nor sealed, nor held`),
  );
  const isPlain = steps.waits && !closesNothing(steps);
  return [...(isPlain ? MODE_LINES[mode] : partLines(mode, steps)), ...left];
}

/** ` — without sample`: behind every line of a deploy that leaves somebody out. */
export const withoutWords = (without: readonly Without[]): string =>
  without.length === 0 ? "" : ` — without ${namesOf(without.map((one) => one.resource))}`;

/** A run that is waited for, or one that a handoff lets live on. */
function metLine(run: InFlight, { mode, steps }: DeployState): Line {
  const suspect = run.suspect ? "; suspect: no process behind it" : "";
  if (!steps.waits || (mode === "handoff" && run.state === "running"))
    return info(`${runWords(run)} lives on${suspect}`);
  return info(`waits for ${runWords(run)} — its lease ends ${hourMinuteOf(run.leaseUntil)}${suspect}`);
}

/** All that a look found in flight. */
const flightWords = ({ runs, attaching, botInFlight }: FleetView): string =>
  inFlightWords(runs, attaching, botInFlight);

function newRunLines(
  telling: Telling,
  view: FleetView,
  state: DeployState,
): { named: readonly InFlight[]; lines: Line[] } {
  const fresh = view.runs.filter((run) => !telling.named.some((known) => known.runId === run.runId));
  const gone = telling.named.filter((known) => !view.runs.some((run) => run.runId === known.runId));
  const lines = [
    ...fresh.map((run) => metLine(run, state)),
    ...gone.map((run) => info(`${runWords(run)} ended — ${flightWords(view)}`)),
  ];
  return { named: view.runs, lines };
}

function beyondLines(
  telling: Telling,
  view: FleetView,
  budgetUntil: Instant,
): { beyond: readonly string[]; lines: Line[] } {
  const late = outlasting(view.runs, budgetUntil).filter((run) => !telling.beyond.includes(run.runId));
  const lines = late.map((run) =>
    warning(
      `${runWords(run)} may go on until ${hourMinuteOf(run.leaseUntil)}, beyond this wait's end at ${hourMinuteOf(budgetUntil)} — unless it ends sooner nothing is deployed`,
    ),
  );
  return { beyond: [...telling.beyond, ...late.map((run) => run.runId)], lines };
}

const isWaiting = ({ stop, effect, outcome }: DeployState): boolean =>
  stop === null &&
  outcome === "none" &&
  ["look", "pause", "pulse", "seal"].includes(effect.do) &&
  !(effect.do === "pause" && effect.then === "rollGate");

function heartbeat(telling: Telling, state: DeployState, now: Instant): { minute: number; lines: Line[] } {
  const minute = Math.floor((now - state.startedAt) / MINUTE);
  const { view } = state;
  if (minute <= telling.minute || view === null || !isWaiting(state)) return { minute: telling.minute, lines: [] };
  const of = minutesOf(state.budgetUntil - state.startedAt);
  const quietBy = view.quietBy === null ? "" : `, quiet by ${hourMinuteOf(view.quietBy)}`;
  return {
    minute,
    lines: [info(`waited ${minute}m of ${of} — ${flightWords(view)}${quietBy}`)],
  };
}

/** What a look could not read, while that does not refuse the deploy yet. */
function blindLines(state: DeployState): Line[] {
  const { view, stop, unreadableLooks } = state;
  if (view === null || view.unreadable.length === 0 || stop !== null) return [];
  const looks = `look ${unreadableLooks} of ${LIMIT.unreadableLooks}`;
  return [warning(`${view.unreadable.join(", ")} cannot be read — nothing is taken for quiet; ${looks}`)];
}

function afterLook(telling: Telling, { after }: DeployTurn): { telling: Telling; lines: Line[] } {
  if (after.view === null || after.mode === "forced" || closesNothing(after.steps)) return { telling, lines: [] };
  const named = newRunLines(telling, after.view, after);
  const waitsFor = after.mode === "handoff" || !after.steps.waits ? { ...after.view, runs: [] } : after.view;
  const beyond = beyondLines(telling, waitsFor, after.budgetUntil);
  return {
    telling: { ...telling, named: named.named, beyond: beyond.beyond, sealRefused: false },
    lines: [...blindLines(after), ...named.lines, ...beyond.lines],
  };
}

function lostLines({ before, after }: DeployTurn, why: string): Line[] {
  const { effect } = before;
  switch (effect.do) {
    case "lift":
      return after.lifted === "lost"
        ? [warning(`the lift was not answered (${why}) — ${byItself(before)}`)]
        : [info(`the lift was not answered (${why}) — asked again`)];
    case "upload":
      return [warning(unansweredWords(why, after))];
    case "preflight":
    case "look":
      return after.stop === null
        ? [
            warning(
              `the fleet cannot be read (${why}) — nothing is taken for quiet; look ${after.unreadableLooks} of ${LIMIT.unreadableLooks}`,
            ),
          ]
        : [];
    case "roll":
    case "rollGate":
    case "readBack":
    case "liveGate":
      return [];
    case "reconcile":
      return after.effect.do === "lift"
        ? []
        : [
            warning(
              `no answer to the reconcile (${why}) — asked again, to ${clockOf(after.reconcileUntil)} at the latest`,
            ),
          ];
    case "holds":
      return [warning(`who is held cannot be read (${why}) — asked again`)];
    default:
      return after.stop === null
        ? [warning(`no answer to the ${effect.do === "drain" ? "drain" : effect.do} (${why}) — asked again`)]
        : [];
  }
}

const unansweredWords = (why: string, state: DeployState): string =>
  `the swap gave no answer (${why}) — reading back what is served, until ${clockOf(state.swapUntil)}`;

/** When the fleet opens by itself if this deploy does nothing any more. */
export function byItself(state: DeployState): string {
  if (!state.asked) return "the fleet was not closed by this deploy";
  if (state.drain === null) return `the fleet opens by itself within ${formatDuration(CLOCK.pulseBoundMs)}`;
  return `the fleet opens by itself at ${clockOf(endOf(state.drain).at)}`;
}

function uploadedLines({ before, after, fact, seen }: DeployTurn): Line[] {
  if (fact.kind !== "uploaded" || before.effect.do === "roll" || before.effect.do === "rollGate") return [];
  const uploaded = seen.find((one) => one.kind === "uploaded")?.uploaded;
  const took = uploaded === undefined || uploaded.ms === null ? "" : ` in ${tookWords(uploaded.ms)}`;
  if (fact.outcome === "landed") return [info(`swapped${took}`)];
  return fact.outcome === "unknown" ? [warning(unansweredWords(fact.why, after))] : [];
}

function servesLines({ before, after, fact }: DeployTurn, to: Build): Line[] {
  if (fact.kind !== "serves" || after.outcome !== "landed") return [];
  if (before.effect.do === "readBack" && after.effect.do === "liveGate")
    return [info("the swap landed: its answer was lost, what is served shows it")];
  const served = fact.served;
  const isLive = after.effect.do === "reconcile" || after.stop?.kind === "deployed";
  return isLive && served !== null
    ? [notice(`live — /healthz serves ${to.commit}, generation ${served.generation}`)]
    : [];
}

/** What is swapped: the fleet's builds, and the shape of each step that is done. */
export interface Told {
  readonly from: Build | null;
  readonly to: Build;
  readonly shapes: readonly StepShape[];
}

function factLines(turn: DeployTurn, builds: Told): Line[] {
  const { before, after, fact } = turn;
  switch (fact.kind) {
    case "drained":
      return before.effect.do === "drain"
        ? [notice(`fleet drained — /attach refuses new runs until ${clockOf(fact.drain.until)}`)]
        : [];
    case "minted":
      return [
        warning(
          `drain ${before.drainId} ended before the swap (lifted, or its pulse came too late) — closing anew as ${fact.id}`,
        ),
      ];
    case "lost":
      return lostLines(turn, fact.why);
    case "unreadable":
      return lostLines(turn, fact.why);
    case "sealed":
      return [sealedLine(after, clockOf(endOf(fact.drain).at))];
    case "confirmed":
      return [
        info(
          `swapping — ${builds.from === null ? "unknown" : buildWords(builds.from, builds.to)} → ${buildWords(builds.to, builds.from)}`,
        ),
      ];
    case "uploaded":
      return uploadedLines(turn);
    case "serves":
      return servesLines(turn, builds.to);
    case "lifted":
      return liftedLines(turn);
    case "heldBy":
      return openedLines(turn);
    case "deferred":
      return [warning(`fleet stays closed — an upload may still land; it opens by itself at ${clockOf(fact.at)}`)];
    case "signal":
      return signalLines(turn, fact.signal);
    default:
      return [];
  }
}

function sealedLine({ mode, view }: DeployState, at: string): Line {
  if (mode !== "handoff") return info(`fleet sealed — nothing is in flight, and nothing becomes so before ${at}`);
  return info(`handed off — ${inFlightWords(view?.runs ?? [], 0)}, and nobody attaches before the swap, or ${at}`);
}

/** Whose drains still close the fleet, each with its end. */
export function stillClosedWords(drains: readonly { by: string; reason: string; until: Instant }[]): string {
  return drains.map((drain) => `${drain.by} (${drain.reason}) until ${clockOf(drain.until)}`).join(", and by ");
}

function liftedLines({ seen, fact }: DeployTurn): Line[] {
  const remaining = seen.find((one) => one.kind === "lifted")?.remaining ?? [];
  const someHeld = fact.kind === "lifted" && fact.held.length > 0;
  if (remaining.length === 0) return someHeld ? [] : [notice("fleet reopened")];
  return [warning(`this deploy's drain is lifted — the fleet stays closed by ${stillClosedWords(remaining)}`)];
}

function signalLines({ before, after }: DeployTurn, signal: string): Line[] {
  if (before.lifted !== null)
    return [
      warning(`${signal} — leaves; the deploy stands, and ${namesOf(after.held)} opens by its report or the bound`),
    ];
  const landed = after.outcome === "landed" ? "the swap has landed; lifts" : "stops waiting and lifts";
  if (after.effect.do === "lift") return [warning(`${signal} — ${landed}`)];
  if (after.outcome !== "unknown") return [warning(`${signal} — stops; nothing was closed and nothing is deployed`)];
  return [warning(`${signal} during the upload — whether it lands is unknown; ${byItself(after)}`)];
}

function sealRefusedLines(telling: Telling, { fact }: DeployTurn): { telling: Telling; lines: Line[] } {
  if (fact.kind !== "notSealed") return { telling, lines: [] };
  if (fact.unreadable.length > 0)
    return { telling, lines: [warning(`not sealed — ${fact.unreadable.join(", ")} cannot be read`)] };
  const lines = telling.sealRefused ? [] : [info("not sealed yet — something was admitted meanwhile; waits on")];
  return { telling: { ...telling, sealRefused: true }, lines };
}

/** A fleet that could be sealed has nothing in flight: whoever was waited for has ended. A handoff ends nobody. */
function endedBySeal(telling: Telling, { fact, after }: DeployTurn): { telling: Telling; lines: Line[] } {
  const ends = fact.kind === "sealed" && after.mode !== "handoff";
  if (!ends || telling.named.length === 0) return { telling, lines: [] };
  return { telling: { ...telling, named: [] }, lines: telling.named.map((run) => info(`${runWords(run)} ended`)) };
}

/** What one turn of the deploy says, and what has then been said. */
export function tell(telling: Telling, turn: DeployTurn, builds: Told): { telling: Telling; lines: readonly Line[] } {
  const door = botDoorLines(telling.botDropped, turn);
  const said = [...factLines(turn, builds), ...door];
  // Whoever was waited for has ended before what waited is begun.
  const rolls = rollLines(turn, builds.shapes);
  const looked =
    turn.fact.kind === "drained" || turn.fact.kind === "viewed" ? afterShown(telling, turn) : { telling, lines: [] };
  const ended = endedBySeal(looked.telling, turn);
  const refused = sealRefusedLines(ended.telling, turn);
  const beat = heartbeat(refused.telling, turn.after, turn.until);
  const held = tellHolds(refused.telling, turn, builds.from?.image === builds.to.image);
  return {
    telling: {
      ...refused.telling,
      ...held.telling,
      minute: beat.minute,
      botDropped: hasDropped(telling.botDropped, turn),
    },
    lines: [
      ...ended.lines,
      ...held.before,
      ...said,
      ...held.after,
      ...looked.lines,
      ...refused.lines,
      ...rolls,
      ...beat.lines,
    ],
  };
}

/** What is said behind the live gate: `before` the fact's own words, and `after` them. */
function tellHolds(
  telling: Telling,
  turn: DeployTurn,
  keepsImage: boolean,
): { telling: HoldTelling; before: readonly Line[]; after: readonly Line[] } {
  const { residents, heldMinute } = telling;
  const reconciled = reconciledLines({ residents, heldMinute }, turn);
  const minute = heldMinuteLines(reconciled.telling, turn);
  const before = [...unreconciledLines(turn), ...reconciled.lines];
  return {
    telling: minute.telling,
    before,
    after: [...heldUpFrontLines(reconciled.telling, turn, keepsImage), ...minute.lines],
  };
}

/** A drained deploy names its runs once the door is closed, and what each look changes; the preflight alone says nothing. */
function afterShown(telling: Telling, turn: DeployTurn): { telling: Telling; lines: Line[] } {
  const { before, after } = turn;
  const silent = before.effect.do === "preflight" && after.effect.do === "drain";
  return silent || before.effect.do === "pulse" ? { telling, lines: [] } : afterLook(telling, turn);
}
