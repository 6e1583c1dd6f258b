// What the contract of the ledger's port is tried on: a ledger that knows nothing, time that passes, a process that comes
// back; and a bot that speaks to it as one does.

import assert from "node:assert/strict";
import type { LedgerClient } from "#client/ledger.ts";
import type { Ask, Entry, MessageKind, Verdict } from "#core/ask.ts";
import { MINUTE } from "#core/time.ts";
import type { Doors } from "#core/turn.ts";
import { problemIn, type Problem } from "#wire/errors.ts";
import type {
  EndAnswer,
  EntryAnswer,
  LedgerAskAnswer,
  LedgerMessageAnswer,
  OutputAnswer,
  OutputBody,
  ProgressBody,
  ReturnAnswer,
} from "#wire/ledger.ts";

/** A ledger under the test. */
export interface Stand {
  readonly ledger: LedgerClient;
  /** Resolves once this much of the ledger's time has passed. */
  pass(ms: number): Promise<void>;
  /** Its process ends where it stands, and another takes up its storage. */
  restart(): Promise<void>;
  end(): Promise<void>;
}

/** What a filling of the port is held to, each on a ledger of its own whose first bot has begun. */
export type Contract = Readonly<Record<string, (held: { readonly stand: Stand; readonly bot: Bot }) => Promise<void>>>;

export const [APP, WEB] = ["repo:test/app", "repo:test/web"] as const;
export const FINISHED: Verdict = { ending: "finished", exit: 0, by: null, why: null };

/** An ask of this number: in a thread of its own, unless it is said otherwise. */
export function askOf(n: number, more: Partial<Ask> = {}): Ask {
  return {
    id: `ask-${String(n).padStart(6, "0")}`,
    key: `key-${n}`,
    threadKey: `web:T${n}`,
    resource: APP,
    kind: "shell",
    text: `ask ${n}`,
    by: "ada",
    channel: "web",
    leaseMs: null,
    ref: null,
    parent: null,
    ...more,
  };
}

/** The problem that a call is refused with; fails when it is not. */
export async function refusal(call: Promise<unknown>): Promise<Problem> {
  let problem: Problem | undefined;
  try {
    await call;
  } catch (error) {
    problem = problemIn(error);
    if (problem === undefined) throw error;
  }
  assert.ok(problem !== undefined, "it was not refused");
  return problem;
}

/** The code of a call that is refused. */
export const codeOf = async (call: Promise<unknown>): Promise<string> => (await refusal(call)).code;

/** The state of each entry, in the order of arrival. */
export async function statesOf({ ledger }: Stand): Promise<string[]> {
  return (await ledger.entries()).entries.map(({ ask, state }) => `${ask.id} ${state}`);
}

/** A bot of one generation. */
export class Bot {
  readonly ledger: LedgerClient;
  readonly generation: number;

  private constructor(ledger: LedgerClient, generation: number) {
    this.ledger = ledger;
    this.generation = generation;
  }

  static async begin(ledger: LedgerClient): Promise<Bot> {
    return new Bot(ledger, (await ledger.begin("the contract")).generation);
  }

  doors(open: boolean, more: Partial<Doors> = {}): Doors {
    return { generation: this.generation, open, leaseMs: 45 * MINUTE, ...more };
  }

  ask(ask: Ask, open = true): Promise<LedgerAskAnswer> {
    return this.ledger.ask({ ask, doors: this.doors(open) });
  }

  /** An ask that must be admitted; answers its run. */
  async admitted(ask: Ask): Promise<Entry> {
    const answer = await this.ask(ask);
    assert.equal(answer.kind, "admitted");
    return answer.kind === "admitted" ? answer.entry : assert.fail();
  }

  async dispatch(resource: string, open = true): Promise<Entry | null> {
    return (await this.ledger.dispatch({ resource, doors: this.doors(open) })).entry;
  }

  /** Dispatches until nobody in the queue can be admitted; answers the ids in order. */
  async dispatchAll(resource: string): Promise<string[]> {
    const ids: string[] = [];
    for (let next = await this.dispatch(resource); next !== null; next = await this.dispatch(resource))
      ids.push(next.ask.id);
    return ids;
  }

  giveBack(id: string): Promise<ReturnAnswer> {
    return this.ledger.giveBack({ id, generation: this.generation });
  }

  progress(id: string, said: Omit<ProgressBody, "id" | "generation"> = {}): Promise<EntryAnswer> {
    return this.ledger.progress({ id, generation: this.generation, ...said });
  }

  output(id: string, offset: number, text: string, more: Partial<OutputBody> = {}): Promise<OutputAnswer> {
    const data = Buffer.from(text).toString("base64");
    return this.ledger.output({ id, generation: this.generation, stream: "out", offset, data, ...more });
  }

  say(id: string, key: string, kind: MessageKind, text = key): Promise<LedgerMessageAnswer> {
    return this.ledger.say({ id, generation: this.generation, key, kind, text });
  }

  end(id: string, verdict: Verdict = FINISHED, writeUp = "done"): Promise<EndAnswer> {
    return this.ledger.end({ id, generation: this.generation, verdict, leftId: `left-of-${id}`, writeUp });
  }

  note(id: string, kind: string, text: string, ms: number | null): Promise<unknown> {
    return this.ledger.note({ id, generation: this.generation, kind, text, ms });
  }
}
