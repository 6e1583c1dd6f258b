// A run's process is told which run it is, and carries marks that no caller can give it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { runEnvironment, type Surroundings } from "./environment.ts";

const around: Surroundings = { own: {}, imageBin: "/image/bin", imageEnv: { FROM_IMAGE: "yes" }, containerMark: "c" };
const process = { slug: "t", id: "p-r-1-1", thread: "cli:t" };

test("TIDEGATE_RUN is the run that whoever starts the process names, and else the process itself", () => {
  assert.equal(runEnvironment(around, process, { TIDEGATE_RUN: "r-1" })["TIDEGATE_RUN"], "r-1");
  assert.equal(runEnvironment(around, process)["TIDEGATE_RUN"], "p-r-1-1");
});

test("the marks and the thread are the agent's own, whatever a caller gives", () => {
  const given = { TIDEGATE_MARK: "mine", TIDEGATE_THREAD: "another", MINE: "1" };
  const { TIDEGATE_MARK, TIDEGATE_THREAD, MINE, FROM_IMAGE } = runEnvironment(around, process, given);
  assert.deepEqual([TIDEGATE_MARK, TIDEGATE_THREAD, MINE, FROM_IMAGE], ["c:t:p-r-1-1", "cli:t", "1", "yes"]);
});
