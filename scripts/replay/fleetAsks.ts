// What a replay asks of its fleet over HTTP, as anybody may who holds the bearer. What it answers is parsed.

import * as z from "zod";
import type { Scope } from "#core/scopes.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import { readBearers } from "#node/tokens.ts";
import { drainSchema, reconcileAnswerSchema, type ReconcileAnswer } from "#wire/drain.ts";
import { auditSchema, healthSchema, residentsSchema, type AuditRow, type Health, type Residents } from "#wire/fleet.ts";
import { jsonOf } from "#wire/parse.ts";

const refusalSchema = z.object({ code: z.string(), draining: drainSchema });

/** What the one door said to an attach: its real status, and the record that a refusal carries. */
export interface DoorWord {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly refusal: z.infer<typeof refusalSchema> | null;
}

/** How a rebuild went: its status and its streamed lines. */
export interface RebuildWord {
  readonly status: number;
  readonly lines: readonly string[];
}

/** The routes of the fleet that a replay uses. */
export class FleetAsks {
  readonly #paths: StatePaths;

  constructor(paths: StatePaths) {
    this.#paths = paths;
  }

  get url(): string {
    return readSupervisorFile(this.#paths)?.url ?? "";
  }

  bearer(scope: Scope): string {
    return readBearers(this.#paths.tokens)?.[scope] ?? "";
  }

  #get(path: string): Promise<Response> {
    return fetch(`${this.url}${path}`, { headers: { authorization: `Bearer ${this.bearer("read")}` } });
  }

  async #value(path: string): Promise<unknown> {
    return jsonOf(await (await this.#get(path)).text());
  }

  #post(path: string, scope: Scope, body: unknown): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.bearer(scope)}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  }

  async health(): Promise<Health> {
    return healthSchema.parse(await this.#value("/healthz"));
  }

  async audit(): Promise<AuditRow[]> {
    return auditSchema.parse(await this.#value("/audit?after=0&limit=1000")).rows;
  }

  async residents(): Promise<Residents> {
    return residentsSchema.parse(await this.#value("/residents"));
  }

  /** The reconcile of a drain; undefined where none was asked for. */
  async reconciled(id: string | null): Promise<ReconcileAnswer | undefined> {
    if (id === null) return undefined;
    const answer = await this.#get(`/reconcile?id=${encodeURIComponent(id)}`);
    return answer.ok ? reconcileAnswerSchema.parse(jsonOf(await answer.text())) : undefined;
  }

  /** Knocks once, as a new run that does not wait. */
  async knock(resource: string, runId: string, threadKey: string): Promise<DoorWord> {
    const answer = await this.#post("/attach", "operator", { resource, runId, threadKey });
    const refusal = refusalSchema.safeParse(jsonOf(await answer.text()));
    return { status: answer.status, retryAfter: answer.headers.get("retry-after"), refusal: refusal.data ?? null };
  }

  /** `repo rebuild`, as an admin. */
  async rebuild(resource: string): Promise<RebuildWord> {
    const answer = await this.#post("/rebuild", "admin", { resource });
    const lines = (await answer.text()).split("\n").filter((line) => line !== "");
    return { status: answer.status, lines };
  }
}
