// Where a command finds the stack's bot: this folder's own, or the one of the file, looked up at each request; where there is
// none, what is missing is said.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import { Failure } from "#node/failure.ts";
import { identityOf } from "#node/processes.ts";
import { pathsOf } from "#node/stateFolder.ts";
import type { SupervisorFile } from "#wire/host.ts";
import { accessOf, type FleetAccess } from "./access.ts";
import { BotForTests, runOf } from "./botForTests.ts";
import { CliError } from "./exit.ts";

const folders: string[] = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** A folder with this tidegate.jsonc, and a supervisor that says where its bot is; `alive` or the one of an ended process. */
function folderWith(config: object, supervisor: { botUrl: string | null; alive: boolean } | null): string {
  const home = mkdtempSync(join(tmpdir(), "tidegate-access-"));
  folders.push(home);
  const paths = pathsOf(home);
  writeFileSync(paths.config, JSON.stringify(config));
  mkdirSync(dirname(paths.supervisor), { recursive: true });
  writeFileSync(paths.tokens, JSON.stringify({ admin: "a", operator: "o", read: "r", drain: "d" }));
  if (supervisor !== null) writeSupervisor(home, supervisor);
  return home;
}

function writeSupervisor(home: string, { botUrl, alive }: { botUrl: string | null; alive: boolean }): void {
  const mine = identityOf(process.pid);
  if (mine === undefined) throw new Error("this process is alive");
  const id = alive ? mine : { ...mine, startTicks: mine.startTicks + 1 };
  const urls = { url: "http://127.0.0.1:1", hostUrl: "http://127.0.0.1:2", ledgerUrl: null, botUrl };
  const nobody = { parent: null, workerd: null, since: 0, controlToken: "c" };
  const file: SupervisorFile = { protocol: 1, supervisor: id, ready: true, ...urls, ...nobody };
  writeFileSync(pathsOf(home).supervisor, JSON.stringify(file));
}

const accessIn = (home: string): FleetAccess =>
  accessOf({ cwd: home, env: { TIDEGATE_HOME: home }, packageRoot: home, real: clockOf(REAL_TIME) });

test("the bot is where this folder's supervisor says, also after it has moved", async () => {
  const bot = await BotForTests.start();
  try {
    bot.add(runOf("r-0000000000000000000a"));
    const home = folderWith({}, { botUrl: "http://127.0.0.1:3", alive: true });
    const { bot: access } = accessIn(home);
    assert.equal(access.url(), "http://127.0.0.1:3");
    writeSupervisor(home, { botUrl: `${bot.url}/`, alive: true });
    assert.equal((await access.client.runs()).live.length, 1);
    assert.equal(access.isKept(), true);
  } finally {
    await bot.stop();
  }
});

test("tidegate.jsonc names another bot; beside a fleet elsewhere this folder's is none", () => {
  const own = { botUrl: "http://127.0.0.1:3", alive: true };
  const named = accessIn(folderWith({ botUrl: "http://bot.example:8791/" }, own)).bot;
  assert.deepEqual([named.url(), named.isKept()], ["http://bot.example:8791", true]);
  const elsewhere = accessIn(folderWith({ fleetUrl: "http://fleet.example" }, own)).bot;
  assert.equal(elsewhere.url(), null);
  const both = accessIn(folderWith({ fleetUrl: "http://fleet.example", botUrl: "http://bot.example" }, null)).bot;
  assert.equal(both.url(), "http://bot.example");
});

test("where there is none it is said what is missing: the stack, its bot, or the bot's address", async () => {
  const met = async (home: string): Promise<unknown> =>
    accessIn(home)
      .bot.client.runs()
      .then(
        () => null,
        (error: unknown) => error,
      );
  const nobody = await met(folderWith({}, null));
  assert.ok(nobody instanceof Failure && nobody.code === "NOT_UP", String(nobody));
  const old = await met(folderWith({}, { botUrl: null, alive: true }));
  assert.ok(old instanceof CliError && old.next.endsWith(": npx tidegate down; npm start"), String(old));
  const elsewhere = await met(folderWith({ fleetUrl: "http://fleet.example" }, null));
  assert.ok(elsewhere instanceof CliError && /"botUrl" in tidegate.jsonc/.test(elsewhere.next), String(elsewhere));
});

test("a bot whose supervisor has ended is looked for where it was, and brought back by nobody", () => {
  const { bot } = accessIn(folderWith({}, { botUrl: "http://127.0.0.1:3", alive: false }));
  assert.deepEqual([bot.url(), bot.isKept()], ["http://127.0.0.1:3", false]);
});
