// The ledger Worker's composition root: the one place that reads its bindings and makes its clock and its log.

import { ledgerApp } from "./http/ledgerApp.ts";
import { rootOf, type Env } from "./root.ts";

export { LedgerDO } from "./ledgerDO.ts";

const app = ledgerApp((env) => rootOf(env, "worker"));

// The platform loads a Worker by its default export.
export default {
  fetch(request, env, context) {
    return app.fetch(request, env, context);
  },
} satisfies ExportedHandler<Env>;
