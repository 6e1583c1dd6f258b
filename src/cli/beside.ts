// The ledger and the bot of a stack, as its supervisor says where they answer: asked anew each time, since a stack that
// comes back may listen elsewhere, and reached with the stack's own bearers.

import type { Transport } from "#client/transport.ts";
import { Failure } from "#node/failure.ts";
import { liveSupervisor, readSupervisorFile } from "#node/supervisorFile.ts";
import type { FleetAccess } from "./access.ts";

/** How the ledger or the bot of this stack is reached; NOT_UP when the stack has none. */
export function besideTransport(access: Pick<FleetAccess, "paths" | "transport">, part: "ledger" | "bot"): Transport {
  const { paths, transport } = access;
  const { fetch, bearer, real } = transport;
  return {
    what: part,
    get baseUrl() {
      const file = liveSupervisor(paths) ?? readSupervisorFile(paths);
      const url = part === "ledger" ? file?.ledgerUrl : file?.botUrl;
      if (url === undefined || url === null) throw new Failure("NOT_UP", `no ${part} is up in ${paths.home}`);
      return url.replace(/\/+$/, "");
    },
    fetch,
    bearer,
    real,
  };
}
