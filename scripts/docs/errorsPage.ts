// docs/errors.md: every code that a caller can meet, with its status, what it means and what to do next.

import { EXIT } from "#cli/exit.ts";
import { DEPLOY_EXIT } from "#deploy/endings.ts";
import { AGENT_ERRORS } from "#wire/agentErrors.ts";
import { ERRORS } from "#wire/errors.ts";
import { WATCH_CLOSE } from "#wire/fleet.ts";
import { HOST_ERRORS } from "#wire/host.ts";
import { opening, page, table } from "./markdown.ts";

type Rows = Readonly<Record<string, { readonly status: number; readonly title: string; readonly next: string }>>;

const rowsOf = (errors: Rows): string =>
  table(
    ["code", "status", "means", "what to do next"],
    Object.entries(errors).map(([code, { status, title, next }]) => [`\`${code}\``, String(status), title, next]),
  );

const EXIT_SAYS: Readonly<Record<keyof typeof EXIT | keyof typeof DEPLOY_EXIT, string>> = {
  done: "done",
  failed: "failed",
  usage: "usage or configuration; nothing was done",
  refused: "refused, or the wait ran out; nothing was deployed, and what was closed is open again",
  denied: "not authenticated, or not allowed",
  partial: "`deploy`: some of its steps were done and some were not; a deploy of one step never ends so",
  stale: "`deploy`: deployed, but a container never reported the new image; the receipt names it",
  pending: "`deploy`: nobody knows yet whether the upload landed",
  leaseSpent: "`run`: its lease was over",
  own: "`run`: tidegate failed, or the run was refused; the command has no exit code",
  notStarted: "`run`: the command could not be started",
  interrupted: "ended by SIGINT, after cleaning up",
  brokenPipe: "whoever read the output went away",
  terminated: "ended by SIGTERM, after cleaning up",
};

function exitRows(): string {
  const codes = Object.entries({ ...EXIT, ...DEPLOY_EXIT }).toSorted(([, a], [, b]) => a - b);
  const says = new Map<string, string>(Object.entries(EXIT_SAYS));
  return table(
    ["exit code", "means"],
    codes.map(([name, code]) => [String(code), says.get(name) ?? ""]),
  );
}

const watchRows = table(
  ["close code", "means"],
  [
    [String(WATCH_CLOSE.noBearer), "no bearer, or one that this fleet does not know"],
    [String(WATCH_CLOSE.beyondScope), "the bearer's scope does not reach the watch"],
  ],
);

/** The whole document. */
export function errorsPage(): string {
  return page(
    opening(
      "Errors",
      `An error on the wire is \`application/problem+json\` (RFC 9457): \`type\`, \`title\`, \`status\`, \`detail\`, and two members
of this project's own, \`code\` and \`next\`. The code alone tells errors apart; titles and details are for people and may
change. Some carry more: \`field\` names the field of a 400, \`draining\` is the record that a 503 \`DRAINING\` waits for, and
the fleet adds \`requestId\`, which stands in its log too. An error that comes after a stream has begun is the stream's
last line, of \`type\` \`error\`.`,
    ),
    "## The fleet",
    "What the Workers of the fleet and of the ledger answer. Two codes are a caller's own, for a fleet that it cannot reach or read: `UNREACHABLE` and `UNREADABLE`.",
    rowsOf(ERRORS),
    "### The watch",
    "A client cannot see the status of a refused WebSocket upgrade, so `GET /watch` accepts it and closes with a code.",
    watchRows,
    "## The host",
    "What the supervisor answers on its own port, and how `npm start` fails.",
    rowsOf(HOST_ERRORS),
    "## The agent",
    "What the server inside a container answers to the fleet Worker, which turns each into one of its own and keeps this code in `agentCode`.",
    rowsOf(AGENT_ERRORS),
    "## Exit codes",
    "What the command line ends with. `run` and `repo test` end with their command's own code, 128 + n when signal n ended it; the codes below that are marked `run` are tidegate's. An error on stderr ends with the next command to type; with `--json` it is one document, `{error: {code, detail, next}}`.",
    exitRows(),
  );
}
