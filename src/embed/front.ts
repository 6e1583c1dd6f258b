// The front: it keeps the public port whatever happens behind it. It reads no HTTP, so streams and WebSockets pass; during
// a swap it holds new connections, and when there is nobody behind it says so and closes.

import { connect, createServer, type Server, type Socket } from "node:net";
import { REAL } from "#core/budgets.ts";
import { Failure } from "#node/failure.ts";
import { problemOf } from "#wire/errors.ts";

/** Where the front leads. */
export type FrontTarget =
  | { readonly kind: "up"; readonly port: number }
  | { readonly kind: "hold" }
  | { readonly kind: "down" };

/** The public port. */
export interface Front {
  readonly port: number;
  readonly url: string;
  /** Leads new connections there from now on; those that were held go there too. */
  lead(target: FrontTarget): void;
  close(): Promise<void>;
}

/** The words of a refusal as the fleet itself would say them; its callers know what to do with the code. */
function refusal(detail: string): string {
  const problem = problemOf("UNREACHABLE", detail);
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} Service Unavailable`,
    "content-type: application/problem+json",
    "retry-after: 5",
    "connection: close",
  ];
  return [...head, `content-length: ${Buffer.byteLength(body)}`, "", body].join("\r\n");
}

function refuse(socket: Socket, detail: string): void {
  socket.resume();
  socket.end(refusal(detail));
}

/** Two sockets are one connection: what ends or breaks one ends the other. Where nobody takes it, nothing was read of it. */
function join(client: Socket, port: number, onNobody: () => void): void {
  const server = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let isTaken = false;
  server.setNoDelay(true);
  client.setNoDelay(true);
  server.once("connect", () => {
    isTaken = true;
    client.pipe(server);
    server.pipe(client);
  });
  client.once("close", () => server.destroy());
  server.once("close", () => (isTaken ? client.destroy() : onNobody()));
  server.on("error", () => undefined);
}

class TcpFront implements Front {
  readonly port: number;
  readonly url: string;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #held = new Map<Socket, NodeJS.Timeout>();
  #target: FrontTarget = { kind: "hold" };

  constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
    server.on("connection", (socket) => this.#take(socket));
  }

  #take(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    socket.on("error", () => socket.destroy());
    if (this.#target.kind === "hold") this.#hold(socket);
    else this.#pass(socket);
  }

  #hold(socket: Socket): void {
    socket.pause();
    const bound = setTimeout(() => {
      this.#held.delete(socket);
      refuse(socket, "the swap takes longer than a connection is held");
    }, REAL.frontHoldMs);
    this.#held.set(socket, bound);
    socket.once("close", () => {
      clearTimeout(bound);
      this.#held.delete(socket);
    });
  }

  #pass(socket: Socket): void {
    if (this.#target.kind !== "up") return refuse(socket, "nobody serves this fleet now");
    const { port } = this.#target;
    join(socket, port, () => this.#missed(socket, port));
  }

  /** Whoever was led to has just gone: it is held for the next one, also where nobody has said yet that it is gone. */
  #missed(socket: Socket, port: number): void {
    if (socket.destroyed) return;
    const hasNext = this.#target.kind === "down" || (this.#target.kind === "up" && this.#target.port !== port);
    if (hasNext) this.#pass(socket);
    else this.#hold(socket);
  }

  lead(target: FrontTarget): void {
    this.#target = target;
    if (target.kind === "hold") return;
    for (const [socket, bound] of this.#held) {
      clearTimeout(bound);
      this.#pass(socket);
    }
    this.#held.clear();
  }

  close(): Promise<void> {
    this.lead({ kind: "down" });
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      for (const socket of this.#open) {
        if (socket.writableEnded) socket.destroySoon();
        else socket.destroy();
      }
    });
  }
}

/** Takes the public port on 127.0.0.1 (0 takes any) and holds what connects; PORT_IN_USE names the port, and `next` what to do. */
export function openFront(port: number, next?: string): Promise<Front> {
  return new Promise((resolve, reject) => {
    const server = createServer({ allowHalfOpen: true });
    server.once("error", (error) => {
      const taken = "code" in error && (error.code === "EADDRINUSE" || error.code === "EACCES");
      const detail = `port ${port} on 127.0.0.1 cannot be taken: another program has it`;
      reject(taken ? new Failure("PORT_IN_USE", detail, next) : error);
    });
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      if (address === null || typeof address === "string") reject(new Failure("INTERNAL", "the front has no port"));
      else resolve(new TcpFront(server, address.port));
    });
  });
}
