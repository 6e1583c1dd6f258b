// What happens in the fleet, from the audit log's stream on. A cut stream is taken up after the last row that arrived, so
// that nothing is told twice and nothing is missed.

import { EventSourceParserStream } from "eventsource-parser/stream";
import { REAL } from "#core/budgets.ts";
import { auditRowSchema, type AuditRow } from "#wire/fleet.ts";
import { jsonOf } from "#wire/parse.ts";
import { isUnreachable, open, type Transport } from "./transport.ts";

async function* rowsOf(response: Response): AsyncGenerator<AuditRow, void, void> {
  if (response.body === null) return;
  const text: ReadableStream<string> = response.body.pipeThrough(new TextDecoderStream());
  for await (const event of text.pipeThrough(new EventSourceParserStream())) {
    const row = auditRowSchema.safeParse(jsonOf(event.data));
    if (row.success) yield row.data;
  }
}

/** Follows the audit log from after this row on until the signal fires; `onRow` gets each row once, in order. */
export async function followEvents(
  transport: Transport,
  after: number,
  onRow: (row: AuditRow) => void,
  signal: AbortSignal,
): Promise<void> {
  let last = after;
  while (!signal.aborted) {
    try {
      const response = await open(transport, "events", {
        signal,
        headers: { accept: "text/event-stream", "last-event-id": String(last) },
      });
      for await (const row of rowsOf(response)) {
        if (row.id <= last) continue;
        last = row.id;
        onRow(row);
      }
    } catch (error) {
      if (signal.aborted) return;
      const cut = !(error instanceof Error) || isUnreachable(error) || error.name === "TypeError";
      if (!cut) throw error;
    }
    await transport.real.sleep(REAL.recheckMs, signal).catch(() => undefined);
  }
}
