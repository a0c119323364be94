// Every list there is, by the API's own description: how many rows it gives at once, and what it says of a page that
// makes no sense.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { absentResources } from "../../src/absent_resources/model.ts";
import { ownPersonId } from "../../src/persons/identity.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { storesOf } from "../support/server.ts";

/** Rows of everything that is listed: some more than a page may have. */
const rows = 10_050;
const pageMax = 10_000;

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  schema: Record<string, unknown>;
}

let app: RunningApp;
let stores: Stores;
/** Addresses of lists as the description has them, with their parameters. */
let lists: [path: string, parameters: Parameter[]][];
/** Of what a path names. */
let ids: Record<string, string>;

beforeAll(async () => {
  app = await startApp();
  stores = await storesOf(app);
  const { paths } = (await (await fetch(`${app.url}/docs/json`)).json()) as {
    paths: Record<string, { get?: { parameters?: Parameter[] } }>;
  };
  lists = Object.entries(paths)
    .map(([path, { get }]): [string, Parameter[]] => [path, get?.parameters ?? []])
    .filter(([, parameters]) => parameters.some(({ name }) => name === "limit"));
  ids = await makeOnes();
  await copyRows(stores);
  // As Postgres does by itself a minute later: plans must bear what it knows then.
  await stores.sql`ANALYZE`;
  await fillClickHouse(stores);
}, 5 * startMsMax);
afterAll(cleanUp, startMsMax);

async function made(path: string, body: unknown): Promise<string> {
  const reply = await ask(app, "POST", path, body);
  if (reply.status >= 300) throw new Error(`${path}: ${reply.text}`);
  return String(reply.body["id"]);
}

/** One of everything that rests in Postgres. */
async function makeOnes(): Promise<Record<string, string>> {
  const { project_id, organization_id } = app.bootstrapped!;
  const home = `/api/projects/${project_id}`;
  const insight = await made(`${home}/insights/`, { query: { kind: "TrendsQuery", series: [{}] } });
  const dashboard = await made(`${home}/dashboards/`, { name: "d" });
  await made(`${home}/annotations/`, { content: "a" });
  const threshold = { configuration: { type: "absolute" } };
  await made(`${home}/alerts/`, { insight: Number(insight), threshold, enabled: false });
  const subscription = await made(`${home}/subscriptions/`, {
    insight: Number(insight),
    target_type: "webhook",
    target_value: "https://hooks.example.com/x",
    frequency: "yearly",
    start_date: "2030-01-01T00:00:00Z",
    title: "t",
  });
  await made(`${home}/subscriptions/${subscription}/test_delivery/`, undefined);
  const batch_export = await made(`${home}/batch_exports/`, {
    name: "e",
    interval: "week",
    paused: true,
    destination: { type: "NoOp", config: {} },
  });
  return { organization_id, project_id: String(project_id), insight, dashboard, subscription, batch_export };
}

