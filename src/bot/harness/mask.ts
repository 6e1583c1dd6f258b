// Values that must not be shown are hidden behind as many asterisks, byte for byte, so that every offset stays where it was.
// Of a stream, what may be the beginning of a value is held back until what follows has told.

const ASTERISK = 0x2a;

/** The text with each of these hidden behind as many asterisks as it has UTF-16 units. */
export function maskText(text: string, secrets: readonly string[]): string {
  return longestFirst(secrets).reduce((left, secret) => left.replaceAll(secret, "*".repeat(secret.length)), text);
}

function longestFirst<T extends { readonly length: number }>(all: readonly T[]): T[] {
  return all.filter(({ length }) => length > 0).toSorted((a, b) => b.length - a.length);
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** Whether a value may stand at this place of the bytes; one that goes on beyond their end may. */
function fits(bytes: Uint8Array, at: number, secret: Uint8Array): boolean {
  const length = Math.min(secret.length, bytes.length - at);
  for (let n = 0; n < length; n += 1) if (bytes[at + n] !== secret[n]) return false;
  return true;
}

/** One stream on its way to where people read it. */
export class Mask {
  readonly #secrets: readonly Uint8Array[];
  #held: Uint8Array = new Uint8Array();
  /** How many of the held bytes are hidden already: a value that stood there may overlap with one that goes on. */
  #hidden = new Set<number>();

  constructor(secrets: readonly string[]) {
    const encoder = new TextEncoder();
    this.#secrets = longestFirst(secrets.map((secret) => encoder.encode(secret)));
  }

  /** How many bytes are held back. */
  get held(): number {
    return this.#held.length;
  }

  /** What can be shown once these bytes have come. */
  push(bytes: Uint8Array): Uint8Array {
    if (this.#secrets.length === 0) return bytes;
    const all = joined(this.#held, bytes);
    const hidden = this.#hidden;
    let open = all.length;
    for (let at = 0; at < all.length; at += 1) {
      for (const secret of this.#secrets) {
        if (all[at] !== secret[0] || !fits(all, at, secret)) continue;
        if (at + secret.length > all.length) open = Math.min(open, at);
        else for (let n = at; n < at + secret.length; n += 1) hidden.add(n);
      }
    }
    const shown = all.slice(0, open);
    for (const at of hidden) if (at < open) shown[at] = ASTERISK;
    this.#held = all.slice(open);
    this.#hidden = new Set([...hidden].filter((at) => at >= open).map((at) => at - open));
    return shown;
  }

  /** What was held back, once nothing follows: it was the beginning of a value and not the value. */
  end(): Uint8Array {
    const rest = this.#held;
    for (const at of this.#hidden) rest[at] = ASTERISK;
    this.#held = new Uint8Array();
    this.#hidden = new Set();
    return rest;
  }
}
