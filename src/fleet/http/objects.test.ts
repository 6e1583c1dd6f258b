// What an object throws, as its caller is told it: a part that is broken or busy can be asked again, a defect cannot.

import assert from "node:assert/strict";
import { test } from "node:test";
import { problemIn } from "#wire/errors.ts";
import type { Env } from "../root.ts";
import { askRegistry } from "./objects.ts";

const ENV = { REGISTRY: { idFromName: () => "", get: () => ({}) } } as unknown as Env;

const told = async (thrown: Error): Promise<string | undefined> => {
  const error: unknown = await askRegistry(ENV, () => Promise.reject(thrown)).catch((met: unknown) => met);
  return error === thrown ? undefined : problemIn(error)?.code;
};

const table: readonly (readonly [says: string, thrown: Error, code: string | undefined])[] = [
  ["an object that does not start cannot be read", new Error("file is not a database: SQLITE_NOTADB"), "UNREADABLE"],
  ["nor one that was never onboarded", new Error("this resident was never onboarded"), "UNREADABLE"],
  ["one that was reset is asked again", Object.assign(new Error("reset"), { retryable: true }), "ROLLING"],
  ["also where its error has a type", Object.assign(new TypeError("reset"), { retryable: true }), "ROLLING"],
  ["one that has too much to do too", Object.assign(new RangeError("queue"), { overloaded: true }), "UNREADABLE"],
  ["a defect of its code is none of these", new TypeError("Cannot read properties of undefined"), undefined],
  ["nor is another one", new ReferenceError("x is not defined"), undefined],
  ["nor an endless call", new RangeError("Maximum call stack size exceeded"), undefined],
];
for (const [says, thrown, code] of table)
  test(`an error of an object: ${says}`, async () => assert.equal(await told(thrown), code));
