// A deploy inside GitHub Actions: its lines as workflow commands, its outputs and its summary as files that the job names.

import { appendFileSync } from "node:fs";
import type { Receipt } from "#wire/receipt.ts";
import type { Line } from "#deploy/line.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Whether this process runs in a GitHub Actions job. */
export const isGithub = (env: Env): boolean => env["GITHUB_ACTIONS"] === "true";

/** A text inside a workflow command: what would end the command is escaped. */
const escaped = (text: string): string => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

/** One line as the job's log shows it. */
export function githubLine({ level, text }: Line): string {
  return level === "info" ? text : `::${level}::${escaped(text)}`;
}

/** The line that opens a foldable group in the job's log. */
export const githubGroup = (title: string): string => `::group::${escaped(title)}`;
/** The line that closes it. */
export const GITHUB_GROUP_END = "::endgroup::";

/** What a later step of the job needs: the drain's id at once, so that it can lift even when this step was killed. */
function githubOutputs(receipt: Receipt): string {
  const rows = {
    "drain-id": receipt.drainId,
    result: receipt.result,
    outcome: receipt.outcome,
    killed: String(receipt.killed),
    generation: String(receipt.generation.to ?? ""),
  };
  return Object.entries(rows)
    .map(([name, value]) => `${name}=${value.replaceAll(/[\r\n]/g, " ")}\n`)
    .join("");
}

function append(path: string | undefined, text: string): void {
  if (path === undefined || path === "") return;
  try {
    appendFileSync(path, text);
  } catch {
    // A job without its files loses a convenience, never the deploy.
  }
}

/** Writes the outputs of a deploy as far as it has come; the last value of a name counts. */
export function writeGithubOutputs(env: Env, receipt: Receipt): void {
  append(env["GITHUB_OUTPUT"], githubOutputs(receipt));
}

/** Writes the job summary: the receipt as text, in a fence that nothing inside it can close. */
export function writeGithubSummary(env: Env, receipt: Receipt, text: string): void {
  const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  append(
    env["GITHUB_STEP_SUMMARY"],
    `### deploy ${receipt.build.to.commit}: ${receipt.result}\n\n${fence}text\n${text}\n${fence}\n`,
  );
}
