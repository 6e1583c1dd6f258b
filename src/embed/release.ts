// A release is what this folder says: the Worker bundle and the container image. It is prepared whole before anything is
// closed, in whichever process asks, since everything it makes is named by its content.

import { readConfig } from "#node/config.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import type { HostBuild } from "#wire/host.ts";
import { bundleAgent, bundleWorker, commitOf, keepWorker, type Bundle } from "#embed/bundles.ts";
import { buildImage, builtImage, checkTools, planImage, type Building, type ImagePlan } from "#embed/image.ts";
import { readRelease } from "#embed/releaseFile.ts";
import type { Sources } from "#embed/sources.ts";

/** A release next to the one that is served. */
export interface PreparedRelease {
  readonly build: HostBuild;
  /** What is served now; null before the first start. */
  readonly served: HostBuild | null;
  readonly changed: { readonly commit: boolean; readonly bundle: boolean; readonly image: boolean };
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
  readonly worker: Bundle;
  readonly image: ImagePlan;
}

async function plan(ask: ReleaseAsk): Promise<Planned> {
  const config = readConfig(ask.paths.config);
  const [worker, agent, commit] = await Promise.all([
    bundleWorker(ask.sources),
    bundleAgent(ask.sources),
    commitOf(ask.sources.root),
  ]);
  const image = planImage(ask.paths, config.image, agent);
  const build = { commit, bundle: worker.id, image: image.id };
  const served = readRelease(ask.paths)?.build ?? null;
  const changed = {
    commit: build.commit !== served?.commit,
    bundle: build.bundle !== served?.bundle,
    image: build.image !== served?.image,
  };
  return { build, served, changed, imageWasBuilt: builtImage(ask.paths, image.id) !== undefined, worker, image };
}

const shown = ({ build, served, changed, imageWasBuilt }: Planned): PreparedRelease => ({
  build,
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

/** Builds the release that this folder says into the state folder. Everything that can fail slowly fails here. */
export async function prepareRelease(ask: ReleaseAsk): Promise<PreparedRelease> {
  const planned = await plan(ask);
  keepWorker(ask.paths, planned.worker);
  await buildImage(ask.paths, planned.image, ask.building);
  return shown(planned);
}
