// Who is up in a state folder: a file that cannot be read is never taken for nobody.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Failure } from "#node/failure.ts";
import { identityOf } from "#node/processes.ts";
import { pathsOf } from "#node/stateFolder.ts";
import { liveSupervisor, lookAtSupervisor, readSupervisorFile } from "#node/supervisorFile.ts";

test("it is up, gone or missing by its process, and unreadable by its file", (context) => {
  const home = mkdtempSync(join(tmpdir(), "tidegate-supervisor-"));
  context.after(() => rmSync(home, { recursive: true }));
  const paths = pathsOf(home);
  assert.deepEqual(lookAtSupervisor(paths), { kind: "none" }, "there is no file");
  mkdirSync(paths.state);
  const supervisor = identityOf(process.pid);
  assert.ok(supervisor);
  const urls = { url: "http://fleet", hostUrl: "http://host", controlToken: "t" };
  const file = { protocol: 1, supervisor, parent: null, since: 1, ...urls, workerd: null, ready: true };
  writeFileSync(paths.supervisor, JSON.stringify(file));
  assert.equal(liveSupervisor(paths)?.url, "http://fleet");
  writeFileSync(paths.supervisor, JSON.stringify({ ...file, supervisor: { ...supervisor, startTicks: 1 } }));
  assert.deepEqual([liveSupervisor(paths), readSupervisorFile(paths)?.url], [undefined, "http://fleet"]);
  for (const spoiled of [JSON.stringify(file).slice(0, 40), "{}"]) {
    writeFileSync(paths.supervisor, spoiled);
    assert.equal(lookAtSupervisor(paths).kind, "unreadable");
    assert.throws(
      () => liveSupervisor(paths),
      (error) => error instanceof Failure && error.code === "STATE_HALF_WRITTEN" && /npm start/.test(error.next),
    );
    assert.equal(readSupervisorFile(paths), undefined);
  }
});
