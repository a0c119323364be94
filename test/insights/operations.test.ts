import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { newShortId } from "../../src/core/id.ts";
import { createInsight } from "../../src/insights/store.ts";
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

/** Queries with a wrong text of SQL somewhere, and what is named as wrong. */
const wrongTexts: [query: object, attr: string, detail: RegExp][] = [
  [{ kind: "HogQLQuery", query: "select event form events" }, "query__query", /Line 1, column/],
  [{ kind: "HogQLQuery", query: "select evnt from events" }, "query__query", /evnt.*event/],
  [{ kind: "HogQLQuery", query: "select {variables.day}" }, "query__query", /"day"/],
  [{ kind: "HogQLQuery", query: "select sleep(3)" }, "query__query", /sleep/],
  [
    { kind: "DataTableNode", source: { kind: "EventsQuery", select: ["*", "count("] } },
    "query__source__select__1",
    /./,
  ],
  [{ kind: "EventsQuery", select: ["*"], where: ["event ="] }, "query__where__0", /./],
  [{ kind: "SessionsQuery", select: ["*"], orderBy: ["a desc b"] }, "query__orderBy__0", /order/],
  [{ kind: "ActorsQuery", select: ["person", "1 +"] }, "query__select__1", /./],
  [{ ...trend, properties: [{ type: "hogql", key: "1 = (" }] }, "query__properties__0__key", /./],
  [
    { ...trend, series: [{ math: "hogql", math_hogql: "event" }] },
    "query__series__0__math_hogql",
    /aggregate/,
  ],
  [
    { ...trend, breakdownFilter: { breakdown: ")", breakdown_type: "hogql" } },
    "query__breakdownFilter__breakdown",
    /./,
  ],
];

/** Texts that are right, or cannot be known to be wrong before they run. */
const rightTexts: object[] = [
  { kind: "HogQLQuery", query: "select event from events where {filters} and properties.n in (1, 2)" },
  {
    kind: "HogQLQuery",
    query: "select {variables.day}, {name}",
    values: { name: "a" },
    variables: { one: { code_name: "day", value: "2024-01-01" } },
  },
  { kind: "EventsQuery", select: ["*", "* -- all", "person", "person_display_name -- Person", "count()"] },
  { kind: "SessionsQuery", select: ["*"], orderBy: ["$start_timestamp desc -- newest"] },
  { kind: "ActorsQuery", select: ["person", "id", "created_at", "person.$delete"] },
  { ...trend, properties: [{ type: "hogql", key: "properties.n > 1" }] },
];

