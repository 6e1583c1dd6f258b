// What the closure has to show, held against what was seen of it. The incident's record is beside it only where a fact
// says so; nothing is taken from it as seen.

import { CLOCK } from "#core/budgets.ts";
import { MINUTE, type Instant, type Ms } from "#core/time.ts";
import { shortNameOf } from "#wire/names.ts";
import { OTHERS, PLACES, RECORD, STALE } from "./closure.ts";
import type { ClosureSeen, Look, Placed } from "./closureActs.ts";
import { closedFor, closureTimes, openOf, rowsOf, startOf } from "./closureTimes.ts";
import type { Fact } from "./fact.ts";
import { closedFrame, threadsIn } from "./flights.ts";
import { secondTime, spanTime } from "./night.ts";

const time = (instant: Instant | undefined): string => (instant === undefined ? "never" : secondTime(instant));
const between = (from: Instant | undefined, to: Instant | undefined): Ms | undefined =>
  from === undefined || to === undefined ? undefined : to - from;
const span = (ms: Ms | undefined): string => (ms === undefined ? "never" : spanTime(ms));
const names = (places: readonly string[]): string => places.map(shortNameOf).join(", ");
const at = (placed: readonly Placed[], resource: string): Placed | undefined =>
  placed.find((one) => one.resource === resource);

/** How long a start may take where nothing closes the door: this machine's programs, not the door. */
const AT_ONCE = 5 * MINUTE;

function killedFact(seen: ClosureSeen): Fact {
  const { receipt, reconciled, working, frames } = seen;
  const threads = threadsIn(closedFrame(frames));
  const entries = reconciled?.operation.entries ?? [];
  const restarts = entries.reduce((sum, entry) => sum + entry.killed, 0);
  const exits = [...working, ...seen.waiting, ...seen.later].map(({ actor }) => actor.over?.exit ?? null);
  const allThere = working.every(({ thread }) => threads.includes(thread)) && threads.length === working.length;
  return {
    says: "a run is in flight on each of the three when the fleet closes, and nobody is killed",
    found: `in flight: ${threads.join(", ")}; killed ${receipt?.killed ?? "unknown"} by the receipt, ${restarts} by ${entries.length} residents' own words`,
    holds:
      allThere &&
      receipt?.killed === 0 &&
      receipt.killedProcesses.length === 0 &&
      entries.length === PLACES.length &&
      restarts === 0 &&
      exits.every((exit) => exit === 0),
    proof: { threads, receipt: receipt?.killed, entries, exits },
  };
}

function orderFact(seen: ClosureSeen): Fact {
  const { closed, quiet, sealed, swapped, reconcile, lifted } = closureTimes(seen);
  const instants = [closed, quiet, sealed, swapped, reconcile, lifted];
  const { before, after } = seen;
  const ordered = instants.every(
    (instant, index) => instant !== undefined && (index === 0 || instant >= (instants[index - 1] ?? instant + 1)),
  );
  return {
    says: "the deploy closes, waits for quiet, seals, swaps, reconciles and lifts, in this order",
    found: `closed ${time(closed)}, quiet ${time(quiet)}, sealed ${time(sealed)}, swapped ${time(swapped)}, reconcile ${time(reconcile)}, lifted ${time(lifted)}`,
    holds:
      ordered &&
      before.health.build.image !== after.health.build.image &&
      after.health.generation === before.health.generation + 1,
    proof: { closed, quiet, sealed, swapped, reconcile, lifted, before: before.health, after: after.health },
  };
}

/** A container on the new image in a boot of its own, by the resident's word, whoever started it. */
function isRenewed({ before, after, reconciled }: ClosureSeen, resource: string): boolean {
  const [was, is] = [before, after].map(({ residents }) =>
    residents.residents.find((row) => row.resource === resource),
  );
  const state = reconciled?.operation.entries.find((entry) => entry.resource === resource)?.state;
  return (
    is?.imageReport === "current" &&
    is.image === after.health.build.image &&
    is.bootId !== was?.bootId &&
    (state === "restarted" || state === "current")
  );
}

