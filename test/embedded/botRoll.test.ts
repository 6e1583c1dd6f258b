// A run under a bot that is rolled and killed: it goes on in its container, its output is whole byte for byte in the ledger
// and for whoever watches it, and what is said to it in any gap of a roll arrives once.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { before, test } from "node:test";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import * as z from "zod";
import { isSameProcess, sendSignal } from "#node/processes.ts";
import { messageAnswerSchema, outputEventSchema, type OutputEvent } from "#wire/bot.ts";
import type { OutputStream } from "#wire/ledger.ts";
import { jsonOf } from "#wire/parse.ts";
import { again, BotStack } from "./botStack.ts";
import { eventually } from "./hostStack.ts";

const SCALE = 20;
const stack = new BotStack(SCALE, { bot: { roll: "handoff" } });
let app = "";

before(async () => {
  await stack.up();
  app = await stack.onboard("app");
});

/** What a run has said, as it noted it itself, outside. */
const saidBy = (name: string, stream: OutputStream): Buffer => readFileSync(join(stack.home, `${name}.${stream}`));

/** Bytes of every value on both streams, noted outside too, until the cue is given; then its last words. */
function talks(name: string): string {
  const at = (more: string): string => `'${join(stack.home, `${name}${more}`)}'`;
  const bytes = `head -c 150 /dev/urandom`;
  return [
    `while [ ! -e ${at(".cue")} ]; do ${bytes} | tee -a ${at(".out")}; ${bytes} | tee -a ${at(".err")} >&2; sleep 0.02; done`,
    `printf 'the end of it' | tee -a ${at(".out")}`,
  ].join("; ");
}

const give = (name: string): void => writeFileSync(join(stack.home, `${name}.cue`), "");

/** Both streams as a watcher has them. */
class Heard {
  readonly bytes: Record<OutputStream, Buffer> = { out: Buffer.alloc(0), err: Buffer.alloc(0) };
  cuts = 0;

  /** Takes an event; a part that does not begin where the last one ended is a defect. */
  take(event: OutputEvent): void {
    if (event.type !== "output") return;
    const known = this.bytes[event.stream];
    assert.equal(event.from, known.length, `${event.stream} goes on where it was`);
    this.bytes[event.stream] = Buffer.concat([known, Buffer.from(event.data, "base64")]);
  }

  get from(): { out: number; err: number } {
    return { out: this.bytes.out.length, err: this.bytes.err.length };
  }
}

/** Watches by the bytes that were read, asking again when it is cut, until the run's end. */
async function watchByOffset(id: string, signal: AbortSignal): Promise<Heard> {
  const heard = new Heard();
  for (; !signal.aborted; heard.cuts += 1) {
    try {
      for await (const { data } of stack.bot.output(id, heard.from, signal)) {
        heard.take(data);
        if (data.type === "end") return heard;
      }
    } catch (error) {
      // Cut: asked again from what was read.
      if (error instanceof assert.AssertionError) throw error;
    }
  }
  return heard;
}

/** Watches as a browser does: by the id of the last event, until the run's end. */
async function watchByLastId(id: string, signal: AbortSignal): Promise<Heard> {
  const heard = new Heard();
  let last = "";
  for (; !signal.aborted; heard.cuts += 1) {
    let come: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (event) => void come.push(event) });
    const headers = {
      authorization: `Bearer ${stack.bearer("read")}`,
      ...(last === "" ? {} : { "last-event-id": last }),
    };
    try {
      const response = await fetch(`${stack.botUrl}/runs/${id}/output`, { headers, signal });
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) {
        parser.feed(decoder.decode(chunk, { stream: true }));
        for (const { id: next = "", data } of come) {
          const event = outputEventSchema.parse(jsonOf(data));
          heard.take(event);
          last = next;
          if (event.type === "end") return heard;
        }
        come = [];
      }
    } catch (error) {
      // Cut: asked again behind the last event.
      if (error instanceof assert.AssertionError) throw error;
    }
  }
  return heard;
}

/** What the ledger has of it, whole. */
async function kept(id: string, stream: OutputStream): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  for (;;) {
    const { data, length } = await stack.ledger.outputFrom({ id, stream, from: bytes.length });
    bytes = Buffer.concat([bytes, Buffer.from(data, "base64")]);
    if (bytes.length >= length) return bytes;
  }
}

/** Waits until the ledger has got more of this run than it has now. */
async function saysMore(id: string): Promise<void> {
  const { length } = (await again("the ledger answers", () => stack.ledger.run(id))).output.out;
  await eventually("more of it is in the ledger", async () =>
    (await stack.ledger.run(id)).output.out.length > length + 1_000 ? true : undefined,
  );
}

const ended = (id: string) =>
  eventually("it has ended", async () => {
    const run = await stack.ledger.run(id);
    return run.ended === null ? undefined : run;
  });