/** Copies of the one row of each table; `changes`: a JSON object of what sets the copy number n apart. */
async function copyRows({ sql }: Stores): Promise<void> {
  const copies: [table: string, changes: string][] = [
    ["organizations", "'id', gen_random_uuid(), 'slug', 'slug-' || n"],
    ["projects", "'id', 100000 + n, 'uuid', gen_random_uuid(), 'api_token', 'phc_copy_' || n"],
    ["personal_api_keys", "'id', 'copy' || n, 'secure_value', 'sha256$' || lpad(n::text, 64, '0')"],
    ["insights", "'id', 100000 + n, 'short_id', 'c' || lpad(n::text, 7, '0')"],
    ["dashboards", "'id', 100000 + n"],
    ["annotations", "'id', 100000 + n"],
    ["alerts", "'id', gen_random_uuid()"],
    ["subscriptions", "'id', 100000 + n"],
    [
      "subscription_deliveries",
      "'id', 100000 + n, 'uuid', gen_random_uuid(), 'due_at', now() + n * interval '1 second', 'status', 'failed', 'next_attempt_at', null",
    ],
    ["batch_exports", "'id', gen_random_uuid()"],
    ["batch_export_backfills", "'id', gen_random_uuid()"],
    ["batch_export_runs", "'id', gen_random_uuid(), 'data_interval_end', now() - n * interval '1 hour'"],
    ["batch_export_logs", "'id', 100000 + n"],
    ["activity_log", "'id', 100000 + n"],
  ];
  const batch_export = ids["batch_export"]!;
  await sql`
    INSERT INTO batch_export_backfills (id, batch_export_id, start_at, end_at, range_start, range_end, "interval",
      status, created_at, finished_at, last_updated_at)
    VALUES (gen_random_uuid(), ${batch_export}, now(), now(), now(), now(), 'week', 'Completed', now(), now(), now())`;
  await sql`
    INSERT INTO batch_export_runs (id, batch_export_id, data_interval_end, status, next_attempt_at, created_at,
      finished_at, last_updated_at)
    VALUES (gen_random_uuid(), ${batch_export}, now(), 'Completed', now(), now(), now(), now())`;
  await sql`
    INSERT INTO batch_export_logs (batch_export_id, "timestamp", level, message)
    VALUES (${batch_export}, now(), 'INFO', 'm')`;
  for (const [table, changes] of copies) {
    await sql.unsafe(`INSERT INTO ${table} OVERRIDING SYSTEM VALUE
      SELECT (jsonb_populate_record(one, jsonb_build_object(${changes}))).*
      FROM (SELECT one FROM ${table} AS one LIMIT 1) AS t, generate_series(1, ${rows}) AS n`);
  }
  const { project_id } = app.bootstrapped!;
  await sql`
    INSERT INTO person_activity (project_id, person_id, activity, user_id, key_id, created_at)
    SELECT ${project_id}, ${ownPersonId(project_id, "many")}, 'updated', 1, 'k', now() FROM generate_series(0, ${rows}::integer)`;
  await sql`
    INSERT INTO person_deletion_orders
      (project_id, person_id, delete_events, user_id, key_id, ordered_at, finished_at)
    SELECT ${project_id}, gen_random_uuid(), true, 1, 'k', 0, now() FROM generate_series(0, ${rows}::integer)`;
  // The asking key alone: ten thousand copies of it that reach ten thousand organizations are a hundred million rows.
  await sql`
    WITH joined AS (
      INSERT INTO organization_memberships (organization_id, user_id, level)
      SELECT o.id, u.id, 15 FROM organizations o, users u WHERE o.slug LIKE 'slug-%' RETURNING organization_id, user_id
    )
    INSERT INTO key_organizations
    SELECT k.id, j.organization_id, j.user_id FROM personal_api_keys k JOIN joined j USING (user_id)
    WHERE k.id NOT LIKE 'copy%'`;
  await sql`
    INSERT INTO group_types (project_id, name, place, version) VALUES (${ids["project_id"]!}, 'company', 0, 1)`;
  await sql`
    WITH made AS (
      INSERT INTO users (uuid, distinct_id, email)
      SELECT gen_random_uuid(), 'copy-' || n, n || '@example.com' FROM generate_series(1, ${rows}) AS n RETURNING id
    )
    INSERT INTO organization_memberships (organization_id, user_id) SELECT ${ids["organization_id"]!}, id FROM made`;
}

