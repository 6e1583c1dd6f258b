// What the agent is told by its environment, read once at the start and parsed; nothing else of it is kept.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { clockSettingSchema, type ClockSetting } from "#wire/host.ts";

const variables = z.object({
  TIDEGATE_DATA: z.string().startsWith("/"),
  TIDEGATE_IMAGE: z.string().startsWith("/"),
  TIDEGATE_AGENT_TOKEN_FILE: z.string().startsWith("/"),
  TIDEGATE_PORT_FILE: z.string().startsWith("/"),
  /** JSON; without it the agent is on real time. */
  TIDEGATE_CLOCK: z.string().optional(),
});
const imageFile = z.object({ id: z.string().min(1), env: z.record(z.string(), z.string()).default({}) });

export interface AgentConfig {
  readonly data: string;
  readonly portFile: string;
  readonly token: string;
  readonly image: { readonly id: string; readonly bin: string; readonly env: Readonly<Record<string, string>> };
  readonly clock: ClockSetting | undefined;
}

/** Reads the environment and the files it names; throws, naming the variable, when the agent cannot start on them. */
export async function readConfig(env: Readonly<Record<string, string | undefined>>): Promise<AgentConfig> {
  const read = variables.safeParse(env);
  if (!read.success) throw new Error(`the environment: ${z.prettifyError(read.error)}`);
  const named = read.data;
  const token = (await readFile(named.TIDEGATE_AGENT_TOKEN_FILE, "utf8")).trim();
  if (token.length < 16) throw new Error("TIDEGATE_AGENT_TOKEN_FILE: a token has at least 16 characters");
  const image = imageFile.parse(JSON.parse(await readFile(join(named.TIDEGATE_IMAGE, "image.json"), "utf8")));
  return {
    data: named.TIDEGATE_DATA,
    portFile: named.TIDEGATE_PORT_FILE,
    token,
    image: { id: image.id, bin: join(named.TIDEGATE_IMAGE, "bin"), env: image.env },
    clock: named.TIDEGATE_CLOCK === undefined ? undefined : clockSettingSchema.parse(JSON.parse(named.TIDEGATE_CLOCK)),
  };
}