describe("an insight", () => {
  test.each(wrongTexts)("with a wrong text of SQL is not kept: %j", async (query, attr, detail) => {
    const kept = await make();
    const path = `${Number(kept.body["id"])}/`;
    for (const refused of [await ask("POST", "", { query }), await ask("PATCH", path, { query })]) {
      expect([refused.status, refused.body["attr"]]).toEqual([400, attr]);
      expect(String(refused.body["detail"])).toMatch(detail);
    }
    expect((await ask("GET", path)).body["query"]).toEqual({ kind: "InsightVizNode", source: trend });
  });

  test.each(rightTexts)("with a right one is: %j", async (query) => {
    expect((await ask("POST", "", { query })).body["query"]).toEqual(query);
  });

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
      result_type: null,
      created_by: { email: expect.stringContaining("@") },
    });
    expect(body["short_id"]).toMatch(/^(?!\d{8}$)[0-9A-Za-z]{8}$/);
    expect(body).toMatchObject({
      saved: true,
      order: null,
      filters: {},
      refreshing: false,
      is_cached: false,
    });
  });

  test("is read with its result, or without where that is not wanted", async () => {
    const { id } = (await make()).body;
    const { body } = await ask("GET", `${id}/`);
    expect(body).toMatchObject({
      result: [{ label: "seen", data: [0, 0] }],
      result_type: "series",
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

  test("changes only in the fields sent", async () => {
    const { id, short_id } = (await make({ name: "One", tags: ["a"] })).body;
    const query = { kind: "EventsQuery", select: ["*"], event: "seen" };
    const { body } = await ask("PATCH", `${id}/`, { query, name: null });
    expect(body).toMatchObject({ short_id, name: null, derived_name: "seen events", tags: ["a"], query });
  });

  test("keeps its query as it was sent, with numbers as numbers, as the API's description says", async () => {
    const series = [{ event: "seen", custom_name: 5, math_group_type_index: "2" }];
    const source = {
      kind: "TrendsQuery",
      series,
      breakdownFilter: { breakdown: "plan", breakdown_limit: "5" },
    };
    const { id, query } = (await make({ query: { source, kind: "InsightVizNode" } })).body;
    const kept = {
      kind: "InsightVizNode",
      source: {
        kind: "TrendsQuery",
        series: [{ event: "seen", custom_name: "5", math_group_type_index: 2 }],
        breakdownFilter: { breakdown: "plan", breakdown_limit: 5 },
      },
    };
    expect(query).toEqual(kept);
    const retention = { kind: "RetentionQuery", retentionFilter: { totalIntervals: "7" } };
    const changed = await ask("PATCH", `${id}/`, { query: { kind: "DataTableNode", source: retention } });
    expect(changed.body["query"]).toEqual({
      kind: "DataTableNode",
      source: { kind: "RetentionQuery", retentionFilter: { totalIntervals: 7 } },
    });
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

  test("has a short id that stands for its id in every path", async () => {
    const { id, short_id } = (await make({ name: "short" })).body;
    expect((await ask("GET", `${short_id}/`)).body).toMatchObject({ id, result: [{ label: "seen" }] });
    expect((await ask("PATCH", `${short_id}/`, { name: "renamed" })).body).toMatchObject({
      id,
      name: "renamed",
    });
    expect((await ask("PUT", `${short_id}/`, { query: trend })).body).toMatchObject({ id, query: trend });
    expect((await ask("DELETE", `${short_id}/`)).status).toBe(204);
    expect((await ask("GET", `${short_id}/`)).status).toBe(404);
    expect((await ask("PATCH", `${short_id}/`, { deleted: false })).body).toMatchObject({
      id,
      deleted: false,
    });
    for (const wrong of ["aaaaaaa", "a".repeat(13), "99999999", "a b c d e", "0"])
      expect((await ask("GET", `${wrong}/`)).status).toBe(404);
  });

  test("keeps a short id of ten characters that an older version gave it", async () => {
    const { id } = (await make()).body;
    await stores.sql`UPDATE insights SET short_id = 'LlLfJxgbbc' WHERE id = ${Number(id)}`;
    expect((await ask("GET", "LlLfJxgbbc/?refresh=false")).body).toMatchObject({
      id,
      short_id: "LlLfJxgbbc",
    });
    expect((await ask("GET", "?short_id=LlLfJxgbbc")).body["count"]).toBe(1);
  });

  // A tool that keeps its state compares what it sent with what comes back.
  test("keeps a derived name that is sent, and derives one again for a new query", async () => {
    const id = String((await ask("POST", "", { query: trend, derived_name: "mine" })).body["id"]);
    const change = async (body: object) => (await ask("PATCH", `${id}/`, body)).body["derived_name"];
    expect(await change({ name: "x" })).toBe("mine");
    expect(await change({ query: trend, derived_name: "still mine" })).toBe("still mine");
    expect(await change({ derived_name: null })).toBe("still mine");
    expect(await change({ query: trend })).toBe("seen unique users");
  });

  test("gets another short id where the first is in use, and none of digits alone", async () => {
    const { short_id } = (await make()).body;
    const [project] = await stores.sql<{ id: number }[]>`SELECT id FROM projects WHERE id = 1`;
    const maker = { project_id: project!.id, user_id: 1 };
    const input = {
      name: null,
      derived_name: "x",
      query: trend,
      description: "",
      tags: [],
      favorited: false,
      saved: true,
      order: null,
      filters: {},
      deleted: false,
      dashboards: [],
    };
    const given = [String(short_id), String(short_id), "Ab3dEf7h"];
    const id = await createInsight(stores.sql, input, maker, () => given.shift()!);
    expect((await ask("GET", `${id}/?refresh=false`)).body["short_id"]).toBe("Ab3dEf7h");
    expect(createInsight(stores.sql, input, maker, () => String(short_id))).rejects.toThrow("short id");
    const many = Array.from({ length: 5000 }, newShortId);
    expect(many.filter((one) => !/^[0-9A-Za-z]{8}$/.test(one) || /^\d+$/.test(one))).toEqual([]);
    expect(new Set(many).size).toBe(5000);
  });

  test("is saved or not, and has a place in an order of its maker's own", async () => {
    const { id } = (await make({ saved: false, order: 7, filters: {} })).body;
    expect((await ask("GET", `${id}/?basic=true`)).body).toMatchObject({
      saved: false,
      order: 7,
      result: null,
    });
    expect((await ask("PATCH", `${id}/`, { saved: true, order: null })).body).toMatchObject({
      saved: true,
      order: null,
    });
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
  test("with PostHog's older filters, which would be ignored", async () => {
    const filters = { insight: "TRENDS", events: [{ id: "$pageview" }] };
    for (const [method, path] of [
      ["POST", ""],
      ["PATCH", `${(await make()).body["id"]}/`],
    ] as const) {
      const [status, , code, detail, attr] = problemOf(await ask(method, path, { query: trend, filters }));
      expect([status, code, attr]).toEqual([400, "invalid_input", "filters"]);
      expect(detail).toContain("query");
    }
    for (const empty of [null, [], {}, ""])
      expect((await make({ filters: empty })).body["filters"]).toEqual({});
  });

  test("without a query, and with one that is wrong", async () => {
    expect(problemOf(await ask("POST", "", {}))).toEqual([
      400,
      "validation_error",
      "required",
      "This field is required.",
      "query",
    ]);
    const wrong = await ask("POST", "", { query: { ...trend, interval: "fortnight" } });
    expect(problemOf(wrong)).toEqual([
      400,
      "validation_error",
      "invalid_choice",
      '"fortnight" is not a valid choice.',
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

  test("to whoever requests it of another project", async () => {
    const { id, short_id } = (await make()).body;
    for (const method of ["GET", "PATCH", "DELETE"]) {
      expect((await ask(method, `${id}/`, undefined, "/api/projects/2/insights/")).status).toBe(404);
      expect((await ask(method, `${short_id}/`, undefined, "/api/projects/2/insights/")).status).toBe(404);
    }
    expect((await ask("GET", "", undefined, "/api/projects/2/insights/")).body["count"]).toBe(0);
  });
});
