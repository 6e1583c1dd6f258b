// The swap: real. It asks the registry as its last act, writes down what it is about to do, ends workerd and serves the
// new build over the same storage. Every container started from then on is of the new image; those that run are brought
// onto it by their residents, one by one. A forced swap replaces them all at once, and looks at no registration.

import type { Leases } from "#core/budgets.ts";
import { readConfig } from "#node/config.ts";
import { Failure, problemOf, wordsOf } from "#node/failure.ts";
import { judgeSwap } from "#node/fleetLook.ts";
import { logOf } from "#node/log.ts";
import type { Ended, StepName, SwapAnswer, SwapAsk } from "#wire/host.ts";
import type { Companions } from "#embed/companions.ts";
import { hasBundle } from "#embed/bundles.ts";
import { builtImage } from "#embed/image.ts";
import { isAlive } from "#embed/inside.ts";
import { pruneState } from "#embed/pruning.ts";
import { swapPart } from "#embed/swapPart.ts";
import { beforeOf, writeRelease, type PendingSwap, type Release } from "#embed/releaseFile.ts";
import type { Stack } from "#embed/stack.ts";

function checkBuilt(stack: Stack, ask: SwapAsk): void {
  const { paths } = stack.parts;
  if (!hasBundle(paths, ask.build.bundle))
    throw new Failure("BUILD_MISSING", `bundle ${ask.build.bundle} is not in ${paths.bundles}`);
  if (builtImage(paths, ask.build.image) === undefined)
    throw new Failure("BUILD_MISSING", `image ${ask.build.image} is not in ${paths.images}`);
}

/** What died: listed before it ended, and gone now. One entry a boot of a container. */
function killedOf(doomed: readonly Ended[]): Ended[] {
  const boots = new Map(doomed.map((ended) => [`${ended.resource} ${ended.bootId}`, ended]));
  return [...boots.values()].map((ended) => ({ ...ended, processes: ended.processes.filter((one) => !isAlive(one)) }));
}

/** Only a forced swap ends what runs. */
async function replace(
  { parts: { containers } }: Stack,
  mode: SwapAsk["mode"],
  image: string,
  onDoomed: (ended: Ended) => void,
): Promise<{ readonly notStarted: readonly string[] }> {
  if (mode === "forced") return containers.replaceAll(image, onDoomed);
  containers.useImage(image);
  return { notStarted: [] };
}

/** The part after the old workerd is gone; also how a supervisor finishes what a killed one began. */
export async function landSwap(
  stack: Stack,
  release: Release,
  pending: PendingSwap,
  finishedLater: boolean,
): Promise<SwapAnswer> {
  const { paths, clock } = stack.parts;
  const doomed = [...pending.doomed];
  const onDoomed = (ended: Ended): void => {
    doomed.push(ended);
    writeRelease(paths, { ...release, pending: { ...pending, doomed } });
  };
  const { build, generation, drainId } = pending;
  const leases = pending.leases ?? release.leases;
  try {
    const { notStarted } = await replace(stack, pending.mode, build.image, onDoomed);
    await stack.fleet.serve({ build, generation, drainId, leases });
    const ms = clock.now() - pending.begunAt;
    const answer: SwapAnswer = {
      outcome: "landed",
      drainId,
      generation,
      killed: killedOf(doomed),
      ms,
      from: release.build,
      to: build,
      finishedLater,
      notStarted: [...notStarted],
    };
    const { parts } = release;
    const before = beforeOf(release, "resident", build);
    const served = { generation, drainId, build, leases, parts, before, since: clock.now() };
    writeRelease(paths, { ...served, pending: null, last: answer });
    return answer;
  } catch (error) {
    return await takeBack(stack, release, pending, { error, doomed });
  }
}