function othersFact(seen: ClosureSeen): Fact {
  const { lifted, staleOpen } = closureTimes(seen);
  const rows = OTHERS.map((resource) => {
    const [waited, asked] = [at(seen.waiting, resource), at(seen.later, resource)];
    const opened = openOf(seen, resource);
    const waitedMs = between(opened, waited && startOf(seen, waited));
    const askedMs = between(asked?.actor.startedAt, asked && startOf(seen, asked));
    const refused = asked?.actor.saying(/waiting for/)?.line ?? null;
    return { resource, opened, renewed: isRenewed(seen, resource), waitedMs, askedMs, refused };
  });
  const soon = (ms: Ms | undefined): boolean => ms !== undefined && ms >= 0 && ms < AT_ONCE;
  const open = rows.every(({ opened }) => staleOpen !== undefined && opened !== undefined && opened < staleOpen);
  return {
    says: `${names(OTHERS)} are on the new image and open at the lift: asks there start at once`,
    found: rows
      .map(
        ({ resource, opened, waitedMs, askedMs }) =>
          `${shortNameOf(resource)}: open ${time(opened)}, what waited starts ${span(waitedMs)} later, what is asked then ${span(askedMs)} after its command line`,
      )
      .join("; "),
    holds: open && rows.every((row) => row.renewed && soon(row.waitedMs) && soon(row.askedMs) && row.refused === null),
    proof: { lifted, staleOpen, rows },
  };
}

function isRefused({ row, door }: Look): boolean {
  const { refusal } = door;
  return (
    row?.readiness === "drained — attach refused" &&
    row.imageReport === "pending" &&
    row.hold !== null &&
    door.status === 503 &&
    door.retryAfter !== null &&
    refusal?.code === "DRAINING" &&
    refusal.draining.phase === "reopening" &&
    refusal.draining.holds.length === 1 &&
    refusal.draining.holds[0] === STALE
  );
}

function refusedFact({ looks, after }: ClosureSeen): Fact {
  const [first] = looks;
  const { drainId } = after.health;
  const refused = looks.filter((look) => isRefused(look) && look.door.refusal?.draining.id === drainId);
  return {
    says: `${shortNameOf(STALE)} alone refuses: a real 503 with the record, "drained — attach refused", image report pending`,
    found: `looked at ${looks.map((look) => time(look.at)).join(" and ")}: ${looks.map((look) => look.door.status).join(", ")}; ${first?.row?.readiness ?? "?"}, ${first?.row?.imageReport ?? "?"}; its last word: ${first?.row?.hold?.said ?? "none"}`,
    holds: looks.length === 2 && refused.length === 2,
    proof: { looks },
  };
}

function boundFact(seen: ClosureSeen): Fact {
  const { reconcile, staleOpen, by } = closureTimes(seen);
  const [stale] = rowsOf(seen, "stale", STALE);
  const reopen = rowsOf(seen, "reopen").at(-1);
  const held = between(reconcile, staleOpen);
  const warned = seen.warnings.filter((line) => line.includes(STALE));
  const row = seen.after.residents.residents.find((one) => one.resource === STALE);
  return {
    says: "no report comes, so the cycle bound opens it, with its name in the registry's warning",
    found: `open ${time(staleOpen)}, ${span(held)} after the reconcile; cause ${reopen?.cause ?? "?"}; stale: ${stale?.resource ?? "nobody"} (${stale?.reason ?? "?"}); ${warned.length} warning in the Worker's log`,
    holds:
      by === "stale" &&
      held === CLOCK.cycleBoundMs &&
      stale?.cause === "bound" &&
      reopen?.cause === "bound" &&
      warned.length === 1 &&
      row?.image === seen.before.health.build.image,
    proof: { stale, reopen, held, warned, row },
  };
}

