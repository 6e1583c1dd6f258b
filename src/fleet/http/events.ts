// `GET /events`: the audit log as server-sent events, from `Last-Event-ID` on. The stream lives here in the Worker; the
// registry only pokes through a watch, so that no object holds a stream open.

import { REAL } from "#core/budgets.ts";
import type { Env } from "../root.ts";
import { askRegistry } from "./objects.ts";

const PAGE = 200;

/** Streams rows after the client's last one; a new client gets the newest page first. */
export async function events(env: Env, request: Request): Promise<Response> {
  const given = Number(request.headers.get("last-event-id") ?? "-1");
  let last = Number.isSafeInteger(given) ? given : -1;
  const upgraded = await askRegistry(env, (registry) =>
    registry.fetch(new Request("http://registry/watch", { headers: { upgrade: "websocket" } })),
  );
  const socket = upgraded.webSocket;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  let sending = Promise.resolve();
  const send = async (): Promise<void> => {
    for (let full = true; full;) {
      const rows = await askRegistry(env, (registry) => registry.audit(last, PAGE));
      for (const row of rows) {
        last = row.id;
        await writer.write(encoder.encode(`id: ${row.id}\nevent: ${row.what}\ndata: ${JSON.stringify(row)}\n\n`));
      }
      full = rows.length === PAGE;
    }
  };
  const end = (): void => {
    clearInterval(beat);
    socket?.close();
    writer.close().catch(() => undefined);
  };
  const poke = (): void => {
    sending = sending.then(send).catch(end);
  };
  const beat = setInterval(() => void writer.write(encoder.encode(": beat\n\n")).catch(end), REAL.heartbeatMs);
  request.signal.addEventListener("abort", end);
  socket?.accept();
  socket?.addEventListener("message", poke);
  socket?.addEventListener("close", end);
  poke();
  return new Response(readable, { headers: { "content-type": "text/event-stream", "cache-control": "no-store" } });
}
