// Every answer has an X-Request-Id: a trusted proxy's, or the server's own; log lines about a request name it.

import { afterAll, expect, test } from "bun:test";
import { openLog } from "../../src/core/log.ts";
import { forwardTo } from "../../src/http/forward.ts";
import { listen, openApplication } from "../../src/http/listen.ts";
import { PeerAddresses } from "../../src/http/peer.ts";
import { openProblems } from "../../src/http/problem.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { sendRaw } from "../support/raw.ts";

afterAll(cleanUp);

const lines: string[] = [];

/** A server whose `/broken/` fails, and whose other addresses answer with the id that they got. */
function serve(isProxy: boolean, forward?: string) {
  const log = openLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
  const app = openApplication();
  const problem = openProblems({ log, routes: () => app.routes });
  if (forward) app.wrap(() => forwardTo(forward, () => undefined));
  app
    .onError((failure) => problem(failure))
    .get("/seen/", ({ request }) => request.headers.get("x-request-id") ?? "")
    .get("/broken/", () => {
      throw new TypeError("broken");
    });
  const peers = new PeerAddresses();
  const options = {
    host: "127.0.0.1",
    port: 0,
    bodyBytesMax: 1000,
    idleTimeoutSeconds: 60,
    peers,
    isProxy: () => isProxy,
  };
  const server = listen(app, options);
  later(() => server.stop());
  return server.url;
}

const idOf = async (url: string, sent?: string) =>
  (await fetch(url, { headers: sent === undefined ? {} : { "x-request-id": sent } })).headers.get(
    "x-request-id",
  );

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("every answer has an id of its own, refusals and addresses that cannot be included", async () => {
  const url = serve(false);
  const paths = ["/seen/", "/broken/", "/nothing/", "/a//b/", "/i//v0/e/", `/${"a/".repeat(40)}`];
  const ids = await Promise.all(paths.map((path) => idOf(`${url}${path}`)));
  for (const id of ids) expect(id).toMatch(uuid);
  expect(new Set(ids).size).toBe(paths.length);
  for (const target of ["/a/../b", "/a\\b"]) {
    const { text } = await sendRaw(url, [`GET ${target} HTTP/1.1`, "Host: s"]);
    expect(text.toLowerCase()).toContain("\r\nx-request-id: ");
  }
});

test("a trusted proxy's id is taken over, a stranger's is not", async () => {
  expect(await idOf(`${serve(true)}/seen/`, "from-proxy_1.2:3")).toBe("from-proxy_1.2:3");
  expect(await idOf(`${serve(false)}/seen/`, "from-stranger")).toMatch(uuid);
});

test("what is too long for an id, or has other characters, is replaced", async () => {
  const url = serve(true);
  for (const sent of ["a".repeat(129), "a b", 'a"b', "ä", ""])
    expect(await idOf(`${url}/seen/`, sent)).toMatch(uuid);
});

test("the log line about a request names the id of its answer", async () => {
  const id = await idOf(`${serve(false)}/broken/`);
  const line = JSON.parse(lines.findLast((text) => text.includes("a request failed"))!);
  expect(line.request_id).toBe(id);
});

test("a request that is forwarded keeps its id", async () => {
  const inner = serve(true);
  const outer = serve(false, inner);
  const reply = await fetch(`${outer}/seen/`);
  expect(reply.headers.get("x-request-id")).toMatch(uuid);
  expect(await reply.text()).toBe(reply.headers.get("x-request-id")!);
});
