// Who asks: a bearer is compared in constant time with each scope's, and an empty secret grants nothing.

import { SCOPES, SCOPE_ENV, type Scope } from "#core/scopes.ts";
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

/** The scope of an `Authorization` header, `null` for an unknown bearer, `undefined` for none. Every secret is compared. */
export async function scopeOf(env: Env, header: string | null): Promise<Scope | null | undefined> {
  const given = /^Bearer ([\x21-\x7e]{1,512})$/.exec(header ?? "")?.[1];
  if (header === null || header === "") return undefined;
  const asked = await digest(given ?? "");
  let found: Scope | null = null;
  for (const scope of SCOPES) {
    const secret = secretOf(env, scope);
    const same = crypto.subtle.timingSafeEqual(asked, await digest(secret));
    if (same && secret !== "" && given !== undefined) found ??= scope;
  }
  return found;
}
