// What is kept where, in words: one row a key or a file. The keys and names themselves are read out of the source by
// storagePage.ts, which stops when one has no row here or a row has nothing behind it.

/** Where a row's fields are read from: a zod schema or an interface of a file. */
export interface Shape {
  readonly file: string;
  readonly schema?: string;
  readonly type?: string;
}

/** One key, table or file: its fields or its content, who writes it, what takes it away. */
export interface Kept {
  readonly key: string;
  readonly shape: Shape | string;
  readonly writer: string;
  readonly clearer: string;
}

const registryStore = "src/fleet/registry/store.ts";
const residentStore = "src/fleet/resident/store.ts";

/** RegistryDO, one object named `registry`. */
export const REGISTRY: readonly Kept[] = [
  {
    key: "drain:",
    shape: { file: "src/core/drain.ts", type: "Drain" },
    writer:
      "`POST /drain` (creates, renews), a look that voids a seal being asked for, `POST /seal`, `POST /reconcile`, a report and what else frees a hold, a lift behind which somebody is held",
    clearer:
      "`POST /undrain`, the last report of a reopening, and by an admin's force also one that cannot be read; the alarm, once past its end",
  },
  {
    key: "tombstones",
    shape: "list of {id, at}",
    writer: "a lift, also of an id never seen; the alarm, for what ended by itself",
    clearer: "the next burial, a day after its own",
  },
  {
    key: "waiting:",
    shape: { file: registryStore, schema: "waitingSchema" },
    writer: "a look told *closed* (once a run)",
    clearer: "its admission; its caller's `/detach`; the next drain that closes an open fleet",
  },
  { key: "attempts", shape: "number: attempts to seal, over all drains", writer: "`POST /seal`", clearer: "never" },
  {
    key: "entry:",
    shape: { file: registryStore, schema: "entrySchema" },
    writer: "a look told *open* (counts the attach); a resident's word (replaces the rows)",
    clearer: "`POST /offboard`; an onboarding that failed",
  },
  {
    key: "resident:",
    shape: { file: registryStore, schema: "metaSchema" },
    writer: "`POST /onboard`, `POST /reconfigure`, a resident's report, a fresh look",
    clearer: "`POST /offboard`; an onboarding that failed",
  },
  {
    key: "reconcile",
    shape: { file: "src/wire/drain.ts", schema: "reconcileSchema" },
    writer: "`POST /reconcile`; each resident that is asked, and its word",
    clearer: "the next reconcile replaces it",
  },
  {
    key: "served",
    shape: "number: the generation that served last",
    writer: "the object's first boot under a generation",
    clearer: "never",
  },
  {
    key: "table audit",
    shape: { file: "src/wire/fleet.ts", schema: "auditRowSchema" },
    writer: "each drain, renewal by a person, lift, seal, reopening, onboarding, release, swap",
    clearer: "each new row, beyond the newest 10,000",
  },
];

/** ResidentDO, one object a resource, named by it. */
export const RESIDENT: readonly Kept[] = [
  {
    key: "meta",
    shape: { file: "src/wire/attach.ts", schema: "onboardBodySchema" },
    writer: "`POST /onboard`, `POST /reconfigure`",
    clearer: "offboarding, which deletes all",
  },
  {
    key: "gate",
    shape: { file: residentStore, schema: "gateSchema" },
    writer: "every storage step that changes rows, seal, counters or `cycling`; a boot",
    clearer: "offboarding",
  },
  {
    key: "row:",
    shape: { file: "src/core/registration.ts", type: "Registration" },
    writer: "the row step of an attach; admission, re-attach and exec move its `seq`",
    clearer:
      "a failed attach, a release, a lease's end, each only at the `seq` it began with; a boot, for rows still `attaching`",
  },
  {
    key: "slug:",
    shape: "text: the thread's folder in the container",
    writer: "an attach, once its worktree stands",
    clearer: "offboarding",
  },
  {
    key: "sweepAt",
    shape: "instant of the next sweep of worktrees",
    writer: "the first boot, each sweep",
    clearer: "offboarding",
  },
];

