// Small numbers for big values: a state of the search is a tuple of them, so that comparing two states compares
// integers and a step that was computed once for a part of a state is never computed again.

/** Values by their canonical text; equal values have one number. */
export class Pool<T> {
  readonly values: T[] = [];
  readonly #numbers = new Map<string, number>();

  /** The number of a value that is already canonical: equal values must have equal JSON. */
  number(value: T): number {
    const text = JSON.stringify(value);
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.values.push(value);
    this.#numbers.set(text, this.values.length - 1);
    return this.values.length - 1;
  }

  /** The value of a number that `number` gave out. */
  at(number: number): T {
    const value = this.values[number];
    if (value === undefined && number >= this.values.length) throw new RangeError(`no value ${number}`);
    return value as T;
  }
}

/** Texts by number; the text of a step is looked up each time that the step is taken. */
export class Labels {
  readonly texts: string[] = [];
  readonly #numbers = new Map<string, number>();

  number(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.texts.push(text);
    this.#numbers.set(text, this.texts.length - 1);
    return this.texts.length - 1;
  }

  at(number: number): string {
    return this.texts[number] ?? "";
  }
}

/** Results of pure steps by a key that names everything they depend on. */
export class Memo<T> {
  readonly #known = new Map<string, T>();

  get(key: string, compute: () => T): T {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = compute();
    this.#known.set(key, made);
    return made;
  }
}

const EMPTY = -1;
const FIRST_SLOTS = 1 << 16;

/** The set of states seen, each a tuple of `width` integers with its predecessor and the step that led to it. */
export class StateTable {
  readonly width: number;
  count = 0;
  #tuples: Int32Array;
  #parents = new Int32Array(FIRST_SLOTS);
  #steps = new Int32Array(FIRST_SLOTS);
  #slots = new Int32Array(FIRST_SLOTS * 2).fill(EMPTY);

  constructor(width: number) {
    this.width = width;
    this.#tuples = new Int32Array(FIRST_SLOTS * width);
  }

  #hash(tuple: ArrayLike<number>, offset: number): number {
    let hash = 0x811c9dc5;
    for (let i = 0; i < this.width; i += 1) {
      hash = Math.imul(hash ^ (tuple[offset + i] as number), 0x01000193);
      hash ^= hash >>> 15;
    }
    return hash >>> 0;
  }

  #same(tuple: ArrayLike<number>, index: number): boolean {
    const start = index * this.width;
    for (let i = 0; i < this.width; i += 1) if (this.#tuples[start + i] !== tuple[i]) return false;
    return true;
  }

  /** Adds a tuple; false when it was there. */
  add(tuple: readonly number[], parent: number, step: number): boolean {
    const mask = this.#slots.length - 1;
    let slot = this.#hash(tuple, 0) & mask;
    for (let index = this.#slots[slot] as number; index !== EMPTY; index = this.#slots[slot] as number) {
      if (this.#same(tuple, index)) return false;
      slot = (slot + 1) & mask;
    }
    this.#grow();
    this.#tuples.set(tuple, this.count * this.width);
    this.#parents[this.count] = parent;
    this.#steps[this.count] = step;
    this.#place(this.count);
    this.count += 1;
    return true;
  }

  #place(index: number): void {
    const mask = this.#slots.length - 1;
    let slot = this.#hash(this.#tuples, index * this.width) & mask;
    while (this.#slots[slot] !== EMPTY) slot = (slot + 1) & mask;
    this.#slots[slot] = index;
  }

  #grow(): void {
    if (this.count < this.#parents.length) return;
    const size = this.#parents.length * 2;
    const grown = (old: Int32Array, length: number): Int32Array<ArrayBuffer> => {
      const next = new Int32Array(length);
      next.set(old);
      return next;
    };
    this.#tuples = grown(this.#tuples, size * this.width);
    this.#parents = grown(this.#parents, size);
    this.#steps = grown(this.#steps, size);
    this.#slots = new Int32Array(size * 2).fill(EMPTY);
    for (let index = 0; index < this.count; index += 1) this.#place(index);
  }

  /** Copies the tuple of a state into `into`. */
  read(index: number, into: number[]): void {
    for (let i = 0; i < this.width; i += 1) into[i] = this.#tuples[index * this.width + i] as number;
  }

  /** The steps that led to a state, first to last. */
  path(index: number): number[] {
    const steps: number[] = [];
    for (let at = index; at > 0; at = this.#parents[at] as number) steps.push(this.#steps[at] as number);
    return steps.reverse();
  }

  /** Bytes of the table itself. */
  get bytes(): number {
    return 4 * (this.#tuples.length + this.#parents.length + this.#steps.length + this.#slots.length);
  }
}