function reportedFact(seen: ClosureSeen): Fact {
  const { reconcile, staleOpen, by } = closureTimes(seen);
  const [freed] = rowsOf(seen, "freed", STALE);
  const reopen = rowsOf(seen, "reopen").at(-1);
  const asked = seen.audit.find((row) => row.what === "rebuild");
  const held = between(reconcile, staleOpen);
  const { rebuilt } = seen;
  const ordered = asked !== undefined && staleOpen !== undefined && asked.at <= staleOpen;
  return {
    says: "the rebuild's own container reports, and that report opens it before the bound: nobody is stale",
    found: `rebuild asked ${time(asked?.at)} by ${asked?.principal ?? "?"}, open ${time(staleOpen)}, ${span(held)} after the reconcile; cause ${reopen?.cause ?? "?"}: ${freed?.reason ?? "no report"}`,
    holds:
      by === "freed" &&
      ordered &&
      asked.principal === "admin" &&
      rebuilt?.status === 200 &&
      freed?.cause === "reported" &&
      freed.reason === `image ${seen.after.health.build.image}` &&
      reopen?.cause === "reported" &&
      held !== undefined &&
      held < CLOCK.cycleBoundMs &&
      rowsOf(seen, "stale").length === 0 &&
      seen.warnings.length === 0 &&
      isRenewed(seen, STALE),
    proof: { asked, freed, reopen, held, rebuilt },
  };
}

function waiterFact(seen: ClosureSeen): Fact {
  const waited = at(seen.waiting, STALE);
  const { staleOpen } = closureTimes(seen);
  const start = waited && startOf(seen, waited);
  const late = between(staleOpen, start);
  const opening = waited?.actor.saying(/after waiting (\d+)s for the resident/)?.line ?? null;
  return {
    says: `the ask that waited at ${shortNameOf(STALE)} starts then, with its wait named`,
    found: `starts ${time(start)}, ${span(late)} after it opened: ${opening?.replace(/^tidegate: /, "") ?? "no opening line"}`,
    holds: late !== undefined && late >= 0 && late < AT_ONCE && opening !== null && waited?.actor.over?.exit === 0,
    proof: { start, staleOpen, opening, said: waited?.actor.words("err").split("\n").slice(-4) },
  };
}

/** What the deploy itself said, and what it kept. */
function toldFact(seen: ClosureSeen): Fact {
  const { deploy, variant, receipt } = seen;
  const held = deploy.saying(/still reports the pre-deploy image/)?.line ?? null;
  const residents = receipt === undefined || receipt.residents === "unknown" ? [] : receipt.residents;
  const hold = residents.find((one) => one.resource === STALE)?.hold ?? "unknown";
  const { lifted = 0 } = closureTimes(seen);
  const openAtLift = OTHERS.filter((one) => (openOf(seen, one) ?? lifted) <= lifted);
  const exit = variant === "bound" ? 6 : 0;
  return {
    says: `the deploy says up front whom it holds, and ends with ${exit}: ${variant === "bound" ? "a container never reported" : "all have reported"}`,
    found: `exit ${deploy.over?.exit ?? "?"}; hold ended: ${hold}; ${held ?? "no line of a hold"}`,
    holds:
      deploy.over?.exit === exit &&
      held !== null &&
      held.includes(shortNameOf(STALE)) &&
      openAtLift.every((one) => !held.includes(shortNameOf(one))) &&
      hold === (variant === "bound" ? "bound" : "reported"),
    proof: { exit: deploy.over?.exit, held, residents, said: deploy.words("err").split("\n").slice(-6) },
  };
}

function closedFact(seen: ClosureSeen): Fact {
  const spans = closedFor(seen);
  const fleet = Math.max(...OTHERS.map((one) => spans.get(one) ?? Number.POSITIVE_INFINITY));
  const recorded = RECORD.closedMinutes * MINUTE;
  return {
    says: `the whole fleet is closed for less than the record's ${RECORD.closedMinutes} minutes`,
    found: `all three closed for ${span(fleet)}, then ${shortNameOf(STALE)} alone to ${span(spans.get(STALE))}; the record: all of them for ${RECORD.closedMinutes}:00`,
    holds: fleet < recorded && spans.get(STALE) !== undefined,
    proof: { spans: Object.fromEntries(spans), recorded },
  };
}

/** The facts of a closure, by its variant. */
export function closureFactsOf(seen: ClosureSeen): Fact[] {
  const opened = seen.variant === "bound" ? boundFact : reportedFact;
  return [killedFact, orderFact, othersFact, refusedFact, opened, waiterFact, toldFact, closedFact].map((fact) =>
    fact(seen),
  );
}