async function fillClickHouse({ clickhouse }: Stores): Promise<void> {
  const project = ids["project_id"]!;
  const from = `FROM numbers(${rows})`;
  const now = "now64(6, 'UTC')";
  const name = (letter: string) => `concat('${letter}', toString(number))`;
  for (const text of [
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, _row)
     SELECT generateUUIDv4(), ${project}, 'e', ${name("e")}, '{"a":1}', ${now}, ${now}, 1, number ${from}`,
    `INSERT INTO seen (project_id, distinct_id, first, last, arrived, changed)
     SELECT ${project}, ${name("p")}, ${now}, ${now}, ${now}, ${now} ${from}`,
    `INSERT INTO person_props (project_id, distinct_id, key, kind, w)
     SELECT ${project}, ${name("p")}, 'k', 0, tuple(toInt64(5), toUInt128(number), toInt8(0), '"x"') ${from}`,
    `INSERT INTO seen (project_id, distinct_id, first, last, arrived, changed)
     SELECT ${project}, 'many', ${now}, ${now}, ${now}, ${now}`,
    `INSERT INTO seen (project_id, distinct_id, first, last, arrived, changed)
     SELECT ${project}, ${name("m")}, ${now}, ${now}, ${now}, ${now} ${from}`,
    `INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at) SELECT ${project}, ${name("m")}, 'many', ${now} ${from}`,
    `INSERT INTO group_props (project_id, group_type, group_key, key, w)
     SELECT ${project}, 'company', ${name("g")}, 'k', tuple(toInt64(5), toUInt128(number), toInt8(0), '"x"') ${from}`,
    `INSERT INTO groups_seen (project_id, group_type, group_key, first, changed)
     SELECT ${project}, 'company', ${name("g")}, ${now}, ${now} ${from}`,
    `INSERT INTO group_type_rows (project_id, group_type, place, version) VALUES (${project}, 'company', 0, 1)`,
    `INSERT INTO definitions (project_id, kind, group_type, name, created_at, typed)
     SELECT ${project}, arrayJoin([0, 1]), '', ${name("n")}, ${now}, '~' ${from}`,
    `INSERT INTO ingestion_warnings (project_id, type, details, event, distinct_id, count, timestamp, _batch, _row)
     SELECT ${project}, 't', '{"a":1}', 'e', 'd', 1, ${now}, 1, number ${from}`,
    `INSERT INTO snapshot_chunks (project_id, session_id, uuid, distinct_id, first_at, last_at, created_at, expires_at)
     SELECT ${project}, ${name("s")}, generateUUIDv4(), ${name("p")}, ${now}, ${now}, ${now}, ${now} + INTERVAL 9 DAY ${from}`,
  ])
    await clickhouse.command(text);
}

/** A list's address with what it names filled in. */
async function addressOf(path: string): Promise<string> {
  const named = (name: string): string => {
    if (name === "uuid") return ids["person"]!;
    if (name === "run_id") return ids["run"]!;
    const [, thing = "batch_export"] = /\/(insight|dashboard|subscription)s\//.exec(path) ?? [];
    return ids[name] ?? ids[thing]!;
  };
  const home = `/api/projects/${ids["project_id"]}`;
  if (path.includes("{uuid}") && ids["person"] === undefined) {
    const found = await ask(app, "GET", `${home}/persons/?distinct_id=many`);
    ids["person"] = (found.body["results"] as { uuid: string }[])[0]!.uuid;
  }
  if (path.includes("{run_id}") && ids["run"] === undefined) {
    const found = await ask(app, "GET", `${home}/batch_exports/${ids["batch_export"]}/runs/?limit=1`);
    ids["run"] = (found.body["results"] as { id: string }[])[0]!.id;
  }
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => named(name));
}

/** What a list is called in the following: its address without where it is mounted. */
const nameOf = (path: string): string =>
  path.replace(/^\/api\/(projects|environments|organizations)\/\{\w+\}\//, "");

test("every list says limit and offset as whole numbers with bounds and a default", () => {
  const names = new Set(lists.map(([path]) => nameOf(path)));
  expect([...names].toSorted()).toEqual([
    "/api/environments/",
    "/api/organizations/",
    "/api/personal_api_keys/",
    "/api/projects/",
    "/api/users/",
    "actions/",
    "activity/",
    "activity_log/",
    "alerts/",
    "annotations/",
    "batch_exports/",
    "batch_exports/{id}/backfills/",
    "batch_exports/{id}/logs/",
    "batch_exports/{id}/runs/",
    "batch_exports/{id}/runs/{run_id}/logs/",
    "cohorts/",
    "dashboards/",
    "dashboards/activity/",
    "dashboards/{id}/activity/",
    "early_access_feature/",
    "event_definitions/",
    "events/",
    "experiments/",
    "feature_flags/",
    "groups/",
    "ingestion_warnings/",
    "insights/",
    "insights/activity/",
    "insights/{id}/activity/",
    "invites/",
    "members/",
    "persons/",
    "persons/activity/",
    "persons/deletion_status/",
    "persons/{uuid}/activity/",
    "persons/{uuid}/distinct_ids/",
    "projects/",
    "property_definitions/",
    "session_recordings/",
    "sessions/values/",
    "subscriptions/",
    "subscriptions/{id}/deliveries/",
    "surveys/",
  ]);
  for (const [path, parameters] of lists) {
    const schemaOf = (name: string) => parameters.find((one) => one.name === name)?.schema;
    const unasked = /backfills|logs/.test(path) ? 50 : 100;
    const limit = { type: "integer", minimum: 1, maximum: pageMax, default: unasked };
    expect([path, schemaOf("limit")]).toEqual([path, limit]);
    // Lists that are followed by their links, and the values of a property, have no offset.
    if (/backfills|runs\/$|values/.test(path)) expect([path, schemaOf("offset")]).toEqual([path, undefined]);
    else expect(schemaOf("offset")).toMatchObject({ type: "integer", minimum: 0, default: 0 });
  }
});

test("a limit or an offset that makes no sense is a 400 that names it, on every list", async () => {
  const wrong: [name: string, text: string, code: string][] = [
    ["limit", "abc", "invalid_input"],
    ["limit", "", "invalid_input"],
    ["limit", "0", "min_value"],
    ["limit", "-1", "min_value"],
    ["limit", "1.5", "invalid_input"],
    ["limit", String(pageMax + 1), "max_value"],
    ["offset", "-1", "min_value"],
    ["offset", "x", "invalid_input"],
  ];
  for (const [path, parameters] of lists) {
    const address = await addressOf(path);
    for (const [name, text, code] of wrong) {
      if (!parameters.some((one) => one.name === name)) continue;
      const { status, body } = await ask(app, "GET", `${address}?${name}=${text}`);
      expect([path, name, text, status, body["code"], body["attr"]]).toEqual([
        path,
        name,
        text,
        400,
        code,
        name,
      ]);
    }
  }
});

test("ten thousand small rows are one page, on every list that has so many", async () => {
  const short =
    /^sessions\/values|^invites|runs\/\{run_id\}\/logs|^(insights|dashboards)\/.*activity|^activity\/|users/;
  for (const [path] of lists) {
    if (
      short.test(nameOf(path)) ||
      nameOf(path).slice(0, -1) in absentResources ||
      path.includes("/environments/{")
    )
      continue;
    const address = await addressOf(path);
    const { status, body } = await ask(app, "GET", `${address}?limit=${pageMax}`);
    const results = body["results"] as unknown[] | undefined;
    expect([path, status, body["detail"], results?.length]).toEqual([path, 200, undefined, pageMax]);
    expect([path, typeof body["next"]]).toEqual([path, "string"]);
  }
});

test("the lists that are tables as well have ten thousand rows in one, and name the next", async () => {
  for (const list of ["persons", "events"]) {
    const path = `/api/projects/${ids["project_id"]}/${list}/?format=csv`;
    const { status, text, headers } = await ask(app, "GET", path);
    expect([list, status, headers.get("x-total-count")]).toEqual([list, 200, expect.any(String)]);
    expect(Number(headers.get("x-total-count"))).toBeGreaterThan(pageMax);
    expect(text.split("\r\n").length).toBe(1 + pageMax + 1);
    const next = new URL(/<([^>]+)>; rel="next"/.exec(headers.get("link") ?? "")![1]!);
    const rest = await ask(app, "GET", next.pathname + next.search);
    const left = Number(headers.get("x-total-count")) - pageMax;
    expect(rest.text.split("\r\n").length).toBe(1 + Math.min(left, pageMax) + 1);
  }
});

test("a page of rows that are long together is refused, and names how many fit", async () => {
  const { sql } = stores;
  const project = `/api/projects/${ids["project_id"]}`;
  await sql`
    UPDATE insights SET query = jsonb_build_object('kind', repeat('x', 900000))
    WHERE id IN (SELECT id FROM insights ORDER BY id DESC LIMIT 90)`;
  await sql`
    UPDATE batch_exports SET filters = jsonb_build_array(repeat('x', 900000))
    WHERE id IN (SELECT id FROM batch_exports ORDER BY created_at DESC, id DESC LIMIT 90)`;
  await sql`
    UPDATE subscriptions SET target_value = repeat('x', 900000)
    WHERE id IN (SELECT id FROM subscriptions ORDER BY id DESC LIMIT 90)`;
  for (const list of ["insights", "batch_exports", "subscriptions"]) {
    const { status, body } = await ask(app, "GET", `${project}/${list}/?limit=90`);
    expect([list, status, body["code"], body["attr"]]).toEqual([list, 400, "max_value", "limit"]);
    const fits = Number(/limit=(\d+)\.$/.exec(String(body["detail"]))?.[1]);
    const smaller = await ask(app, "GET", `${project}/${list}/?limit=${fits}`);
    expect([list, smaller.status, (smaller.body["results"] as unknown[]).length]).toEqual([list, 200, fits]);
    expect(smaller.text.length).toBeGreaterThan(50_000_000);
  }
});
