// The container of a resident and what one boot of its object knows of it, in the worlds that have containers. What is
// done to a whole container is done in turns, one after another; the explorer bounds how many wait.

import type { CycleEffect, CycleState } from "#core/cycle.ts";
import type { ReconcileWord } from "#core/reconcile.ts";

/** Who waits for a turn's end: the registry with its reconcile, an attach with its workspace, or nobody. */
export type Asker =
  | { readonly by: "registry"; readonly drainId: string }
  | { readonly by: "attach"; readonly run: number }
  | { readonly by: "nobody" };

/** The shipped machine that brings a container onto the image. */
export interface Cycling {
  readonly kind: "cycle";
  readonly asker: Asker;
  readonly state: CycleState;
}

/** A rebuild's new container: begun in one storage step, made, ended in another. */
export interface Renewing {
  readonly kind: "renew";
  readonly run: number;
  readonly at: "begin" | "renew" | "end";
}

export type Turn = Cycling | Renewing;

export interface Container {
  /** The image of the container that runs; null when none does. */
  readonly image: string | null;
  /** The image that the platform starts containers on now. */
  readonly platform: string;
  /** The image that the Worker of this object pins. */
  readonly pinned: string;
  /** What was read inside; `past`: of a container that has gone since. */
  readonly seen: { readonly image: string; readonly past: boolean } | null;
  /** The registry has not been told what was read. */
  readonly owes: boolean;
  /** Reports on their way. */
  readonly reports: readonly string[];
  readonly turns: readonly Turn[];
  /** A restart that the platform carries out although nobody waits for it. */
  readonly stray: boolean;
}

/** A container that has been there all along and of which everything is known. */
export const firstContainer = (image: string | null, platform: string): Container => ({
  image,
  platform,
  pinned: platform,
  seen: image === null ? null : { image, past: false },
  owes: false,
  reports: [],
  turns: [],
  stray: false,
});

/** How many turns one container may have before it. */
export const TURNS = 2;

const bareWord = ({ state }: ReconcileWord): ReconcileWord => ({
  state,
  image: null,
  bootId: null,
  why: null,
  killed: 0,
});

function bareEffect(effect: CycleEffect): CycleEffect {
  if (effect.do === "probe") return effect;
  if (effect.do === "begin" || effect.do === "restart")
    return { do: effect.do, inside: { ...effect.inside, bootId: "" } };
  return { do: effect.do, word: bareWord(effect.word) };
}

/** A machine without what only people read of it. */
export const canonicalCycle = ({ ask, restarted, effect }: CycleState): CycleState => ({
  ask: { pinned: ask.pinned, wanted: null, own: ask.own },
  restarted,
  killed: 0,
  effect: bareEffect(effect),
});

/** The object looks into its container: what it has not read of this very one it reads, and owes the registry the word. */
export function lookedInto(container: Container): Container {
  const { image, seen } = container;
  if (image === null) return { ...container, seen: null };
  return seen !== null && !seen.past ? container : { ...container, seen: { image, past: false }, owes: true };
}

/** Another container in its place, by nobody's doing that this object knows of. */
export const replaced = (container: Container, image: string | null): Container => ({
  ...container,
  image,
  seen: container.seen === null ? null : { ...container.seen, past: true },
});

/** A new boot of the object: it knows nothing, waits for nothing, and a restart that it has asked for goes on. */
export function rebooted(container: Container): Container {
  const [turn] = container.turns;
  const sent = turn?.kind === "cycle" ? turn.state.effect.do === "restart" : turn?.at === "renew";
  return { ...container, seen: null, owes: false, turns: [], stray: container.stray || sent };
}

/** Nobody waits any more for what the registry has asked. */
export function forsakenTurns(container: Container): Container {
  const turns = container.turns.flatMap((turn): Turn[] => {
    if (turn.kind !== "cycle" || turn.asker.by !== "registry") return [turn];
    return turn.state.effect.do === "answer" ? [] : [{ ...turn, asker: { by: "nobody" } }];
  });
  return { ...container, turns };
}