test("its output is whole over a handoff and over a kill, in the ledger and for two watchers", async ({ signal }) => {
  const { id, kind } = await stack.bot.ask({ key: "talks", resource: app, text: talks("talks") });
  assert.equal(kind, "admitted");
  const watchers = Promise.all([watchByOffset(id, signal), watchByLastId(id, signal)]);
  await saysMore(id);
  const first = await stack.theBot();
  const deploy = await stack.deploying("roll-1");
  assert.equal((await stack.roll("bot", deploy.id)).outcome, "landed");
  const second = await stack.nextBot(first);
  await deploy.lift();
  await saysMore(id);
  sendSignal(second.pid, "SIGKILL");
  await stack.nextBot(second);
  await saysMore(id);
  await stack.killAt({ when: "after", path: "/output" });
  await saysMore(id);
  give("talks");
  const run = await ended(id);
  assert.deepEqual([run.ended?.verdict.ending, run.ended?.verdict.exit, run.entry.tries], ["finished", 0, 1]);
  assert.match(run.ended?.writeUp ?? "", /the end of it$/);
  const [byOffset, byLastId] = await watchers;
  for (const stream of ["out", "err"] as const) {
    const said = saidBy("talks", stream);
    assert.ok(said.length > 5_000, `${said.length} bytes were said`);
    assert.ok((await kept(id, stream)).equals(said), `${stream} in the ledger`);
    assert.ok(byOffset.bytes[stream].equals(said), `${stream} by offset`);
    assert.ok(byLastId.bytes[stream].equals(said), `${stream} by Last-Event-ID`);
  }
  assert.ok(byOffset.cuts >= 3 && byLastId.cuts >= 3, "both were cut by the roll and by each kill");
});

const inboxLine = z.object({ seq: z.number(), at: z.iso.datetime(), text: z.string() });

/** What had reached the run's inbox when it ended, line by line. */
async function inboxOf(id: string) {
  const lines = (await kept(id, "out")).toString().split("\n").slice(0, -1);
  return lines.map((line) => inboxLine.parse(jsonOf(line)));
}

/** A run that works until it has been told the last word, and says then what was in its inbox. */
const heeds = (last: string): string =>
  `until grep -q '"${last}"' "$TIDEGATE_INBOX" 2> /dev/null; do sleep 0.02; done; cat "$TIDEGATE_INBOX"`;

const steer = (id: string, text: string) =>
  again(`"${text}" is answered`, () => stack.bot.steer(id, { key: `steer ${text}`, text }));

/** Says something on a connection that was open before, which leads to the bot that ends. */
class OpenLine {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  async post(path: string, body: unknown): Promise<{ reused: boolean; body: unknown }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ reused: boolean; body: unknown }>();
    const headers = { authorization: `Bearer ${stack.bearer("operator")}`, "content-type": "application/json" };
    const asked = request(`${stack.botUrl}${path}`, { method: "POST", agent: this.#agent, headers }, (answer) => {
      text(answer).then((said) => resolve({ reused: asked.reusedSocket, body: jsonOf(said) }), reject);
    });
    asked.once("error", reject);
    asked.end(JSON.stringify(body));
    return promise;
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Rolls the bot, and says one thing in each gap of it. */
async function steerThroughRoll(id: string): Promise<void> {
  const line = new OpenLine();
  const first = await stack.theBot();
  const deploy = await stack.deploying("roll-2");
  assert.equal((await steer(id, "before")).kind, "taken");
  await line.post("/runs/none-such/steer", { key: "opens the line", text: "x" });
  const [ends, none, begins] = ["/handoff", "/generations", "/reclaim"].map(
    (path) => ({ when: "before", path, does: "hold" }) as const,
  );
  assert.ok(ends && none && begins);
  stack.place(ends);
  const rolling = stack.roll("bot", deploy.id);
  await stack.cameBy(ends);
  const said = await line.post(`/runs/${id}/steer`, { key: "steer while it ends", text: "while it ends" });
  assert.deepEqual([said.reused, messageAnswerSchema.parse(said.body).kind], [true, "taken"]);
  stack.place(none);
  await stack.cameBy(none);
  assert.equal(isSameProcess(first), false, "none answers");
  const pending = [steer(id, "while none answers")];
  stack.place(begins);
  await stack.cameBy(begins);
  pending.push(steer(id, "while the next one begins"));
  stack.goOn();
  assert.equal((await rolling).outcome, "landed");
  for (const answer of await Promise.all(pending)) assert.equal(answer.kind, "taken");
  assert.equal((await steer(id, "after")).kind, "taken");
  await deploy.lift();
  line.close();
}

test("a steer in each gap of a roll, and at each step of its way under a kill, arrives once", async () => {
  const { id } = await stack.bot.ask({ key: "heeds", resource: app, text: heeds("the last") });
  await eventually("it runs", async () => ((await stack.ledger.run(id)).entry.state === "running" ? true : undefined));
  await steerThroughRoll(id);
  const places = [
    { when: "before", path: "/messages" },
    { when: "after", path: "/messages" },
    { when: "before", path: "/write" },
    { when: "after", path: "/write" },
  ] as const;
  for (const place of places) {
    const meanwhile = async (): Promise<void> => {
      const { kind } = await steer(id, `killed ${place.when} ${place.path}`);
      assert.ok(kind === "taken" || kind === "known");
    };
    await stack.killAt(place, { meanwhile });
  }
  await eventually("all of it has reached the run", async () =>
    (await stack.bot.run(id)).messages.every(({ reached }) => reached) ? true : undefined,
  );
  await steer(id, "the last");
  const run = await ended(id);
  assert.deepEqual([run.ended?.verdict.ending, run.entry.tries, run.ended?.leftId], ["finished", 1, null]);
  const inbox = await inboxOf(id);
  const texts = inbox.map(({ text: one }) => one);
  const said = ["before", "while it ends", "while none answers", "while the next one begins", "after"];
  const wanted = [...said, ...places.map(({ when, path }) => `killed ${when} ${path}`), "the last"];
  assert.deepEqual(texts.toSorted(), wanted.toSorted(), "each of them once");
  assert.deepEqual([texts[0], texts[1], texts.at(-1)], ["before", "while it ends", "the last"]);
  const seqs = inbox.map(({ seq }) => seq);
  assert.deepEqual(
    seqs,
    [...new Set(seqs)].toSorted((a, b) => a - b),
    "in the order in which they were taken",
  );
  assert.ok((await stack.bot.run(id)).messages.every(({ reached }) => reached));
});
