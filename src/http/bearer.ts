// Who asks at one of our HTTP doors: a bearer is compared in constant time with each scope's, and an empty secret grants nothing.

import { passes, SCOPES, type Scope } from "#core/scopes.ts";
import { raise } from "#wire/errors.ts";
import type { Route } from "#wire/routes.ts";

/** Each scope's secret; an empty one is nobody's. */
export type Secrets = Readonly<Record<Scope, string>>;

/** The bindings of a Worker that carry them, by the names of `SCOPE_ENV`. */
export interface SecretBindings {
  readonly RESIDENT_ADMIN_TOKEN?: string;
  readonly RESIDENT_OPERATOR_TOKEN?: string;
  readonly RESIDENT_READ_TOKEN?: string;
  readonly RESIDENT_DRAIN_TOKEN?: string;
}

/** The secrets of a Worker, as its bindings have them. */
export const secretsIn = (env: SecretBindings): Secrets => ({
  admin: env.RESIDENT_ADMIN_TOKEN ?? "",
  operator: env.RESIDENT_OPERATOR_TOKEN ?? "",
  read: env.RESIDENT_READ_TOKEN ?? "",
  drain: env.RESIDENT_DRAIN_TOKEN ?? "",
});

async function digestOf(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** Looks at every byte, whatever the first ones say; what is compared are digests, so that their lengths tell nothing either. */
function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.reduce((differs, byte, at) => differs | (byte ^ (other[at] ?? 0)), 0) === 0;
}

/** What a header carries, empty where it is no bearer. */
export const bearerIn = (header: string): string => /^Bearer ([\x21-\x7e]{1,512})$/i.exec(header)?.[1] ?? "";

async function scopeOf(secrets: Secrets, header: string): Promise<Scope | null> {
  const asked = await digestOf(bearerIn(header));
  let found: Scope | null = null;
  for (const scope of SCOPES) {
    const secret = secrets[scope];
    const same = isSame(asked, await digestOf(secret));
    if (same && secret !== "") found ??= scope;
  }
  return found;
}

/** Whether a bearer of this scope passes a route; null is an unknown one. Raises what is wrong, naming the scopes that would pass. */
export function judge({ scopes, method, path }: Route, header: string, scope: Scope | null): Scope {
  if (scopes === "public") return "read";
  if (header === "") return raise("NO_BEARER", `${method} ${path}`);
  if (scope === null) return raise("BAD_BEARER", `${method} ${path}`);
  if (!passes(scope, scopes))
    raise("BEYOND_SCOPE", `${method} ${path} takes ${["admin", ...scopes].join(", ")}; this bearer is ${scope}`);
  return scope;
}

/** Judges the bearer of a Worker's route. Every secret is compared. */
export async function judged(secrets: Secrets, request: Request, route: Route): Promise<Scope> {
  const header = request.headers.get("authorization") ?? "";
  return judge(route, header, await scopeOf(secrets, header));
}
