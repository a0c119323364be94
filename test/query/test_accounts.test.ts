// Questions with `filterTestAccounts` are asked of the events that pass the project's own filters.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { testAccountFilters } from "../../src/storage/events/test_accounts.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { storesOf } from "../support/server.ts";
import { storeEvents } from "./naive.ts";

afterAll(cleanUp, startMsMax);

const home = "/api/projects/1";
const noon = Date.UTC(2024, 2, 30, 12);
const dateRange = { date_from: "2024-03-29", date_to: "2024-03-31" };
const byPerson = { key: "email", type: "person", operator: "not_icontains", value: "@own.example" };
const byEvent = { key: "$host", operator: "is_not", value: ["localhost"] };
let app: RunningApp;
let stores: Stores;

beforeAll(async () => {
  app = await startApp();
  stores = await storesOf(app);
  const people = ["ann", "bob", "own", "dev"];
  const events = people.flatMap((distinct_id, i) =>
    ["seen", "bought"].map((event, j) => ({
      uuid: `00000000-0000-4000-8000-0000000000${i}${j}`,
      event,
      distinct_id,
      at: noon + j * 60_000,
      properties: { $host: distinct_id === "dev" ? "localhost" : "shop.example" },
    })),
  );
  await storeEvents(stores, 1, events);
  await stores.clickhouse.command(
    `INSERT INTO person_props (project_id, distinct_id, key, kind, w)
     SELECT 1, 'own', 'email', 0, tuple(toInt64(5), toUInt128(1), toInt8(0), '"me@own.example"')`,
  );
}, startMsMax);

beforeEach(() => setFilters([byPerson, byEvent]));

async function setFilters(test_account_filters: unknown): Promise<Answer> {
  return await ask(app, "PATCH", `${home}/`, { test_account_filters });
}

async function resultsOf(query: object): Promise<unknown[]> {
  const { status, body } = await ask(app, "POST", `${home}/query/`, { query });
  expect([status, body["detail"]]).toEqual([200, undefined]);
  return body["results"] as unknown[];
}

const trend = { kind: "TrendsQuery", series: [{ event: "seen", math: "dau" }], dateRange };
const countsOf = (results: unknown[]) => (results as { count: number }[]).map(({ count }) => count);

