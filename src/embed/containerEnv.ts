// The environment of a container: what is allowed in, by name. No token of tidegate's and nothing of npm's gets through.

import { join, sep } from "node:path";

const PERSON = [
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LANGUAGE",
  "TZ",
  "TMPDIR",
  "TERM",
  "XDG_CACHE_HOME",
  "XDG_CONFIG_HOME",
];
const PROXIES = [
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "ALL_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "all_proxy",
];
const TRUST = ["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "SSH_AUTH_SOCK"];
const ALLOWED: ReadonlySet<string> = new Set(PERSON.concat(PROXIES, TRUST));

const FALLBACK_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** A run sees the machine's tools, also when npm started tidegate: what npm put in front of PATH is taken out. */
function machinePath(path: string): string {
  const own = path
    .split(":")
    .filter(
      (part) =>
        part.startsWith("/") && !part.endsWith(join(sep, "node_modules", ".bin")) && !part.endsWith("node-gyp-bin"),
    );
  return own.length === 0 ? FALLBACK_PATH : own.join(":");
}

/** The environment for what runs on an image: allowed names of `env`, the image's own, and its `bin` first on PATH. */
export function containerEnv(
  env: Readonly<Record<string, string | undefined>>,
  imageFolder: string,
  imageEnv: Readonly<Record<string, string>>,
): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (ALLOWED.has(name) || name.startsWith("LC_"))) passed[name] = value;
  }
  const all = { ...passed, PATH: machinePath(env["PATH"] ?? FALLBACK_PATH), ...imageEnv };
  return { ...all, PATH: `${join(imageFolder, "bin")}:${all.PATH}` };
}
