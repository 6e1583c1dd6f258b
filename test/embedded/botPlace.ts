// A place in a bot's work, between it and what it stands on, as its test writes it down for it.

import * as z from "zod";

/** The file in the home folder that holds the next place, and what it is called once a bot has come by. */
export const PLACE_FILE = "place.json";
export const TAKEN_FILE = "place.taken";

/** Before a request of this path leaves the bot, or as its answer begins: there it dies, or stands still. */
export const placeSchema = z.object({
  when: z.enum(["before", "after"]),
  path: z.string(),
  does: z.enum(["kill", "hold"]),
});
export type Place = z.infer<typeof placeSchema>;
