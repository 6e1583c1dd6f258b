// Who asks: a bearer is compared in constant time with each scope's, and an empty secret grants nothing.

import { passes, SCOPES, SCOPE_ENV, type Scope } from "#core/scopes.ts";
import { raise } from "#wire/errors.ts";
import type { Route } from "#wire/routes.ts";
import type { Env } from "../root.ts";

/** Each scope's secret, as the bindings have it. */
function secretOf(env: Env, scope: Scope): string {
  const secrets: Readonly<Record<string, string | undefined>> = {
    RESIDENT_ADMIN_TOKEN: env.RESIDENT_ADMIN_TOKEN,
    RESIDENT_OPERATOR_TOKEN: env.RESIDENT_OPERATOR_TOKEN,
    RESIDENT_READ_TOKEN: env.RESIDENT_READ_TOKEN,
    RESIDENT_DRAIN_TOKEN: env.RESIDENT_DRAIN_TOKEN,
  };
  return secrets[SCOPE_ENV[scope]] ?? "";
}

const digest = (text: string): Promise<ArrayBuffer> => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));

/** The scope of a bearer, `null` for an unknown one. Every secret is compared. */
async function scopeOf(env: Env, header: string): Promise<Scope | null> {
  const given = /^Bearer ([\x21-\x7e]{1,512})$/.exec(header)?.[1];
  const asked = await digest(given ?? "");
  let found: Scope | null = null;
  for (const scope of SCOPES) {
    const secret = secretOf(env, scope);
    const same = crypto.subtle.timingSafeEqual(asked, await digest(secret));
    if (same && secret !== "" && given !== undefined) found ??= scope;
  }
  return found;
}

/** Judges the bearer of a route; raises what is wrong, naming the scopes that would pass. */
export async function judged(env: Env, request: Request, route: Route): Promise<Scope> {
  const { scopes, path, method } = route;
  if (scopes === "public") return "read";
  const header = request.headers.get("authorization");
  if (header === null || header === "") return raise("NO_BEARER", `${method} ${path}`);
  const scope = await scopeOf(env, header);
  if (scope === null) return raise("BAD_BEARER", `${method} ${path}`);
  if (!passes(scope, scopes))
    raise("BEYOND_SCOPE", `${method} ${path} takes ${["admin", ...scopes].join(", ")}; this bearer is ${scope}`);
  return scope;
}
