// Who may do what. Only admin nests; every other scope passes its own routes and nothing else (protocol.md, "Scopes").

export const SCOPES = ["admin", "operator", "read", "drain"] as const;
export type Scope = (typeof SCOPES)[number];

/** The environment variable that carries each scope's bearer. */
export const SCOPE_ENV: Readonly<Record<Scope, string>> = {
  admin: "RESIDENT_ADMIN_TOKEN",
  operator: "RESIDENT_OPERATOR_TOKEN",
  read: "RESIDENT_READ_TOKEN",
  drain: "RESIDENT_DRAIN_TOKEN",
};

/** Whether a bearer of this scope passes a route that names these scopes. */
export function passes(held: Scope, route: readonly Scope[]): boolean {
  return held === "admin" || route.includes(held);
}
