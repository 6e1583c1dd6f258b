// The Worker's way to the registry and the residents. What they refuse is their answer; an object that does not start or
// is cut off is a part of the fleet that cannot be read, and never an error of the one who asked. A defect of their code is one.

import { REAL } from "#core/budgets.ts";
import { problemIn, raise } from "#wire/errors.ts";
import { registryOf, residentOf, type RegistryPort, type ResidentPort } from "../ports.ts";
import { messageOf, within, type Env } from "../root.ts";

/** An object of this boot that is gone, as by an update of its code: a fresh one answers. */
const isReset = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "retryable" in error && error.retryable === true;

/**
 * An error that only code makes: asking again would make it again. What the platform or a storage says of an object that is
 * broken, reset or overloaded is a plain `Error`, or says so of itself.
 */
const isDefect = (error: unknown): boolean => {
  if (!(error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError)) return false;
  return !isReset(error) && !("overloaded" in error && error.overloaded === true);
};

async function heard<T>(part: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (problemIn(error) !== undefined || isDefect(error)) throw error;
    return raise(isReset(error) ? "ROLLING" : "UNREADABLE", `${part}: ${messageOf(error)}`);
  }
}

/** Asks the registry. */
export function askRegistry<T>(env: Env, ask: (registry: RegistryPort) => Promise<T>): Promise<T> {
  return heard("the registry", ask(registryOf(env)));
}

/**
 * Asks a resident that the registry knows: an object of any other name would be made by being asked. While the registry
 * cannot be read nobody is held up by it, since no run fails on a flag that it could not read.
 */
export async function askResident<T>(
  env: Env,
  resource: string,
  ask: (resident: ResidentPort) => Promise<T>,
): Promise<T> {
  const known = await within(REAL.connectMs, registryOf(env).knows(resource)).catch(() => undefined);
  if (known === false) raise("NO_SUCH_RESIDENT", resource);
  return heard(resource, ask(residentOf(env, resource)));
}
