// Who asks: a bearer is compared with each scope's in a time that tells nothing of them, and an empty secret grants nothing.

import { passes, SCOPES, type Scope } from "#core/scopes.ts";
import { isSecret } from "#node/httpServer.ts";
import type { Bearers } from "#node/tokens.ts";
import { raise } from "#wire/errors.ts";
import type { Route } from "#wire/routes.ts";

/** The scope of a bearer, null for an unknown one. Every secret is compared. */
function scopeOf(bearers: Bearers, header: string): Scope | null {
  const given = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(header)?.[1] ?? "";
  const held = SCOPES.filter((scope) => isSecret(given, bearers[scope]));
  return held[0] ?? null;
}

/** Judges the bearer of a route; raises what is wrong, naming the scopes that would pass. */
export function judged(bearers: Bearers, request: Request, { scopes, method, path }: Route): Scope {
  if (scopes === "public") return "read";
  const header = request.headers.get("authorization") ?? "";
  if (header === "") return raise("NO_BEARER", `${method} ${path}`);
  const scope = scopeOf(bearers, header);
  if (scope === null) return raise("BAD_BEARER", `${method} ${path}`);
  if (!passes(scope, scopes))
    raise("BEYOND_SCOPE", `${method} ${path} takes ${["admin", ...scopes].join(", ")}; this bearer is ${scope}`);
  return scope;
}
