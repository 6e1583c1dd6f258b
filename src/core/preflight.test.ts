// The deploy fails closed: what it cannot read refuses it, another deploy refuses it, and only a quiet fleet is clear.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  APP,
  at,
  drainOf,
  personsDrain,
  reconcilingDrain,
  reopeningDrain,
  T0,
  WEB,
} from "../../test/unit/coreSamples.ts";
import { decidePreflight, outlasting, PROTOCOL, type FleetView, type InFlight, type Preflight } from "./preflight.ts";

const run: InFlight = {
  resource: APP,
  runId: "run-a",
  threadKey: "web:T1",
  state: "running",
  leaseUntil: at(30),
  suspect: false,
};
const viewOf = (more: Partial<FleetView> = {}): FleetView => ({
  protocol: PROTOCOL,
  now: T0,
  drains: [],
  unreadableDrains: 0,
  runs: [],
  attaching: 0,
  quietBy: null,
  unreadable: [],
  botInFlight: 0,
  ...more,
});
const other = drainOf({ id: "drain-b" });

const table: readonly (readonly [says: string, view: Partial<FleetView>, judged: Preflight])[] = [
  ["a quiet fleet is clear", {}, { kind: "clear" }],
  ["its own drain is no other deploy", { drains: [drainOf()] }, { kind: "clear" }],
  ["a person's drain hinders no deploy", { drains: [personsDrain()] }, { kind: "clear" }],
  [
    "a deploy that only holds residents hinders no other",
    { drains: [reopeningDrain({ id: "drain-b" })] },
    { kind: "clear" },
  ],
  [
    "a deploy that reconciles is another deploy",
    { drains: [reconcilingDrain({ id: "drain-b" })] },
    { kind: "deployInProgress", drain: reconcilingDrain({ id: "drain-b" }) },
  ],
  ["a run in flight is waited for", { runs: [run] }, { kind: "busy", runs: [run], attaching: 0, botInFlight: 0 }],
  ["an attach on its way in is waited for", { attaching: 1 }, { kind: "busy", runs: [], attaching: 1, botInFlight: 0 }],
  [
    "what the bot has in hand is waited for before it is registered",
    { botInFlight: 2 },
    { kind: "busy", runs: [], attaching: 0, botInFlight: 2 },
  ],
  ["a bot that cannot be read refuses it, named", { unreadable: ["bot"] }, { kind: "unreadable", what: ["bot"] }],
  [
    "another deploy refuses it, runs or not",
    { drains: [other], runs: [run] },
    { kind: "deployInProgress", drain: other },
  ],
  [
    "a drain that cannot be read refuses it",
    { unreadableDrains: 2, runs: [run] },
    { kind: "unreadable", what: ["2 drain records"] },
  ],
  [
    "a resident that cannot be read refuses it, named",
    { unreadable: [WEB], runs: [run] },
    { kind: "unreadable", what: [WEB] },
  ],
  ["a fleet one protocol ahead is read", { protocol: PROTOCOL + 1 }, { kind: "clear" }],
  ["a fleet two protocols ahead is not", { protocol: PROTOCOL + 2 }, { kind: "protocolApart", theirs: PROTOCOL + 2 }],
  [
    "a fleet two protocols behind is not, whoever else deploys",
    { protocol: PROTOCOL - 2, drains: [other] },
    { kind: "protocolApart", theirs: PROTOCOL - 2 },
  ],
];
for (const [says, view, judged] of table)
  test(`preflight: ${says}`, () => assert.deepEqual(decidePreflight(viewOf(view), "drain-a"), judged));

test("the runs that a wait runs out on are those whose lease reaches its end", () => {
  const ends = [at(59), at(60), at(61)].map((leaseUntil) => ({ ...run, leaseUntil }));
  assert.deepEqual(outlasting(ends, at(60)), ends.slice(1));
});
