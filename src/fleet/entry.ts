// The fleet Worker's composition root: the one place that reads its bindings and makes its clock and its log.

import { fleetApp } from "./http/fleetApp.ts";
import { rootOf, type Env } from "./root.ts";

export { RegistryDO } from "./registry/registryDO.ts";
export { ResidentDO } from "./resident/residentDO.ts";

const app = fleetApp((env) => rootOf(env, "worker"));

// The platform loads a Worker by its default export.
export default {
  fetch(request, env, context) {
    return app.fetch(request, env, context);
  },
} satisfies ExportedHandler<Env>;
