// What one bench leaves: its command, its seed, the machine and every raw sample. Nothing in it is computed from another
// part of it, so that no table can disagree with the samples it stands on.

import * as z from "zod";

/** Moves when an older file can no longer be read. */
const FORMAT = 1;

const samples = z.array(z.number().int());
const blockSchema = z.object({ a: samples, b: samples, again: samples });

export const PART_IDS = ["M1", "M4", "M8"] as const;
export type PartId = (typeof PART_IDS)[number];

const partSchema = z.object({
  id: z.enum(PART_IDS),
  /** Whole microseconds by block and arm; the warm-up is not in it. */
  blocks: z.array(blockSchema),
  /** Whole microseconds from the reopening to the first start, one a trial with 1,000 waiting. */
  firstStarts: samples.default([]),
  tookMs: z.number().int(),
});
/** What one part measured. */
export type PartResult = z.infer<typeof partSchema>;

export const resultsSchema = z.object({
  format: z.literal(FORMAT),
  takenAt: z.string(),
  command: z.string(),
  commit: z.string(),
  full: z.boolean(),
  /** Fixes the resampling of the intervals. */
  seed: z.number().int(),
  machine: z.object({
    platform: z.string(),
    cpu: z.string(),
    cores: z.number().int(),
    memoryGb: z.number(),
    node: z.string(),
    workerd: z.string(),
    /** The load average of a minute, before and after. */
    loadBefore: z.number(),
    loadAfter: z.number(),
  }),
  parts: z.array(partSchema),
});
/** One bench, whole. */
export type Results = z.infer<typeof resultsSchema>;

/** Reads a kept bench; throws when it is none. */
export function parseResults(text: string): Results {
  return resultsSchema.parse(JSON.parse(text));
}

/** A bench as it is kept: one line a block, so that a change can be read. */
export function textOfResults(results: Results): string {
  const { parts, ...head } = results;
  const lines = parts.map(({ blocks, ...part }) => {
    const rows = blocks.map((block) => `    ${JSON.stringify(block)}`).join(",\n");
    return `  ${JSON.stringify(part).slice(0, -1)},"blocks":[\n${rows}\n  ]}`;
  });
  const text = JSON.stringify(head, null, 2).replace(/\n\}$/, "");
  return `${text},\n  "parts": [\n${lines.join(",\n")}\n  ]\n}\n`;
}

/** A bench that has measured these parts. */
export function newResults(of: Omit<Results, "format">): Results {
  return resultsSchema.parse({ format: FORMAT, ...of });
}
