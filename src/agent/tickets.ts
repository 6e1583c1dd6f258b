// What a resident has let through and taken back. Its tickets are numbered in order, so one number a thread says which of
// them count no more. It lives as long as this boot: the next one has an address of its own, and no older ticket names it.

import { AgentError } from "./errors.ts";

/** The fences of all threads, by their slugs. */
export class Tickets {
  readonly #fences = new Map<string, number>();

  /** Takes back everything up to this number; answers the number that stands, which never moves back. */
  takeBack(slug: string, number: number): number {
    const fence = Math.max(number, this.#fences.get(slug) ?? 0);
    this.#fences.set(slug, fence);
    return fence;
  }

  /** Refuses with TAKEN_BACK what was allowed before the fence; what names no number is not judged. */
  judge(slug: string, number: number | undefined): void {
    const fence = this.#fences.get(slug);
    if (number === undefined || fence === undefined || number > fence) return;
    throw new AgentError("TAKEN_BACK", `ticket ${number} of ${slug}: everything up to ${fence} is taken back`);
  }
}
