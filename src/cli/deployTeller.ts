// How a deploy is told: progress on stderr, data on stdout, and in a GitHub job also as its commands, outputs and summary.

import type { DeployState } from "#core/rolloutState.ts";
import type { Receipt } from "#wire/receipt.ts";
import {
  GITHUB_GROUP_END,
  githubGroup,
  githubLine,
  isGithub,
  writeGithubOutputs,
  writeGithubSummary,
} from "#deploy/ci.ts";
import type { Line } from "#deploy/line.ts";
import type { DeployPlan } from "#deploy/plan.ts";
import type { DeployTurn } from "#deploy/run.ts";
import type { Cli } from "./cli.ts";
import { receiptLines } from "./render/receipt.ts";

/** Tells one deploy. */
export class DeployTeller {
  readonly #cli: Cli;
  readonly #github: boolean;
  #state: DeployState | null = null;
  #drainId = "";
  #grouped = false;

  constructor(cli: Cli) {
    this.#cli = cli;
    this.#github = isGithub(cli.env);
  }

  /** How far the runner has come, for the last words of a process that leaves at once. */
  get state(): DeployState | null {
    return this.#state;
  }

  #event(event: Readonly<Record<string, unknown>>): void {
    if (this.#cli.options().ndjson) this.#cli.output.data(JSON.stringify(event));
  }

  /** A line of the build, which a person sees only when asked for. */
  building(line: string): void {
    if (this.#cli.options().verbose) this.#cli.output.say(line);
  }

  line(line: Line): void {
    const { output, options, access } = this.#cli;
    this.#event({ event: "line", at: access().clock.now(), ...line });
    if (options().quiet && line.level !== "error" && line.level !== "warning") return;
    if (this.#github && !this.#grouped) {
      output.say(githubGroup("tidegate deploy"));
      this.#grouped = true;
    }
    output.say(this.#github ? githubLine(line) : line.text);
  }

  turn({ before, fact, after, since, until }: DeployTurn, receipt: Receipt): void {
    this.#state = after;
    this.#event({
      event: "turn",
      at: until,
      since,
      drainId: before.drainId,
      effect: before.effect.do,
      fact: fact.kind,
      next: after.effect.do,
    });
    if (this.#github && receipt.drainId !== this.#drainId) writeGithubOutputs(this.#cli.env, receipt);
    this.#drainId = receipt.drainId;
  }

  /** What a dry run found. */
  plan(plan: DeployPlan, words: readonly string[]): void {
    const { output, options } = this.#cli;
    if (options().json) return output.data(JSON.stringify({ dryRun: true, ...plan }));
    if (options().ndjson) return this.#event({ event: "plan", ...plan });
    for (const word of words) output.data(word);
  }

  receipt(receipt: Receipt, file: string): void {
    const { output, options, env } = this.#cli;
    this.close();
    const lines = receiptLines(receipt, file);
    if (options().json) output.data(JSON.stringify(receipt));
    else if (options().ndjson) this.#event({ event: "receipt", receipt });
    else if (!options().quiet) for (const line of lines) output.data(line);
    if (!this.#github) return;
    writeGithubOutputs(env, receipt);
    writeGithubSummary(env, receipt, lines.join("\n"));
  }

  /** Closes the group of a job's log. */
  close(): void {
    if (this.#grouped) this.#cli.output.say(GITHUB_GROUP_END);
    this.#grouped = false;
  }
}
