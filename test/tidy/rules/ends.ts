// Whether an end has passed is decided in core/, by one reader: a second comparison elsewhere is a second meaning of `until`.

import { perFile, type Rule } from "../rule.ts";
import { isTest, lastName, roomOf, walk } from "../source.ts";

const ends = new Set(["until", "phaseUntil", "holdsUntil", "leaseUntil"]);
const comparisons = new Set(["<", ">", "<=", ">="]);

/** No comparison of an end outside core/. */
export const endsAreReadInCore: Rule = {
  name: "ends are compared in core/ only",
  check: perFile((source, report) => {
    const room = roomOf(source.path);
    if (room === undefined || room === "core" || isTest(source.path)) return;
    walk(source.program, (node) => {
      if (node.type !== "BinaryExpression" || !comparisons.has(node.operator)) return;
      const end = [node.left, node.right]
        .map((one) => lastName(one))
        .find((name) => name !== undefined && ends.has(name));
      if (end !== undefined) report(node.start, `compares ${end}: ask a function of core/ instead`);
    });
  }),
  bad: [
    { files: { "src/fleet/a.ts": "if (drain.until > now) open();" }, says: ["compares until"] },
    { files: { "src/fleet/a.ts": "const over = now >= row.leaseUntil;" }, says: ["compares leaseUntil"] },
    { files: { "src/fleet/a.ts": "while (now < drain?.phaseUntil) {}" }, says: ["compares phaseUntil"] },
    { files: { "src/fleet/a.ts": "const { until } = drain; if (now <= until!) {}" }, says: ["compares until"] },
  ],
  good: [
    {
      "src/core/a.ts": "const live = now < drain.until;",
      "src/fleet/a.ts": "if (drain.until === other.until) {} if (now < due) {}",
    },
  ],
};
