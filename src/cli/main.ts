// Where the launcher enters. Types are stripped and code is compiled once a version of it, not once a command: the cache
// has to stand before anything else is loaded.

import { enableCompileCache } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const packageRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
enableCompileCache(join(packageRoot, "node_modules", ".cache", "tidegate"));
const { runCommandLine } = await import("./root.ts");
await runCommandLine(packageRoot);
