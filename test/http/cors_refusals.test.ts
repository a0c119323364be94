// What a page may read of refusals: all of them, but those of the management API.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ BODY_BYTES_MAX: "100000" });
});
afterAll(cleanUp);

const origin = "https://shop.example";

async function ask(
  path: string,
  init: RequestInit = {},
): Promise<{ status: number; allowed: unknown[]; body: string }> {
  const headers = { origin, ...(init.headers as Record<string, string> | undefined) };
  const reply = await fetch(`${app.url}${path}`, { ...init, headers });
  const names = ["access-control-allow-origin", "access-control-allow-credentials"];
  return {
    status: reply.status,
    allowed: names.map((name) => reply.headers.get(name)),
    body: await reply.text(),
  };
}

test("a page may read every refusal: 404, 405, 413, 401 and 400", async () => {
  const body = JSON.stringify({ api_key: projectKey, event: "e", distinct_id: "d" });
  const refused: [string, RequestInit, number][] = [
    ["/nowhere", {}, 404],
    ["/ingest/batch/", { method: "POST", body }, 404],
    ["//nowhere//", {}, 404],
    ["/static/none.js", {}, 404],
    ["/batch/", { method: "PUT", body }, 405],
    ["/batch/", { method: "DELETE" }, 405],
    ["/flags/", { method: "PATCH" }, 405],
    ["/batch/", { method: "POST", body: "x".repeat(100_001) }, 413],
    ["/e/", { method: "POST", body: "{" }, 400],
    ["/e/", { method: "POST", body: body.replace(projectKey, "phc_nobodys") }, 401],
  ];
  for (const [path, init, status] of refused) {
    const reply = await ask(path, init);
    expect([path, reply.status, ...reply.allowed]).toEqual([path, status, origin, "true"]);
  }
});

test("logs, metrics and traces are refused permanently, to pages too", async () => {
  for (const path of ["/i/v1/logs", "/i/v1/metrics", "/i/v1/traces", "/i/v0/ai/otel", "/i/v0/ai"]) {
    for (const spelling of [path, `${path}/?token=${projectKey}`, `/${path}`]) {
      const reply = await ask(spelling, { method: "POST", body: "{}" });
      // What SDKs do not send again: no 5xx, 408 or 429.
      expect([spelling, reply.status, ...reply.allowed]).toEqual([spelling, 404, origin, "true"]);
      expect(JSON.parse(reply.body)).toMatchObject({ code: "not_found" });
      expect(reply.body).toContain("not stored");
    }
  }
});

test("preflights are allowed everywhere but in the management API", async () => {
  const headers = { "access-control-request-method": "POST", "access-control-request-headers": "x-own" };
  for (const path of ["/i/v1/logs", "/i/v1/metrics?token=x", "/i/v0/ai/otel", "/nowhere", "//batch/"]) {
    const reply = await fetch(`${app.url}${path}`, { method: "OPTIONS", headers: { origin, ...headers } });
    expect([path, reply.status, reply.headers.get("access-control-allow-headers")]).toEqual([
      path,
      200,
      "x-own",
    ]);
    expect(reply.headers.get("access-control-allow-origin")).toBe(origin);
  }
});

test("no page may read what the management API says, not even that there is nothing", async () => {
  for (const path of ["/api/projects/1/", "/api/nowhere/", "/api/projects/1/events/", "/api//projects/"]) {
    for (const method of ["GET", "OPTIONS", "PUT"]) {
      const headers = { "access-control-request-method": "GET" };
      expect([path, method, ...(await ask(path, { method, headers })).allowed]).toEqual([
        path,
        method,
        null,
        null,
      ]);
    }
  }
});

test("without an origin a refusal allows nobody anything", async () => {
  const reply = await fetch(`${app.url}/nowhere`);
  expect(reply.headers.get("access-control-allow-origin")).toBeNull();
  expect(reply.status).toBe(404);
});
