// `deploy`: all, restart, plan, show, list. What a release is made with is loaded when it is asked for: it brings the bundler
// along.

import { Command } from "commander";
import { findReceipt, readReceipts, unreadableWords } from "#deploy/receiptFile.ts";
import type { Cli } from "../cli.ts";
import { confirmOn } from "../confirm.ts";
import type { DeployAsked } from "../deployAll.ts";
import { stepsTyped } from "../stepsTyped.ts";
import { CliError } from "../exit.ts";
import { receiptLines, receiptTable } from "../render/receipt.ts";

interface Typed {
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly yes?: boolean;
  readonly rollback?: boolean;
  readonly by?: string;
  readonly reason?: string;
  readonly without?: readonly string[];
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
}

const NEXT = "npx tidegate deploy plan";

const askedOf = (typed: Typed, restart: readonly string[] | null = null): DeployAsked => ({
  dryRun: typed.dryRun ?? false,
  force: typed.force ?? false,
  yes: typed.yes ?? false,
  rollback: typed.rollback ?? false,
  by: typed.by ?? null,
  reason: typed.reason ?? null,
  without: typed.without ?? [],
  only: stepsTyped(typed.only ?? [], "--only", NEXT),
  skip: stepsTyped(typed.skip ?? [], "--skip", NEXT),
  restart: restart === null ? null : stepsTyped(restart, "deploy restart", NEXT),
});

/** What a release is made with is loaded here, when it is asked for. */
async function begin(cli: Cli, asked: DeployAsked): Promise<void> {
  const { ownSources } = await import("#embed/sources.ts");
  const { fleetPort } = await import("#deploy/fleetPort.ts");
  const { deployAll } = await import("../deployAll.ts");
  const confirm = confirmOn(process.stdin, cli.output.stderr);
  await deployAll(cli, asked, { sources: ownSources(), confirm, makePort: fleetPort });
}

const HELP = `
Its steps are ledger, bot and resident, in this order: those that this stack runs and whose bundle changes; resident also
where its image does, or where nothing changes at all. The first that fails stops the rest.
Ends with 0 deployed · 3 refused, or the wait ran out · 5 some steps landed and some did not · 6 deployed, but a container
never reported its image · 8 unknown whether it landed. The receipt of every deploy is kept: npx tidegate deploy show`;

const eachOf = (one: string, before: readonly string[] = []): readonly string[] => [...before, one];

/** What every way to swap takes. */
function swapping(command: Command): Command {
  return command
    .option("--dry-run", "say what would be built and waited for, and touch nothing")
    .option("--force", "neither drain nor wait: swap over what runs, and kill it where the image changes")
    .option("--yes", "with --force: do not ask")
    .option("--by <who>", "who deploys, in the words that every refusal repeats")
    .option("--without <resident>", "leave one broken resident out, with a --reason; may be given again", eachOf)
    .option("--reason <text>", "why");
}

function all(cli: Cli): Command {
  return swapping(new Command("all"))
    .description("close the door, wait for the runs in flight, swap, open again")
    .option("--only <step>", "nothing but this step: ledger, bot or resident; may be given again", eachOf)
    .option("--skip <step>", "leave this step out; may be given again", eachOf)
    .option("--rollback", "deploy although the live release is newer")
    .addHelpText("after", HELP)
    .action((typed: Typed) => begin(cli, askedOf(typed)));
}

const RESTART_HELP = `
Without a step: each that this stack runs. It closes the door and waits like a deploy; the receipt is kept like any other.`;

function restart(cli: Cli): Command {
  return swapping(new Command("restart"))
    .description("the builds that are served, started anew: the same door, the same wait, nothing built")
    .argument("[step...]", "ledger, bot or resident")
    .addHelpText("after", RESTART_HELP)
    .action((named: readonly string[], typed: Typed) => begin(cli, askedOf(typed, named)));
}

function plan(cli: Cli): Command {
  return new Command("plan")
    .description("what this release needs and why, and which runs it would wait for; touches nothing")
    .option("--only <step>", "as `deploy --only` would", eachOf)
    .option("--skip <step>", "as `deploy --skip` would", eachOf)
    .action((typed: Typed) => begin(cli, askedOf({ ...typed, dryRun: true })));
}

function show(cli: Cli): Command {
  return new Command("show")
    .description("the receipt of a deploy")
    .argument("[drainId]", "a drain's id or its beginning, or `last`", "last")
    .action((asked: string) => {
      const { paths } = cli.access();
      const found = findReceipt(paths, asked);
      if (found.kind === "missing")
        throw new CliError(`no receipt of ${asked} in ${paths.deploys}`, "npx tidegate deploy list");
      if (found.kind === "ambiguous") {
        throw new CliError(
          `${asked} begins more than one: ${found.ids.join(", ")}`,
          `npx tidegate deploy show ${found.ids[0] ?? "last"}`,
        );
      }
      if (cli.options().json || cli.options().ndjson) return cli.output.data(JSON.stringify(found.receipt));
      for (const line of receiptLines(found.receipt)) cli.output.data(line);
    });
}

function list(cli: Cli): Command {
  return new Command("list").description("past deploys, the latest first").action(() => {
    const { paths } = cli.access();
    const all = readReceipts(paths);
    const { receipts } = all;
    const leftOut = unreadableWords(all, paths);
    if (leftOut !== null) cli.output.say(`tidegate: ${leftOut}`);
    if (cli.options().json) return cli.output.data(JSON.stringify(receipts));
    if (cli.options().ndjson) return receipts.forEach((receipt) => cli.output.data(JSON.stringify(receipt)));
    if (receipts.length === 0) return cli.output.say("no deploy yet: npx tidegate deploy");
    for (const line of receiptTable(receipts, cli.options().headers)) cli.output.data(line);
  });
}

/** What `deploy` alone takes, which is what `deploy all` does. */
function aloneHelp({ options }: Command): string {
  const widest = Math.max(...options.map(({ flags }) => flags.length));
  const lines = options.map(({ flags, description }) => `  ${flags.padEnd(widest)}  ${description}`);
  return ["", "Named alone it is `deploy all`, and takes its options:", ...lines].join("\n");
}

/** The command `deploy`; named alone it is `deploy all` (program.ts). */
export function deployCommand(cli: Cli): Command {
  const release = all(cli);
  return new Command("deploy")
    .description("release what this folder says, without killing the runs in flight")
    .addHelpText("after", () => aloneHelp(release))
    .addCommand(release)
    .addCommand(restart(cli))
    .addCommand(plan(cli))
    .addCommand(show(cli))
    .addCommand(list(cli));
}
