// A deploy rehearsed: the real runner, lines and receipt over a scripted port and a virtual clock, so that every fact
// of every effect can be met. What a script does not name goes well.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import type { Build, Without } from "#core/drain.ts";
import {
  RESIDENT_ONLY,
  type DeployEffectName,
  type DeployFact,
  type DeployMode,
  type DeployState,
  type Steps,
} from "#core/rolloutState.ts";
import type { AuditRow } from "#wire/fleet.ts";
import { pathsOf, type StatePaths } from "#node/stateFolder.ts";
import type { FleetDoor } from "#deploy/fleetDoor.ts";
import { deploy, type DeployEnded, type DeployGiven } from "#deploy/deploy.ts";
import { listReceipts } from "#deploy/receiptFile.ts";
import type { DeployPort, Performed, Seen } from "#deploy/port.ts";
import {
  BUDGETS,
  DRAIN_ID,
  drainOf,
  entryOf,
  fleetOf,
  FROM,
  reconciledOf,
  reconciling,
  residentsOf,
  T0,
  TO,
  type runOf,
} from "#deploy/recordsForTests.ts";
import type { StepShape } from "#deploy/shapes.ts";
import type { Uploaded } from "#deploy/steps.ts";

type Scripted =
  | DeployFact
  | Performed
  | "hang"
  | "throw"
  | ((state: DeployState, now: number) => DeployFact | Performed);

/** What each effect answers, in turn; the last answer is repeated, and an effect without a script goes well. */
export interface Script {
  readonly mode?: DeployMode;
  /** What is swapped; the fleet alone without it. */
  readonly steps?: Steps;
  readonly restart?: boolean;
  /** Whether a bot is part of the stack, whose door is closed with the fleet's. */
  readonly hasBot?: boolean;
  /** How the ledger takes the receipt; none is part of the stack without it. */
  readonly keepInLedger?: DeployGiven["keepInLedger"];
  readonly without?: readonly Without[];
  /** The image that is served before; another one than the release's without it. */
  readonly from?: Build;
  readonly facts?: Partial<Record<Exclude<DeployEffectName, "done">, readonly Scripted[]>>;
  readonly audit?: readonly AuditRow[];
  readonly uploaded?: Uploaded;
  /** The signal comes while this effect is under way. */
  readonly signalIn?: DeployEffectName;
  readonly signal?: "SIGINT" | "SIGTERM";
  readonly watch?: DeployGiven["watch"];
}

/** A rehearsal's course. */
export interface Rehearsed extends DeployEnded {
  readonly effects: readonly string[];
  readonly lines: readonly string[];
  readonly aborted: readonly string[];
  /** What it says that it brings the fleet. */
  readonly brings: Build | null;
  readonly paths: StatePaths;
}

/** The steps of a script as they are shown: each goes from the one build to the other, the parts by bundles of their own. */
function shapesOf({ steps = RESIDENT_ONLY, from = FROM }: Script): StepShape[] {
  const names = [...steps.parts, ...(steps.resident ? (["resident"] as const) : [])];
  return names.map((step) => {
    const own = (build: Build): Build =>
      step === "resident" ? build : { ...build, bundle: `${step}-${build.bundle}` };
    return { step, from: own(from), to: own(TO) };
  });
}

const asPerformed = (answer: DeployFact | Performed): Performed => ("fact" in answer ? answer : { fact: answer });

