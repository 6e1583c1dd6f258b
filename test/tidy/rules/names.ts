// A file is named for the one thing it holds. A name that would fit anything holds anything.

import { perFile, type Rule } from "../rule.ts";

const vague = /^(index|utils?|helpers?|commons?|types?|misc|shared|stuff|lib)$/i;
const camelCase = /^[a-z][a-zA-Z0-9]*$/;

/** File and folder names: camelCase nouns, no barrels, no drawers. */
export const names: Rule = {
  name: "names of files",
  check: perFile((source, report) => {
    const parts = source.path.replace(/(\.test|\.d)?\.[a-z]+$/, "").split("/");
    for (const part of parts) {
      if (vague.test(part))
        report(0, `"${part}" says nothing: name the file for the one concept it holds (no barrels)`);
      else if (!camelCase.test(part)) report(0, `"${part}" is not camelCase`);
    }
  }),
  bad: [
    { files: { "src/core/index.ts": "" }, says: ['"index" says nothing'] },
    { files: { "src/core/utils/a.ts": "" }, says: ['"utils" says nothing'] },
    { files: { "src/core/types.ts": "" }, says: ['"types"'] },
    { files: { "src/node/helpers.test.ts": "" }, says: ['"helpers"'] },
    { files: { "src/core/DrainRecord.ts": "" }, says: ["not camelCase"] },
    { files: { "src/core/drain-record.ts": "" }, says: ["not camelCase"] },
    { files: { "src/core/drain_record.ts": "" }, says: ["not camelCase"] },
  ],
  good: [
    {
      "src/core/drain.ts": "",
      "src/core/drain.test.ts": "",
      "src/fleet/registry/registryDO.ts": "",
      "scripts/ensure.mjs": "",
    },
  ],
};
