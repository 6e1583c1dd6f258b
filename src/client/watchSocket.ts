// One connection of the watch, from its upgrade to its close. A peer that answers no ping is closed, since an idle socket
// never notices one that has left.

import { REAL } from "#core/budgets.ts";
import { TidegateError } from "#wire/errors.ts";
import { watchFrameSchema, WATCH_CLOSE, type WatchFrame } from "#wire/fleet.ts";
import { jsonOf } from "#wire/parse.ts";
import { ROUTES } from "#wire/routes.ts";
import type { Clock, OpenSocket, Socket } from "./ports.ts";
import { bearerOf, type Transport } from "./transport.ts";

/** What a watch is given. */
export interface WatchPorts {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly openSocket: OpenSocket;
}

/** How a connection ended: whether it ever told a state, and the close code (1006 for one that just broke). */
export interface ConnectionEnd {
  readonly told: boolean;
  readonly code: number;
}

const MISSED_PINGS = 2;
const BROKEN = 1006;
const NORMAL = 1000;

async function ping(socket: Socket, ports: WatchPorts, over: AbortSignal, mayGoOn: () => boolean): Promise<void> {
  let open = false;
  socket.addEventListener("open", () => {
    open = true;
  });
  try {
    for (;;) {
      await ports.transport.real.sleep(REAL.watchPingMs, over);
      if (!mayGoOn()) return;
      if (open) socket.send("ping");
    }
  } catch {
    // The connection is over, or its socket takes no ping any more: its close tells the rest.
  }
}

function frameOf(data: unknown): WatchFrame | undefined {
  const parsed = watchFrameSchema.safeParse(typeof data === "string" ? jsonOf(data) : undefined);
  return parsed.success ? parsed.data : undefined;
}

function opened(ports: WatchPorts): Socket | ConnectionEnd {
  const { transport, openSocket } = ports;
  try {
    const url = `${transport.baseUrl.replace(/^http/, "ws")}${ROUTES.watch.path}`;
    return openSocket(url, { authorization: `Bearer ${bearerOf(transport, "watch") ?? ""}` });
  } catch (error) {
    return { told: false, code: error instanceof TidegateError ? WATCH_CLOSE.noBearer : BROKEN };
  }
}

/** Connects once and calls `onFrame` with each state; resolves when the connection is over, at once when the signal fires. */
export function connection(
  ports: WatchPorts,
  signal: AbortSignal,
  onFrame: (frame: WatchFrame) => void,
): Promise<ConnectionEnd> {
  const attempt = opened(ports);
  if ("told" in attempt) return Promise.resolve(attempt);
  const socket = attempt;
  return new Promise((resolve) => {
    const over = new AbortController();
    let told = false;
    let unheard = 0;
    const end = (code: number): void => {
      over.abort();
      signal.removeEventListener("abort", leave);
      resolve({ told, code });
    };
    function leave(): void {
      socket.close(NORMAL);
      end(NORMAL);
    }
    signal.addEventListener("abort", leave, { once: true });
    socket.addEventListener("message", ({ data }) => {
      unheard = 0;
      const frame = over.signal.aborted ? undefined : frameOf(data);
      if (frame === undefined) return;
      told = true;
      onFrame(frame);
    });
    socket.addEventListener("close", ({ code }) => end(code));
    socket.addEventListener("error", () => end(BROKEN));
    void ping(socket, ports, over.signal, () => {
      unheard += 1;
      if (unheard <= MISSED_PINGS) return true;
      socket.close();
      end(BROKEN);
      return false;
    });
  });
}
