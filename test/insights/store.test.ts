// Insights in Postgres: made with a short id of their own, put on dashboards, found by what is asked.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { Fault } from "../../src/core/fault.ts";
import { limits } from "../../src/core/limits.ts";
import { insightLimits } from "../../src/insights/limits.ts";
import type { InsightInput } from "../../src/insights/model.ts";
import {
  createInsight,
  getDashboardContent,
  getInsight,
  getInsights,
  listInsights,
  presentInsight,
  removeInsight,
  updateInsight,
} from "../../src/insights/store.ts";
import { createProject } from "../../src/projects/store.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";

let accounts: FirstAccounts;
let other: number;

beforeAll(async () => {
  accounts = await openFirstAccounts();
  const { sql, organization_id } = accounts;
  other = (await createProject(sql, { organization_id, name: "Other", timezone: "UTC" })).id;
}, startMsMax);

afterAll(() => accounts.close());
beforeEach(async () => {
  await accounts.sql`TRUNCATE insights, dashboards RESTART IDENTITY CASCADE`;
});

const input = {
  name: "Sales",
  derived_name: "Paid",
  query: { kind: "TrendsQuery" },
  description: "",
  tags: [],
  favorited: false,
  saved: true,
  order: null,
  deleted: false,
  dashboards: [],
} as unknown as InsightInput;
const maker = () => ({ project_id: accounts.project_id, user_id: accounts.user_id });
const made = (more: Partial<InsightInput> = {}, shortId?: () => string) =>
  createInsight(accounts.sql, { ...input, ...more }, maker(), shortId);

async function board(project_id = accounts.project_id, deleted = false): Promise<number> {
  const [row] = await accounts.sql<{ id: number }[]>`
    INSERT INTO dashboards (project_id, name, created_by, deleted)
    VALUES (${project_id}, 'Board', ${accounts.user_id}, ${deleted}) RETURNING id`;
  return row!.id;
}

async function faultOf(act: Promise<unknown>): Promise<unknown[]> {
  const thrown: unknown = await act.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return thrown instanceof Fault ? [thrown.code, thrown.attr] : [thrown];
}

test("an insight is found by its number and its short id, in its project alone", async () => {
  const { sql, project_id } = accounts;
  const id = await made({}, () => "abcd1234");
  const row = await getInsight(sql, project_id, "abcd1234");
  expect(row?.id).toBe(id);
  expect(presentInsight(row!)).toMatchObject({
    short_id: "abcd1234",
    name: "Sales",
    derived_name: "Paid",
    result: null,
    is_cached: false,
    dashboards: [],
    created_by: { id: accounts.user_id },
  });
  expect(await getInsight(sql, other, id)).toBeUndefined();
  expect(await getInsight(sql, project_id, String(id))).toBeUndefined();
});

test("another short id is tried while one is in use, so often and no more; another project may have it", async () => {
  const { sql } = accounts;
  await made({}, () => "used0000");
  const ids = ["used0000", "used0000", "free0000"];
  expect(await made({}, () => ids.shift()!)).toBeNumber();
  let tries = 0;
  const busy = made({}, () => (tries++, "used0000"));
  expect(await busy.catch(String)).toContain("every short id that was tried is in use");
  expect(tries).toBe(insightLimits.shortIdTriesMax);
  expect(await createInsight(sql, input, { ...maker(), project_id: other }, () => "used0000")).toBeNumber();
});

test("a project has so many insights, deleted ones not counted", async () => {
  const { sql, project_id, user_id } = accounts;
  const id = await made();
  await sql`
    INSERT INTO insights (project_id, short_id, query, created_by, last_modified_by)
    SELECT ${project_id}, lpad(i::text, 8, 'x'), '{}', ${user_id}, ${user_id} FROM generate_series(2, ${limits.insightsPerProjectMax}::integer) AS i`;
  expect(await faultOf(made())).toEqual(["invalid_input", null]);
  await removeInsight(sql, id, maker());
  expect(await made()).toBeNumber();
});

test("exactly the named dashboards show an insight, and tiles that stay keep their numbers", async () => {
  const { sql, project_id } = accounts;
  const [one, two, three] = [await board(), await board(), await board()];
  const id = await made({ dashboards: [one, two, two] } as never);
  const tiles = async () => (await getInsight(sql, project_id, id))!.tiles;
  const before = await tiles();
  expect(before.map(({ dashboard_id }) => dashboard_id)).toEqual([one, two]);
  await updateInsight(sql, id, { dashboards: [two, three] } as never, maker());
  const after = await tiles();
  expect(after.map(({ dashboard_id }) => dashboard_id)).toEqual([two, three]);
  expect(after[0]).toEqual(before[1]!);
  // A change of something else leaves them.
  await updateInsight(sql, id, { name: "x" } as never, maker());
  expect(await tiles()).toEqual(after);
});

