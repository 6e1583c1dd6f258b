// `tidegate repo …`: which repositories have a resident, and the typed run of a repository's own test command.

import type { Command } from "commander";
import { resourceOf, resourceSchema, shortNameOf } from "#wire/names.ts";
import type { Residents } from "#wire/fleet.ts";
import type { Cli } from "../cli.ts";
import { confirmOn } from "../confirm.ts";
import { asRunFailure, CliError } from "../exit.ts";
import { waitingByRepository } from "../render/askTables.ts";
import { bannerLines } from "../render/fleetBanner.ts";
import { residentTable } from "../render/statusScreen.ts";
import { readBot } from "../readBot.ts";
import { resolveRepo } from "../repoName.ts";
import { repositoryOf } from "../repository.ts";
import { runInFleet } from "../runInFleet.ts";
import { mintShortId } from "../ids.ts";
import { repoRebuild, type RebuildWishes } from "./repoRebuild.ts";

interface AddWishes {
  readonly name?: string;
  readonly setup?: string;
  readonly test?: string;
}

function resourceNamed(name: string): string {
  const parts = name.replace(/^repo:/, "").split("/");
  const resource = parts.length === 2 ? `repo:${parts.join("/")}` : resourceOf("local", name);
  const parsed = resourceSchema.safeParse(resource);
  if (parsed.success) return resource;
  throw new CliError(
    `--name: "${name}" ${parsed.error.issues[0]?.message ?? "does not fit"}`,
    "--name app, or --name owner/app",
  );
}

async function add(cli: Cli, what: string, wishes: AddWishes): Promise<void> {
  const repository = repositoryOf(what, cli.cwd);
  const resource =
    wishes.name === undefined ? resourceOf(repository.owner, repository.name) : resourceNamed(wishes.name);
  const { fleet } = cli.access();
  const { stop, release } = cli.interrupts.take(() => "");
  try {
    const body = { resource, url: repository.url, setup: wishes.setup ?? null, test: wishes.test ?? null };
    const onProgress = (line: string): void => {
      if (!cli.options().quiet) cli.output.say(`tidegate: ${line}`);
    };
    const made = await fleet.onboard(body, { signal: stop, onProgress });
    if (cli.options().json) cli.output.data(JSON.stringify({ ...made, url: repository.url }));
    else
      cli.output.data(
        `${resource} is ready at ${made.ref} ${made.commit.slice(0, 12)}: npx tidegate run ${shortNameOf(resource)} -- git log -1`,
      );
  } catch (error) {
    if (!stop.aborted) throw error;
    cli.output.say(`tidegate: stopped waiting; the fleet may still be making ${resource}: npx tidegate repo list`);
    cli.exit(cli.interrupts.code());
  } finally {
    release();
  }
}

async function list(cli: Cli): Promise<void> {
  const access = cli.access();
  const { fleet, url } = access;
  const [residents, bot] = await Promise.all([fleet.residents(), readBot(access, { limit: 1 })]);
  const { json, headers } = cli.options();
  if (json) {
    const { now, draining, drains } = residents;
    const asks = bot.kind === "read" ? bot.list.live : null;
    return cli.output.data(JSON.stringify({ now, draining, drains, residents: residents.residents, asks }, null, 2));
  }
  const drained = residents.drains.length > 0 ? [...bannerLines({ kind: "read", residents, url }), ""] : [];
  for (const line of drained) cli.output.data(line);
  for (const line of residentTable(residents, waitingByRepository(bot), headers)) cli.output.data(line);
  if (bot.kind === "unknown") cli.output.say(`tidegate: what is queued is unknown: ${bot.why}`);
  if (residents.residents.length === 0)
    cli.output.say("tidegate: no repository yet: npx tidegate repo add <path or url>");
}

const resourcesOf = ({ residents }: Residents): string[] => residents.map((row) => row.resource);

async function remove(cli: Cli, repo: string): Promise<void> {
  const { fleet } = cli.access();
  const resource = resolveRepo(repo, resourcesOf(await fleet.residents()));
  await fleet.offboard(resource);
  if (cli.options().json) cli.output.data(JSON.stringify({ resource, removed: true }));
  else cli.output.data(`${resource} is removed, with its container and its mirror`);
}

async function test(cli: Cli, repo: string, wishes: { wait?: boolean }): Promise<void> {
  const residents = await cli.access().fleet.residents();
  const resource = resolveRepo(repo, resourcesOf(residents));
  const command = residents.residents.find((row) => row.resource === resource)?.test ?? null;
  if (command === null) {
    const name = shortNameOf(resource);
    throw new CliError(`${resource} has no test command`, `npx tidegate repo set ${name} --test 'npm test'`);
  }
  await runInFleet(cli, {
    resource,
    threadKey: mintShortId("test").replace("-", ":"),
    runKind: "shell",
    leaseMs: null,
    ref: null,
    command: ["sh", "-c", command],
    resume: ["sh", "-c", command],
    replace: false,
    push: false,
    wait: wishes.wait === true,
  });
}

async function set(cli: Cli, repo: string, wishes: { setup?: string; test?: string }): Promise<void> {
  if (wishes.setup === undefined && wishes.test === undefined) {
    throw new CliError("nothing to change", `npx tidegate repo set ${repo} --test 'npm test'`);
  }
  const { fleet } = cli.access();
  const resource = resolveRepo(repo, resourcesOf(await fleet.residents()));
  const orNull = (text: string): string | null => (text === "" ? null : text);
  await fleet.reconfigure({
    resource,
    ...(wishes.setup === undefined ? {} : { setup: orNull(wishes.setup) }),
    ...(wishes.test === undefined ? {} : { test: orNull(wishes.test) }),
  });
  cli.output.data(`${resource} is changed`);
}

/** Adds the commands. */
export function addRepo(program: Command, cli: Cli): void {
  const repo = program.command("repo").description("the repositories that have a resident");
  repo
    .command("add")
    .description("onboard a local path or a git URL")
    .argument("<path|url>", "a folder with a git repository, or what `git clone` takes")
    .option("--name <name>", "what it is called: name, or owner/name")
    .option("--setup <command>", "runs once a base commit, such as 'npm ci'")
    .option("--test <command>", "what `repo test` runs, such as 'npm test'")
    .action((what: string, wishes: AddWishes) => add(cli, what, wishes));
  repo
    .command("list")
    .description("every repository, and whether it can be reached")
    .action(() => list(cli));
  repo
    .command("set")
    .description("change the commands of a repository; an empty one takes it away")
    .argument("<repo>")
    .option("--setup <command>")
    .option("--test <command>")
    .action((name: string, wishes: { setup?: string; test?: string }) => set(cli, name, wishes));
  repo
    .command("remove")
    .description("take a repository out of the fleet")
    .argument("<repo>")
    .action((name: string) => remove(cli, name));
  repo
    .command("rebuild")
    .description("give a repository a new container and a fresh mirror; its commands and its place in the fleet stay")
    .argument("<repo>")
    .option("--force", "end the runs in flight there, named first")
    .option("--yes", "with --force: do not ask")
    .action((name: string, wishes: RebuildWishes) =>
      repoRebuild(cli, name, wishes, confirmOn(process.stdin, cli.output.stderr)),
    );
  repo
    .command("test")
    .description("run a repository's test command; a closed repository answers at once, with why and until when, and 3")
    .argument("<repo>")
    .option("--wait", "wait for the fleet to reopen instead")
    .action((name: string, wishes: { wait?: boolean }) =>
      test(cli, name, wishes).catch((error: unknown) => {
        throw asRunFailure(error);
      }),
    );
}
