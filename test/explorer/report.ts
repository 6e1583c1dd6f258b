// How a search is told: its figures in one line, and a counter-example as numbered steps.

import type { CounterExample, Explored } from "./breadth.ts";

/** The shortest way to something broken, a step a line. */
export function counterExampleText(found: CounterExample): string {
  const steps = found.steps.map((step, index) => `  ${String(index + 1).padStart(2)}. ${step}`);
  return [
    `invariant ${found.invariant} (${found.says}) is broken after ${found.steps.length} steps:`,
    ...steps,
    `  ${found.text}`,
  ].join("\n");
}

/** One search in one line, and what it found. */
export function report(world: { readonly says: string }, explored: Explored): string {
  const { parts, states, transitions, depth, seconds, megabytes, complete, counterExample } = explored;
  const size = `${states.toLocaleString("en")} states, ${transitions.toLocaleString("en")} steps, depth ${depth}`;
  const end = complete ? "explored to the end" : counterExample === null ? "STOPPED at its bound" : "BROKEN";
  const line = `${explored.world.padEnd(12)} ${size}, ${seconds.toFixed(1)} s, ${megabytes} MB: ${end}; ${parts} (${world.says})`;
  return counterExample === null ? line : `${line}\n${counterExampleText(counterExample)}`;
}