test("a dashboard that is another project's, deleted or none is refused, and nothing is made of it", async () => {
  const { sql, project_id } = accounts;
  for (const id of [await board(other), await board(project_id, true), 999]) {
    expect(await faultOf(made({ dashboards: [id] } as never))).toEqual(["does_not_exist", "dashboards"]);
  }
  expect(await sql`SELECT FROM insights`).toHaveLength(0);
});

test("a dashboard shows so many insights, and no more", async () => {
  const { sql, user_id, project_id } = accounts;
  const id = await board();
  await sql`
    WITH made AS (
      INSERT INTO insights (project_id, short_id, query, created_by, last_modified_by)
      SELECT ${project_id}, lpad(i::text, 8, 'x'), '{}', ${user_id}, ${user_id} FROM generate_series(1, ${limits.insightsPerDashboardMax - 1}::integer) AS i
      RETURNING id)
    INSERT INTO dashboard_tiles (dashboard_id, insight_id) SELECT ${id}, id FROM made`;
  expect(await made({ dashboards: [id] } as never)).toBeNumber();
  expect(await faultOf(made({ dashboards: [id] } as never))).toEqual(["invalid_input", "dashboards"]);
});

test("a deleted insight is gone once, with its tiles hidden, and there again when it is restored", async () => {
  const { sql, project_id } = accounts;
  const one = await board();
  const id = await made({ dashboards: [one] } as never);
  expect(await removeInsight(sql, id, { ...maker(), project_id: other })).toBe(false);
  expect([await removeInsight(sql, id, maker()), await removeInsight(sql, id, maker())]).toEqual([
    true,
    false,
  ]);
  expect(await getInsight(sql, project_id, id)).toBeUndefined();
  expect(await getInsights(sql, project_id, [id])).toHaveLength(0);
  expect((await getDashboardContent(sql, project_id, one))!.tiles).toEqual([]);
  expect((await getInsight(sql, project_id, id, true))?.id).toBe(id);
  await updateInsight(sql, id, { deleted: false } as never, maker());
  expect((await getDashboardContent(sql, project_id, one))!.tiles).toMatchObject([{ insight_id: id }]);
});

test("a changed query has another derived name, and a change of the name alone leaves both", async () => {
  const { sql, project_id } = accounts;
  const id = await made();
  await updateInsight(sql, id, { name: "x" } as never, { project_id, user_id: accounts.user_id });
  expect(await getInsight(sql, project_id, id)).toMatchObject({
    derived_name: "Paid",
    query: { kind: "TrendsQuery" },
  });
  const changes = { query: { kind: "PathsQuery" }, derived_name: "Paths" };
  await updateInsight(sql, id, changes as never, maker());
  expect(await getInsight(sql, project_id, id)).toMatchObject({
    derived_name: "Paths",
    query: { kind: "PathsQuery" },
  });
});

test("a list is filtered by words, tags, kinds, dashboards and moments, and has its order", async () => {
  const { sql, user_id, project_id } = accounts;
  const one = await board();
  const ids = {
    tagged: await made({ name: "50% of", tags: ["team"] } as never),
    wrapped: await made({
      name: null,
      query: { kind: "InsightVizNode", source: { kind: "PathsQuery" } },
    } as never),
    shown: await made({
      name: "shown",
      saved: false,
      dashboards: [one],
      query: { kind: "HogQLQuery" },
    } as never),
  };
  const named = (id: number) => Object.entries(ids).find(([, value]) => value === id)?.[0];
  const found = async (filter: object) =>
    (await listInsights(sql, { project_id, user_id }, filter, { limit: 10, offset: 0 })).rows.map(({ id }) =>
      named(id),
    );
  expect(await found({})).toEqual(["shown", "wrapped", "tagged"]);
  expect(await found({ search: "50%" })).toEqual(["tagged"]);
  expect(await found({ search: "%" })).toEqual(["tagged"]);
  expect(await found({ search: "TEAM" })).toEqual(["tagged"]);
  expect(await found({ tags: ["team", "x"] })).toEqual(["tagged"]);
  expect(await found({ insight: "PATHS" })).toEqual(["wrapped"]);
  // What is on a dashboard counts as saved.
  expect(await found({ saved: true })).toEqual(["shown", "wrapped", "tagged"]);
  expect(await found({ dashboards: [one] })).toEqual(["shown"]);
  expect(await found({ dashboards: [one, 999] })).toEqual([]);
  expect(await found({ order: "name" })).toEqual(["tagged", "shown", "wrapped"]);
  expect(await found({ user: false })).toEqual([]);
  expect(await found({ created_date_from: "2999-01-01 00:00:00" })).toEqual([]);
  expect(
    await listInsights(sql, { project_id: other, user_id }, {} as never, { limit: 10, offset: 0 }),
  ).toEqual({ count: 0, rows: [] });
});
