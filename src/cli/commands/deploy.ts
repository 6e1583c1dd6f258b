// `deploy`: all (its one step here is `resident`), show, list. What a release is made with is loaded when it is asked for:
// it brings the bundler along.

import { Command } from "commander";
import { findReceipt, listReceipts } from "#deploy/receiptFile.ts";
import type { Cli } from "../cli.ts";
import { confirmOn } from "../confirm.ts";
import type { DeployAsked } from "../deployAll.ts";
import { CliError } from "../exit.ts";
import { receiptLines, receiptTable } from "../render/receipt.ts";

interface Typed {
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly yes?: boolean;
  readonly rollback?: boolean;
  readonly by?: string;
  readonly reason?: string;
}

const askedOf = ({ dryRun, force, yes, rollback, by, reason }: Typed): DeployAsked => ({
  dryRun: dryRun ?? false,
  force: force ?? false,
  yes: yes ?? false,
  rollback: rollback ?? false,
  by: by ?? null,
  reason: reason ?? null,
});

function all(cli: Cli): Command {
  return new Command("all")
    .description("close the door, wait for the runs in flight, swap, open again")
    .option("--dry-run", "say what would be built and waited for, and touch nothing")
    .option("--force", "neither drain nor wait: swap over what runs, and kill it where the image changes")
    .option("--yes", "with --force: do not ask")
    .option("--rollback", "deploy although the live release is newer")
    .option("--by <who>", "who deploys, in the words that every refusal repeats")
    .option("--reason <text>", "why")
    .action(async (typed: Typed) => {
      const { ownSources } = await import("#embed/sources.ts");
      const { fleetPort } = await import("#deploy/fleetPort.ts");
      const { deployAll } = await import("../deployAll.ts");
      const confirm = confirmOn(process.stdin, cli.output.stderr);
      await deployAll(cli, askedOf(typed), { sources: ownSources(), confirm, makePort: fleetPort });
    });
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
        throw new CliError(`${asked} begins more than one: ${found.ids.join(", ")}`, "type more of it");
      }
      if (cli.options().json || cli.options().ndjson) return cli.output.data(JSON.stringify(found.receipt));
      for (const line of receiptLines(found.receipt)) cli.output.data(line);
    });
}

function list(cli: Cli): Command {
  return new Command("list").description("past deploys, the latest first").action(() => {
    const receipts = listReceipts(cli.access().paths);
    if (cli.options().json) return cli.output.data(JSON.stringify(receipts));
    if (cli.options().ndjson) return receipts.forEach((receipt) => cli.output.data(JSON.stringify(receipt)));
    if (receipts.length === 0) return cli.output.say("no deploy yet: npx tidegate deploy");
    for (const line of receiptTable(receipts, cli.options().headers)) cli.output.data(line);
  });
}

/** The command `deploy`; named alone it is `deploy all` (program.ts). */
export function deployCommand(cli: Cli): Command {
  return new Command("deploy")
    .description("release what this folder says, without killing the runs in flight")
    .addCommand(all(cli))
    .addCommand(show(cli))
    .addCommand(list(cli));
}
