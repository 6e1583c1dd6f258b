// What a process of a run gets to see: an allow-list, the image's and the caller's variables, and the marks by which
// its whole family is found again. The agent's own variables (its token, its folders) are on no list.

/** TIDEGATE_CONTAINER is the host's own mark: where there is no pid namespace it finds a container's processes by it. */
const ALLOWED = [
  "HOME USER LOGNAME SHELL LANG LANGUAGE LC_ALL LC_CTYPE TERM TZ TMPDIR XDG_CACHE_HOME XDG_CONFIG_HOME",
  "http_proxy https_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY",
  "SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO SSH_AUTH_SOCK TIDEGATE_CONTAINER",
].flatMap((names) => names.split(" "));
/** The variable whose value names container, thread and process; children inherit it wherever they go. */
const MARK = "TIDEGATE_MARK";

type Variables = Record<string, string>;

/** What the agent took from its own start and its image, read once. */
export interface Surroundings {
  /** The agent's environment at its start. */
  readonly own: Readonly<Record<string, string | undefined>>;
  readonly imageBin: string;
  readonly imageEnv: Readonly<Variables>;
  /** Random, and the same for every boot over one data folder. */
  readonly containerMark: string;
}

/** The mark of one process, of one thread (without an id), or of the container (without both). */
export function markOf(around: Surroundings, slug = "", id = ""): string {
  if (slug === "") return `${MARK}=${around.containerMark}:`;
  return id === "" ? `${MARK}=${around.containerMark}:${slug}:` : `${MARK}=${around.containerMark}:${slug}:${id}\0`;
}

/** The whole environment of a run's process. */
export function runEnvironment(
  around: Surroundings,
  run: { slug: string; id: string; thread: string },
  given: Variables = {},
): Variables {
  return {
    ...allowed(around),
    PATH: pathOf(around),
    ...around.imageEnv,
    // Who starts a process for a run names the run; a process that is nobody else's is its own.
    TIDEGATE_RUN: run.id,
    ...given,
    [MARK]: `${around.containerMark}:${run.slug}:${run.id}`,
    TIDEGATE_THREAD: run.thread,
  };
}

/** The environment of the agent's own git: no prompt, no translation, the machine's credentials. */
export function gitEnvironment(around: Surroundings): Variables {
  return {
    ...allowed(around),
    PATH: pathOf(around),
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
  };
}

function pathOf(around: Surroundings): string {
  const path = around.own["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
  return path.startsWith(`${around.imageBin}:`) ? path : `${around.imageBin}:${path}`;
}

function allowed(around: Surroundings): Variables {
  return Object.fromEntries(
    ALLOWED.flatMap((name) => {
      const value = around.own[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
