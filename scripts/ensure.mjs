// Nothing of this package runs on dependencies other than those of its lockfile. This file is plain JavaScript for the
// machine's own Node, because the Node of the package and everything else comes by the `npm ci` that it runs.
// It ends at once when the stamp in node_modules equals the lockfile's hash; two at the same time install once.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const OLDEST_NODE = 20;
const PACKAGE_NODE = 24;
const BEAT_MS = 1000;
const SILENT_AFTER_MS = 30000;
const FORGOTTEN_AFTER_MS = 600000;

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const modules = path.join(root, "node_modules");
const lockfile = path.join(root, "package-lock.json");
const lock = path.join(root, ".setup.lock");
// The platform is part of the name, so that bin/tidegate sees a foreign node_modules without starting a Node.
const stamp = path.join(modules, `.setup-${os.type()}-${os.machine()}`);
const bundledNode = path.join(modules, ".bin", "node");
const next = `then: ${askedCommand(process.env.npm_lifecycle_event)}`;
let begun = false;

class SetUpError extends Error {}

/** What the person typed, to be typed again once the cause is mended. */
function askedCommand(script) {
  if (script === undefined || script === "npx") return "npx tidegate";
  const name = script.replace(/^pre/, "");
  return name === "test" || name === "start" ? `npm ${name}` : `npm run ${name}`;
}

function lockfileHash() {
  return createHash("sha256").update(fs.readFileSync(lockfile)).digest("hex");
}

/** Whether node_modules is what the lockfile says, on this platform. Renews the stamp's time, which is what bin/tidegate compares. */
function isSetUp() {
  try {
    if (fs.readFileSync(stamp, "utf8").trim() !== lockfileHash()) return false;
    if (fs.statSync(stamp).mtimeMs <= fs.statSync(lockfile).mtimeMs) fs.utimesSync(stamp, new Date(), new Date());
    return true;
  } catch (error) {
    if (error.code === "ENOENT") return false;
    throw error;
  }
}

/** The search path without this package's own programs: `npm ci` deletes them while it runs. */
function systemPath() {
  const inside = (folder) =>
    path.resolve(folder) === path.join(modules, ".bin") || path.resolve(folder).startsWith(modules + path.sep);
  return (process.env.PATH ?? "")
    .split(path.delimiter)
    .filter((folder) => folder !== "" && !inside(folder))
    .join(path.delimiter);
}

/** The command line of the machine's own npm, on the machine's own Node. */
function npmCommand() {
  const npm = process.env.npm_execpath;
  const running = process.env.npm_node_execpath ?? process.execPath;
  if (!npm || !/npm-cli\.c?js$/.test(npm) || npm.startsWith(modules + path.sep)) return ["npm"];
  return [fs.existsSync(running) && !fs.realpathSync(running).startsWith(modules + path.sep) ? running : "node", npm];
}

/** Runs `npm ci` and answers its exit code and what it wrote. Ends with this process. */
function install() {
  const [command, ...first] = npmCommand();
  const env = { ...process.env, PATH: systemPath() };
  // A run under npx hands its own options down (which package to run); they are not this npm's.
  for (const name of [
    "npm_config_package",
    "npm_config_call",
    "npm_config_omit",
    "npm_config_production",
    "npm_config_dry_run",
  ])
    delete env[name];
  const quick = ["--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"];
  const args = [
    ...first,
    "ci",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    "--include=dev",
    "--include=optional",
    ...quick,
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
    fs.writeFileSync(lock, `${process.pid} ${child.pid}`);
    let said = "";
    let stoppedBy;
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
    for (const signal of ["SIGINT", "SIGTERM"]) {
      process.on(signal, () => {
        stoppedBy = signal;
        child.kill(signal);
      });
    }
    child.on("error", (error) =>
      reject(
        error.code === "ENOENT"
          ? new SetUpError(`npm is not on the PATH. Install npm (it comes with Node.js), ${next}`)
          : error,
      ),
    );
    child.on("close", (code) =>
      stoppedBy ? reject(new SetUpError(`stopped by ${stoppedBy}, ${next}`)) : resolve({ code, said }),
    );
  });
}

/** What to say when npm did not succeed: its own words, and the next thing to type. */
function npmFailure(said) {
  const words = said
    .trim()
    .split("\n")
    .filter((line) => !/^npm error\s+(at |\w+: |\})/.test(line))
    .slice(0, 8)
    .join("\n");
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|network/i.test(said)) {
    return `npm cannot reach the package registry.\n${words}\nLook at the network, and at: npm config get registry; npm config get proxy\n${next}`;
  }
  if (/EUSAGE|in sync/.test(said))
    return `package.json and package-lock.json disagree.\n${words}\nMend it: npm install --package-lock-only\n${next}`;
  if (/ENOSPC/.test(said)) return `The disk is full.\n${words}\nMake room, ${next}`;
  if (/EACCES|EPERM/.test(said))
    return `npm may not write to node_modules.\n${words}\nLook at its owner: ls -ld node_modules .\n${next}`;
  return `npm ci failed.\n${words}\nTry it by itself: npm ci\n${next}`;
}

