// One request on its way to its route: who asks, and everything that a route answers from.

import * as z from "zod";
import type { Scope } from "#core/scopes.ts";
import { idSchema } from "#wire/names.ts";
import type { Desk } from "../dispatcher/desk.ts";
import type { Queue } from "../queue.ts";
import { parsed } from "#wire/parse.ts";

/** What the API answers from. */
export interface Front {
  readonly desk: Desk;
  readonly queue: Queue;
  /** Whether the bot was asked to end. */
  readonly isEnding: () => boolean;
  /** Fires when streams end: the bot has left what it had. */
  readonly over: AbortSignal;
}

export interface Asked {
  readonly front: Front;
  readonly scope: Scope;
  readonly request: Request;
  /** The run that the path names, or the empty string. */
  readonly id: string;
  /** The JSON body of a POST or the query of a GET, not yet parsed. */
  readonly given: unknown;
}

const pathSchema = z.object({ id: idSchema });

/** The id of the run that the path names; raises what is no id, naming that part of the path. */
export const runIdIn = ({ id }: Pick<Asked, "id">): string => parsed(pathSchema, { id }).id;

export type Handler = (asked: Asked) => Promise<Response>;
