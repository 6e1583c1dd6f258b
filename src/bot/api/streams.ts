// Streams of server-sent events: cards as they change, and one run's output as it comes. Both are read from the ledger and
// carry where they stand as their id, so that whoever is cut goes on there, also at the next bot. Nothing more is read than
// one answer of the ledger before the reader has taken that: whoever reads slowly, or not at all, costs no more.

import { LIMIT, REAL } from "#core/budgets.ts";
import { cardWords, type CardEvent } from "#core/card.ts";
import { outputFromSchema, type OutputEvent, type OutputFrom, type ToldCard } from "#wire/bot.ts";
import type { OutputStream } from "#wire/ledger.ts";
import { runIdIn, type Asked, type Front, type Handler } from "./asked.ts";
import { parsed } from "#wire/parse.ts";
import { cardOfRun } from "./lists.ts";

/** One event: its data, and the id by which a reader that was cut goes on behind it. */
interface Sent {
  readonly id: string;
  readonly event: string;
  readonly data: OutputEvent | ToldCard;
}

/** A stream that ends with its reader, with the bot, or by itself. */
interface Stream {
  /** Resolves at the next wake, or after a heartbeat. */
  rest(): Promise<void>;
  /** Resolves once the reader has taken it, or the stream is over. */
  send(sent: Sent): Promise<void>;
  readonly isOver: boolean;
}

/** Runs `tell` over a stream until it returns. `follow` wakes it and answers how to stop that. */
function stream(
  { front, request }: Asked,
  follow: (wake: () => void) => () => void,
  tell: (to: Stream) => Promise<void>,
): Response {
  const { real, log } = front.desk.parts;
  const left = new AbortController();
  const over = AbortSignal.any([request.signal, front.over, left.signal]);
  const encoder = new TextEncoder();
  let wake = new AbortController();
  let taken = (): void => undefined;
  const stop = follow(() => wake.abort());
  over.addEventListener("abort", () => taken(), { once: true });
  const body = new ReadableStream<Uint8Array>({
    cancel: () => left.abort(),
    pull: () => taken(),
    start(controller) {
      const isTaken = (): boolean => over.aborted || (controller.desiredSize ?? 0) > 0;
      const write = async (text: string): Promise<void> => {
        if (!over.aborted) controller.enqueue(encoder.encode(text));
        while (!isTaken()) await new Promise<void>((resolve) => (taken = resolve));
      };
      const to: Stream = {
        get isOver() {
          return over.aborted;
        },
        async rest() {
          if (!wake.signal.aborted)
            await real.sleep(REAL.heartbeatMs, AbortSignal.any([wake.signal, over])).then(
              () => write(": beat\n\n"),
              () => undefined,
            );
          wake = new AbortController();
        },
        send: ({ id, event, data }) => write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
      };
      void tell(to)
        .catch((error: unknown) => log("info", "a stream ended", { path: new URL(request.url).pathname, error }))
        .finally(() => {
          stop();
          if (!left.signal.aborted) controller.close();
        });
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream", "cache-control": "no-store" } });
}

function lastIdOf(request: Request): string {
  return request.headers.get("last-event-id") ?? "";
}

const toldOf = (front: Front, card: CardEvent): ToldCard => ({
  card,
  says: cardWords(card, front.desk.parts.clock.now()),
});

/** `GET /events`: a new reader gets the newest page first. */
export const events: Handler = async (asked) => {
  const { front, request } = asked;
  const { steady, cards } = front.desk;
  const given = lastIdOf(request);
  let after = /^\d{1,15}$/.test(given) ? Number(given) : undefined;
  return stream(
    asked,
    (wake) => cards.onCard(wake),
    async (to) => {
      while (!to.isOver) {
        const query = { limit: LIMIT.rowsAPage, ...(after === undefined ? {} : { after }) };
        const page = await steady.do((ledger) => ledger.cards(query));
        for (const { n, event } of page.cards) {
          await to.send({ id: String(n), event: event.state, data: toldOf(front, event) });
          after = n;
        }
        after ??= 0;
        if (page.cards.length < LIMIT.rowsAPage) await to.rest();
      }
    },
  );
};

/** The offsets behind an event of an output's stream. */
const idOf = ({ out, err }: OutputFrom): string => `${out}:${err}`;

function fromOf({ request, given }: Asked): OutputFrom {
  const resumed = /^(\d{1,15}):(\d{1,15})$/.exec(lastIdOf(request));
  return resumed === null ? parsed(outputFromSchema, given) : { out: Number(resumed[1]), err: Number(resumed[2]) };
}

/** The parts of one of a run's streams from an offset on, each with where it ends. */
async function* partsFrom(
  { desk }: Front,
  of: { readonly id: string; readonly stream: OutputStream },
  offset: number,
): AsyncGenerator<{ readonly from: number; readonly data: string; readonly end: number }, void, void> {
  for (let from = offset; ;) {
    const part = await desk.steady.do((ledger) => ledger.outputFrom({ ...of, from }));
    if (part.data === "") return;
    from = part.from + Buffer.from(part.data, "base64").length;
    yield { from: part.from, data: part.data, end: from };
  }
}

/** `GET /runs/:id/output`. */
export const output: Handler = async (asked) => {
  const { front } = asked;
  const { steady, wakes, cards } = front.desk;
  const id = runIdIn(asked);
  let at = fromOf(asked);
  await steady.once((ledger) => ledger.run(id));
  let told = "";
  const follow = (wake: () => void): (() => void) => {
    const stops = [wakes.on(id, wake), cards.onCard((card) => card.id === id && wake())];
    return () => stops.forEach((stop) => stop());
  };
  return stream(asked, follow, async (to) => {
    while (!to.isOver) {
      const known = await steady.do((ledger) => ledger.run(id));
      for (const name of ["out", "err"] as const) {
        if (known.output[name].length <= at[name]) continue;
        for await (const { from, data, end } of partsFrom(front, { id, stream: name }, at[name])) {
          at = { ...at, [name]: end };
          await to.send({ id: idOf(at), event: "output", data: { type: "output", stream: name, from, data } });
          if (to.isOver) return;
        }
      }
      const card = cardOfRun(front.desk, known);
      const said = JSON.stringify(card);
      if (said !== told) await to.send({ id: idOf(at), event: "card", data: { type: "card", ...toldOf(front, card) } });
      told = said;
      if (known.ended !== null) return to.send({ id: idOf(at), event: "end", data: { type: "end", ...at } });
      await to.rest();
    }
  });
};
