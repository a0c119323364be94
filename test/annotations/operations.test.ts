import { afterAll, beforeAll, expect, test } from "bun:test";
import { annotationLimits } from "../../src/annotations/limits.ts";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import { createProject } from "../../src/projects/store.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { addStranger, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { storesOf } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

let app: RunningApp;
let home: string;

beforeAll(async () => {
  app = await startApp();
  home = `/api/projects/${app.bootstrapped!.project_id}`;
}, startMsMax);

async function make(fields: Record<string, unknown> = {}, path = home): Promise<Record<string, unknown>> {
  const { status, body, text } = await ask(app, "POST", `${path}/annotations/`, {
    scope: "project",
    ...fields,
  });
  if (status !== 201) throw new Error(text);
  return body;
}

async function listContents(query: string, path = home): Promise<unknown[]> {
  const { status, body } = await ask(app, "GET", `${path}/annotations/?${query}`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return (body["results"] as Record<string, unknown>[]).map(({ content }) => content);
}

test("an annotation has PostHog's fields, and is made by the user of the request", async () => {
  const { body: insight } = await ask(app, "POST", `${home}/insights/`, {
    name: "Visits",
    query: { kind: "TrendsQuery", series: [{ event: "$pageview" }] },
  });
  const { body: board } = await ask(app, "POST", `${home}/dashboards/`, { name: "Board" });
  const made = await make({
    content: "Marketing campaign",
    scope: "organization",
    date_marker: "2020-01-01T00:00:00.000000Z",
    creation_type: "GIT",
    dashboard_item: insight["id"],
    dashboard_id: board["id"],
  });
  expect(made).toMatchObject({
    content: "Marketing campaign",
    scope: "organization",
    date_marker: "2020-01-01T00:00:00Z",
    creation_type: "GIT",
    dashboard_item: insight["id"],
    insight_short_id: insight["short_id"],
    insight_name: "Visits",
    dashboard_id: board["id"],
    dashboard_name: "Board",
    deleted: false,
    is_emoji: false,
  });
  expect((made["created_by"] as { email: string }).email).toContain("@");
  expect((await ask(app, "GET", `${home}/annotations/${made["id"]}/`)).body).toEqual(made);
  await ask(app, "PATCH", `${home}/annotations/${made["id"]}/`, { deleted: true });
});

test("without fields it is about an insight, by a user, and without a moment", async () => {
  const { body } = await ask(app, "POST", `${home}/annotations/`, {});
  expect(body).toMatchObject({
    scope: "dashboard_item",
    creation_type: "USR",
    content: null,
    date_marker: null,
  });
  await ask(app, "PATCH", `${home}/annotations/${body["id"]}/`, { deleted: true });
});

test("a list is narrowed by scope, text, moments and emoji, the latest moment first", async () => {
  for (const [scope, day] of Object.entries({ organization: 1, project: 2, dashboard_item: 3, dashboard: 4 }))
    await make({ scope, content: `list ${scope}`, date_marker: `2023-01-0${day}T10:30:00Z` });
  await make({ scope: "project", content: "🚀", is_emoji: true, date_marker: "2023-01-05T10:30:00Z" });
  const of = async (query: string) =>
    (await listContents(query)).map((text) => String(text).replace("list ", ""));
  expect(await of("")).toEqual(["🚀", "dashboard", "dashboard_item", "project", "organization"]);
  expect(await of("scope=insight")).toEqual(["dashboard_item"]);
  expect(await of("scope=dashboard_item")).toEqual(["dashboard_item"]);
  expect(await of("scope=recording")).toEqual([]);
  expect(await of("apply_all=true&search=LIST")).toEqual(["dashboard", "project", "organization"]);
  expect(await of("is_emoji=1")).toEqual(["🚀"]);
  expect(await of("date_from=2023-01-02T10:00:00&date_to=2023-01-03T11:00:00%2B00:00")).toEqual([
    "dashboard_item",
    "project",
  ]);
  expect(await of("order=date_marker&limit=2&offset=1")).toEqual(["project", "dashboard_item"]);
  const wrong = async (query: string) =>
    problemOf(await ask(app, "GET", `${home}/annotations/?${query}`)).slice(0, 1);
  for (const query of [
    "scope=elsewhere",
    "date_from=soon",
    "date_from=2024-01-02&date_to=2024-01-01",
    "order=content",
  ])
    expect([query, ...(await wrong(query))]).toEqual([query, 400]);
});

test("a day that bounds a list is whole, without the next one's midnight, and a moment is itself within", async () => {
  const moments = ["04T23:59:59.999999", "05T00:00:00", "05T23:59:59.999999", "06T00:00:00"];
  for (const moment of moments) await make({ content: `bound ${moment}`, date_marker: `2022-03-${moment}Z` });
  const list = async (query: string) =>
    (await listContents(`search=bound&order=date_marker&${query}`)).map((text) => String(text).slice(6));
  expect(await list("date_from=2022-03-05&date_to=2022-03-05")).toEqual(moments.slice(1, 3));
  expect(await list("date_to=2022-03-05")).toEqual(moments.slice(0, 3));
  expect(await list("date_from=2022-03-05")).toEqual(moments.slice(1));
  const midnight = "2022-03-05T00:00:00Z";
  expect(await list(`date_from=${midnight}&date_to=${midnight}`)).toEqual(moments.slice(1, 2));
});

test("an organization's annotation shows nothing of the project that it came from", async () => {
  const { sql } = await storesOf(app);
  const { organization_id } = app.bootstrapped!;
  const { id } = await createProject(sql, { organization_id, name: "Third" });
  const third = `/api/projects/${id}`;
  const query = { kind: "TrendsQuery", series: [{ event: "$pageview" }] };
  const { body: insight } = await ask(app, "POST", `${home}/insights/`, { name: "Secret", query });
  const { body: board } = await ask(app, "POST", `${home}/dashboards/`, { name: "Hidden" });
  const about = { dashboard_item: insight["id"], dashboard_id: board["id"] };
  const made = await make({ content: "about it", scope: "organization", ...about });
  const none = { dashboard_item: null, dashboard_id: null };
  const noNames = {
    insight_short_id: null,
    insight_name: null,
    insight_derived_name: null,
    dashboard_name: null,
  };
  const path = `annotations/${String(made["id"])}/`;
  expect((await ask(app, "GET", `${third}/${path}`)).body).toEqual({ ...made, ...none, ...noNames });
  expect(await listContents(`dashboard_item=${String(insight["id"])}`, third)).toEqual([]);
  await ask(app, "PATCH", `${home}/${path}`, { scope: "project" });
  expect((await ask(app, "GET", `${home}/${path}`)).body).toMatchObject(about);
  await ask(app, "PATCH", `${home}/${path}`, { scope: "organization" });
  await ask(app, "PATCH", `${third}/${path}`, { scope: "project" });
  const stored = await sql`
    SELECT project_id, insight_id AS dashboard_item, dashboard_id FROM annotations WHERE id = ${made["id"] as number}`;
  expect([...stored]).toEqual([{ project_id: id, ...none }]);
});

test("the organization's are shown in its other projects, and one that is narrowed there moves there", async () => {
  const { sql } = await storesOf(app);
  const { organization_id } = app.bootstrapped!;
  const { id } = await createProject(sql, { organization_id, name: "Second" });
  const second = `/api/projects/${id}`;
  const made = await make({ content: "shared", scope: "organization" });
  await make({ content: "its own" });
  expect(await listContents("search=shared", second)).toEqual(["shared"]);
  expect(await listContents("search=its own", second)).toEqual([]);
  const { status } = await ask(app, "PATCH", `${second}/annotations/${made["id"]}/`, { scope: "project" });
  expect(status).toBe(200);
  expect(await listContents("search=shared", second)).toEqual(["shared"]);
  expect(await listContents("search=shared")).toEqual([]);
});

test("a change changes what it names; a deleted one is found by a change alone, and there is no DELETE", async () => {
  const made = await make({ content: "first", date_marker: "2024-05-01T00:00:00Z" });
  const path = `${home}/annotations/${made["id"]}/`;
  expect((await ask(app, "PATCH", path, { content: "second" })).body).toMatchObject({
    content: "second",
    date_marker: "2024-05-01T00:00:00Z",
  });
  expect((await ask(app, "DELETE", path)).status).toBe(405);
  expect((await ask(app, "PATCH", path, { deleted: true })).body).toMatchObject({ deleted: true });
  expect((await ask(app, "GET", path)).status).toBe(404);
  expect(await listContents("search=second")).toEqual([]);
  await ask(app, "PATCH", path, { deleted: false });
  expect(await listContents("search=second")).toEqual(["second"]);
});

test("the content of an emoji is a single one", async () => {
  const one = "When is_emoji is True, content must be a single emoji";
  const none = "When is_emoji is True, content cannot be empty";
  const cases = {
    "😊": undefined,
    "🚀": undefined,
    a: one,
    "1": one,
    "!": one,
    ab: one,
    "😊😊": one,
    "": none,
  };
  for (const [content, detail] of Object.entries(cases)) {
    const { status, body } = await ask(app, "POST", `${home}/annotations/`, { content, is_emoji: true });
    expect([content, status, body["detail"]]).toEqual([content, detail ? 400 : 201, detail]);
  }
  const plain = await make({ content: "text" });
  const reply = await ask(app, "PATCH", `${home}/annotations/${plain["id"]}/`, { is_emoji: true });
  expect(problemOf(reply).slice(3)).toEqual([one, "content"]);
});

test("a strange insight or dashboard, a long text, and one annotation too many are refused", async () => {
  const { sql } = await storesOf(app);
  const path = `${home}/annotations/`;
  const refusal = async (body: object) => problemOf(await ask(app, "POST", path, body)).slice(2);
  expect(await refusal({ dashboard_item: 99_999 })).toEqual([
    "does_not_exist",
    'Invalid pk "99999" - object does not exist.',
    "dashboard_item",
  ]);
  expect((await refusal({ dashboard_id: 99_999 }))[2]).toBe("dashboard_id");
  expect((await refusal({ content: "é".repeat(annotationLimits.contentCharsMax + 1) }))[0]).toBe(
    "max_length",
  );
  expect((await refusal({ recording_id: crypto.randomUUID() }))[2]).toBe("recording_id");
  const { key, organization_id } = await addStranger(sql);
  const [theirs] = await sql<
    { id: number }[]
  >`SELECT id FROM projects WHERE organization_id = ${organization_id}`;
  await sql`
    INSERT INTO annotations (project_id, creation_type, scope, is_emoji, deleted)
    SELECT ${theirs!.id}, 'USR', 'project', false, true
    FROM generate_series(1, ${annotationLimits.annotationsPerProjectMax}::integer)`;
  const reply = await ask(app, "POST", `/api/projects/${theirs!.id}/annotations/`, {}, key);
  expect(problemOf(reply).slice(0, 3)).toEqual([400, "validation_error", "invalid_input"]);
});

test("a key of one project changes nothing that others show, and a stranger sees none of it", async () => {
  const { sql } = await storesOf(app);
  const made = await make({ content: "everywhere", scope: "organization" });
  const { project_id } = app.bootstrapped!;
  const [user] = await sql<{ id: number }[]>`SELECT id FROM users ORDER BY id LIMIT 1`;
  const { value } = await issueKey(sql, user!.id, {
    label: "narrow",
    scopes: ["annotation:write"],
    scoped_teams: [project_id],
  });
  const path = `${home}/annotations/`;
  expect((await ask(app, "POST", path, { content: "x", scope: "organization" }, value)).status).toBe(403);
  expect((await ask(app, "PATCH", `${path}${made["id"]}/`, { content: "y" }, value)).status).toBe(403);
  expect((await ask(app, "POST", path, { content: "x", scope: "project" }, value)).status).toBe(201);
  const { key, organization_id } = await addStranger(sql);
  const [theirs] = await sql<
    { id: number }[]
  >`SELECT id FROM projects WHERE organization_id = ${organization_id}`;
  const there = `/api/projects/${theirs!.id}/annotations/`;
  expect((await ask(app, "GET", there, undefined, key)).body["results"]).toEqual([]);
  expect((await ask(app, "PATCH", `${there}${made["id"]}/`, { content: "y" }, key)).status).toBe(404);
});

// PostHog's test_annotation.py, test_creating_annotation: `team` is the path's, whatever is sent.
test("an annotation belongs to the project of the path, also where another team is sent", async () => {
  const made = await make({ content: "Campaign", team: 987_654, date_marker: "2020-01-01T00:00:00.000000Z" });
  expect(made["content"]).toBe("Campaign");
  const { body } = await ask(app, "GET", `${home}/annotations/${String(made["id"])}/`);
  expect(body["content"]).toBe("Campaign");
});
