// The CLI's and the deploy runner's side of the host API: the control routes of the supervisor that lives in a state folder.

import type { ZodType } from "zod";
import { REAL } from "#core/budgets.ts";
import {
  downAnswerSchema,
  hostProblemSchema,
  HOST_ERRORS,
  insideListSchema,
  rolledSchema,
  statusSchema,
  swapAnswerSchema,
  type HostErrorCode,
  type HostStatus,
  type InsideList,
  type Rolled,
  type SupervisorFile,
  type SwapAnswer,
  type SwapAsk,
} from "#wire/host.ts";
import { Failure, wordsOf } from "#node/failure.ts";
import { liveSupervisor } from "#node/supervisorFile.ts";
import type { StatePaths } from "#node/stateFolder.ts";

/** What may be asked of a supervisor. Every failure is a `Failure`; NOT_UP when it does not answer. */
export interface HostControl {
  readonly file: SupervisorFile;
  status(): Promise<HostStatus>;
  /** Safe to ask again with the same drain id after a lost answer: it joins the swap, or gets the answer it missed. */
  swap(ask: SwapAsk, signal?: AbortSignal): Promise<SwapAnswer>;
  /** Ends the stack; IN_FLIGHT unless `now`. It answers as the end begins. */
  down(now: boolean): Promise<void>;
  roll(resource: string): Promise<Rolled>;
  inside(resource: string): Promise<InsideList>;
}

const isCode = (code: string): code is HostErrorCode => Object.hasOwn(HOST_ERRORS, code);

async function ask<T>(
  file: SupervisorFile,
  schema: ZodType<T>,
  path: string,
  sent?: { readonly body: unknown; readonly signal?: AbortSignal | undefined },
): Promise<T> {
  let response: Response;
  let value: unknown;
  try {
    response = await fetch(`${file.hostUrl}${path}`, {
      method: sent === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${file.controlToken}`,
        ...(sent === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(sent === undefined
        ? { signal: AbortSignal.timeout(REAL.requestMs) }
        : { body: JSON.stringify(sent.body), signal: sent.signal ?? null }),
    });
    value = await response.json();
  } catch (error) {
    throw new Failure("NOT_UP", `the supervisor (pid ${file.supervisor.pid}) does not answer: ${wordsOf(error)}`);
  }
  if (response.ok) return schema.parse(value);
  const problem = hostProblemSchema.safeParse(value);
  if (!problem.success) throw new Failure("INTERNAL", `${path} answered ${response.status}`);
  const { code, detail, next } = problem.data;
  throw new Failure(isCode(code) ? code : "INTERNAL", detail, next);
}

/** The control of the supervisor whose file this is. */
export function hostControl(file: SupervisorFile): HostControl {
  return {
    file,
    status: () => ask(file, statusSchema, "/control/status"),
    swap: (swap, signal) => ask(file, swapAnswerSchema, "/control/swap", { body: swap, signal }),
    down: async (now) => {
      await ask(file, downAnswerSchema, "/control/down", { body: { now } });
    },
    roll: (resource) => ask(file, rolledSchema, "/control/containers/roll", { body: { resource } }),
    inside: (resource) => ask(file, insideListSchema, "/control/containers/inside", { body: { resource } }),
  };
}

/** The control of the supervisor that lives in this state folder; NOT_UP when none does. */
export function findHostControl(paths: StatePaths): HostControl {
  const file = liveSupervisor(paths);
  if (file === undefined) throw new Failure("NOT_UP", `no fleet is up in ${paths.home}`);
  return hostControl(file);
}
