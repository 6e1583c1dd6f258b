// The variables of a run: its kind names where each value stands, and nothing else is given to it. Every value that was ever
// read is known from then on, so that it is masked wherever it might be shown.

import type { EnvSource, Kind } from "#wire/config.ts";
import { maskText } from "./mask.ts";

/** Where values stand: a variable of the bot's own environment, or a file; undefined when it is not there. */
export interface SecretPorts {
  readonly variable: (name: string) => string | undefined;
  readonly file: (path: string) => string | undefined;
  /** Values that no run is ever given, and that are masked from the beginning: our own bearers. */
  readonly own: readonly string[];
}

/** The environment that a kind asks for, or what of it is not there. */
export type Found =
  | { readonly kind: "found"; readonly env: Readonly<Record<string, string>> }
  | { readonly kind: "missing"; readonly why: string; readonly next: string };

const OWN = "what it names holds a bearer of tidegate's own, which no run is given";

/** A shorter value hides nothing, and masking it would make every output unreadable. */
const SHORTEST = 4;

/** The texts that must not be shown of a value: itself, and each line of one that has several. */
function textsOf(value: string): string[] {
  return [value, ...value.split("\n")].map((text) => text.trim()).filter((text) => text.length >= SHORTEST);
}

/** All values that runs are given. */
export class Secrets {
  readonly #ports: SecretPorts;
  readonly #known = new Set<string>();

  constructor(ports: SecretPorts) {
    this.#ports = ports;
    for (const value of ports.own) this.#know(value);
  }

  /** Everything that is masked. */
  get known(): readonly string[] {
    return [...this.#known];
  }

  /** The text with every known value hidden behind as many asterisks. */
  mask(text: string): string {
    return maskText(text, this.known);
  }

  /** Reads whatever these kinds name, so that it is masked before any run is given it; what is missing is said later. */
  learn(kinds: Readonly<Record<string, Pick<Kind, "env">>>): void {
    for (const [name, kind] of Object.entries(kinds)) this.of(name, kind);
  }

  /** The values that a kind names, read anew: a rotated secret needs no roll. */
  of(name: string, { env }: Pick<Kind, "env">): Found {
    const values: Record<string, string> = {};
    for (const [variable, source] of Object.entries(env)) {
      const value = this.#read(source);
      if (value === undefined) return { kind: "missing", ...missing(name, variable, source) };
      if (this.#isOwn(value))
        return { kind: "missing", why: `kind ${name} wants ${variable}: ${OWN}`, next: anotherFor(name, variable) };
      this.#know(value);
      values[variable] = value;
    }
    return { kind: "found", env: values };
  }

  #know(value: string): void {
    for (const text of textsOf(value)) this.#known.add(text);
  }

  #isOwn(value: string): boolean {
    return this.#ports.own.some((own) => value.includes(own));
  }

  #read(source: EnvSource): string | undefined {
    if ("from" in source) return this.#ports.variable(source.from);
    const text = this.#ports.file(source.file)?.replace(/\r?\n$/, "");
    return text?.includes("\0") === true ? undefined : text;
  }
}

const anotherFor = (kind: string, variable: string): string =>
  `name another value in "kinds.${kind}.env.${variable}" of tidegate.jsonc`;

/** What is not there, and what to do about it: a file is read anew for each run, and a process's environment is its start's. */
function missing(kind: string, variable: string, source: EnvSource): { readonly why: string; readonly next: string } {
  const wants = `kind ${kind} wants ${variable}`;
  if ("from" in source) {
    const next = `export ${source.from}=…, then start the stack anew with it: npx tidegate down; npm start`;
    return { why: `${wants}: the bot's environment has no ${source.from}`, next };
  }
  const why = `${wants}: the file ${source.file} cannot be read, or is no text`;
  return { why, next: `create the file ${source.file}, and ask again` };
}
