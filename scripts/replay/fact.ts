// One fact of a replay, as it is printed and judged.

/** What it says, what was found, and whether they agree. `proof` has what it was read from. */
export interface Fact {
  readonly says: string;
  readonly found: string;
  readonly holds: boolean;
  readonly proof: Readonly<Record<string, unknown>>;
}

/** Facts as lines of text. */
export function factLines(facts: readonly Fact[]): string[] {
  return facts.flatMap(({ says, found, holds }) => [`${holds ? "✓" : "✗ DIFFERS:"} ${says}`, `    ${found}`]);
}