function welcome(script: Script, state: DeployState, now: number): Performed {
  const { drainId, effect } = state;
  const swapping = drainOf(drainId, state.drain?.since ?? now, {
    phase: "swapping",
    phaseUntil: now + CLOCK.swapBoundMs,
  });
  const uploaded = script.uploaded ?? { outcome: "landed", why: "", killed: [], ms: null };
  const served = { drainId, generation: 2 };
  const quiet = fleetOf([], { now });
  switch (effect.do) {
    case "preflight":
      return {
        fact: { kind: "viewed", view: quiet, served: { drainId: null, generation: 1 } },
        seen: [{ kind: "residents", residents: residentsOf(quiet) }],
      };
    case "look":
      return {
        fact: { kind: "viewed", view: quiet, served: { drainId: null, generation: 1 } },
        seen: [{ kind: "residents", residents: residentsOf(quiet) }],
      };
    case "drain":
    case "pulse":
      return {
        fact: {
          kind: "drained",
          drain: drainOf(drainId, state.drain?.since ?? now, { phaseUntil: now + CLOCK.pulseBoundMs }),
        },
        seen: script.hasBot === true ? [{ kind: "botDoor", closed: true, why: null }] : [],
      };
    case "roll":
      return {
        fact: { kind: "uploaded", outcome: "landed", why: "" },
        seen: [
          {
            kind: "rolled",
            part: effect.part,
            uploaded: { outcome: "landed", why: "", killed: [], ms: CLOCK.retryMs / 10 },
          },
        ],
      };
    case "rollGate":
      return { fact: { kind: "serves", served: { drainId, generation: 5 } } };
    case "mint":
      return { fact: { kind: "minted", id: "d2d2d2d2" } };
    case "pause":
      return { fact: { kind: "woke", quiet: false } };
    case "seal":
      return { fact: { kind: "sealed", drain: swapping, leftMs: CLOCK.swapBoundMs } };
    case "confirm":
      return { fact: { kind: "confirmed" } };
    case "upload":
      return {
        fact: { kind: "uploaded", outcome: uploaded.outcome, why: uploaded.why },
        seen: [{ kind: "uploaded", uploaded }],
      };
    case "readBack":
    case "liveGate":
      return { fact: { kind: "serves", served } };
    case "reconcile":
      return reconciling(reconciledOf(now, [entryOf("repo:local/sample")]));
    case "holds":
      return { fact: { kind: "heldBy", held: [], stale: [] } };
    default:
      return {
        fact: { kind: "lifted", held: state.held, leftMs: Math.max(0, state.holdUntil - now) },
        seen: [{ kind: "lifted", at: now, remaining: [] }],
      };
  }
}

class Rehearsal {
  now = T0;
  readonly effects: string[] = [];
  readonly aborted: string[] = [];
  readonly #script: Script;
  readonly #turns = new Map<string, number>();
  #listener: ((signal: "SIGINT" | "SIGTERM") => void) | null = null;
  #signalled = false;

  constructor(script: Script) {
    this.#script = script;
  }

  readonly interrupts = {
    onFirst: (listener: (signal: "SIGINT" | "SIGTERM") => void): (() => void) => {
      if (this.#signalled) listener(this.#script.signal ?? "SIGINT");
      else this.#listener = listener;
      return () => {
        this.#listener = null;
      };
    },
  };

  async #perform(state: DeployState, signal: AbortSignal): Promise<Performed> {
    const name = state.effect.do;
    this.effects.push(name);
    if (name === "done") throw new Error("the port has no such effect");
    const script = this.#script.facts?.[name] ?? [];
    const turn = this.#turns.get(name) ?? 0;
    this.#turns.set(name, turn + 1);
    const answer = script[Math.min(turn, script.length - 1)];
    if (this.#script.signalIn === name && !this.#signalled) {
      this.#signalled = true;
      this.#listener?.(this.#script.signal ?? "SIGINT");
    }
    if (answer === "hang") return this.#hang(name, signal);
    if (answer === "throw") throw new Error("ECONNRESET");
    const then = state.effect.do === "pause" ? state.effect.at : this.now + 100;
    if (answer === undefined) {
      this.now = Math.max(this.now, then);
      return welcome(this.#script, state, this.now);
    }
    const performed = asPerformed(typeof answer === "function" ? answer(state, this.now) : answer);
    if (!(performed.fact.kind === "woke" && performed.fact.quiet)) this.now = Math.max(this.now, then);
    return performed;
  }

  #hang(name: string, signal: AbortSignal): Promise<Performed> {
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        this.aborted.push(name);
        reject(signal.reason);
      });
    });
  }

  port(keep: (state: DeployState, seen: readonly Seen[]) => void): DeployPort {
    const perform = (state: DeployState, signal: AbortSignal): Promise<Performed> => this.#perform(state, signal);
    return {
      preflight: perform,
      drain: perform,
      mint: perform,
      look: perform,
      pause: perform,
      pulse: perform,
      roll: perform,
      rollGate: perform,
      seal: perform,
      confirm: perform,
      upload: perform,
      readBack: perform,
      liveGate: perform,
      reconcile: perform,
      lift: perform,
      holds: perform,
      done: async (state) => {
        this.effects.push("done");
        const rows = this.#script.audit;
        const seen: readonly Seen[] = rows === undefined ? [] : [{ kind: "audit", rows }];
        keep(state, seen);
        return Promise.resolve(seen);
      },
    };
  }
}

