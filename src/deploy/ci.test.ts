// In a GitHub job: nothing in a text can end a workflow command, the drain's id is an output at once, the summary is kept.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  GITHUB_GROUP_END,
  githubGroup,
  githubLine,
  isGithub,
  writeGithubOutputs,
  writeGithubSummary,
} from "#deploy/ci.ts";
import { rehearse } from "#deploy/deployForTests.ts";
import { DRAIN_ID } from "#deploy/recordsForTests.ts";

test("a line is a command of its level, and an ordinary line stays one", () => {
  assert.equal(githubLine({ level: "info", text: "waited 7m of 60m" }), "waited 7m of 60m");
  assert.equal(githubLine({ level: "error", text: "100%\n::warning::x\r" }), "::error::100%25%0A::warning::x%0D");
  assert.equal(githubLine({ level: "notice", text: "fleet reopened" }), "::notice::fleet reopened");
  assert.equal(githubGroup("a\nb"), "::group::a%0Ab");
  assert.equal(GITHUB_GROUP_END, "::endgroup::");
  assert.deepEqual([isGithub({ GITHUB_ACTIONS: "true" }), isGithub({})], [true, false]);
});

test("outputs and summary go to the job's files, and a job without them loses nothing else", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-ci-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const env = { GITHUB_OUTPUT: join(folder, "output"), GITHUB_STEP_SUMMARY: join(folder, "summary") };
  const { receipt } = await rehearse(context);
  writeGithubOutputs(env, receipt);
  writeGithubSummary(env, receipt, "text with ```` in it");
  assert.match(
    readFileSync(env.GITHUB_OUTPUT, "utf8"),
    new RegExp(`^drain-id=${DRAIN_ID}\nresult=deployed\noutcome=landed\nkilled=0\ngeneration=2\n$`),
  );
  assert.match(readFileSync(env.GITHUB_STEP_SUMMARY, "utf8"), /^### deploy 7b02d9e: deployed\n\n`````text\n/);
  writeGithubOutputs({ GITHUB_OUTPUT: join(folder, "none", "output") }, receipt);
  writeGithubSummary({}, receipt, "");
});
