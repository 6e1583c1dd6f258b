// What the callers' side is given: time, requests, sockets and ids come in from outside, so that a simulator drives the
// product's own wait and nothing here can tell a scaled clock from a real one.

/** What a part may know of time. */
export interface Clock {
  /** The instant now, in whole ms of this clock. */
  now(): number;
  /** Resolves once `ms` of this clock have passed; rejects with the signal's reason as soon as it fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The part of `fetch` that a caller of the fleet needs. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The part of a WebSocket that the watch needs. */
export interface Socket {
  send(data: string): void;
  close(code?: number): void;
  addEventListener(type: "open" | "error", listener: () => void): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: "close", listener: (event: { readonly code: number; readonly reason: string }) => void): void;
}

/** Opens a WebSocket with these headers on its upgrade. */
export type OpenSocket = (url: string, headers: Readonly<Record<string, string>>) => Socket;

/** Mints an id that nobody else mints: a prefix for people and at least 64 random bits. */
export type MintId = (prefix: string) => string;
