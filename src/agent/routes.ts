// The routes of wire/agent.ts: each parses, asks one part of the agent, and answers. No decision is made here.

import type { Hono } from "hono";
import {
  fenceRequest,
  fileQuery,
  filePut,
  mirrorRequest,
  outputQuery,
  procId,
  procRequest,
  pushRequest,
  stopRequest,
  sweepRequest,
  threadSlug,
  worktreeRequest,
  type WhoAmI,
  type WorktreeRow,
} from "#wire/agent.ts";
import { AGENT_LIMITS } from "./bounds.ts";
import type { Clock } from "./clock.ts";
import { readInside, writeInside } from "./files.ts";
import { bodyOf, paramOf, queryOf } from "./http.ts";
import { shownUrl } from "./mask.ts";
import { followOutput } from "./output.ts";
import { pushBranch } from "./push.ts";
import { branchOf, slugOf } from "./slug.ts";
import { linesResponse, operationResponse } from "./stream.ts";
import { removeWorktree, sweepWorktrees } from "./sweep.ts";
import type { Workspace } from "./workspace.ts";
import type { ThreadRecord } from "./worktrees.ts";

export interface RouteNeeds {
  readonly workspace: Workspace;
  readonly whoAmI: WhoAmI;
  readonly clock: Clock;
  readonly machine: Clock;
  readonly log: (error: unknown) => void;
}

/** Adds every route. */
export function addRoutes(app: Hono, needs: RouteNeeds): void {
  app.get("/v1/whoami", (c) => c.json(needs.whoAmI));
  addRepositoryRoutes(app, needs);
  addWorktreeRoutes(app, needs);
  addProcRoutes(app, needs);
  addFileRoutes(app, needs);
}

function addRepositoryRoutes(app: Hono, needs: RouteNeeds): void {
  const { mirror, prepared } = needs.workspace;
  app.post("/v1/mirror", async (c) => {
    const ask = await bodyOf(c, mirrorRequest);
    return await operationResponse(needs, async (report) => {
      const created = await mirror.refresh(ask.url, () => needs.clock.now(), report);
      const commit = await mirror.resolve(ask.ref);
      const key = ask.setup?.trim() ? await prepared.ensure(commit, ask.setup, report) : null;
      await prepared.prune();
      return { url: shownUrl(ask.url), ref: ask.ref ?? "HEAD", commit, created, prepared: key };
    });
  });
  app.post("/v1/push", async (c) => {
    const ask = await bodyOf(c, pushRequest);
    needs.workspace.tickets.judge(slugOf(ask.thread), ask.ticket);
    return c.json(await pushBranch(needs.workspace, ask));
  });
}

function addWorktreeRoutes(app: Hono, needs: RouteNeeds): void {
  const { worktrees, procs, tickets } = needs.workspace;
  app.post("/v1/worktrees", async (c) => {
    const ask = await bodyOf(c, worktreeRequest);
    return await operationResponse(needs, async (report) => await worktrees.ensure(ask, report));
  });
  app.get("/v1/worktrees", async (c) => {
    const { thread } = queryOf(c, threadQuery);
    const records = (await worktrees.all()).filter((record) => thread === undefined || record.thread === thread);
    const rows: WorktreeRow[] = [];
    while (records.length > 0) {
      rows.push(
        ...(await Promise.all(
          records.splice(0, AGENT_LIMITS.statusAtOnce).map(async (record) => await rowOf(needs, record)),
        )),
      );
    }
    return c.json({ worktrees: rows });
  });
  app.post("/v1/worktrees/:slug/keep", async (c) => c.json(await worktrees.keep(paramOf(c, "slug", threadSlug))));
  app.delete("/v1/worktrees/:slug", async (c) =>
    c.json(await removeWorktree(needs.workspace, paramOf(c, "slug", threadSlug), 0)),
  );
  app.post("/v1/sweep", async (c) => c.json(await sweepWorktrees(needs.workspace, await bodyOf(c, sweepRequest))));
  app.post("/v1/threads/:slug/stop", async (c) => {
    const { graceMs, ticket } = await bodyOf(c, stopRequest);
    const slug = paramOf(c, "slug", threadSlug);
    tickets.judge(slug, ticket);
    return c.json(await procs.stopThread(slug, graceMs));
  });
  app.post("/v1/fence", async (c) => {
    const { thread, ticket } = await bodyOf(c, fenceRequest);
    return c.json({ ticket: tickets.takeBack(slugOf(thread), ticket) });
  });
}

function addProcRoutes(app: Hono, needs: RouteNeeds): void {
  const { procs, records } = needs.workspace;
  app.post("/v1/procs", async (c) => c.json(await procs.start(await bodyOf(c, procRequest))));
  app.get("/v1/procs", async (c) => {
    const thread = queryOf(c, threadQuery).thread;
    return c.json({ procs: await procs.list(thread) });
  });
  app.get("/v1/procs/:id", async (c) => c.json(await procs.view(paramOf(c, "id", procId))));
  app.post("/v1/procs/:id/stop", async (c) => {
    const { graceMs } = await bodyOf(c, stopRequest);
    return c.json(await procs.stop(paramOf(c, "id", procId), graceMs));
  });
  app.get("/v1/procs/:id/output", async (c) => {
    const id = paramOf(c, "id", procId);
    const ask = queryOf(c, outputQuery);
    const left = new AbortController();
    const lines = await followOutput({
      folder: records.folderOf(id),
      from: { out: ask.out, err: ask.err },
      follow: ask.follow === "1",
      end: procs.endOf(id),
      machine: needs.machine,
      signal: left.signal,
    });
    return linesResponse(lines, () => left.abort(), needs.log);
  });
}

function addFileRoutes(app: Hono, needs: RouteNeeds): void {
  const { worktrees, procs, tickets } = needs.workspace;
  app.get("/v1/files", async (c) => {
    const { thread, path } = queryOf(c, fileQuery);
    const { slug } = await worktrees.require(slugOf(thread));
    return c.json(await readInside(worktrees.pathOf(slug), path));
  });
  app.put("/v1/files", async (c) => {
    const { thread, path } = queryOf(c, fileQuery);
    const { data, executable, ticket } = await bodyOf(c, filePut);
    const slug = slugOf(thread);
    const written = await worktrees.exclusively(slug, async () => {
      await worktrees.require(slug);
      // Judged in its turn: one that waited is behind whoever took its ticket back, and must not write over what came since.
      tickets.judge(slug, ticket);
      const put = await writeInside(worktrees.pathOf(slug), path, { data: Buffer.from(data, "base64"), executable });
      return { ...put, live: procs.aliveCount(slug) };
    });
    await worktrees.touch(slug);
    return c.json(written);
  });
}

const threadQuery = fileQuery.pick({ thread: true }).partial();

async function rowOf({ workspace: { worktrees, procs } }: RouteNeeds, record: ThreadRecord): Promise<WorktreeRow> {
  const { slug, thread, base, lastUsedAt, keptAt } = record;
  return {
    slug,
    thread,
    path: worktrees.pathOf(slug),
    branch: branchOf(slug),
    base,
    dirty: await worktrees.isDirty(record),
    lastUsed: lastUsedAt,
    kept: keptAt,
    liveProcs: procs.liveCount(slug),
  };
}
