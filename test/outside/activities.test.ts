// Changes of one insight or dashboard, views and tags: assertions of PostHog's test_insight.py, test_dashboard.py and
// test_tagged_item.py; inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp();
}, startMsMax);
afterAll(cleanUp, startMsMax);

const home = "/api/projects/1/";
const query = { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "visit" }] };
const kinds = [
  ["insights", { name: "i", query }],
  ["dashboards", { name: "d" }],
] as const;
interface Activity {
  activity: string;
  scope: string;
  item_id: string;
  detail: { changes: { field: string }[] };
}
const make = async (things: string, fields: object) =>
  (await ask(app, "POST", `${home}${things}/`, fields)).body as {
    id: number;
    short_id?: string;
    tags: string[];
  };
const listActivities = async (path: string) => {
  const { status, body } = await ask(app, "GET", `${home}${path}activity/`);
  expect(status).toBe(200);
  return body["results"] as Activity[];
};

// test_can_get_insight_activity, test_dashboard_activity: one thing's changes, and those of all.
test.each(kinds)("the changes of %s are listed, of one and of all", async (things, fields) => {
  const [first, second] = [await make(things, fields), await make(things, fields)];
  await ask(app, "PATCH", `${home}${things}/${first.id}/`, { name: "new name" });
  await ask(app, "PATCH", `${home}${things}/${second.id}/`, { description: "other" });
  const one = await listActivities(`${things}/${first.id}/`);
  expect(one.map(({ activity }) => activity)).toEqual(["updated", "created"]);
  expect(one[0]!.detail.changes.map(({ field }) => field)).toEqual(["name"]);
  const all = await listActivities(`${things}/`);
  expect(all.map(({ scope }) => scope)).toEqual(
    all.map(() => (things === "insights" ? "Insight" : "Dashboard")),
  );
  expect(all.map(({ item_id }) => item_id)).toContain(String(second.id));
});

// test_insight_activity_by_short_id: changes made under either name.
test("an insight's changes are found by its short id, however they were made", async () => {
  const { id, short_id } = await make("insights", { name: "i", query });
  await ask(app, "PATCH", `${home}insights/${id}/`, { name: "a" });
  await ask(app, "PATCH", `${home}insights/${short_id}/`, { name: "b" });
  for (const name of [id, short_id]) expect(await listActivities(`insights/${name}/`)).toHaveLength(3);
});

test.each(kinds)("%s that never were have no changes, and deleted ones have", async (things, fields) => {
  for (const name of ["999999", "%00", "1%00", "no such name", "-1"])
    expect((await ask(app, "GET", `${home}${things}/${name}/activity/`)).status).toBe(404);
  const { id } = await make(things, fields);
  await ask(app, "DELETE", `${home}${things}/${id}/`);
  expect((await listActivities(`${things}/${id}/`)).map(({ activity }) => activity)).toEqual([
    "deleted",
    "created",
  ]);
});

// test_viewed: an insight is viewed by its own operation.
test("an insight that was viewed is listed among those", async () => {
  const { id, short_id } = await make("insights", { name: "seen", query });
  for (const name of [id, short_id])
    expect((await ask(app, "POST", `${home}insights/${name}/viewed/`, {})).status).toBe(201);
  const { text } = await ask(app, "GET", `${home}insights/my_last_viewed/`);
  expect((JSON.parse(text) as { id: number }[])[0]!.id).toBe(id);
  expect((await ask(app, "POST", `${home}insights/999999/viewed/`, {})).status).toBe(404);
});

// test_create_with_tags, test_no_duplicate_tags, test_can_list_tags: tags are trimmed, small, and each is there once.
test.each(kinds)("tags of %s are trimmed, in lower case, and there once", async (things, fields) => {
  const { id, tags } = await make(things, { ...fields, tags: ["B", "a", " a ", "b"] });
  expect(tags.toSorted()).toEqual(["a", "b"]);
  const changed = await ask(app, "PATCH", `${home}${things}/${id}/`, { tags: ["Alpha", "alpha "] });
  expect(changed.body["tags"]).toEqual(["alpha"]);
  const found = await ask(app, "GET", `${home}${things}/?tags=["ALPHA"]`);
  expect((found.body["results"] as { id: number }[]).map((row) => row.id)).toContain(id);
  expect((await ask(app, "PATCH", `${home}${things}/${id}/`, { tags: [] })).body["tags"]).toEqual([]);
});

// test_create_insight, test_retrieve_dashboard: fields that PostHog's clients read.
test.each([
  ["insights", "alerts", []],
  ["insights", "is_sample", false],
  ["insights", "cache_target_age", null],
  ["insights", "next_allowed_client_refresh", null],
  ["insights", "effective_restriction_level", 21],
  ["insights", "effective_privilege_level", 37],
  ["insights", "user_access_level", "editor"],
  ["insights", "hogql", null],
  ["dashboards", "last_accessed_at", null],
  ["dashboards", "last_refresh", null],
  ["dashboards", "persisted_filters", null],
  ["dashboards", "persisted_variables", null],
])("of new %s, %s is %j, and may be sent back", async (things, name, expected) => {
  const made = await make(things, { name: "n", query: things === "insights" ? query : undefined });
  expect((made as unknown as Record<string, unknown>)[name]).toEqual(expected);
  const { status } = await ask(app, "PATCH", `${home}${things}/${made.id}/`, { [name]: expected });
  expect(status).toBe(200);
});

test.each(["created_by", "-created_by", "my_last_viewed_at", "-my_last_viewed_at"])(
  "insights have the order %s",
  async (order) => {
    expect((await ask(app, "GET", `${home}insights/?order=${order}`)).status).toBe(200);
  },
);

// test_dashboard_tiles.py: a tile's fields about results, and filters of its own.
test("a tile says that it is not refreshing, and has no filters of its own", async () => {
  const { id } = await make("dashboards", { name: "d" });
  await make("insights", { name: "i", query, dashboards: [id] } as object);
  const { tiles } = (await ask(app, "GET", `${home}dashboards/${id}/`)).body as { tiles: object[] };
  expect(tiles[0]).toMatchObject({ refreshing: false, refresh_attempt: null, filters_overrides: {} });
  expect((await ask(app, "PATCH", `${home}dashboards/${id}/`, { tiles })).status).toBe(200);
});
