// The words of a wait are one file's: two places that say the same drift apart, and a person reads two waits for one.

import { perFile, type Rule } from "../rule.ts";

const HOME = "src/core/waitWords.ts";
const WORDS = /waiting for the |after waiting /g;

/** No file of the product writes the words of a wait but the one whose they are. */
export const waitsAreWordedOnce: Rule = {
  name: "a wait is worded in one place",
  check: perFile(({ path, text }, report) => {
    if (!path.startsWith("src/") || path.endsWith(".test.ts") || path === HOME) return;
    for (const { index } of text.matchAll(WORDS)) report(index, `words of a wait: ${HOME} says them`);
  }),
  bad: [
    { files: { "src/bot/a.ts": 'const says = "waiting for the deploy";' }, says: ["words of a wait"] },
    {
      files: { "src/cli/a.ts": "const says = `after waiting ${n}s`; // waiting for the run" },
      says: ["words", "words"],
    },
  ],
  good: [
    {
      [HOME]: 'const says = "waiting for the deploy";',
      "src/bot/a.test.ts": 'const says = "waiting for the deploy";',
      "src/bot/b.ts": "// Waits for the deploy, without waiting for its end.",
      "test/embedded/a.ts": 'const says = "after waiting 4s";',
    },
  ],
};
