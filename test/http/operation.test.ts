import { afterAll, beforeAll, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { openGate } from "../../src/access/gate.ts";
import { systemClock } from "../../src/core/clock.ts";
import { limits } from "../../src/core/limits.ts";
import { silentLog } from "../../src/core/log.ts";
import { describe as describeRoutes } from "../../src/http/docs/docs.ts";
import { model, text, writable } from "../../src/http/fields/field.ts";
import { notFound } from "../../src/http/fields/field_fault.ts";
import { limitParameter, textParameter } from "../../src/http/fields/query.ts";
import { gone, listSchema, reply } from "../../src/http/fields/schema.ts";
import { mounted, projectOperation, toOperations } from "../../src/http/operation.ts";
import { pageReply } from "../../src/http/pages/page.ts";
import { openProblems } from "../../src/http/problem.ts";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";

const thing = model("Thing", { name: text(), color: text({ default: "red" }) });

let accounts: FirstAccounts;
let room: ReturnType<typeof openRoom>;

beforeAll(async () => {
  accounts = await openFirstAccounts();
  room = openRoom();
}, startMsMax);

afterAll(() => accounts.close());

function openRoom() {
  const gate = openGate({ sql: accounts.sql, clock: systemClock, log: silentLog });
  return mounted(gate, "Things", [
    toOperations("project", "organization")("GET /things/", "insight:read", {
      summary: "List things",
      query: { color: textParameter("Only these.") },
      replies: { 200: reply("The color.", thing) },
      answer: ({ query: { color = "any" }, project }) => ({ name: project ? "project" : "other", color }),
    }),
    projectOperation("POST /things/", "insight:write", {
      summary: "Make a thing",
      body: writable(thing),
      replies: { 201: reply("It.", thing) },
      answer: ({ body }) => body,
    }),
    projectOperation("PATCH /things/:id/", "insight:write", {
      summary: "Change a thing",
      description: "What is not given stays.",
      put: "Replace a thing",
      find: ({ params: { id } }) => {
        if (id !== "1") throw notFound("No such thing.");
        return { id: 1 };
      },
      query: { limit: limitParameter("Things") },
      body: writable(thing),
      replies: { 200: reply("It.", thing) },
      answer: ({ body, found }) => ({ name: `${found.id} ${Object.keys(body).join()}`, color: "-" }),
    }),
    projectOperation("GET /pages/", "insight:read", {
      summary: "List numbered things",
      query: { limit: limitParameter("Things") },
      replies: { 200: reply("The things.", listSchema(thing)) },
      answer: ({ query: { limit }, url }) => {
        const page = { limit, offset: 0 };
        return pageReply(url, page, { count: limit, rows: things(limit) });
      },
    }),
    projectOperation("DELETE /things/:id/", "insight:write", {
      summary: "Delete a thing",
      replies: gone,
      answer: () => undefined,
    }),
  ]);
}

function things(count: number) {
  return Array.from({ length: count }, (_, i) => ({ name: `é\n${i}`, color: "red" }));
}

async function ask(method: string, path: string, body?: unknown, key = accounts.personal_api_key) {
  const app = new Elysia().onError(openProblems({ log: silentLog, routes: () => room.routes })).use(room);
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const reply = await app.handle(request);
  const sent = await reply.text();
  return [reply.status, sent === "" ? undefined : (JSON.parse(sent) as Record<string, unknown>)] as const;
}

const one = "/api/projects/@current/things/1/";

test("an operation answers under each of its homes", async () => {
  const project = { name: "project", color: "blue" };
  expect(await ask("GET", "/api/projects/@current/things/?color=blue")).toEqual([200, project]);
  expect(await ask("GET", "/api/environments/@current/things/?color=blue")).toEqual([200, project]);
  const other = { name: "other", color: "any" };
  expect(await ask("GET", "/api/organizations/@current/things/")).toEqual([200, other]);
});

test("POST fills defaults in, PUT wants what has none, PATCH takes what is given", async () => {
  const made = { name: "a", color: "red" };
  expect(await ask("POST", "/api/projects/@current/things/", { name: "a" })).toEqual([201, made]);
  expect((await ask("PATCH", one, { color: "blue" }))[1]?.["name"]).toBe("1 color");
  expect((await ask("PUT", one, { name: "b" }))[1]?.["name"]).toBe("1 name");
  expect((await ask("PUT", one, { color: "blue" }))[1]?.["code"]).toBe("required");
});

test("a page is sent as JSON would have it, a long one in slices too", async () => {
  for (const limit of [1, limits.rowsShownAtOnceMax, limits.rowsShownAtOnceMax + 1]) {
    const page = { count: limit, next: null, previous: null, results: things(limit) };
    expect(await ask("GET", `/api/projects/@current/pages/?limit=${limit}`)).toEqual([200, page]);
  }
});

test("what is deleted answers without a body", async () => {
  expect(await ask("DELETE", one)).toEqual([204, undefined]);
});

test("a request is refused as 401, 403, 404, then 400 of its query, then of its body", async () => {
  const { value } = await issueKey(accounts.sql, accounts.user_id, {
    label: "reads",
    scopes: ["insight:read"],
  });
  const wrong = { name: null };
  const missing = "/api/projects/@current/things/2/?limit=x";
  expect((await ask("PATCH", missing, wrong, "phx_nobody"))[0]).toBe(401);
  expect((await ask("PATCH", missing, wrong, value))[0]).toBe(403);
  expect(await ask("PATCH", missing, wrong)).toMatchObject([404, { detail: "No such thing." }]);
  expect(await ask("PATCH", `${one}?limit=x`, wrong)).toMatchObject([400, { attr: "limit" }]);
  expect(await ask("PATCH", one, wrong)).toMatchObject([400, { attr: "name" }]);
});

test("its part of the description comes from the same record", async () => {
  const { paths } = await describeRoutes(room.routes);
  const patch = paths["/api/projects/{project_id}/things/{id}/"]?.["patch"];
  expect(patch).toMatchObject({
    summary: "Change a thing",
    tags: ["Things"],
    "x-required-scopes": ["insight:write"],
    requestBody: {
      content: { "application/json": { schema: { $ref: "#/components/schemas/PatchedThing" } } },
    },
  });
  expect(patch?.description).toStartWith("What is not given stays.");
  const put = paths["/api/projects/{project_id}/things/{id}/"]?.["put"];
  expect(put).toMatchObject({ summary: "Replace a thing", description: "Scope: `insight:write`." });
  expect(patch?.parameters?.map(({ name }) => name).toSorted()).toEqual(["id", "limit", "project_id"]);
  expect(Object.keys(patch?.responses ?? {})).toEqual(["200", "400", "401", "403", "404", "429", "503"]);
});
