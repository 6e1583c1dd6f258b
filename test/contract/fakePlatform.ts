// A platform for containers that is not the product's: over loopback it speaks the host's protocol and, for each container,
// the agent's, and it treats a container as its test says. A roll that is asked under a registered run is noted.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type * as z from "zod";
import { newSecret } from "#node/tokens.ts";
import {
  HOST_ERRORS,
  rollAskSchema,
  type ContainerState,
  type Ended,
  type HostErrorCode,
  type HostProblem,
  type Inside,
  type Rolled,
  type Running,
  type Started,
} from "#wire/host.ts";
import { answerAgent, type FakeContainer } from "./fakeAgent.ts";

/** What a platform answers to a roll: what it did, a refusal, or nothing but a connection that is cut. */
type RollAnswer = Rolled | { readonly refused: HostErrorCode; readonly why: string } | "cut";
type Answer = RollAnswer | ContainerState | Started | { readonly ended: Ended };

/** One container as a habit may treat it. */
export interface Handle {
  /** How often a roll of it was asked, this time included. */
  readonly nth: number;
  /** Resolves once whoever asked has given up. */
  readonly abandoned: Promise<void>;
  /** Ends it and starts it again; on the image of the day where none is named. */
  readonly restart: (image?: string) => Rolled;
  /** It as it is, in the words of a roll. */
  readonly untouched: () => Rolled;
}

/** What a platform does about one container. */
export interface Habits {
  readonly roll?: (container: Handle) => RollAnswer | Promise<RollAnswer>;
  /** The image that its next start gets, where it is not the image of the day. */
  readonly startsOn?: () => string | undefined;
  /** Its starts get an image from before tickets. */
  readonly isOlder?: boolean;
  /** Keeps a rebuild's end of it back, until this resolves. */
  readonly renew?: () => Promise<void>;
  /** Keeps the answer to a question that is asked inside back, until this resolves. */
  readonly inside?: (path: string) => Promise<void> | undefined;
}

type RollAsk = z.infer<typeof rollAskSchema>;

function problem(code: HostErrorCode, detail: string): HostProblem {
  const { status, title, next } = HOST_ERRORS[code];
  return { type: `urn:tidegate:${code.toLowerCase()}`, title, status, detail, code, next };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  return body;
}

function reply(response: ServerResponse, status: number, body: object, type = "application/json"): void {
  const line = `${JSON.stringify(body)}\n`;
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(line) }).end(line);
}

/** The containers of one fleet, and who asked what of them. */
export class FakePlatform {
  /** The image of the day: what a start gets. */
  image: string;
  readonly token = newSecret();
  /** The runs that the fleet says are registered at a resource. */
  whoIsThere: (resource: string) => Promise<readonly string[]> = () => Promise.resolve([]);
  /** What was asked of the containers, in order: `route resource`. */
  readonly asked: string[] = [];
  /** Each roll that was asked while a run was registered there. */
  readonly underRun: string[] = [];
  readonly #server: Server;
  readonly #containers = new Map<string, FakeContainer>();
  readonly #habits = new Map<string, Habits>();
  readonly #rolls = new Map<string, number>();
  readonly #turns = new Map<string, Promise<unknown>>();
  #boots = 0;

  constructor(image: string) {
    this.image = image;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    this.#server.keepAliveTimeout = 0;
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  get url(): string {
    const address: AddressInfo | string | null = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  }

  /** From now on the container of this resource is treated so. */
  treat(resource: string, habits: Habits): void {
    this.#habits.set(resource, habits);
  }

  /** How often a roll of it was asked. */
  rolls(resource: string): number {
    return this.#rolls.get(resource) ?? 0;
  }

  /** The container that runs for this resource. */
  running(resource: string): FakeContainer | undefined {
    return this.#containers.get(resource);
  }

  /** Ends a container, or restarts it, by the platform's own doing: nobody asked. */
  stop(resource: string): Ended {
    const was = this.#containers.get(resource);
    this.#containers.delete(resource);
    const processes = [...(was?.procs.keys() ?? [])].map((command): Inside => ({
      pid: process.pid,
      startTicks: 0,
      role: "inside",
      command,
      tags: {},
    }));
    return { resource, bootId: was?.bootId ?? null, imageId: was?.imageId ?? null, processes };
  }

  restart(resource: string, image: string = this.image): Rolled {
    const ended = this.stop(resource);
    return { ended, container: this.#start(resource, image) };
  }

  #start(resource: string, image: string): Running {
    this.#boots += 1;
    const container: FakeContainer = {
      resource,
      imageId: image,
      bootId: `boot-${this.#boots}`,
      token: newSecret(),
      procs: new Map(),
      fences: new Map(),
      isOlder: this.#habits.get(resource)?.isOlder === true,
    };
    this.#containers.set(resource, container);
    return this.#view(container);
  }

  /** It believes that each container is on the image of the day: only inside can one read what it is. */
  #view({ resource, bootId, token }: FakeContainer): Running {
    const imageId = this.image;
    const url = `${this.url}/inside/${bootId}`;
    return { state: "running", resource, url, token, bootId, imageId, pid: process.pid, since: 0 };
  }