/** Links the Node of the package where npm 10 leaves it out: it drops the link with the other platform's package. */
function linkNode() {
  const own = path.join(modules, `node-${process.platform}-${process.arch}`, "bin", "node");
  if (fs.existsSync(own) && !fs.existsSync(bundledNode))
    fs.symlinkSync(path.relative(path.dirname(bundledNode), own), bundledNode);
}

/** The version of the Node that the package now runs on; refuses an older one by name. */
function packageNode() {
  const bundled = fs.existsSync(bundledNode);
  const found = spawnSync(bundled ? bundledNode : "node", ["--version"], {
    encoding: "utf8",
    env: { ...process.env, PATH: systemPath() },
  });
  const version = (found.stdout ?? "").trim().replace(/^v/, "");
  if (bundled && version === "")
    throw new SetUpError(
      `The Node ${PACKAGE_NODE} that was installed does not start on this machine (${os.type()} ${os.machine()}): it needs glibc.`,
    );
  if (Number.parseInt(version, 10) >= PACKAGE_NODE) return version;
  throw new SetUpError(
    `tidegate runs on Node ${PACKAGE_NODE} or newer. On ${os.type()} ${os.machine()} it brings none of its own, and this one is ${version || "missing"}.\nInstall it from https://nodejs.org, ${next}`,
  );
}

/** Who holds the lock: the set-up's own pid and its npm's, and how long ago it last gave a sign of life. */
function readLock() {
  try {
    const [pid, npm] = fs.readFileSync(lock, "utf8").split(" ").map(Number);
    return { pid, npm, age: Date.now() - fs.statSync(lock).mtimeMs };
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** A killed set-up leaves its npm at work in node_modules, so its lock stands until that npm is gone too. */
function isHeld({ pid, npm, age }) {
  if (age > FORGOTTEN_AFTER_MS) return false;
  return (age < SILENT_AFTER_MS && isAlive(pid)) || (npm > 0 && isAlive(npm));
}

/** Whether a process runs. On Linux one that has ended and was not waited for still answers to signal 0. */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return os.type() !== "Linux" || !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Removes the lock of a holder that died. Moves it first: what turns out to be a newer holder's goes back. */
function breakDeadLock(aside) {
  const held = readLock();
  if (!held || isHeld(held)) return;
  try {
    fs.renameSync(lock, aside);
    if (Number.parseInt(fs.readFileSync(aside, "utf8"), 10) !== held.pid) fs.linkSync(aside, lock);
  } catch (error) {
    if (error.code !== "ENOENT" && error.code !== "EEXIST") throw error;
  } finally {
    fs.rmSync(aside, { force: true });
  }
}

/** Takes the lock, or answers false when another set-up holds it. A dead holder's lock is taken over. */
function takeLock() {
  const mine = `${lock}.${process.pid}`;
  fs.writeFileSync(mine, String(process.pid));
  try {
    fs.linkSync(mine, lock);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    breakDeadLock(`${mine}.dead`);
    return false;
  } finally {
    fs.rmSync(mine, { force: true });
  }
}

async function waitForLock() {
  let told = false;
  while (!takeLock()) {
    const held = readLock();
    if (held && !told) {
      console.error(
        `set-up is running already (pid ${held.pid}), waiting for it; if there is none: rm ${path.relative(process.cwd(), lock)}`,
      );
      told = true;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function setUp() {
  const started = Date.now();
  process.stderr.write("set up once: ");
  begun = true;
  const beat = setInterval(() => fs.utimesSync(lock, new Date(), new Date()), BEAT_MS);
  try {
    const { code, said } = await install();
    if (code !== 0) throw new SetUpError(npmFailure(said));
  } finally {
    clearInterval(beat);
  }
  linkNode();
  const version = packageNode();
  const installed = JSON.parse(fs.readFileSync(path.join(modules, ".package-lock.json"), "utf8"));
  fs.writeFileSync(stamp, `${lockfileHash()}\n`);
  console.error(
    `Node ${version}, ${Object.keys(installed.packages).length} packages (${Math.round((Date.now() - started) / 1000)} s)`,
  );
}

async function main() {
  const own = Number.parseInt(process.versions.node, 10);
  if (own < OLDEST_NODE)
    throw new SetUpError(
      `tidegate's set-up needs Node ${OLDEST_NODE} or newer; this is ${process.versions.node}.\nInstall a newer one from https://nodejs.org, ${next}`,
    );
  if (isSetUp()) return;
  await waitForLock();
  try {
    if (!isSetUp()) await setUp();
  } finally {
    fs.rmSync(lock, { force: true });
  }
}

main().catch((/** @type {unknown} */ error) => {
  if (begun) process.stderr.write("failed\n");
  console.error(error instanceof SetUpError ? error.message : error.stack);
  process.exitCode = 1;
});
