// A rule of the house is data: what it looks at, what it finds, and the snippets that prove that it can fail.

import assert from "node:assert/strict";
import { test } from "node:test";
import { houseSources, lineOf, parseSource, type Source } from "./source.ts";

/** One place that breaks a rule, and what to do about it. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly what: string;
}

/** A made-up house for a rule to judge: file contents by path. */
export type Sample = Readonly<Record<string, string>>;

/** One rule. It sees every source, because some rules are about how files hang together. */
export interface Rule {
  readonly name: string;
  readonly check: (sources: readonly Source[]) => Finding[];
  /** Samples that must be reported, each with a part of the words of every finding, in order. */
  readonly bad: readonly { readonly files: Sample; readonly says: readonly string[] }[];
  /** Samples that must pass. */
  readonly good: readonly Sample[];
}

let house: readonly Source[] | undefined;

function houseOnce(): readonly Source[] {
  house ??= houseSources();
  return house;
}

/** A rule that looks at one file at a time. `report` takes an offset in the file. */
export function perFile(look: (source: Source, report: (offset: number, what: string) => void) => void): Rule["check"] {
  return (sources) =>
    sources.flatMap((source) => {
      const found: Finding[] = [];
      look(source, (offset, what) => found.push({ path: source.path, line: lineOf(source, offset), what }));
      return found;
    });
}

function judge(rule: Rule, files: Sample): Finding[] {
  return rule.check(Object.entries(files).map(([file, text]) => parseSource(file, text)));
}

function show(findings: readonly Finding[]): string {
  return findings.map((one) => `  ${one.path}:${one.line}  ${one.what}`).join("\n");
}

/** Registers the three tests of a rule: it reports what is bad, passes what is good, and finds nothing in the house. */
export function holdRule(rule: Rule): void {
  test(`${rule.name}: reports what is bad`, () => {
    assert.notEqual(rule.bad.length, 0, "a rule without a bad sample is never seen to fail");
    for (const { files, says } of rule.bad) {
      const found = judge(rule, files);
      const about = `${JSON.stringify(files)} gave\n${show(found) || "  nothing"}`;
      assert.equal(found.length, says.length, about);
      for (const [index, words] of says.entries())
        assert.ok(found[index]?.what.includes(words), `no "${words}" in: ${about}`);
    }
  });
  test(`${rule.name}: passes what is good`, () => {
    for (const files of rule.good) assert.equal(show(judge(rule, files)), "");
  });
  test(`${rule.name}: holds in this house`, () => {
    const found = rule.check(houseOnce());
    if (found.length > 0) assert.fail(`${found.length} places break this rule:\n${show(found)}`);
  });
}
