// What a caller asks of a resident: names of one shape, leases in bounds, and a refusal by the field's name for anything
// else, whatever JSON comes.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type * as z from "zod";
import { LEASE_BETWEEN, LIMIT } from "#core/budgets.ts";
import { MINUTE } from "#core/time.ts";
import { fileQuery, mirrorRequest, procRequest, worktreeRequest } from "./agent.ts";
import {
  attachBodySchema,
  attachLineSchema,
  detachBodySchema,
  execBodySchema,
  offboardBodySchema,
  onboardBodySchema,
  onboardLineSchema,
  opBodySchema,
  readBodySchema,
  rebuildBodySchema,
  reconfigureBodySchema,
  releaseBodySchema,
  writeBodySchema,
} from "./attach.ts";
import { parseWith } from "./parse.ts";

const attach = attachBodySchema;
const LONGEST = LEASE_BETWEEN.lessThanMs;
const run = { resource: "repo:local/app", threadKey: "web:T1", runId: "run-aaaa" };
const bodies = {
  attach: [attach, run],
  exec: [execBodySchema, { ...run, procId: "proc-aaaa" }],
  detach: [detachBodySchema, run],
  op: [opBodySchema, { ...run, op: "stop" }],
  read: [readBodySchema, { ...run, path: "README.md" }],
  write: [writeBodySchema, { ...run, path: "README.md", data: "aGk=" }],
  onboard: [onboardBodySchema, { resource: run.resource, url: "/src/app" }],
  offboard: [offboardBodySchema, { resource: run.resource }],
  reconfigure: [reconfigureBodySchema, { resource: run.resource, setup: null }],
  rebuild: [rebuildBodySchema, { resource: run.resource }],
  release: [releaseBodySchema, { runId: run.runId, reason: "stuck" }],
} as const satisfies Record<string, readonly [z.ZodType, object]>;
type Name = keyof typeof bodies;
const names = Object.keys(bodies).filter((name): name is Name => name in bodies);

/** The field that a body is refused for, or undefined where it is read. */
function refusedFor(name: Name, value: unknown): string | undefined {
  const [schema] = bodies[name];
  const read = parseWith<unknown>(schema, value);
  return read.ok ? undefined : read.error.field;
}

const keys: readonly (readonly [says: string, threadKey: unknown, is: boolean])[] = [
  ["a thread of the web is one", "web:T123", true],
  ["a thread of slack is one", "slack:C1:1700.1", true],
  ["a thread with a path and an at-sign is one", "mail:ada@example.org/inbox-1", true],
  ["a thread of the greatest length is one", "t".repeat(LIMIT.threadKeyChars), true],
  ["one character more is none", "t".repeat(LIMIT.threadKeyChars + 1), false],
  ["10 KB of a thread are none", "t".repeat(10_240), false],
  ["an empty one is none", "", false],
  ["a blank is none", "web: T1", false],
  ["a line's end is none", "web:T1\n", false],
  ["a NUL is none", "web:\u0000", false],
  ["an escape is none", "\u001b[31mred", false],
  ["letters of another script are none", "web:тред", false],
  ["a quotation mark is none", 'web:"T1"', false],
  ["one that begins with a dash is none", "-rf", false],
  ["one that begins with two dots is none", "../../etc", false],
  ["a number is none", 5, false],
];
for (const [says, threadKey, is] of keys)
  test(`thread: ${says}`, () => {
    for (const name of ["attach", "exec", "detach", "op", "read", "write"] as const)
      assert.equal(refusedFor(name, { ...bodies[name][1], threadKey }), is ? undefined : "threadKey", name);
  });

const resources: readonly (readonly [says: string, resource: unknown, is: boolean])[] = [
  ["an owner and a name are one", "repo:acme/site", true],
  ["dots and dashes inside are fine", "repo:acme.inc/site-2.0_b", true],
  ["a name without its kind is none", "acme/site", false],
  ["another kind is none", "file:acme/site", false],
  ["no owner is none", "repo:/site", false],
  ["no name is none", "repo:acme/", false],
  ["a third part is none", "repo:acme/site/x", false],
  ["a way out is none", "repo:../..", false],
  ["a part that ends in a dot is none", "repo:acme/site.", false],
  ["a blank is none", "repo:acme/my site", false],
  ["a line's end is none", "repo:acme/site\n", false],
  ["a part beyond 64 characters is none", `repo:acme/${"x".repeat(65)}`, false],
  ["10 KB are none", `repo:acme/${"x".repeat(10_240)}`, false],
  ["an object is none", {}, false],
];
for (const [says, resource, is] of resources)
  test(`resource: ${says}`, () => {
    for (const name of names.filter((one) => one !== "release"))
      assert.equal(refusedFor(name, { ...bodies[name][1], resource }), is ? undefined : "resource", name);
  });

