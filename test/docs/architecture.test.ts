// The map is the territory: the rooms that ARCHITECTURE.md shows are those that exist, with the imports that they may
// have, and every section of the protocol that a comment names is there to be read.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { rooms } from "../tidy/rooms.ts";
import { filesBelow, root } from "../tidy/source.ts";
import { documents } from "./markdown.ts";

const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

/** The rooms that the page's table shows, each with the rooms it may import. */
function shownRooms(text: string): Record<string, string[]> {
  const section = text.split("\n## Rooms\n")[1]?.split("\n## ")[0] ?? "";
  const rows = [...section.matchAll(/^\| `(\w+)` \|[^|]*(?:`[^`]*`[^|]*)*\| (.*) \|$/gm)];
  return Object.fromEntries(
    rows.map(([, room = "", may = ""]) => [room, [...may.matchAll(/`([^`]+)`/g)].map(([, other = ""]) => other)]),
  );
}

test("ARCHITECTURE.md shows every room there is, and what it may import", () => {
  const there = readdirSync(path.join(root, "src")).filter((folder) => filesBelow(`src/${folder}`, /\.ts$/).length > 0);
  const wanted = there.map((room) => [room, [...(rooms[room]?.rooms ?? [])]] as const);
  assert.deepEqual(shownRooms(read("ARCHITECTURE.md")), Object.fromEntries(wanted));
});

const sections = (text: string): string[] => [...text.matchAll(/^## (.+)$/gm)].map(([, head = ""]) => head);

/** The sections of the protocol that comments name, such as `protocol.md, "The gate", 3`. */
function namedSections(text: string): string[] {
  const joined = text.replaceAll(/\n\s*(?:\/\/|\*) ?/g, " ");
  return [...joined.matchAll(/protocol\.md(?:'s |, )((?:"[^"\n]+"(?:, )?)+)/g)].flatMap(([, names = ""]) =>
    [...names.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name),
  );
}

test("every section of the protocol that the source names is in docs/protocol.md", () => {
  const known = sections(read("docs/protocol.md"));
  const files = filesBelow("src", /\.ts$/);
  const named = files.flatMap((file) => namedSections(read(file)).map((name) => ({ file, name })));
  assert.ok(named.length > 10, "no section is named at all");
  assert.deepEqual(
    named.filter(({ name }) => !known.includes(name)),
    [],
  );
});

test("every document that the source names is one of this house", () => {
  const known = new Set(documents().map(({ file }) => path.basename(file)));
  const named = filesBelow("src", /\.ts$/).flatMap((file) =>
    [...read(file).matchAll(/[\w-]+\.md\b/g)].map(([name]) => ({ file, name })),
  );
  assert.deepEqual(
    named.filter(({ name }) => !known.has(name)),
    [],
  );
});

test("a section that a comment names over a line's end is seen", () => {
  assert.deepEqual(namedSections('/** x (protocol.md, "Quiet, seal,\n * swap", "The gate", 3). */'), [
    "Quiet, seal, swap",
    "The gate",
  ]);
});
