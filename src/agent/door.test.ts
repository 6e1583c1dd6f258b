// The agent's door: who gets in, how much, and in which words it refuses. The app is asked directly.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as z from "zod";
import { LIMIT } from "#core/budgets.ts";
import { agentProblem, type AgentProblem } from "#wire/agentErrors.ts";
import { gitRef, procId, repositoryUrl } from "#wire/agent.ts";
import { agentDoor, bodyOf } from "./http.ts";
import { masked, secretsOf, shownUrl } from "./mask.ts";
import { slugOf } from "./slug.ts";

const TOKEN = "the-token-of-this-agent";
const logged: unknown[] = [];
const app = agentDoor(TOKEN, (error) => logged.push(error));
app.post("/v1/echo", async (c) => c.json(await bodyOf(c, z.object({ count: z.number() }))));
app.get("/v1/fails", () => {
  throw new Error("with a secret inside");
});

type Ask = Omit<RequestInit, "headers"> & { headers?: Record<string, string> };

async function ask(path: string, init: Ask = {}, bearer = `Bearer ${TOKEN}`): Promise<Response> {
  return await app.request(`http://127.0.0.1/v1/${path}`, {
    ...init,
    headers: { authorization: bearer, "content-type": "application/json", ...init.headers },
  });
}
async function problem(response: Response): Promise<AgentProblem> {
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  const read = agentProblem.parse(await response.json());
  assert.equal(read.status, response.status);
  assert.ok(read.next.length > 0);
  return read;
}
const post = (body: NonNullable<RequestInit["body"]>, headers: Record<string, string> = {}): Ask => ({
  method: "POST",
  body,
  headers,
  duplex: "half",
});

describe("the door", () => {
  test("opens to its own bearer only", async () => {
    for (const bearer of ["", "Bearer ", "Bearer wrong", `Basic ${TOKEN}`, `Bearer ${TOKEN}x`, TOKEN]) {
      assert.equal((await problem(await ask("echo", post("{}"), bearer))).code, "UNAUTHENTICATED", bearer);
    }
    assert.equal((await ask("echo", post('{"count":1}'))).status, 200);
    assert.equal((await problem(await ask("nothing", {}, "Bearer wrong"))).code, "UNAUTHENTICATED");
  });

  test("names what is wrong with a body, and caps it also when its length is not said", async () => {
    const codes: [Ask, string, RegExp][] = [
      [post("{"), "BAD_REQUEST", /not JSON/],
      [post('{"count":"one"}'), "BAD_REQUEST", /^count: /],
      [post("{}", { "content-type": "text/plain" }), "UNSUPPORTED_TYPE", /text\/plain/],
      [post(" ".repeat(LIMIT.bodyBytes + 1)), "BODY_TOO_LARGE", /bytes/],
      [
        post(
          new ReadableStream({
            start: (c) => {
              c.enqueue(new Uint8Array(LIMIT.bodyBytes + 1).fill(32));
              c.close();
            },
          }),
        ),
        "BODY_TOO_LARGE",
        /bytes/,
      ],
    ];
    for (const [init, code, words] of codes) {
      const read = await problem(await ask("echo", init));
      assert.equal(read.code, code);
      assert.match(read.detail, words);
    }
  });

  test("says nothing of an unexpected failure, logs it, and knows its routes", async () => {
    const read = await problem(await ask("fails"));
    assert.equal(read.code, "INTERNAL");
    assert.doesNotMatch(JSON.stringify(read), /secret/);
    assert.equal(logged.length, 1);
    assert.equal((await problem(await ask("nothing"))).code, "NO_SUCH_ROUTE");
  });
});

describe("names", () => {
  test("a slug is plain, safe and one a key", () => {
    assert.equal(slugOf("plain-1"), "plain-1");
    const keys = [
      "a",
      "A",
      "a-",
      "-a",
      "a b",
      "a_b",
      "a/b",
      "",
      "ä",
      "x".repeat(200),
      `${"x".repeat(199)}y`,
      slugOf("A"),
      "a.lock",
      "--",
      "refs/heads/a",
    ];
    const slugs = keys.map(slugOf);
    assert.equal(new Set(slugs).size, keys.length);
    for (const slug of slugs) assert.match(slug, /^[a-z0-9][a-z0-9-]{0,59}$/);
  });

  test("a ref, a url and an id that git or a path could misread are refused", () => {
    for (const ref of [
      "-x",
      "a..b",
      "a b",
      "a~1",
      "a^",
      "a:b",
      "@{u}",
      "a@{1}",
      "/a",
      "a/",
      "a//b",
      ".a",
      "a/.b",
      "a.lock",
      "a.",
      "@",
      "a\nb",
      "*",
    ]) {
      assert.equal(gitRef.safeParse(ref).success, false, ref);
    }
    for (const ref of ["main", "feature/x-1", "v1.2.3", "refs/pull/7/head", "a@b", "0".repeat(40)])
      assert.equal(gitRef.safeParse(ref).success, true, ref);
    for (const url of ["-x", "--upload-pack=x", "a\nb", ""])
      assert.equal(repositoryUrl.safeParse(url).success, false, url);
    for (const id of ["", ".", "..", "a/b", "-a", "a b", "a".repeat(101)])
      assert.equal(procId.safeParse(id).success, false, id);
  });
});

describe("a credential", () => {
  test("is in no url that is shown and in no text", () => {
    assert.equal(shownUrl("https://user:pass@host/x.git?token=abc"), "https://host/x.git");
    assert.equal(shownUrl("/a/path?with@odd#names"), "/a/path?with@odd#names");
    const url = "https://ghp_sometoken:x-oauth%20basic@host/x?access_token=abcdef";
    const text = masked(`fatal: ${url} ghp_sometoken x-oauth basic abcdef https://other:pw@elsewhere/`, secretsOf(url));
    assert.doesNotMatch(text, /ghp_|oauth|abcdef|other|pw/);
    assert.equal(masked("git push to git@host", secretsOf("ssh://git@host/x")), "git push to git@host");
  });
});
