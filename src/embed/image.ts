// The image of a container: a folder named by what goes into it. image.json is written last, so a folder without it is
// half-built and is built anew; setup sees the path that the image keeps. Whatever is wrong is found before any drain.

import { spawn } from "node:child_process";
import { copyFileSync, lstatSync, mkdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { execa } from "execa";
import * as z from "zod";
import { REAL } from "#core/budgets.ts";
import type { ImageDefinition } from "#wire/config.ts";
import { Failure, wordsOf } from "#node/failure.ts";
import { waitFileLock } from "#node/fileLock.ts";
import { readJsonFile, writeFileWhole, writeJsonFile } from "#node/files.ts";
import { sendSignal } from "#node/processes.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import { contentId, type Bundle } from "#embed/bundles.ts";
import { containerEnv } from "#embed/containerEnv.ts";
import { touch } from "#embed/trash.ts";

/** What image.json says inside an image's folder; the agent reads its `id` from there. */
export const imageFileSchema = z.object({
  id: z.string(),
  platform: z.string(),
  agent: z.string(),
  env: z.record(z.string(), z.string()),
  tools: z.record(z.string(), z.string()),
  files: z.array(z.string()),
});
export type ImageFile = z.infer<typeof imageFileSchema>;

/** An image as it is to be: its name is known before anything is built. */
export interface ImagePlan {
  readonly id: string;
  readonly folder: string;
  readonly agent: Bundle;
  readonly definition: ImageDefinition;
}

/** How a build tells what it does, and how it is stopped. */
export interface Building {
  /** One line of the setup's output, or what is being done. */
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The platform an image is for. */
const platformOf = (): string => `${process.platform}-${process.arch}`;

/** The folder of an image. */
export const imageFolder = (paths: StatePaths, id: string): string => join(paths.images, id);

/** The image of this id if it is built and whole. */
export function builtImage(paths: StatePaths, id: string): ImageFile | undefined {
  const read = readJsonFile(join(imageFolder(paths, id), "image.json"), imageFileSchema);
  return read.kind === "value" && read.value.id === id ? read.value : undefined;
}

function fileOf(home: string, path: string): string {
  const full = join(home, path);
  let real: string;
  try {
    real = realpathSync(full);
  } catch {
    throw new Failure("IMAGE_FILE_MISSING", `image.files names ${path}, which is not there`);
  }
  if (!real.startsWith(home + sep))
    throw new Failure("IMAGE_FILE_MISSING", `image.files names ${path}, which leads out of ${home}`);
  if (!lstatSync(real).isFile())
    throw new Failure("IMAGE_FILE_MISSING", `image.files names ${path}, which is no file; name its files`);
  return real;
}

/** Names the image that a definition and an agent give, reading the files that go into it. */
export function planImage(paths: StatePaths, definition: ImageDefinition, agent: Bundle): ImagePlan {
  const files = definition.files.flatMap((path) => [path, readFileSync(fileOf(paths.home, path))]);
  const sorted = (record: Readonly<Record<string, string>>) =>
    Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const words = JSON.stringify([
    definition.setup,
    definition.files,
    sorted(definition.tools),
    sorted(definition.env),
    platformOf(),
  ]);
  const id = contentId(agent.id, words, ...files);
  return { id, folder: imageFolder(paths, id), agent, definition };
}

async function toolVersion(tool: string, env: Record<string, string>): Promise<string> {
  try {
    const said = await execa(tool, ["--version"], {
      env,
      extendEnv: false,
      all: true,
      stdin: "ignore",
      timeout: REAL.toolVersionMs,
    });
    return /\d+(\.\d+)*/.exec(said.all)?.[0] ?? said.all.slice(0, 80);
  } catch (error) {
    throw new Failure("IMAGE_TOOL_MISMATCH", `${tool} --version fails: ${wordsOf(error).split("\n")[0] ?? ""}`);
  }
}

/** Asks each tool for its version, with the container's own PATH; a version that does not begin as wanted is a failure. */
export async function checkTools(plan: ImagePlan, building: Building): Promise<Record<string, string>> {
  const env = containerEnv(building.env, plan.folder, plan.definition.env);
  const versions: Record<string, string> = {};
  for (const [tool, wanted] of Object.entries(plan.definition.tools)) {
    const version = await toolVersion(tool, env);
    if (version !== wanted && !version.startsWith(`${wanted}.`)) {
      throw new Failure("IMAGE_TOOL_MISMATCH", `${tool} is ${version}, and tidegate.jsonc wants ${wanted}`);
    }
    versions[tool] = version;
  }
  return versions;
}

function runSetup(plan: ImagePlan, script: string, building: Building): Promise<void> {
  return new Promise((resolve, reject) => {
    const env = { ...containerEnv(building.env, plan.folder, plan.definition.env), TIDEGATE_IMAGE: plan.folder };
    const child = spawn("sh", ["-ec", script], {
      cwd: plan.folder,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const stop = (): void => {
      if (child.pid !== undefined) sendSignal(-child.pid, "SIGKILL");
    };
    const bound = setTimeout(stop, REAL.imageSetupMs);
    const done = (failure?: Failure): void => {
      clearTimeout(bound);
      building.signal.removeEventListener("abort", stop);
      if (failure === undefined) resolve();
      else reject(failure);
    };
    building.signal.addEventListener("abort", stop, { once: true });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        for (const line of text.split("\n").filter((part) => part.trim() !== "")) building.progress(line);
      });
    }
    child.once("error", (error) =>
      done(new Failure("IMAGE_SETUP_FAILED", `the setup cannot be run: ${wordsOf(error)}`)),
    );
    child.once("exit", () => stop());
    child.once("close", (code, signal) => {
      if (building.signal.aborted) done(new Failure("INTERRUPTED", "the image was not built"));
      else if (code === 0) done();
      else done(new Failure("IMAGE_SETUP_FAILED", `the setup ended with ${signal ?? `exit code ${code}`}`));
    });
  });
}

function layOut(paths: StatePaths, plan: ImagePlan): void {
  rmSync(plan.folder, { recursive: true, force: true });
  mkdirSync(join(plan.folder, "bin"), { recursive: true, mode: 0o700 });
  writeFileWhole(join(plan.folder, "agent.mjs"), plan.agent.text);
  for (const path of plan.definition.files) {
    const target = join(plan.folder, "files", path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    copyFileSync(fileOf(paths.home, path), target);
  }
}

async function buildUnderLock(paths: StatePaths, plan: ImagePlan, building: Building): Promise<void> {
  layOut(paths, plan);
  try {
    if (plan.definition.setup !== null) await runSetup(plan, plan.definition.setup, building);
    const tools = await checkTools(plan, building);
    const { env, files } = plan.definition;
    const image: ImageFile = {
      id: plan.id,
      platform: platformOf(),
      agent: plan.agent.id,
      env: { ...env },
      tools,
      files: [...files],
    };
    writeJsonFile(join(plan.folder, "image.json"), image);
  } catch (error) {
    rmSync(plan.folder, { recursive: true, force: true });
    throw error;
  }
}

/** Builds an image unless it is there, and then it counts among the newest again; the tools are asked each time, since they belong to the machine. */
export async function buildImage(paths: StatePaths, plan: ImagePlan, building: Building): Promise<void> {
  mkdirSync(paths.images, { recursive: true, mode: 0o700 });
  touch(plan.folder);
  if (builtImage(paths, plan.id) !== undefined) {
    await checkTools(plan, building);
    return;
  }
  const lock = await waitFileLock(join(paths.images, "lock"), REAL.imageSetupMs, building.signal);
  if (lock === undefined)
    throw new Failure("INTERRUPTED", `image ${plan.id} is not built: another command builds images in this folder`);
  try {
    if (builtImage(paths, plan.id) === undefined) await buildUnderLock(paths, plan, building);
  } finally {
    lock.release();
  }
}
