// A key that may only write something does not read by it what it has no scope to read.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Scope } from "../../src/access/scope.ts";
import type { ApiDocument } from "../../src/http/docs/document.ts";
import { startMsMax } from "../support/accounts.ts";
import { type Answer, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { bodyOf, event } from "../support/recordings.ts";
import { get, post, rested, type Server, startServer, until } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

const home = "/api/projects/1";
const at = Date.parse("2026-03-04T10:00:00Z");
const rawEvents = { kind: "EventsQuery", select: ["event", "distinct_id"], after: "all" };
let server: Server;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "20" });
  await ask(server, "PATCH", `${home}/`, { session_recording_opt_in: true });
  const body = bodyOf({ session: "s", events: [event.click(at)] });
  await until(async () => (await (await post(server, "/s/", body)).text()) === '{"status":"Ok"}');
  await rested(server);
}, startMsMax);

/** A request by a key that holds these scopes and no other. */
async function askWith(scopes: Scope[], method: string, path: string, body?: unknown): Promise<Answer> {
  const made = await ask(server, "POST", "/api/personal_api_keys/", { label: "narrow", scopes });
  const answer = await ask(server, method, path, body, String(made.body["value"]));
  // A user may only have ten.
  await ask(server, "DELETE", `/api/personal_api_keys/${String(made.body["id"])}/`);
  return answer;
}

function missing(scope: Scope): unknown[] {
  const detail = `API key missing required scope '${scope}'`;
  return [403, "authentication_error", "permission_denied", detail, null];
}

const sharing = `${home}/session_recordings/s/sharing/`;

test("sharing a recording takes the scope to read recordings as well; reading how it is shared does not", async () => {
  const refused = await askWith(["sharing_configuration:write"], "PATCH", sharing, { enabled: true });
  expect(problemOf(refused)).toEqual(missing("session_recording:read"));
  const other = await askWith(["session_recording:read"], "PATCH", sharing, { enabled: true });
  expect(problemOf(other)).toEqual(missing("sharing_configuration:write"));
  const shown = await askWith(["sharing_configuration:read"], "GET", sharing);
  expect([shown.status, shown.body["enabled"]]).toEqual([200, false]);
  const both: Scope[] = ["sharing_configuration:write", "session_recording:read"];
  expect((await askWith(both, "PATCH", sharing, { enabled: true })).body["enabled"]).toBe(true);
});

test("sharing an insight or a dashboard takes the scopes to see what the link shows", async () => {
  const query = { kind: "TrendsQuery", series: [{ event: "e" }] };
  const all: Scope[] = ["insight:write", "query:read", "dashboard:write"];
  const ids = await Promise.all(
    Object.entries({ insights: { query }, dashboards: {} }).map(
      async ([things, body]) => (await askWith(all, "POST", `${home}/${things}/`, body)).body["id"],
    ),
  );
  for (const [path, scopes] of [
    [`${home}/insights/${ids[0]}/sharing/`, ["insight:read"]],
    [`${home}/dashboards/${ids[1]}/sharing/`, ["dashboard:read", "insight:read"]],
  ] as [string, Scope[]][]) {
    const both: Scope[] = ["sharing_configuration:write", ...scopes];
    for (const left of both) {
      const others = both.filter((one) => one !== left);
      for (const [method, at] of [
        ["PATCH", path],
        ["POST", `${path}refresh/`],
      ] as const)
        expect(problemOf(await askWith(others, method, at, { enabled: true }))).toEqual(missing(left));
    }
    expect((await askWith(both, "PATCH", path, { enabled: true })).body["enabled"]).toBe(true);
    expect((await askWith(["sharing_configuration:read"], "GET", path)).body["enabled"]).toBe(true);
  }
});

test("an insight is written by who may read what its query answers", async () => {
  const insights = `${home}/insights/`;
  const input = { name: "raw", query: rawEvents };
  const refused = await askWith(["insight:write"], "POST", insights, input);
  expect(problemOf(refused)).toEqual(missing("query:read"));
  const made = await askWith(["insight:write", "query:read"], "POST", insights, input);
  expect(made.status).toBe(201);
  const one = `${insights}${String(made.body["id"])}/`;
  for (const method of ["PATCH", "PUT"]) {
    const changed = await askWith(["insight:write"], method, one, input);
    expect(problemOf(changed)).toEqual(missing("query:read"));
  }
  expect((await askWith(["insight:read"], "GET", one)).status).toBe(200);
  expect((await askWith(["insight:write"], "DELETE", one)).status).toBe(204);
});

test("a dashboard computes its insights for who may read insights", async () => {
  const made = await askWith(["dashboard:write"], "POST", `${home}/dashboards/`, { name: "board" });
  const one = `${home}/dashboards/${String(made.body["id"])}/`;
  expect((await askWith(["dashboard:read"], "GET", one)).status).toBe(200);
  expect((await askWith(["dashboard:read"], "GET", `${one}?refresh=false`)).status).toBe(200);
  const refused = await askWith(["dashboard:write"], "GET", `${one}?refresh=true`);
  expect(problemOf(refused)).toEqual(missing("insight:read"));
  const both: Scope[] = ["dashboard:read", "insight:read"];
  expect((await askWith(both, "GET", `${one}?refresh=true`)).status).toBe(200);
});

const schedule = {
  target_type: "email",
  target_value: "reader@example.com",
  frequency: "daily",
  start_date: "2024-01-01T09:00:00Z",
};

test("persons take person:read however they are filtered or written, events query:read", async () => {
  for (const query of ["", "?email=ann%40example.com", "?search=a", "?format=csv", "?zebra=1"]) {
    const refused = await askWith(["query:read"], "GET", `${home}/persons/${query}`);
    expect([query, ...problemOf(refused)]).toEqual([query, ...missing("person:read")]);
    const other = await askWith(["person:read"], "GET", `${home}/events/${query.replace("email", "event")}`);
    expect([query, ...problemOf(other)]).toEqual([query, ...missing("query:read")]);
  }
  expect((await askWith(["person:read"], "GET", `${home}/persons/?format=csv`)).status).toBe(200);
  expect((await askWith(["query:read"], "GET", `${home}/events/?format=csv`)).status).toBe(200);
});

test("a subscription takes its own scope alone, as the API's description says", async () => {
  const insight = (await ask(server, "POST", `${home}/insights/`, { name: "i", query: rawEvents })).body[
    "id"
  ];
  const input = { ...schedule, insight };
  expect((await askWith(["subscription:write"], "POST", `${home}/subscriptions/`, input)).status).toBe(201);
});

test("the API's description names every scope of an operation", async () => {
  const { paths } = (await (await get(server, "/docs/json")).json()) as ApiDocument;
  const share = paths["/api/projects/{project_id}/session_recordings/{id}/sharing/"]?.["patch"];
  const required = ["sharing_configuration:write", "session_recording:read"];
  expect(share?.["x-required-scopes"]).toEqual(required);
  expect(share?.description).toContain("Scopes: `sharing_configuration:write`, `session_recording:read`.");
  const make = paths["/api/projects/{project_id}/subscriptions/"]?.["post"];
  expect(make?.description).toContain("Scope: `subscription:write`.");
});
