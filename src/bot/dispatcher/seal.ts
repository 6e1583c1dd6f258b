// How a run ends in the ledger: first its verdict, so that no bot which takes it over runs it again, and as the last stage
// its end, once, with its write-up. A run that a deploy interrupted ends `replaced` and never `failed`: it is told apart
// from its command's own failure here and nowhere else.

import type { Verdict as Sealed } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import type { Verdict } from "#client/work.ts";
import { titled } from "#wire/errors.ts";
import { endedCard } from "../cards.ts";
import type { LiveRun } from "../runs.ts";
import type { Desk } from "./desk.ts";

const PLAIN = { exit: null, by: null, why: null } as const;

/** The verdict as it is kept. A command that does not exit 0 has failed, by its own word. */
function sealedVerdict(verdict: Verdict): Sealed {
  switch (verdict.kind) {
    case "finished": {
      const why = verdict.signal === null ? null : `ended by ${verdict.signal}`;
      return { ending: verdict.exit === 0 ? "finished" : "failed", exit: verdict.exit, by: null, why };
    }
    case "notStarted":
    case "failed":
      return { ...PLAIN, ending: verdict.kind, why: verdict.why };
    case "stopped":
    case "leaseSpent":
      return { ...PLAIN, ending: verdict.kind };
    case "replaced":
      return { ...PLAIN, ending: "replaced", by: verdict.by };
    case "refused": {
      const why = verdict.problem === null ? (verdict.draining?.message ?? null) : titled(verdict.problem);
      return { ...PLAIN, ending: "refused", why };
    }
  }
}

/** Notes how it ended, before anything of it is given back: from then on it is neither followed nor begun again. */
export async function noteVerdict(desk: Desk, { id }: LiveRun, verdict: Verdict): Promise<Sealed> {
  const { parts, steady, number } = desk;
  const plain = sealedVerdict(verdict);
  const why =
    plain.why === null ? null : parts.secrets.mask(plain.why).replaceAll("\0", "").slice(0, LIMIT.writeUpChars);
  const { entry } = await steady.do((ledger) =>
    ledger.progress({ id, generation: number, verdict: { ...plain, why } }),
  );
  return entry.verdict ?? { ...plain, why };
}

/** Writes the end, and tells it. */
export async function seal(desk: Desk, run: LiveRun, verdict: Sealed, writeUp: string): Promise<void> {
  const { parts, steady, cards, wakes, number } = desk;
  const { id, entry } = run;
  const leftId = parts.mintId("r");
  const { now } = await steady.do((ledger) => ledger.end({ id, generation: number, verdict, leftId, writeUp }));
  cards.tell(endedCard(entry, cards.last(id), { verdict, at: now }));
  wakes.wake(id);
}