/** The new build does not serve: the old one does again, its containers too, and everybody is told. */
async function takeBack(
  stack: Stack,
  release: Release,
  pending: PendingSwap,
  met: { readonly error: unknown; readonly doomed: Ended[] },
): Promise<SwapAnswer> {
  const { paths } = stack.parts;
  logOf("swap").error("the new build does not serve; the old one is started again", {
    drainId: pending.drainId,
    error: wordsOf(met.error),
  });
  const problem = problemOf(met.error);
  try {
    await stack.fleet.endServing();
    await replace(stack, pending.mode, release.build.image, (ended) => met.doomed.push(ended));
    await stack.fleet.serve(release);
  } catch (error) {
    logOf("swap").fatal("the old build does not serve either", { error: wordsOf(error) });
    problem.detail += `\nand the old build does not serve either: ${wordsOf(error)}`;
    stack.fleet.keepTrying(release);
  }
  const { code, detail } = problem;
  const answer: SwapAnswer = {
    outcome: "failed",
    drainId: pending.drainId,
    killed: killedOf(met.doomed),
    code,
    detail,
  };
  writeRelease(paths, { ...release, pending: null, last: answer });
  return answer;
}

async function swapOnce(stack: Stack, ask: SwapAsk): Promise<SwapAnswer> {
  const { drainId, build, mode } = ask;
  const { paths, clock } = stack.parts;
  let leases: Leases;
  try {
    checkBuilt(stack, ask);
    leases = ask.leases ?? readConfig(paths.config).leases;
  } catch (error) {
    const { code, detail } = problemOf(error);
    return { outcome: "none", drainId, code, detail };
  }
  const release = stack.release();
  if (mode === "handoff" && release.build.image !== build.image) {
    const detail = `it would go from image ${release.build.image} to ${build.image}`;
    return { outcome: "none", drainId, code: "IMAGE_CHANGES", detail };
  }
  const begunAt = clock.now();
  const generation = release.generation + 1;
  const pending: PendingSwap = { drainId, mode, build, generation, leases, begunAt, doomed: [] };
  try {
    judgeSwap(ask, await stack.drains());
  } catch (error) {
    const { code, detail } = problemOf(error);
    return { outcome: "refused", drainId, code, detail };
  }
  writeRelease(paths, { ...release, pending });
  logOf("swap").info("the swap begins", { drainId, mode, from: release.build, to: build });
  try {
    await stack.fleet.endServing();
  } catch (error) {
    return await takeBack(stack, release, pending, { error, doomed: [] });
  }
  return await landSwap(stack, release, pending, false);
}

/** Where swaps are asked for: one at a time, and who asks again gets the answer that was lost. */
export class SwapDesk {
  readonly #stack: Stack;
  readonly #companions: Companions | undefined;
  #underway: { readonly drainId: string; readonly step: StepName; readonly answer: Promise<SwapAnswer> } | undefined;

  constructor(stack: Stack, companions: Companions | undefined) {
    this.#stack = stack;
    this.#companions = companions;
  }

  /** The drain id of the swap that is under way, or null. */
  get swapping(): string | null {
    return this.#underway?.drainId ?? null;
  }

  /** A bot that is being replaced waits for its runs no longer. */
  hurry(): void {
    if (this.#underway?.step === "bot") this.#companions?.hurry();
  }

  /** Resolves once no swap is under way. */
  async settled(): Promise<void> {
    await this.#underway?.answer;
  }

  /** Swaps, joins the swap of the same drain, or answers what its swap ended with; SWAP_BUSY while another is under way. */
  ask(ask: SwapAsk): Promise<SwapAnswer> {
    const underway = this.#underway;
    const { step = "resident" } = ask;
    if (underway?.drainId === ask.drainId && underway.step === step) return underway.answer;
    if (underway !== undefined) throw new Failure("SWAP_BUSY", `the swap of drain ${underway.drainId} is under way`);
    const release = this.#stack.release();
    const last = step === "resident" ? release.last : (release.parts[step]?.last ?? null);
    if (last?.drainId === ask.drainId) return Promise.resolve(last);
    const swapping =
      step === "resident" ? swapOnce(this.#stack, ask) : swapPart(this.#stack, this.#companions, { ...ask, step });
    const answer = swapping
      .then((ended) => this.#pruned(ended))
      .finally(() => {
        this.#underway = undefined;
      });
    this.#underway = { drainId: ask.drainId, step, answer };
    return answer;
  }

  /** What a landed release leaves behind goes while no other swap can have chosen it. */
  #pruned(answer: SwapAnswer): SwapAnswer {
    if (answer.outcome === "landed") pruneState(this.#stack.parts.paths, Date.now());
    return answer;
  }
}
