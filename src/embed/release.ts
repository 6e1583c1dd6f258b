// A release is what this folder says: the Worker bundle and the container image, and the bundles of ledger and bot. It is
// prepared whole before anything is closed, in whichever process asks, since everything it makes is named by its content.

import { readConfig } from "#node/config.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import { reconfigured, releasedOf, type Released } from "#node/released.ts";
import { STEPS, type HostBuild } from "#wire/host.ts";
import { bundleProgram, bundleWorker, commitOf, keepBundle, type Bundle } from "#embed/bundles.ts";
import { buildImage, builtImage, checkTools, planImage, type Building, type ImagePlan } from "#embed/image.ts";
import { readRelease } from "#embed/releaseFile.ts";
import type { Sources } from "#embed/sources.ts";

/** The parts beside the fleet, each with the build that is its own; null where the sources have none. */
export interface PreparedParts {
  readonly ledger: HostBuild | null;
  readonly bot: HostBuild | null;
}

/** A release next to the one that is served. */
export interface PreparedRelease {
  readonly build: HostBuild;
  readonly parts: PreparedParts;
  /** What of the configuration is released with it. */
  readonly released: Released;
  /** What is served now; null before the first start. */
  readonly served: HostBuild | null;
  readonly changed: {
    readonly commit: boolean;
    readonly bundle: boolean;
    readonly image: boolean;
    readonly ledger: boolean;
    readonly bot: boolean;
    /** What of the configuration goes with the fleet or the bot. */
    readonly config: boolean;
  };
  /** Whether the image had been built before, so that this release needs no setup. */
  readonly imageWasBuilt: boolean;
}

/** What a release is made from and for. */
export interface ReleaseAsk {
  readonly paths: StatePaths;
  readonly sources: Sources;
  readonly building: Building;
}

interface Planned extends PreparedRelease {
  readonly bundles: readonly Bundle[];
  readonly image: ImagePlan;
}

async function bundlesOf({ root, worker, agent, ledger, bot }: Sources) {
  const [fleet, inside, store, program] = await Promise.all([
    bundleWorker(worker, root),
    bundleProgram(agent, root),
    ledger === undefined ? null : bundleWorker(ledger, root),
    bot === undefined ? null : bundleProgram(bot, root),
  ]);
  return { fleet, inside, store, program };
}

async function plan({ paths, sources }: ReleaseAsk): Promise<Planned> {
  const config = readConfig(paths.config);
  const [{ fleet, inside, store, program }, commit] = await Promise.all([bundlesOf(sources), commitOf(sources.root)]);
  const image = planImage(paths, config.image, inside);
  const build = { commit, bundle: fleet.id, image: image.id };
  const known = readRelease(paths);
  const served = known?.build ?? null;
  const own = (bundle: Bundle | null): HostBuild | null => (bundle === null ? null : { ...build, bundle: bundle.id });
  const parts = { ledger: own(store), bot: own(program) };
  const released = releasedOf(config);
  const now: Released = { leases: known?.leases ?? null, bot: known?.parts.bot?.config ?? null };
  return {
    build,
    parts,
    released,
    served,
    changed: {
      commit: build.commit !== served?.commit,
      bundle: build.bundle !== served?.bundle,
      image: build.image !== served?.image,
      ledger: parts.ledger?.bundle !== known?.parts.ledger?.build.bundle,
      bot: parts.bot?.bundle !== known?.parts.bot?.build.bundle,
      config: STEPS.some((step) => reconfigured(step, now, released) !== "nothing"),
    },
    imageWasBuilt: builtImage(paths, image.id) !== undefined,
    bundles: [fleet, store, program].filter((bundle) => bundle !== null),
    image,
  };
}

const shown = ({ build, parts, released, served, changed, imageWasBuilt }: Planned): PreparedRelease => ({
  build,
  parts,
  released,
  served,
  changed,
  imageWasBuilt,
});

/** Says what a release would be, building nothing and writing nothing; tools are asked where no setup could provide them. */
export async function planRelease(ask: ReleaseAsk): Promise<PreparedRelease> {
  const planned = await plan(ask);
  if (planned.imageWasBuilt || planned.image.definition.setup === null) await checkTools(planned.image, ask.building);
  return shown(planned);
}

/** Builds the ledger and the bot that this folder says, for a state folder that has none of them yet. */
export async function prepareParts(ask: ReleaseAsk): Promise<PreparedParts> {
  const planned = await plan(ask);
  for (const bundle of planned.bundles) keepBundle(ask.paths, bundle);
  return planned.parts;
}

/** Builds the release that this folder says into the state folder. Everything that can fail slowly fails here. */
export async function prepareRelease(ask: ReleaseAsk): Promise<PreparedRelease> {
  const planned = await plan(ask);
  for (const bundle of planned.bundles) keepBundle(ask.paths, bundle);
  await buildImage(ask.paths, planned.image, ask.building);
  return shown(planned);
}
