// The config of workerd, as capnp text. Secrets come from the environment of its process: never from a file or its arguments.

import { bearerVariables, type Bearers } from "#node/tokens.ts";
import type { Settings } from "#wire/host.ts";

/** What is written into the config; paths are relative to the config's own file, or absolute. */
export interface WorkerdPlan {
  readonly bundleFile: string;
  readonly storage: string;
  readonly settings: Settings;
  /** The names of the environment variables that become secrets of the Worker. */
  readonly secretNames: readonly string[];
}

const COMPATIBILITY_DATE = "2026-11-02";
const FLAGS = ["enable_request_signal"];

const text = (value: string): string =>
  `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;

/** The environment that carries the Worker's secrets. */
export function workerdSecrets(bearers: Bearers, hostToken: string): Record<string, string> {
  return { ...bearerVariables(bearers), HOST_TOKEN: hostToken };
}

/** The whole config: one Worker, two kinds of objects on disk, and no way out but to this machine's agents and host. */
export function workerdConfig(plan: WorkerdPlan): string {
  const secrets = plan.secretNames
    .map((name) => `    (name = ${text(name)}, fromEnvironment = ${text(name)}),`)
    .join("\n");
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "fleet", worker = .fleet),
    (name = "storage", disk = (path = ${text(plan.storage)}, writable = true)),
    (name = "host-net", network = (allow = ["127.0.0.1/32"])),
    (name = "no-net", network = (allow = [])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "fleet")],
);

const fleet :Workerd.Worker = (
  modules = [(name = "fleet.js", esModule = embed ${text(plan.bundleFile)})],
  compatibilityDate = ${text(COMPATIBILITY_DATE)},
  compatibilityFlags = [${FLAGS.map(text).join(", ")}],
  bindings = [
    (name = "SETTINGS", text = ${text(JSON.stringify(plan.settings))}),
${secrets}
    (name = "REGISTRY", durableObjectNamespace = "RegistryDO"),
    (name = "RESIDENT", durableObjectNamespace = "ResidentDO"),
    (name = "HOST_NET", service = "host-net"),
  ],
  durableObjectNamespaces = [
    (className = "RegistryDO", uniqueKey = "tidegate-registry", enableSql = true),
    (className = "ResidentDO", uniqueKey = "tidegate-resident", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "storage"),
  globalOutbound = "no-net",
);
`;
}
