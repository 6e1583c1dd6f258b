// Who asks the bot: a bearer is compared with each scope's in a time that tells nothing of them, and an empty secret grants nothing.

import { SCOPES, type Scope } from "#core/scopes.ts";
import { bearerIn, judge } from "#http/bearer.ts";
import { isSecret } from "#node/httpServer.ts";
import type { Bearers } from "#node/tokens.ts";
import type { Route } from "#wire/routes.ts";

/** Judges the bearer of a route. Every secret is compared. */
export function judged(bearers: Bearers, request: Request, route: Route): Scope {
  const header = request.headers.get("authorization") ?? "";
  const [held = null] = SCOPES.filter((scope) => isSecret(bearerIn(header), bearers[scope]));
  return judge(route, header, held);
}