const asks: readonly (readonly [says: string, name: Name, more: object, field: string | undefined])[] = [
  ["the longest lease that there may be is taken", "attach", { remainingMs: LONGEST }, undefined],
  ["a lease of 0 is refused", "attach", { remainingMs: 0 }, "remainingMs"],
  ["a lease beyond it is refused", "attach", { remainingMs: LONGEST + 1 }, "remainingMs"],
  ["a lease as a text is refused", "attach", { remainingMs: "45m" }, "remainingMs"],
  ["half a millisecond is refused", "attach", { remainingMs: 0.5 }, "remainingMs"],
  ["a run of 65 characters is refused", "attach", { runId: "r".repeat(65) }, "runId"],
  ["an older generation than the first is refused", "attach", { generation: -1 }, "generation"],
  ["a parent is a run's id", "attach", { parent: "../x" }, "parent"],
  ["the ledger names the run that is over", "attach", { replace: { by: "ledger" } }, "replace.runId"],
  ["nobody else can say so", "attach", { replace: { by: "somebody" } }, "replace.by"],
  ["a ref of a branch is taken", "attach", { ref: "feature/a-b" }, undefined],
  ["a ref that is an option is refused", "attach", { ref: "--upload-pack=x" }, "ref"],
  ["a ref with a blank is refused", "attach", { ref: "a b" }, "ref"],
  ["a ref that reckons is refused", "attach", { ref: "HEAD~1" }, "ref"],
  ["a ref of a range is refused", "attach", { ref: "main..dev" }, "ref"],
  ["a ref with a control character is refused", "attach", { ref: "ma\u0001in" }, "ref"],
  ["an empty ref is refused", "attach", { ref: "" }, "ref"],
  ["a process has an id", "exec", { procId: undefined }, "procId"],
  ["an empty command is refused", "exec", { command: [] }, "command"],
  ["a command without its name is refused", "exec", { command: ["", "x"] }, "command"],
  ["a command with a NUL is refused", "exec", { command: ["sh", "a\0b"] }, "command.1"],
  ["a variable with a NUL is refused", "exec", { env: { A: "a\0b" } }, "env.A"],
  ["a command is a list of texts", "exec", { command: ["sh", 5] }, "command.1"],
  ["a name of the environment is a plain one", "exec", { env: { "A B": "x" } }, "env.A B"],
  ["an offset is not negative", "exec", { out: -1 }, "out"],
  ["an operation is one that exists", "op", { op: "kill" }, "op"],
  ["a path is not empty", "read", { path: "" }, "path"],
  ["a path has no NUL", "read", { path: "a\0b" }, "path"],
  ["a path is not beyond 1,000 characters", "write", { path: "a".repeat(1_001) }, "path"],
  ["what is written is base64", "write", { data: "hi there" }, "data"],
  ["a repository that is an option is refused", "onboard", { url: "--upload-pack=x" }, "url"],
  ["a repository with a line's end is refused", "onboard", { url: "/src/app\n" }, "url"],
  ["an empty repository is refused", "onboard", { url: "" }, "url"],
  ["a setup of 10 KB is refused", "onboard", { setup: "x".repeat(10_240) }, "setup"],
  ["a rebuild that insists is taken", "rebuild", { force: true }, undefined],
  ["a rebuild that insists in words is refused", "rebuild", { force: "yes" }, "force"],
  ["a rebuild without its resident is refused", "rebuild", { resource: undefined }, "resource"],
  ["a run is ended for a reason", "release", { reason: "" }, "reason"],
  ["and for a short one", "release", { reason: "x".repeat(201) }, "reason"],
];
for (const [says, name, more, field] of asks)
  test(`body of ${name}: ${says}`, () => assert.equal(refusedFor(name, { ...bodies[name][1], ...more }), field));

