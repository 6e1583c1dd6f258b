// `tidegate drain …`: a person closes the fleet to new runs, looks, extends and opens it again. Bad input is refused
// before anything is asked of the fleet.

import type { Command } from "commander";
import type { Drain } from "#core/drain.ts";
import type { UndrainSaid } from "#client/fleet.ts";
import { parseDrainRequest, type DrainBody, type Drains } from "#wire/drain.ts";
import { shortNameOf } from "#wire/names.ts";
import type { Cli } from "../cli.ts";
import { CliError, EXIT } from "../exit.ts";
import { mintDrainId } from "../ids.ts";
import { drainWords } from "../render/fleetBanner.ts";
import { instantWords } from "../render/times.ts";
import { drainLog, drainRelease, drainStatus } from "./drainLooks.ts";

interface StartWishes {
  readonly minutes: string;
  readonly reason: string;
  readonly by?: string;
}

/** The request as it is sent; throws, naming the option, for what would be refused. */
function checked(cli: Cli, body: Pick<DrainBody, "id" | "by" | "reason">, minutes: string): DrainBody {
  const { capMinutes } = cli.access().budgets;
  const value: unknown = /^-?\d+(\.\d+)?$/.test(minutes) ? Number(minutes) : minutes;
  const parsed = parseDrainRequest({ ...body, minutes: value }, capMinutes);
  if (parsed.ok) return parsed.value;
  throw new CliError(`--${parsed.error.detail}`, 'npx tidegate drain start --minutes 30 --reason "…"');
}

function told(cli: Cli, said: { drain: Drain; now: number; kind: string }): void {
  if (cli.options().json) return cli.output.data(JSON.stringify(said, null, 2));
  const { drain, now } = said;
  const what = said.kind === "renewed" ? "the drain stands" : "fleet drained — /attach refuses new runs";
  cli.output.data(`${what} until ${instantWords(drain.until, now)}; runs in flight go on`);
  cli.output.data(`open it again: npx tidegate drain lift ${drain.id}`);
}

async function start(cli: Cli, wishes: StartWishes): Promise<void> {
  const body = checked(cli, { id: mintDrainId(), by: wishes.by ?? cli.who, reason: wishes.reason }, wishes.minutes);
  told(cli, await cli.access().fleet.drain(body));
}

/** The drain that is meant: by its id or its beginning, else the only one that a person asked for. */
function meant(drains: Drains, id: string | undefined, command: string): Drain {
  const found = drains.drains.filter((drain) => (id === undefined ? !drain.deploy : drain.id.startsWith(id)));
  const [only, another] = found;
  if (only !== undefined && another === undefined) return only;
  const ids = drains.drains.map((drain) => `${drain.id} (${drain.by})`).join(", ");
  if (only !== undefined)
    throw new CliError(`${found.length} drains stand: ${ids}`, `npx tidegate drain ${command} <id>`);
  if (id !== undefined) throw new CliError(`no live drain has the id ${id}`, "npx tidegate drain status");
  if (drains.drains.length === 0) throw new CliError("no drain stands: the fleet is open", "npx tidegate drain status");
  throw new CliError(
    `only a deploy's drain stands: ${ids}`,
    `wait for it; or, if its deployer is beyond help, npx tidegate drain ${command} <id>`,
  );
}

async function extend(cli: Cli, id: string | undefined, minutes: string): Promise<void> {
  const any = { id: "d-unknown", by: cli.who, reason: "checked before anything is read" };
  checked(cli, any, minutes);
  const { fleet } = cli.access();
  const drain = meant(await fleet.drains(), id, "extend");
  const { by, reason, deploy } = drain;
  told(cli, await fleet.drain({ ...checked(cli, { id: drain.id, by, reason }, minutes), deploy }));
}

/** What a lift has left closed: residents that its own deploy still holds, and what others closed. */
function tellLifted(cli: Cli, { remaining, held, heldUntil, now }: UndrainSaid, id: string | null): void {
  const others = remaining.filter((drain) => drain.id !== id);
  for (const resource of held) {
    const name = shortNameOf(resource);
    const end = heldUntil === null ? "" : `, or opens ${instantWords(heldUntil, now)}`;
    cli.output.data(`${name} stays closed until it reports its image${end}`);
    cli.output.data(`  open it now: npx tidegate drain release ${name} --reason "…"`);
  }
  if (others.length === 0) return cli.output.data(held.length === 0 ? "fleet reopened" : "the others are open");
  cli.output.data("lifted; the fleet stays closed by:");
  for (const line of others.flatMap((other) => drainWords(other, now))) cli.output.data(`  ${line}`);
}

async function lift(cli: Cli, id: string | undefined, wishes: { force?: boolean }): Promise<void> {
  const { fleet } = cli.access();
  const force = wishes.force === true;
  const drain = force && id === undefined ? null : meant(await fleet.drains(), id, "lift");
  // What a person closed has no upload; a deploy's is only its own deployer's to tell.
  const outcome = drain === null || drain.deploy ? ("unknown" as const) : ("none" as const);
  const said = await fleet.undrain({ ...(drain === null ? {} : { id: drain.id }), outcome, force });
  if (cli.options().json) cli.output.data(JSON.stringify(said, null, 2));
  else if (said.kind === "deferred") {
    const at = said.deferredUntil === null ? "by itself" : instantWords(said.deferredUntil, said.now);
    cli.output.data(`an upload may still land under this drain: the fleet reopens ${at}`);
  } else tellLifted(cli, said, drain?.id ?? null);
  if (said.kind === "deferred") cli.exit(EXIT.refused);
}

/** Adds the commands. */
export function addDrain(program: Command, cli: Cli): void {
  const drain = program.command("drain").description("close the fleet to new runs; those in flight go on");
  drain
    .command("status")
    .description("who closes the fleet, why and until when; what is in flight, who is held, who waits")
    .action(() => drainStatus(cli));
  drain
    .command("start")
    .description("close it, with an end")
    .requiredOption("--minutes <n>", "when it opens again by itself")
    .requiredOption("--reason <text>", "why; every refusal repeats it")
    .option("--by <name>", "who; user@host without it")
    .action((wishes: StartWishes) => start(cli, wishes));
  drain
    .command("extend")
    .description("move the end of a drain later")
    .argument("[id]", "which one, where more than one stands")
    .requiredOption("--minutes <n>", "from now on")
    .action((id: string | undefined, wishes: { minutes: string }) => extend(cli, id, wishes.minutes));
  drain
    .command("lift")
    .description("open it again")
    .argument("[id]", "which one, where more than one stands")
    .option("--force", "lift every live drain (admin)")
    .action((id: string | undefined, wishes: { force?: boolean }) => lift(cli, id, wishes));
  drain
    .command("release")
    .description("open one resident that a reopening waits for, without its report")
    .argument("<resident>", "a repository of `repo list`; its name alone is enough")
    .requiredOption("--reason <text>", "why, for the log")
    .action((typed: string, wishes: { reason: string }) => drainRelease(cli, typed, wishes));
  drain
    .command("log")
    .description("who closed, sealed, held and opened what, when and why; the newest last")
    .option("--limit <n>", "how many of the newest rows", "50")
    .action((wishes: { limit: string }) => drainLog(cli, wishes));
}