  #look(resource: string): ContainerState {
    const running = this.#containers.get(resource);
    return running === undefined ? { state: "absent", resource, goneSince: null } : this.#view(running);
  }

  #started(resource: string): Started {
    const there = this.#containers.get(resource);
    if (there !== undefined) return { container: this.#view(there), fresh: false };
    const image = this.#habits.get(resource)?.startsOn?.() ?? this.image;
    return { container: this.#start(resource, image), fresh: true };
  }

  async #roll({ resource, bootId }: RollAsk, abandoned: Promise<void>): Promise<RollAnswer> {
    const untouched = (): Rolled => {
      const container = this.#look(resource);
      if (container.state !== "running") throw new Error(`${resource} does not run`);
      return { ended: { resource, bootId: null, imageId: null, processes: [] }, container };
    };
    const boot = this.running(resource)?.bootId;
    if (bootId !== undefined && boot !== undefined && boot !== bootId) return untouched();
    const nth = this.rolls(resource) + 1;
    this.#rolls.set(resource, nth);
    for (const runId of await this.whoIsThere(resource)) this.underRun.push(`${resource} under ${runId}`);
    const handle: Handle = { nth, abandoned, restart: (image) => this.restart(resource, image), untouched };
    return await (this.#habits.get(resource)?.roll?.(handle) ?? this.restart(resource));
  }

  async #renew(resource: string): Promise<{ ended: Ended }> {
    await this.#habits.get(resource)?.renew?.();
    return { ended: this.stop(resource) };
  }

  /** One thing at a time for each container, in the order it was asked, as the product's own host does. */
  #inTurn<T>(resource: string, act: () => T | Promise<T>): Promise<T> {
    const turn = (this.#turns.get(resource) ?? Promise.resolve()).then(act, act);
    this.#turns.set(
      resource,
      turn.catch(() => undefined),
    );
    return turn;
  }

  #answer(route: string, ask: RollAsk, abandoned: Promise<void>): Answer | Promise<Answer> | undefined {
    const { resource } = ask;
    switch (route) {
      case "look":
        return this.#look(resource);
      case "start":
        // What runs is found at once, also while it is about to be rolled: whoever starts work waits by himself.
        return this.#containers.has(resource)
          ? this.#started(resource)
          : this.#inTurn(resource, () => this.#started(resource));
      case "roll":
        return this.#inTurn(resource, () => this.#roll(ask, abandoned));
      case "renew":
        return this.#inTurn(resource, () => this.#renew(resource));
      case "remove":
        return this.#inTurn(resource, () => ({ ended: this.stop(resource) }));
      default:
        return undefined;
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const [, group = "", name = "", ...rest] = (request.url ?? "").split("/");
    if (group === "inside") return this.#inside(request, response, { bootId: name, path: `/${rest.join("/")}`, body });
    if (request.headers.authorization !== `Bearer ${this.token}`)
      return reply(response, 401, problem("UNAUTHENTICATED", "a wrong token"));
    const ask = rollAskSchema.parse(JSON.parse(body));
    const abandoned = new Promise<void>((resolve) => response.once("close", resolve));
    this.asked.push(`${name} ${ask.resource}`);
    const answer = group === "containers" ? await this.#answer(name, ask, abandoned) : undefined;
    if (answer === undefined) return reply(response, 404, problem("NOT_FOUND", `${group}/${name}`));
    if (answer === "cut") return void response.destroy();
    if ("refused" in answer)
      return reply(response, HOST_ERRORS[answer.refused].status, problem(answer.refused, answer.why));
    return reply(response, 200, answer);
  }

  /** A container that has ended answers nobody. */
  async #inside(
    { headers, method = "" }: IncomingMessage,
    response: ServerResponse,
    { bootId, path, body }: { bootId: string; path: string; body: string },
  ): Promise<void> {
    const container = [...this.#containers.values()].find((one) => one.bootId === bootId);
    if (container === undefined || headers.authorization !== `Bearer ${container.token}`)
      return void response.destroy();
    await this.#habits.get(container.resource)?.inside?.(path);
    const said = answerAgent(container, method, path, body);
    reply(response, said.status, said.body, said.type);
  }
}