const unused = (): never => {
  throw new Error("a rehearsal asks no fleet");
};

const UNASKED: FleetDoor = {
  residents: unused,
  drains: unused,
  drain: unused,
  seal: unused,
  reconcile: unused,
  reconciled: unused,
  undrain: unused,
  newestAudit: unused,
};

/** Rehearses one deploy. */
export async function rehearse(context: TestContext, script: Script = {}): Promise<Rehearsed> {
  const home = mkdtempSync(join(tmpdir(), "tidegate-deploy-"));
  context.after(() => rmSync(home, { recursive: true, force: true }));
  const paths = pathsOf(home);
  const rehearsal = new Rehearsal(script);
  const lines: string[] = [];
  let brings: Build | null = null;
  const ended = await deploy({
    paths,
    fleet: UNASKED,
    bot: null,
    keepInLedger: script.keepInLedger ?? null,
    watch: script.watch ?? null,
    clock: { now: () => rehearsal.now, sleep: unused },
    budgets: BUDGETS,
    step: { name: "resident", swap: { upload: unused, recall: unused }, live: unused },
    parts: {},
    shapes: shapesOf(script),
    steps: script.steps ?? RESIDENT_ONLY,
    restart: script.restart ?? false,
    mode: script.mode ?? "drained",
    without: script.without ?? [],
    drainId: DRAIN_ID,
    asker: { by: "ci", reason: "deploy 7b02d9e" },
    from: script.from ?? FROM,
    to: TO,
    mint: unused,
    interrupts: rehearsal.interrupts,
    makePort: (parts) => {
      brings = parts.asker.build;
      return rehearsal.port(parts.keep);
    },
    onLine: (line) => lines.push(line.text),
    onTurn: () => undefined,
  });
  return { ...ended, effects: rehearsal.effects, lines, aborted: rehearsal.aborted, brings, paths };
}

/** A look at a fleet with these runs in flight. */
export const viewed = (runs: ReturnType<typeof runOf>[], more: Parameters<typeof fleetOf>[1] = {}): Performed => {
  const view = fleetOf(runs, more);
  return {
    fact: { kind: "viewed", view, served: { drainId: null, generation: 1 } },
    seen: [{ kind: "residents", residents: residentsOf(view) }],
  };
};

/** Some line matches. */
export const says = (deployed: Rehearsed, pattern: RegExp): void => {
  assert.ok(
    deployed.lines.some((line) => pattern.test(line)),
    `no line says ${pattern}:\n${deployed.lines.join("\n")}`,
  );
};
/** The receipt says this, and is kept as it was made. */
export const ends = (deployed: Rehearsed, result: string, code: number): void => {
  assert.equal(deployed.receipt.result, result);
  assert.equal(deployed.receipt.exitCode, code);
  assert.deepEqual(listReceipts(deployed.paths), [deployed.receipt], "the receipt is kept as it was made");
};
