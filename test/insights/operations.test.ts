import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createProject } from "../../src/projects/store.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask as askServer, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { storesOf } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
let stores: Stores;
/** A dashboard of another project of the same people. */
let foreign: number;

beforeAll(async () => {
  app = await startApp();
  stores = await storesOf(app);
  const { organization_id = "" } = app.bootstrapped ?? {};
  const { id } = await createProject(stores.sql, { organization_id, name: "Other" });
  foreign = Number((await ask("POST", "", { name: "Theirs" }, `/api/projects/${id}/dashboards/`)).body["id"]);
}, startMsMax);

const home = "/api/projects/1/insights/";

function ask(method: string, path: string, body?: unknown, at = home): Promise<Answer> {
  return askServer(app as never, method, `${at}${path}`, body);
}

const trend = {
  kind: "TrendsQuery",
  series: [{ event: "seen", math: "dau" }],
  dateRange: { date_from: "-1d" },
};

async function make(fields: object = {}): Promise<Answer> {
  const made = await ask("POST", "", { query: { kind: "InsightVizNode", source: trend }, ...fields });
  expect(made.status).toBe(201);
  return made;
}

async function makeDashboard(): Promise<number> {
  return Number((await ask("POST", "", { name: "Board" }, "/api/projects/1/dashboards/")).body["id"]);
}

describe("an insight", () => {
  test("keeps a query and is named after it", async () => {
    const { body } = await make({ description: "why", tags: ["a"], favorited: true });
    expect(body).toMatchObject({
      name: null,
      derived_name: "seen unique users",
      query: { kind: "InsightVizNode", source: trend },
      description: "why",
      tags: ["a"],
      favorited: true,
      deleted: false,
      dashboards: [],
      result: null,
      created_by: { email: expect.stringContaining("@") },
    });
    expect(body["short_id"]).toMatch(/^[0-9A-Za-z]{10}$/);
  });

  test("is read with its result, or without where that is not wanted", async () => {
    const { id } = (await make()).body;
    const { body } = await ask("GET", `${id}/`);
    expect(body).toMatchObject({
      result: [{ label: "seen", data: [0, 0] }],
      timezone: "UTC",
      query_status: null,
    });
    expect((await ask("GET", `${id}/?refresh=force_cache`)).body["result"]).toBeNull();
  });

  test("says why it has no result", async () => {
    const dateRange = { date_from: "2024-03-02", date_to: "2024-03-01" };
    const { id } = (await make({ query: { ...trend, dateRange } })).body;
    const { status, body } = await ask("GET", `${id}/`);
    expect([status, body["result"]]).toEqual([200, null]);
    expect(body["query_status"]).toMatchObject({
      error: true,
      error_message: expect.stringContaining("date_from"),
    });
  });

  test("changes only in what is said of it", async () => {
    const { id, short_id } = (await make({ name: "One", tags: ["a"] })).body;
    const query = { kind: "EventsQuery", select: ["*"], event: "seen" };
    const { body } = await ask("PATCH", `${id}/`, { query, name: null });
    expect(body).toMatchObject({ short_id, name: null, derived_name: "seen events", tags: ["a"], query });
  });

  test("is replaced by what PUT says, which must name its query", async () => {
    const { id } = (await make({ name: "One", tags: ["a"] })).body;
    expect(problemOf(await ask("PUT", `${id}/`, { name: "Two" }))[2]).toBe("required");
    const put = await ask("PUT", `${id}/`, { query: trend, tags: ["b", "c, d", '"e"'], favorited: true });
    expect(put.body).toMatchObject({
      name: "One",
      query: trend,
      tags: ["b", "c, d", '"e"'],
      favorited: true,
    });
    expect((await ask("PATCH", `${id}/`, { tags: [] })).body["tags"]).toEqual([]);
  });

  test("is found by its short id and by words", async () => {
    const { id, short_id } = (await make({ name: "100% found_it" })).body;
    for (const search of [`short_id=${short_id}`, "search=0%25%20FOUND_"]) {
      const { body } = await ask("GET", `?${search}`);
      expect([body["count"], (body["results"] as { id: number }[])[0]?.id]).toEqual([1, id as number]);
    }
    expect((await ask("GET", "?search=100%25%25")).body["count"]).toBe(0);
  });

  test("is listed newest first, a page at a time", async () => {
    const first = (await make()).body["id"];
    const second = (await make()).body["id"];
    const { body } = await ask("GET", "?limit=2");
    expect((body["results"] as { id: number }[]).map(({ id }) => id)).toEqual([second, first] as number[]);
    expect(body["next"]).toContain("limit=2&offset=2");
  });

  test("is deleted, once, and brought back", async () => {
    const { id } = (await make({ name: "Gone" })).body;
    expect((await ask("DELETE", `${id}/`)).status).toBe(204);
    expect((await ask("DELETE", `${id}/`)).status).toBe(404);
    expect((await ask("GET", `${id}/`)).status).toBe(404);
    expect((await ask("PATCH", `${id}/`, { name: "x" })).status).toBe(404);
    expect((await ask("GET", "?search=Gone")).body["count"]).toBe(0);
    expect((await ask("PATCH", `${id}/`, { deleted: false })).status).toBe(200);
    expect((await ask("PATCH", `${id}/`, { deleted: true })).body["deleted"]).toBe(true);
    expect((await ask("GET", `${id}/`)).status).toBe(404);
  });

  test("is on exactly the dashboards it names", async () => {
    const [a, b] = [await makeDashboard(), await makeDashboard()];
    const { id } = (await make({ dashboards: [a] })).body;
    const moved = await ask("PATCH", `${id}/`, { dashboards: [b, a, b] });
    expect(moved.body["dashboards"]).toEqual([a, b]);
    expect((await ask("PATCH", `${id}/`, { dashboards: [b] })).body["dashboards"]).toEqual([b]);
    expect((await ask("PATCH", `${id}/`, { name: "stays" })).body["dashboards"]).toEqual([b]);
    expect((await ask("GET", `?dashboard=${b}`)).body["count"]).toBe(1);
    expect((await ask("GET", `?dashboard=${a}`)).body["count"]).toBe(0);
  });
});

