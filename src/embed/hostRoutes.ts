// The host's two groups of routes: `/containers/*` for the fleet Worker and `/control/*` for the CLI and the deploy
// runner, each behind its own token. Handlers parse, ask, and answer; they decide nothing.

import { Hono } from "hono";
import { bearerGuard, problemApp, readBody } from "#node/httpServer.ts";
import { Failure } from "#node/failure.ts";
import {
  downAskSchema,
  resourceAskSchema,
  rollAskSchema,
  swapAskSchema,
  type HostStatus,
  type InsideList,
} from "#wire/host.ts";
import type { ContainerHost } from "#embed/containerHost.ts";
import type { SwapDesk } from "#embed/swap.ts";

/** What the routes act on. */
export interface HostControls {
  readonly containers: ContainerHost;
  readonly desk: SwapDesk;
  status(): HostStatus;
  /** Begins the end, after its checks; throws IN_FLIGHT. */
  down(now: boolean): Promise<void>;
  /** `starting` until what is served was served once, `ending` from the end's beginning on. */
  phase(): "starting" | "up" | "ending";
}

const insideList = (containers: ContainerHost, resource: string): InsideList => ({
  container: containers.look(resource),
  processes: containers.inside(resource),
});

function notEnding(controls: HostControls): ContainerHost {
  if (controls.phase() === "ending") throw new Failure("ENDING", "the supervisor is ending");
  return controls.containers;
}

function isUp(controls: HostControls): HostControls {
  if (controls.phase() === "starting")
    throw new Failure("ENDING", "the supervisor is starting", "wait a moment, then ask again");
  return controls;
}

function containerRoutes(controls: HostControls, token: string): Hono {
  const app = new Hono();
  app.use(bearerGuard(token));
  app.get("/", (context) => context.json({ containers: notEnding(controls).list() }));
  const post = (path: string, act: (containers: ContainerHost, resource: string) => unknown): void => {
    app.post(path, async (context) => {
      const { resource } = await readBody(context, resourceAskSchema);
      return Response.json(await act(notEnding(controls), resource));
    });
  };
  // A look starts nothing, and the end itself asks by it whether a run still has a container.
  app.post("/look", async (context) => {
    const { resource } = await readBody(context, resourceAskSchema);
    return context.json(controls.containers.look(resource));
  });
  post("/start", (containers, resource) => containers.start(resource));
  post("/stop", async (containers, resource) => ({ ended: await containers.stop(resource) }));
  app.post("/roll", async (context) => {
    const { resource, bootId } = await readBody(context, rollAskSchema);
    return context.json(await notEnding(controls).roll(resource, bootId));
  });
  post("/renew", async (containers, resource) => ({ ended: await containers.renew(resource) }));
  post("/inside", (containers, resource) => insideList(containers, resource));
  post("/remove", async (containers, resource) => ({ ended: await containers.remove(resource) }));
  return app;
}

function controlRoutes(controls: HostControls, token: string): Hono {
  const app = new Hono();
  app.use(bearerGuard(token));
  app.get("/status", (context) => context.json(isUp(controls).status()));
  app.post("/swap", async (context) => {
    const ask = await readBody(context, swapAskSchema);
    notEnding(isUp(controls));
    return context.json(await controls.desk.ask(ask));
  });
  app.post("/down", async (context) => {
    const { now } = await readBody(context, downAskSchema);
    await isUp(controls).down(now);
    return context.json({ ending: true, pid: process.pid });
  });
  app.post("/containers/roll", async (context) => {
    const { resource } = await readBody(context, resourceAskSchema);
    return context.json(await notEnding(isUp(controls)).roll(resource));
  });
  app.post("/containers/inside", async (context) => {
    const { resource } = await readBody(context, resourceAskSchema);
    return context.json(insideList(notEnding(isUp(controls)), resource));
  });
  return app;
}

/** The whole host API. */
export function hostApp(tokens: { readonly host: string; readonly control: string }, controls: HostControls): Hono {
  const app = problemApp();
  app.route("/containers", containerRoutes(controls, tokens.host));
  app.route("/control", controlRoutes(controls, tokens.control));
  return app;
}