test("what an attach leaves out is nobody's word and its kind's lease", () => {
  const read = parseWith(attach, { ...run, colour: "red" });
  assert.deepEqual(read.ok && read.value, {
    ...run,
    generation: 0,
    runKind: "shell",
    remainingMs: null,
    parent: null,
    replace: { by: "nobody" },
    ref: null,
  });
});

test("a rebuild that says nothing of the runs there ends none", () => {
  assert.deepEqual(rebuildBodySchema.parse({ resource: run.resource }), { resource: run.resource, force: false });
});

test("any JSON in any body is read or refused by a field, and never throws", () => {
  const value = fc.oneof(fc.jsonValue(), fc.string(), fc.constant("x".repeat(10_240)), fc.double());
  const more = fc.dictionary(fc.constantFrom(...Object.keys({ ...run, ref: 0, env: 0, command: 0, path: 0 })), value);
  fc.assert(
    fc.property(fc.constantFrom(...names), more, fc.oneof(fc.constant(null), fc.anything()), (name, changed, other) => {
      for (const whole of [{ ...bodies[name][1], ...changed }, other]) {
        const field = refusedFor(name, whole);
        assert.ok(field === undefined || field.length > 0);
      }
    }),
    { numRuns: 300 },
  );
});

test("whatever resource and thread are read, they are short and of plain characters", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[\w:@/. -]{0,220}$/));
  fc.assert(
    fc.property(text, text, (part, threadKey) => {
      const read = parseWith(attach, { ...run, resource: `repo:${part}`, threadKey });
      if (!read.ok) return;
      assert.match(read.value.resource, /^repo:[\w.-]+\/[\w.-]+$/);
      assert.match(read.value.threadKey, /^[\w.:@/-]{1,200}$/);
    }),
    { numRuns: 500 },
  );
});

test("what is read here is what the agent reads, so that bad input is never the container's failure", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.string(), fc.stringMatching(/^[a-z./@{}-]{0,9}$/));
  const texts = fc.record({ threadKey: text, ref: text, url: text, setup: text, path: text });
  const argv = fc.record({ command: fc.array(text, { maxLength: 3 }), env: fc.dictionary(text, text) });
  const reads = (schema: z.ZodType, value: unknown): boolean => parseWith(schema, value).ok;
  fc.assert(
    fc.property(texts, argv, ({ threadKey, ref, url, setup, path }, { command, env }) => {
      const { procId: id } = bodies.exec[1];
      if (reads(attach, { ...run, threadKey, ref })) assert.ok(reads(worktreeRequest, { thread: threadKey, ref }));
      if (reads(onboardBodySchema, { ...bodies.onboard[1], url, setup }))
        assert.ok(reads(mirrorRequest, { url, setup }));
      if (reads(readBodySchema, { ...run, path })) assert.ok(reads(fileQuery, { thread: run.threadKey, path }));
      if (reads(execBodySchema, { ...bodies.exec[1], command, env }))
        assert.ok(reads(procRequest, { id, thread: run.threadKey, command, env }));
    }),
    { numRuns: 1_000 },
  );
});

test("a lease is read only in bounds", () => {
  fc.assert(
    fc.property(fc.oneof(fc.integer(), fc.double(), fc.integer({ min: -5, max: 60 * MINUTE })), (remainingMs) => {
      const is = Number.isInteger(remainingMs) && remainingMs > 0 && remainingMs <= LONGEST;
      assert.equal(parseWith(attach, { ...run, remainingMs }).ok, is);
    }),
  );
});

test("a line of a kind that nobody knows is none, and each known kind is read", () => {
  const problem = { code: "ROLLING", status: 503, title: "t", detail: "d", next: "n", agentCode: "STOPPING" };
  for (const line of [{ type: "progress", line: "cloning" }, { type: "beat" }, { type: "error", problem }]) {
    assert.deepEqual(attachLineSchema.parse(line), line);
    assert.deepEqual(onboardLineSchema.parse(line), line);
  }
  assert.ok(!attachLineSchema.safeParse({ type: "song" }).success);
  const resident = { type: "resident", resource: run.resource, ref: "main", commit: "7b02d9e" };
  assert.deepEqual(onboardLineSchema.parse(resident), resident);
});
