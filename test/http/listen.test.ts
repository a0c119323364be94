// How requests are addressed: whatever name a client, a proxy or a health check has for this server, or none.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { sendRaw } from "../support/raw.ts";
import { personalKey, projectKey } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(cleanUp);

const authorization = `Authorization: Bearer ${personalKey}`;

const send = (head: string[], body = "") => sendRaw(app.url, head, body);

const event = JSON.stringify({ api_key: projectKey, event: "e", distinct_id: "d" });

test("a host of one letter is a host", async () => {
  for (const host of ["s", "db", "api", "s:80"]) {
    const named = `Host: ${host}`;
    expect((await send(["GET /_health HTTP/1.1", named])).status).toBe(200);
    expect(
      (await send(["POST /flags/?v=2 HTTP/1.1", named], JSON.stringify({ token: projectKey }))).status,
    ).toBe(200);
    expect((await send(["POST /capture/ HTTP/1.1", named], event)).status).toBe(200);
    const list = await send(["GET /api/projects/?limit=1 HTTP/1.1", named, authorization]);
    expect(list.status).toBe(200);
  }
});

test("a request of HTTP/1.0 needs no host", async () => {
  expect((await send(["GET /_readiness HTTP/1.0"])).status).toBe(200);
  expect((await send(["OPTIONS /api/projects/ HTTP/1.0"])).status).toBe(204);
  expect(
    (await send(["POST /batch/ HTTP/1.0"], `{"api_key":"${projectKey}","batch":[${event}]}`)).status,
  ).toBe(200);
  expect((await send(["GET /api/projects/1/ HTTP/1.0", authorization])).text).toContain('"id":1,');
  expect((await send(["GET /api/nothing/ HTTP/1.0"])).status).toBe(404);
});

test("what is no host is refused as such, and shows nothing of the program", async () => {
  for (const host of ["[", "a:b"]) {
    const { status, text } = await send(["GET /api/projects/ HTTP/1.1", `Host: ${host}`, authorization]);
    expect([host, status]).toEqual([host, 400]);
    expect(text).toContain('"code":"parse_error","detail":"The Host header names no host."');
  }
});

test("cookies of a whole domain, a pixel full of events and a chain of proxies fit a request's head", async () => {
  const cookies = `Cookie: ${Array.from({ length: 20 }, (_, i) => `session_${i}=${"x".repeat(3000)}`).join("; ")}`;
  expect((await send(["POST /e/ HTTP/1.1", "Host: s", cookies], event)).status).toBe(200);
  const pixel = encodeURIComponent(
    Buffer.from(event.replace("}", `,"pad":"${"x".repeat(30_000)}"}`)).toString("base64"),
  );
  expect((await send([`GET /e/?data=${pixel} HTTP/1.1`, "Host: s"])).status).toBe(200);
  const hops = Array.from({ length: 180 }, (_, i) => `X-Hop-${i}: ${i}`);
  expect((await send(["POST /e/ HTTP/1.1", "Host: s", ...hops], event)).status).toBe(200);
  expect((await send(["POST /e/ HTTP/1.1", "Host: s", `Cookie: ${"x".repeat(70_000)}`], event)).status).toBe(
    431,
  );
});
