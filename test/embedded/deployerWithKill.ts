// A deployer that ends itself by SIGKILL right before or right after one effect, as a machine that loses its power would.
// It is the product's own composition with one more wrap around the port; nothing in the product can be told to do this.

import { parseArgs } from "node:util";
import { DEPLOY_EFFECTS, PARTS } from "#core/rolloutState.ts";
import { accessOf } from "#cli/access.ts";
import type { Cli } from "#cli/cli.ts";
import { deployAll } from "#cli/deployAll.ts";
import { exitOf } from "#cli/exit.ts";
import { processInterrupts } from "#cli/interrupts.ts";
import { outputOf } from "#cli/output.ts";
import { problemLines, problemWords } from "#cli/render/problem.ts";
import { fleetPort, type FleetPortParts } from "#deploy/fleetPort.ts";
import type { DeployPort } from "#deploy/port.ts";
import { fleetSources, ownSources } from "#embed/sources.ts";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import { STEPS } from "#wire/host.ts";

const { values } = parseArgs({
  options: {
    home: { type: "string", default: "" },
    effect: { type: "string", default: "" },
    when: { type: "string", default: "" },
    force: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    ndjson: { type: "boolean", default: false },
    dryRun: { type: "boolean", default: false },
    rollback: { type: "boolean", default: false },
    restart: { type: "string" },
    /** The release has a ledger and a bot too. */
    parts: { type: "boolean", default: false },
    skip: { type: "string", multiple: true, default: [] },
  },
});

function die(): Promise<never> {
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => undefined);
}

/** The port with the kill around the effect that the test names. */
function wrapped(parts: FleetPortParts): DeployPort {
  const port = fleetPort(parts);
  const name = DEPLOY_EFFECTS.find((effect) => effect === values.effect);
  if (name === undefined) return port;
  const around =
    <A extends readonly unknown[], T>(effect: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      if (values.when === "before") return die();
      const performed = await effect(...args);
      return values.when === "after" ? die() : performed;
    };
  return name === "done" ? { ...port, done: around(port.done) } : { ...port, [name]: around(port[name]) };
}

function cliOf(): Cli {
  const output = outputOf({ stdout: process.stdout, stderr: process.stderr }, () => undefined);
  const interrupts = processInterrupts((code, words) => {
    process.stderr.write(`${words}\n`);
    process.exit(code);
  });
  const access = accessOf({ cwd: values.home, env: process.env, packageRoot: values.home, real: clockOf(REAL_TIME) });
  return {
    env: process.env,
    cwd: values.home,
    packageRoot: values.home,
    version: "0",
    who: "a test",
    output,
    get stdin() {
      return process.stdin;
    },
    interrupts,
    real: clockOf(REAL_TIME),
    options: () => ({ json: values.json, ndjson: values.ndjson, quiet: false, verbose: true, headers: true }),
    access: () => access,
    exit: (code) => {
      process.exitCode = code;
    },
  };
}

const restarted = PARTS.find((part) => part === values.restart);

try {
  const asked = {
    dryRun: values.dryRun,
    force: values.force,
    yes: true,
    rollback: values.rollback,
    by: "a test",
    reason: "a kill point",
    without: [],
    only: [],
    skip: STEPS.filter((step) => values.skip.includes(step)),
    restart: restarted === undefined ? null : [restarted],
  };
  await deployAll(cliOf(), asked, {
    sources: values.parts ? ownSources() : fleetSources(),
    confirm: () => Promise.resolve(undefined),
    makePort: wrapped,
  });
} catch (error) {
  process.stderr.write(`${problemLines(problemWords(error))}\n`);
  process.exitCode = exitOf(error);
}
