// A watch as a test holds it: every frame that came, and how it was closed.

import { watchFrameSchema, type WatchFrame } from "#wire/fleet.ts";
import { jsonOf } from "#wire/parse.ts";
import { eventually } from "./hostStack.ts";

/** One connection of the watch. */
export class Watch {
  readonly frames: WatchFrame[] = [];
  /** What else came: the answers to pings. */
  readonly others: string[] = [];
  closed: number | undefined;
  readonly #socket: WebSocket;

  constructor(url: string, bearer: string | undefined) {
    const headers: Record<string, string> = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
    this.#socket = new WebSocket(`${url.replace(/^http/, "ws")}/watch`, { headers });
    this.#socket.addEventListener("message", ({ data }) => {
      const read = watchFrameSchema.safeParse(jsonOf(String(data)));
      if (read.success) this.frames.push(read.data);
      else this.others.push(String(data));
    });
    this.#socket.addEventListener("close", ({ code }) => (this.closed = code));
    this.#socket.addEventListener("error", () => (this.closed ??= 1006));
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  close(): void {
    this.#socket.close();
  }

  /** The first frame from the given number on that says so. */
  until(what: string, says: (frame: WatchFrame) => boolean, from = 0): Promise<WatchFrame> {
    return eventually(what, () => this.frames.slice(from).find(says));
  }

  /** The code it was closed with. */
  end(): Promise<number> {
    return eventually("the watch is closed", () => this.closed);
  }
}
