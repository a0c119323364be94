// Queries about the language, as PostHog's command line (`exp query check`), bosshogg (`schema hogql`) and agents that
// write SQL send them: which tables there are, and what is wrong in a text. Positions are those of PostHog's
// test_metadata.py.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type Happening, makeProject, type PeerProject } from "../support/journeys.ts";

let app: RunningApp;
let project: PeerProject;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
  const group = { $group_type: "org", $group_key: "o1", $group_set: { name: "One" } };
  project = await makeProject(app, [["ann", "$groupidentify", "2024-01-01", group]]);
}, startMsMax);
afterAll(cleanUp, startMsMax);

interface Field {
  name: string;
  type: string;
  table?: string;
  fields?: string[];
}

test("a DatabaseSchemaQuery has every table that SQL may name, with its columns and what is joined to it", async () => {
  const { status, body } = await project.query({ kind: "DatabaseSchemaQuery" });
  expect(status).toBe(200);
  const { tables } = body as { tables: Record<string, { type: string; fields: Record<string, Field> }> };
  expect(Object.keys(tables)).toEqual(
    expect.arrayContaining(["events", "persons", "sessions", "groups", "raw_session_replay_events"]),
  );
  const { type, fields } = tables["events"]!;
  expect(type).toBe("posthog");
  expect(fields["timestamp"]).toMatchObject({
    name: "timestamp",
    hogql_value: "timestamp",
    type: "datetime",
  });
  expect(fields["properties"]!.type).toBe("json");
  expect(fields["uuid"]!.type).toBe("string");
  expect(fields["person"]).toMatchObject({ type: "lazy_table", table: "persons" });
  expect(fields["person"]!.fields).toContain("properties");
  expect(fields["org"]).toMatchObject({ type: "lazy_table", table: "groups" });
  for (const [name, table] of Object.entries(tables)) {
    const columns = Object.values(table.fields).filter((field) => field.type !== "lazy_table");
    const named = columns.map((field) => `\`${field.name}\``).join(", ");
    await project.results({ kind: "HogQLQuery", query: `select ${named} from ${name} limit 1` });
  }
});

const check = async (language: string, query: string, more: object = {}) => {
  const { status, body } = await project.query({ kind: "HogQLMetadata", language, query, ...more });
  expect(status).toBe(200);
  return body as { isValid: boolean; isValidView: boolean; errors: unknown[]; table_names: string[] };
};

test.each([
  ["hogQL", "select 1", []],
  [
    "hogQL",
    "select events.event from events union all select events.event from events where 1 = 2",
    ["events"],
  ],
  [
    "hogQL",
    "with a as (select event from events) select count() from a join persons p on 1 = 1",
    ["events", "persons"],
  ],
  ["hogQL", "select org.properties.name from events where {filters} and event = {variables.v}", ["events"]],
  ["hogQLExpr", "timestamp", ["events"]],
  ["hogQLExpr", "properties.a || org.key", ["events"]],
])("%s: %s is valid", async (language, query, tables) => {
  const variables = { a: { code_name: "v", value: 1 } };
  const answer = await check(language, query, { variables });
  expect(answer).toMatchObject({ isValid: true, errors: [], table_names: tables });
});

test.each([
  ["hogQL", "timestamp", 0, 9],
  ["hogQLExpr", "select 1", 7, 8],
  ["hogQLExpr", "1 + no_field", 4, 12],
  ["hogQL", "select evnt from events", 7, 11],
])("%s: %s is not valid, and where", async (language, query, start, end) => {
  const answer = await check(language, query);
  expect(answer).toMatchObject({ isValid: false, errors: [{ start, end, fix: null }] });
});

test("an expression has the columns of its source, and a SELECT whose columns are all named may be a view", async () => {
  const persons = { sourceQuery: { kind: "HogQLQuery", query: "select * from persons" } };
  expect((await check("hogQLExpr", "is_identified", persons)).isValid).toBeTrue();
  expect((await check("hogQLExpr", "is_identified")).isValid).toBeFalse();
  expect((await check("hogQL", "select event as event from events")).isValidView).toBeTrue();
  expect((await check("hogQL", "select event from events")).isValidView).toBeFalse();
});

test("a type of groups that a sender calls like a column, an alias or a subquery's column hides none of them", async () => {
  const named = ["properties", "event", "company"].map((type): Happening => [
    "eve",
    "$groupidentify",
    "2024-01-02",
    { $group_type: type, $group_key: "x", $group_set: { plan: "gold" } },
  ]);
  const plain: Happening = ["bob", "view", "2024-01-02", { plan: "free", key: "k", company: "acme" }];
  const hostile = await makeProject(app, [...named, plain]);
  const rows = (query: string) => hostile.results<unknown[]>({ kind: "HogQLQuery", query });
  const seen = "from events where event = 'view'";
  expect(await rows(`select properties.plan, properties.key, event ${seen}`)).toEqual([
    ["free", "k", "view"],
  ]);
  expect(
    await rows(`with properties.company as company select company, count() ${seen} group by company`),
  ).toEqual([["acme", 1]]);
  const joined = "join (select distinct_id, properties.company as company from events) c using (distinct_id)";
  expect(await rows(`select company from events e ${joined} where e.event = 'view'`)).toEqual([["acme"]]);
  const plans = "select distinct company.properties.plan from events where event = '$groupidentify'";
  expect(await rows(plans)).toContainEqual(["gold"]);
  const { body } = await hostile.query({ kind: "DatabaseSchemaQuery" });
  const { tables } = body as { tables: Record<string, { fields: Record<string, Field> }> };
  expect(tables["events"]!.fields["properties"]!.type).toBe("json");
});

test("neither is kept as an insight, and a language that is not SQL is refused by name", async () => {
  const insight = await ask(app, "POST", `${project.path}/insights/`, {
    query: { kind: "DatabaseSchemaQuery" },
  });
  expect(insight.status).toBe(400);
  const hog = await project.query({ kind: "HogQLMetadata", language: "hog", query: "let i := 3" });
  expect([hog.status, hog.text]).toEqual([400, expect.stringContaining("query__language")]);
});
