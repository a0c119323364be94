// JSON is never taken for anything else by a browser, whatever a client's text in it looks like.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { managementRoutes, type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { personalKey, projectKey } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(cleanUp);

/** Method, path and status of every reply to it that is JSON and may be taken for something else. */
async function sniffed(method: string, path: string, headers: Record<string, string>, body?: string) {
  const reply = await fetch(`${app.url}${path}`, { method, headers, ...(body !== undefined && { body }) });
  await reply.arrayBuffer();
  const isJson = (reply.headers.get("content-type") ?? "").includes("json");
  const told = reply.headers.get("x-content-type-options");
  return !isJson || told === "nosniff" ? undefined : [method, path, reply.status, told];
}

const authorization = { authorization: `Bearer ${personalKey}` };

test("every management route's JSON says so, answers and refusals", async () => {
  const asked = managementRoutes(app).filter(({ method }) => method !== "DELETE");
  expect(asked.length).toBeGreaterThan(100);
  const wrong: unknown[] = [];
  for (const { method, path } of asked) {
    const address = path
      .replace(":organization_id", "@current")
      .replace(":project_id", "1")
      .replaceAll(/:\w+/g, "1");
    const body = method === "GET" ? undefined : "{}";
    const type = { "content-type": "application/json" };
    wrong.push(await sniffed(method, address, { ...authorization, ...type }, body));
    wrong.push(await sniffed(method, address, type, body));
  }
  expect(wrong.filter(Boolean)).toEqual([]);
});

test("so do captures, configuration of SDKs, documents, readiness and 404s", async () => {
  const event = JSON.stringify({ api_key: projectKey, event: "e", distinct_id: "d" });
  const wrong = [
    await sniffed("POST", "/capture/", {}, event),
    await sniffed("POST", "/capture/", { origin: "https://page.example" }, event),
    await sniffed("POST", "/batch/?verbose=1", {}, `{"api_key":"${projectKey}","batch":[${event}]}`),
    await sniffed("POST", "/capture/", {}, "{"),
    await sniffed("POST", "/capture/", {}, event.replace(projectKey, "phc_unknown")),
    await sniffed("POST", "/flags/?v=2", {}, JSON.stringify({ token: projectKey })),
    await sniffed("GET", `/array/${projectKey}/config`, {}),
    await sniffed("GET", "/docs/json", {}),
    await sniffed("GET", "/_readiness", {}),
    await sniffed("GET", "/api/nothing/", {}),
    await sniffed("GET", "/api//nothing/", {}),
    await sniffed("GET", "/static/nothing.js", {}),
    await sniffed("GET", "/static/array.js.map", {}),
  ];
  expect(wrong.filter(Boolean)).toEqual([]);
});
