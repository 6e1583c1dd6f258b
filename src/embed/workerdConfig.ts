// The config of workerd, as capnp text. Secrets come from the environment of its process: never from a file or its arguments.

import { join } from "node:path";
import type { StatePaths } from "#node/stateFolder.ts";
import { bearerVariables, type Bearers } from "#node/tokens.ts";
import type { Settings } from "#wire/host.ts";

/** A Worker that a workerd serves: its name, its classes of objects on disk, and what it reaches beside them. */
export interface WorkerShape {
  readonly name: string;
  readonly objects: readonly { readonly binding: string; readonly className: string; readonly uniqueKey: string }[];
  /** The binding that reaches this machine's agents and host, where the Worker has one. */
  readonly hostNet: string | null;
  /** Where its workerd writes. */
  readonly log: (paths: StatePaths) => string;
}

/** The registry and the residents. */
export const FLEET_WORKER: WorkerShape = {
  name: "fleet",
  objects: [
    { binding: "REGISTRY", className: "RegistryDO", uniqueKey: "tidegate-registry" },
    { binding: "RESIDENT", className: "ResidentDO", uniqueKey: "tidegate-resident" },
  ],
  hostNet: "HOST_NET",
  log: (paths) => join(paths.log, "workerd.log"),
};

/** Asks, runs and their history; it reaches nobody. */
export const LEDGER_WORKER: WorkerShape = {
  name: "ledger",
  objects: [{ binding: "LEDGER", className: "LedgerDO", uniqueKey: "tidegate-ledger" }],
  hostNet: null,
  log: (paths) => join(paths.log, "ledger.log"),
};

/** What is written into the config; paths are relative to the config's own file, or absolute. */
export interface WorkerdPlan {
  readonly worker: WorkerShape;
  /** Names this start of the process, since an object that comes back to memory cannot tell it from a restart. */
  readonly boot: string;
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

const lines = (made: readonly string[]): string => made.map((line) => `    ${line}\n`).join("");

/** The whole config: one Worker, its objects on disk, and no way out but to this machine's agents and host. */
export function workerdConfig({ worker, ...plan }: WorkerdPlan): string {
  const { name, objects, hostNet } = worker;
  const bindings = [
    `(name = "SETTINGS", text = ${text(JSON.stringify(plan.settings))}),`,
    `(name = "BOOT", text = ${text(plan.boot)}),`,
    ...plan.secretNames.map((secret) => `(name = ${text(secret)}, fromEnvironment = ${text(secret)}),`),
    ...objects.map(({ binding, className }) => `(name = "${binding}", durableObjectNamespace = "${className}"),`),
    ...(hostNet === null ? [] : [`(name = "${hostNet}", service = "host-net"),`]),
  ];
  const namespaces = objects.map(
    ({ className, uniqueKey }) => `(className = "${className}", uniqueKey = "${uniqueKey}", enableSql = true),`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "${name}", worker = .${name}),
    (name = "storage", disk = (path = ${text(plan.storage)}, writable = true)),
    (name = "host-net", network = (allow = ["127.0.0.1/32"])),
    (name = "no-net", network = (allow = [])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "${name}")],
);

const ${name} :Workerd.Worker = (
  modules = [(name = "${name}.js", esModule = embed ${text(plan.bundleFile)})],
  compatibilityDate = ${text(COMPATIBILITY_DATE)},
  compatibilityFlags = [${FLAGS.map(text).join(", ")}],
  bindings = [
${lines(bindings)}  ],
  durableObjectNamespaces = [
${lines(namespaces)}  ],
  durableObjectStorage = (localDisk = "storage"),
  globalOutbound = "no-net",
);
`;
}
