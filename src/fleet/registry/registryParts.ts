// What the registry's parts share: one object's storage, its clock and its sockets.

import type { Env, Root } from "../root.ts";
import type { Audit } from "./audit.ts";
import type { RegistryStore } from "./store.ts";

export interface Registry {
  readonly env: Env;
  readonly root: Root;
  readonly store: RegistryStore;
  readonly audit: Audit;
  readonly state: DurableObjectState;
  /** Whether the watches are about to be told. */
  readonly telling: { due: boolean };
}