/** The state folder; `/` at the end says a folder. */
export const STATE: readonly Kept[] = [
  {
    key: "state.json",
    shape: { file: "src/embed/stateGuard.ts", schema: "guardSchema" },
    writer: "each start, after the folder has been read whole",
    clearer: "never",
  },
  {
    key: "lock",
    shape: "held by the kernel for the supervisor that lives",
    writer: "a start",
    clearer: "the supervisor's end, however it comes",
  },
  {
    key: "supervisor.json",
    shape: { file: "src/wire/host.ts", schema: "supervisorFileSchema" },
    writer: "the supervisor: when its host listens, with each workerd, when it is up",
    clearer: "its end by `down` or Ctrl-C; left by a kill, and then believed by nobody",
  },
  {
    key: "tokens.json",
    shape: { file: "src/node/tokens.ts", schema: "bearersSchema" },
    writer: "the first start",
    clearer: "a person, to have new ones",
  },
  {
    key: "clock.json",
    shape: { file: "src/wire/host.ts", schema: "clockSettingSchema" },
    writer: "the first start",
    clearer: "never: instants in storage are of this clock",
  },
  {
    key: "release.json",
    shape: { file: "src/embed/releaseFile.ts", schema: "releaseSchema" },
    writer: "the first start; a swap, before each step that cannot be taken back",
    clearer: "never",
  },
  {
    key: "bundles/<…>/bundle.mjs",
    shape: "a Worker bundle under its content's hash",
    writer: "the first start, each deploy before its drain",
    clearer: "pruning: beyond the newest 30, and not served, pending or served before what is served",
  },
  { key: "images/lock", shape: "held by the kernel for who builds an image", writer: "a build", clearer: "its end" },
  {
    key: "images/<…>/agent.mjs",
    shape: "the agent's bundle",
    writer: "a build of this image",
    clearer: "a build that fails; pruning: beyond the newest 5, and none of the release's or of a container that runs",
  },
  {
    key: "images/<…>/bin/",
    shape: "commands, first on a container's PATH",
    writer: "the image's setup",
    clearer: "as above",
  },
  { key: "images/<…>/files/", shape: "copies of `image.files`", writer: "a build", clearer: "as above" },
  {
    key: "images/<…>/image.json",
    shape: { file: "src/embed/image.ts", schema: "imageFileSchema" },
    writer: "a build, as its last act: an image without it is not built",
    clearer: "as above",
  },
  { key: "storage/", shape: "workerd's: one SQLite file an object", writer: "workerd", clearer: "never" },
  {
    key: "storage.lock",
    shape: "held by the kernel for the workerd that lives",
    writer: "workerd's start",
    clearer: "workerd's end",
  },
  {
    key: "run/config.capnp",
    shape: "workerd's configuration, without any secret",
    writer: "each start of workerd",
    clearer: "the next one replaces it",
  },
  {
    key: "containers/<…>/",
    shape: "one folder a resource, below",
    writer: "the container's start",
    clearer: "offboarding",
  },
  {
    key: "log/supervisor.log",
    shape: "JSON lines",
    writer: "the supervisor",
    clearer: "past 16 MiB it is set aside as `.1`, within a minute",
  },
  {
    key: "log/workerd.log",
    shape: "JSON lines of the fleet Worker",
    writer: "workerd",
    clearer: "as above",
  },
  {
    key: "ledger/",
    shape: "the ledger's own `storage`, `storage.lock` and `run`, as the fleet's beside it",
    writer: "its workerd",
    clearer: "never",
  },
  { key: "log/ledger.log", shape: "JSON lines of the ledger Worker", writer: "its workerd", clearer: "as above" },
  { key: "log/bot.log", shape: "JSON lines of the bot", writer: "the bot", clearer: "as above" },
  {
    key: "log/agent-<…>.log",
    shape: "JSON lines of one container's agent",
    writer: "the agent",
    clearer: "as above; pruning: beyond the newest 20, once its container has no folder any more",
  },
  {
    key: "deploys/<…>.json",
    shape: { file: "src/wire/receipt.ts", schema: "receiptSchema" },
    writer: "the deployer, after each turn that says something new",
    clearer: "pruning: beyond the newest 200; one that went on under a new drain is moved to that id",
  },
  {
    key: "trash/",
    shape: "what pruning has taken away and is still being deleted",
    writer: "pruning: once a release has landed, and at a start",
    clearer: "the same pruning, else the next one",
  },
  {
    key: "deploys/lock",
    shape: "held by the kernel for the deployer that lives",
    writer: "a deploy",
    clearer: "its end, however it comes",
  },
  {
    key: "deploys/holder.json",
    shape: { file: "src/deploy/lock.ts", schema: "holderSchema" },
    writer: "a deploy, for whoever finds the lock taken",
    clearer: "its end; left by a kill, and then believed by nobody",
  },
];