describe("with filterTestAccounts", () => {
  test("a trend counts who is no test account, by the filters of events and of persons", async () => {
    expect(countsOf(await resultsOf(trend))).toEqual([4]);
    expect(countsOf(await resultsOf({ ...trend, filterTestAccounts: false }))).toEqual([4]);
    expect(countsOf(await resultsOf({ ...trend, filterTestAccounts: true }))).toEqual([2]);
    await setFilters([byPerson]);
    expect(countsOf(await resultsOf({ ...trend, filterTestAccounts: true }))).toEqual([3]);
    await setFilters([]);
    expect(countsOf(await resultsOf({ ...trend, filterTestAccounts: true }))).toEqual([4]);
  });

  test("the query's own filters hold as well", async () => {
    const properties = [{ key: "email", type: "person", operator: "is_set" }];
    expect(countsOf(await resultsOf({ ...trend, properties }))).toEqual([1]);
    expect(countsOf(await resultsOf({ ...trend, properties, filterTestAccounts: true }))).toEqual([0]);
  });

  test("a funnel, a retention table and a list of events leave them out", async () => {
    const series = [{ event: "seen" }, { event: "bought" }];
    const funnel = { kind: "FunnelsQuery", series, dateRange };
    expect(countsOf(await resultsOf(funnel))).toEqual([4, 4]);
    expect(countsOf(await resultsOf({ ...funnel, filterTestAccounts: true }))).toEqual([2, 2]);
    const retention = {
      kind: "RetentionQuery",
      dateRange: { date_to: "2024-03-30" },
      retentionFilter: { totalIntervals: 1, targetEntity: { id: "seen" }, returningEntity: { id: "seen" } },
    };
    const began = (results: unknown[]) => (results as { values: { count: number }[] }[])[0]?.values[0]?.count;
    expect(began(await resultsOf(retention))).toBe(4);
    expect(began(await resultsOf({ ...retention, filterTestAccounts: true }))).toBe(2);
    const list = { kind: "EventsQuery", select: ["distinct_id"], event: "seen", after: "2024-03-29" };
    expect((await resultsOf(list)).flat().toSorted()).toEqual(["ann", "bob", "dev", "own"]);
    const left = await resultsOf({ ...list, filterTestAccounts: true });
    expect(left.flat().toSorted()).toEqual(["ann", "bob"]);
  });

  test("a saved insight and its dashboard follow the setting", async () => {
    const query = { kind: "InsightVizNode", source: { ...trend, filterTestAccounts: true } };
    const board = await ask(app, "POST", `${home}/dashboards/`, { name: "Board" });
    const made = await ask(app, "POST", `${home}/insights/`, { query, dashboards: [board.body["id"]] });
    const resultOf = async () => {
      const { body } = await ask(app, "GET", `${home}/insights/${String(made.body["id"])}/?refresh=true`);
      return countsOf(body["result"] as unknown[]);
    };
    expect(await resultOf()).toEqual([2]);
    const shown = await ask(app, "GET", `${home}/dashboards/${String(board.body["id"])}/?refresh=true`);
    expect(shown.text).toContain('"count":2');
    await setFilters([]);
    expect(await resultOf()).toEqual([4]);
  });

  test("other rooms read the same filters", async () => {
    expect(await testAccountFilters(stores.sql, 1)).toEqual([
      { type: "person", key: "email", operator: "not_icontains", values: ["@own.example"] },
      { type: "event", key: "$host", operator: "is_not", values: ["localhost"] },
    ]);
    expect(await testAccountFilters(stores.sql, 999)).toEqual([]);
  });
});

describe("test_account_filters", () => {
  test("are none at first, and shown as they were set", async () => {
    const made = await ask(app, "POST", "/api/projects/", { name: "Second" });
    expect(made.body["test_account_filters"]).toEqual([]);
    const filters = [byPerson, { ...byEvent, label: "our own" }];
    expect((await setFilters(filters)).body["test_account_filters"]).toEqual(filters);
    expect((await ask(app, "GET", "/api/environments/1/")).body["test_account_filters"]).toEqual(filters);
    const path = "/api/projects/";
    const named = await ask(app, "POST", path, { name: "Third", test_account_filters: [byEvent] });
    expect(named.body["test_account_filters"]).toEqual([byEvent]);
  });

  test("that no query could filter by are refused by name, and nothing changes", async () => {
    const refused: [unknown, code: string, attr: string][] = [
      [null, "null", "test_account_filters"],
      [byEvent, "not_a_list", "test_account_filters"],
      [["x"], "not_a_dict", "test_account_filters__0"],
      [[{}], "required", "test_account_filters__0__key"],
      [[byEvent, { key: "id", type: "cohort", value: 1 }], "invalid_choice", "test_account_filters__1__type"],
      [[{ ...byEvent, operator: "like" }], "invalid_choice", "test_account_filters__0__operator"],
      [[{ ...byEvent, operator: "regex", value: "(" }], "invalid_input", "test_account_filters"],
      [Array.from({ length: 51 }, () => byEvent), "max_length", "test_account_filters"],
      [[{ ...byEvent, value: ["x".repeat(9000), "y".repeat(9000)] }], "max_length", "test_account_filters"],
    ];
    for (const [filters, code, attr] of refused) {
      const answer = await setFilters(filters);
      expect([answer.status, answer.body["code"], answer.body["attr"]]).toEqual([400, code, attr]);
    }
    const shown = await ask(app, "GET", `${home}/`);
    expect(shown.body["test_account_filters"]).toEqual([byPerson, byEvent]);
    const wrong = await ask(app, "POST", "/api/projects/", { test_account_filters: [{ key: "a" }] });
    expect(problemOf(wrong).slice(0, 3)).toEqual([400, "validation_error", "required"]);
  });
});