describe("an insight is refused", () => {
  test("without a query, and with one that is wrong", async () => {
    expect(problemOf(await ask("POST", "", {}))).toEqual([
      400,
      "validation_error",
      "required",
      "This field is required.",
      "query",
    ]);
    const wrong = await ask("POST", "", { query: { ...trend, interval: "minute" } });
    expect(problemOf(wrong)).toEqual([
      400,
      "validation_error",
      "invalid_choice",
      '"minute" is not a valid choice.',
      "query__interval",
    ]);
  });

  test("on a dashboard of another project, and leaves nothing behind", async () => {
    const before = (await ask("GET", "")).body["count"];
    const refused = await ask("POST", "", { query: trend, dashboards: [foreign] });
    const detail = `Invalid pk "${foreign}" - object does not exist.`;
    expect(problemOf(refused)).toEqual([400, "validation_error", "does_not_exist", detail, "dashboards"]);
    expect((await ask("GET", "")).body["count"]).toBe(before);
    const { id } = (await make({ name: "kept" })).body;
    expect((await ask("PATCH", `${id}/`, { name: "lost", dashboards: [foreign] })).status).toBe(400);
    expect((await ask("GET", `${id}/`)).body["name"]).toBe("kept");
  });

  test("to whoever asks another project for it", async () => {
    const { id } = (await make()).body;
    for (const method of ["GET", "PATCH", "DELETE"])
      expect((await ask(method, `${id}/`, undefined, "/api/projects/2/insights/")).status).toBe(404);
    expect((await ask("GET", "", undefined, "/api/projects/2/insights/")).body["count"]).toBe(0);
  });
});