/** `containers/<slug>/`, beside the data. */
export const CONTAINER: readonly Kept[] = [
  {
    key: "container.json",
    shape:
      "`state` `starting`, `running` or `gone`, with `resource`, `imageId`, `since`; alive also `process`, and `running` also `port`, `token`, `bootId`, `agentPid`",
    writer: "the container host, at each change",
    clearer: "offboarding",
  },
  {
    key: "before/",
    shape: "what the data was before the last rebuild",
    writer: "a rebuild",
    clearer: "pruning: a week after the rebuild; the next rebuild; offboarding",
  },
  {
    key: "handover/token",
    shape: "the agent's token",
    writer: "a start",
    clearer: "the same start, once the agent answers",
  },
  {
    key: "handover/port.json",
    shape: { file: "src/embed/containerFiles.ts", schema: "portFileSchema" },
    writer: "the agent, once it listens",
    clearer: "the next start",
  },
  { key: "data/", shape: "the agent's, below", writer: "the agent", clearer: "offboarding" },
];

/** `containers/<slug>/data/`, which outlives the container. */
export const DATA: readonly Kept[] = [
  {
    key: "agent.json",
    shape: "`mark`: names this folder's processes, the same for every boot",
    writer: "the first boot",
    clearer: "never",
  },
  {
    key: "mirror.git",
    shape: "bare: runs' branches in `refs/heads`, the origin's in `refs/remotes/origin`",
    writer: "a refresh; runs' commits",
    clearer: "a refresh that finds no `mirror.json`",
  },
  {
    key: "mirror.json",
    shape: { file: "src/agent/mirror.ts", schema: "mirrorRecord" },
    writer: "the first refresh, once the mirror is whole",
    clearer: "never",
  },
  {
    key: "threads/<…>.json",
    shape: { file: "src/agent/worktrees.ts", schema: "threadRecord" },
    writer: "a worktree's making, use and keeping",
    clearer: "the sweep, with its worktree",
  },
  {
    key: "worktrees/<…>",
    shape: "one worktree a thread, on branch `tidegate/<slug>`",
    writer: "an attach; the run",
    clearer: "the sweep: clean and idle for an hour, or with uncommitted files for a week",
  },
  {
    key: "prepared/<…>/prepared.json",
    shape: { file: "src/agent/prepared.ts", schema: "preparedRecord" },
    writer: "a setup that succeeded",
    clearer: "all but the three used last go",
  },
  {
    key: "prepared/<…>/files/",
    shape: "what the setup left untracked or ignored",
    writer: "a setup",
    clearer: "as above",
  },
  {
    key: "prepared/<…>/tree",
    shape: "the commit checked out while its setup runs",
    writer: "a setup",
    clearer: "its end",
  },
  {
    key: "procs/<…>/proc.json",
    shape: { file: "src/agent/procRecord.ts", schema: "procSpec" },
    writer: "a process's start, before it exists",
    clearer: "the sweep, a week after its end",
  },
  {
    key: "procs/<…>/pid.json",
    shape: { file: "src/agent/procRecord.ts", schema: "procPid" },
    writer: "the start, once it exists",
    clearer: "as above",
  },
  { key: "procs/<…>/out", shape: "bytes of its standard output", writer: "the process itself", clearer: "as above" },
  { key: "procs/<…>/err", shape: "bytes of its standard error", writer: "the process itself", clearer: "as above" },
  {
    key: "procs/<…>/end.json",
    shape: { file: "src/wire/agent.ts", schema: "procEnd" },
    writer: "once, when everything of its group is gone; a later boot, for one that it finds dead",
    clearer: "as above",
  },
  {
    key: "trash/",
    shape: "what was taken away and is still being deleted",
    writer: "every removal",
    clearer: "the same removal, else the next boot",
  },
];
