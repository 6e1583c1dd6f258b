// A proxy in front of the fleet that loses answers: the request arrives and takes effect, and its answer goes nowhere.

import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** A TCP proxy that passes everything until it is told to lose the next answer. */
export class CutProxy {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #target: number;
  #cuts = 0;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#pass(client));
  }

  /** A proxy in front of this address; whoever made it closes it. */
  static async before(url: string): Promise<CutProxy> {
    const proxy = new CutProxy(Number(new URL(url).port));
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next answer is lost. */
  loseNext(): void {
    this.#cuts += 1;
  }

  #pass(client: Socket): void {
    const server = connect(this.#target, "127.0.0.1");
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#open.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        this.#open.delete(socket);
        other.destroy();
      });
    }
    client.pipe(server);
    server.on("data", (chunk) => {
      if (this.#cuts === 0) return void client.write(chunk);
      // The first byte of an answer comes after what it tells of was committed.
      this.#cuts -= 1;
      client.destroy();
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
