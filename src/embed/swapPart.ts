// The swap of the ledger or the bot. The registry is asked first, as for the fleet; the old process ends, the new bundle
// starts in its place, and when it does not start the old one does again. Runs live in their containers meanwhile.

import { readConfig } from "#node/config.ts";
import { Failure, problemOf, wordsOf } from "#node/failure.ts";
import { judgeRoll } from "#node/fleetLook.ts";
import { logOf } from "#node/log.ts";
import { releasedOf } from "#node/released.ts";
import type { BotConfig, Part, SwapAnswer, SwapAsk } from "#wire/host.ts";
import { hasBundle } from "#embed/bundles.ts";
import type { Companions } from "#embed/companions.ts";
import { beforeOf, writeRelease } from "#embed/releaseFile.ts";
import type { Stack } from "#embed/stack.ts";

type PartAsk = SwapAsk & { readonly step: "ledger" | "bot" };

/** Who serves the part now; throws, naming what is missing, when it cannot be swapped. */
async function judged(stack: Stack, companions: Companions | undefined, ask: PartAsk): Promise<Part> {
  const { paths } = stack.parts;
  const known = stack.release().parts[ask.step];
  if (companions === undefined || known === null)
    throw new Failure("BUILD_MISSING", `this stack runs no ${ask.step}`, "npm start, from a folder that has one");
  if (!hasBundle(paths, ask.build.bundle))
    throw new Failure("BUILD_MISSING", `bundle ${ask.build.bundle} is not in ${paths.bundles}`);
  judgeRoll(ask, await stack.drains());
  return known;
}

function write(stack: Stack, step: PartAsk["step"], part: Part): void {
  const release = stack.release();
  const before = beforeOf(release, step, part.build);
  writeRelease(stack.parts.paths, { ...release, before, parts: { ...release.parts, [step]: part } });
}

/** Swaps one part; who asks again for the same drain gets the same answer. */
export async function swapPart(stack: Stack, companions: Companions | undefined, ask: PartAsk): Promise<SwapAnswer> {
  const { step, drainId, build } = ask;
  const { clock, paths } = stack.parts;
  // A start that is under way serves what was released before, and would do so over whatever is swapped meanwhile.
  await companions?.begun;
  const begunAt = clock.now();
  let known: Part;
  let config: BotConfig | null;
  try {
    known = await judged(stack, companions, ask);
    config = step === "bot" ? (ask.config ?? releasedOf(readConfig(paths.config)).bot) : null;
  } catch (error) {
    const { code, detail } = problemOf(error);
    return {
      outcome: code === "BUILD_MISSING" || code === "CONFIG_INVALID" ? "none" : "refused",
      drainId,
      code,
      detail,
    };
  }
  const served = step === "ledger" ? companions?.ledger : companions?.bot;
  const generation = known.generation + 1;
  write(stack, step, { ...known, pending: drainId });
  logOf("swap").info(`the ${step} is swapped`, { drainId, from: known.build, to: build });
  if (step === "bot" && ask.leaves === "handoff") companions?.leaveAtOnce();
  try {
    await served?.endServing();
    await served?.serve({ build, generation, drainId, config });
  } catch (error) {
    logOf("swap").error(`the new ${step} does not serve; the old one is started again`, { error: wordsOf(error) });
    served?.keepTrying(known);
    const { code, detail } = problemOf(error);
    const answer: SwapAnswer = { outcome: "failed", drainId, killed: [], code, detail };
    write(stack, step, { ...known, pending: null, last: answer });
    return answer;
  }
  const answer: SwapAnswer = {
    outcome: "landed",
    drainId,
    generation,
    killed: [],
    ms: clock.now() - begunAt,
    from: known.build,
    to: build,
    finishedLater: false,
    notStarted: [],
  };
  write(stack, step, { build, generation, drainId, config, since: clock.now(), pending: null, last: answer });
  return answer;
}
