// Readers: what their sessions and keys open, of everything that there is, and what is left of a member who becomes one.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { leastLevel, membershipLevels } from "../../src/access/people/levels.ts";
import { acceptInvite, makeInvites } from "../../src/accounts/invites/store.ts";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import { queryKinds } from "../../src/query/kinds.ts";
import { startMsMax } from "../support/accounts.ts";
import { addAccount, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { Person } from "../support/people.ts";
import { post, projectKey, rested, until } from "../support/server.ts";
import { bodyFor, fillPath, openTenants, type Tenants } from "../support/tenants.ts";

afterAll(cleanUp, startMsMax);

let tenants: Tenants;
let home: string;
let members: string;

beforeAll(async () => {
  tenants = await openTenants();
  const { project_id, organization_id } = tenants.owner;
  home = `/api/projects/${project_id}`;
  members = `/api/organizations/${organization_id}/members`;
  const named = Object.fromEntries(calledLikeIds.map((name) => [name, secret]));
  const objects = { user: { email: secret }, traits: [{ email: secret }], customer: { at: [secret] } };
  const plain = { plan: "pro", paid: "yes", android: "14", grid: "[new] {wide}", amount: 3, phone: 491701 };
  const set = { email: secret, plan: "pro", phone: 491701 };
  const properties = { email: secret, ...named, ...objects, ...plain, $set: set };
  const event = { api_key: projectKey, event: "bought", distinct_id: secret, properties };
  expect((await post(tenants.app, "/capture/", event)).status).toBe(200);
  await rested(tenants.app);
}, startMsMax);

/** Stands in every identifying field of the only person. */
const secret = "ann-secret@example.com";
const calledLikeIds =
  "alias userid useremail emailaddress customerids email1 id2 userUuid4 phonenumber $elements_chain".split(
    " ",
  );

/** Somebody in the first tenant's organization, in a browser too. */
async function addMember(level: number = membershipLevels.reader) {
  const { organization_id } = tenants.owner;
  const email = `${crypto.randomUUID()}@example.com`;
  const { sql: postgres } = tenants.stores;
  const { user_id } = await addAccount(postgres, email, { organization_id, level });
  // Keys with this name stay when room is made for others.
  const { value: key } = await issueKey(postgres, user_id, { label: "theirs", scopes: ["*"] });
  const person = new Person(tenants.app);
  await person.ask("POST", "/api/login/", { personal_api_key: key });
  const [user] = await postgres<{ uuid: string }[]>`SELECT uuid FROM users WHERE id = ${user_id}`;
  return { user_id, key, person, uuid: user!.uuid };
}

const setLevel = async (uuid: string, level: number) =>
  await ask(tenants.app, "PATCH", `${members}/${uuid}/`, { level }, tenants.owner.key);

/** What a reader's requests may change: views, queries, keys, sessions and accounts of their own. */
const own = [
  "DELETE /api/organizations/:organization_id/members/:user__uuid/",
  "DELETE /api/personal_api_keys/:id/",
  "DELETE /api/projects/:project_id/query/:id/",
  "DELETE /api/users/:uuid/sessions/:id/",
  "PATCH /api/personal_api_keys/:id/",
  "PATCH /api/users/:uuid/",
  "POST /api/personal_api_keys/",
  "POST /api/personal_api_keys/:id/roll/",
  "POST /api/projects/:project_id/insights/:id/viewed/",
  "POST /api/projects/:project_id/insights/viewed/",
  "POST /api/projects/:project_id/query/",
];
const hidden =
  /persons|recording|\/sharing\/|batch_exports|subscriptions|alerts|activity|\/events\/|\/values\/|warnings|invites|scoped_api_keys/;

test(
  "a reader's session and key change nothing, and show nobody, by any operation",
  async () => {
    const { person, key } = await addMember();
    const asked = tenants.routes.filter(({ path }) => !path.startsWith("/api/environments/"));
    const changing = new Set<string>();
    for (const route of asked) {
      const { name, method } = route;
      const path = await fillPath(tenants, route.path, method === "DELETE");
      const body = bodyFor(tenants, route);
      const replies = [await person.ask(method, path, body), await ask(tenants.app, method, path, body, key)];
      for (const { status, text } of replies) {
        expect([name, text.includes(secret)]).toEqual([name, false]);
        expect([name, status < 500]).toEqual([name, true]);
        if (hidden.test(path)) expect([name, path, status]).toEqual([name, path, isOpen(name) ? 200 : 403]);
        if (status < 300 && method !== "GET") changing.add(name);
      }
    }
    expect([...changing].filter((name) => !own.includes(name))).toEqual([]);
    const opened = asked.filter(
      ({ method, path, required }) => method !== "GET" && leastLevel(method, path, required) < 1,
    );
    expect(
      opened
        .map(({ name }) => name)
        .filter((name) => !name.startsWith("PUT"))
        .toSorted(),
    ).toEqual(own);
  },
  startMsMax,
);

/** Lists of names that stand below such a path. */
const isOpen = (name: string) => /GET .*\/(groups|feature_flags)\//.test(name);

const events = { kind: "EventsNode", event: "bought" };
const trends = { kind: "TrendsQuery", series: [events] };
const sql = (query: string) => ({ kind: "HogQLQuery", query });
const maxOf = (math_property: string) => ({ math: "max", math_property });
const sumOf = (aggregationProperty: string) => ({ aggregationType: "sum", aggregationProperty });
const listing = [
  { kind: "ActorsQuery" },
  { kind: "ActorsQuery", source: { kind: "InsightActorsQuery", source: trends } },
  { kind: "EventsQuery", select: ["distinct_id"], after: "all" },
  { kind: "EventsQuery", select: ["*"], after: "all" },
  { kind: "EventsQuery", select: ["count()", "distinct_id"], after: "all" },
  { kind: "SessionsQuery", select: ["*"] },
  { ...trends, breakdownFilter: { breakdown: "email", breakdown_type: "person" } },
  { ...trends, breakdownFilter: { breakdown: "email", breakdown_type: "event" } },
  { ...trends, breakdownFilter: { breakdown: "distinct_id", breakdown_type: "hogql" } },
  ...[
    "select * from persons",
    "select count() from persons",
    "select distinct_id from person_distinct_ids",
    "select distinct_id, count() from events group by distinct_id",
    "select person.properties.email, count() from events group by 1",
    "select properties, count() from events group by properties",
    "select properties.$set, count() from events group by 1",
    "select properties.email, count() from events group by 1",
    "select max(distinct_id) from events",
    "select max(properties.email) from events",
    "select groupArray(distinct_id) from events",
    "select count() from events where distinct_id like 'a%'",
    "select count() from (select distinct_id from events)",
    "select 1 union all select length(distinct_id) from events",
    "select event, timestamp from events",
    ...[...calledLikeIds, "user", "traits", "customer"].map(
      (name) => `select properties.${name}, count() from events group by 1`,
    ),
  ].map(sql),
  { ...trends, breakdownFilter: { breakdown: "alias", breakdown_type: "event" } },
  { ...trends, breakdownFilter: { breakdowns: [{ property: "plan" }, { property: "user" }] } },
  { kind: "FunnelsQuery", series: [events, events], breakdownFilter: { breakdown: "user" } },
  ...["event", "person"].flatMap((type) => [
    {
      kind: "TrendsQuery",
      series: [{ ...events, ...maxOf("phone"), math_property_type: `${type}_properties` }],
    },
    { kind: "RetentionQuery", retentionFilter: { ...sumOf("phone"), aggregationPropertyType: type } },
  ]),
];
const counting = [
  trends,
  { ...trends, breakdownFilter: { breakdown: "plan", breakdown_type: "event" } },
  sql("select event, count(), count(distinct person_id) from events group by event"),
  sql("select properties.paid, properties.android, properties.grid, count() from events group by 1, 2, 3"),
  { kind: "TrendsQuery", series: [{ ...events, ...maxOf("amount") }] },
  { kind: "TrendsQuery", series: [{ ...events, ...maxOf("$session_duration") }] },
  { kind: "TrendsQuery", series: [{ ...events, math: "unique", math_property: "email" }] },
  { kind: "RetentionQuery", retentionFilter: sumOf("amount") },
];

test(
  "a reader's queries count, and list no persons, sent or saved, at once or in the background, as JSON or CSV",
  async () => {
    const { key } = await addMember();
    const insights = `${home}/insights/`;
    const run = async (query: object, more = "", fields = {}) =>
      await ask(tenants.app, "POST", `${home}/query/${more}`, { query, ...fields }, key);
    const save = async (query: object) => {
      const made = await ask(tenants.app, "POST", insights, { query }, tenants.owner.key);
      return made.status === 201 ? Number(made.body["id"]) : undefined;
    };
    for (const query of listing) {
      for (const reply of [
        await run(query),
        await run(query, "?format=csv"),
        await run(query, "", { async: true }),
      ]) {
        if (reply.status !== 202)
          expect([query, reply.status < 500 && reply.status >= 400]).toEqual([query, true]);
        expect([query, reply.text.includes(secret)]).toEqual([query, false]);
        const { id } = (reply.body["query_status"] ?? {}) as { id?: string };
        if (reply.status !== 202 || id === undefined) continue;
        const read = async () => await ask(tenants.app, "GET", `${home}/query/${id}/`, undefined, key);
        await until(async () => (await read()).status !== 202);
        expect([query, (await read()).status]).toEqual([query, 400]);
      }
      // Cached for a member, too.
      await ask(tenants.app, "POST", `${home}/query/`, { query }, tenants.owner.key);
      expect([query, (await run(query)).status >= 400]).toEqual([query, true]);
      const id = await save(query);
      if (id === undefined) continue;
      const shown = await ask(tenants.app, "GET", `${insights}${id}/?refresh=true`, undefined, key);
      expect([query, shown.status, shown.body["result"]]).toEqual([query, 200, null]);
      expect(shown.body["query_status"]).toMatchObject({ error: true });
    }
    const board = await ask(tenants.app, "POST", `${home}/dashboards/`, { name: "Board" }, tenants.owner.key);
    const dashboards = [board.body["id"]];
    for (const query of [listing[2], sql("select max(distinct_id) from events"), trends])
      await ask(tenants.app, "POST", insights, { query, dashboards }, tenants.owner.key);
    const path = `${home}/dashboards/${String(dashboards[0])}/?refresh=true`;
    const tiles = async (by: string) =>
      ((await ask(tenants.app, "GET", path, undefined, by)).body["tiles"] as { insight: object }[]).map(
        ({ insight }) => "result" in insight && insight.result !== null,
      );
    expect([await tiles(tenants.owner.key), await tiles(key)]).toEqual([
      [true, true, true],
      [false, false, true],
    ]);
    for (const query of counting) {
      expect([query, (await run(query)).status]).toEqual([query, 200]);
      const shown = await ask(tenants.app, "GET", `${insights}${await save(query)}/`, undefined, key);
      expect([query, shown.status, shown.body["query_status"]]).toEqual([query, 200, null]);
    }
  },
  startMsMax,
);

/** Kinds whose results are figures, whoever they are counted of. */
const figureKinds =
  "TrendsQuery FunnelsQuery RetentionQuery LifecycleQuery StickinessQuery PathsQuery WebOverviewQuery WebStatsTableQuery";

test("a new kind of query is not open to readers before somebody has said what it shows", async () => {
  const known = [...figureKinds.split(" "), ...listing.map(({ kind }) => kind)];
  expect(Object.keys(queryKinds).filter((kind) => !known.includes(kind))).toEqual([]);
  const { key } = await addMember();
  for (const query of [
    { kind: "DatabaseSchemaQuery" },
    { kind: "HogQLMetadata", language: "hogQL", query: "select distinct_id from events" },
  ]) {
    const { status, text } = await ask(tenants.app, "POST", `${home}/query/`, { query }, key);
    expect([query, status, text.includes(secret)]).toEqual([query, 200, false]);
  }
});

test("readers make keys that read, and no others; those that they have read only", async () => {
  const { person, key, uuid } = await addMember(membershipLevels.member);
  const keys = "/api/personal_api_keys/";
  const wide = await person.ask("POST", keys, { label: "wide", scopes: ["insight:write", "query:read"] });
  expect([wide.status, (await setLevel(uuid, 0)).status]).toEqual([201, 200]);
  const make = async (scopes: string[]) => await person.ask("POST", keys, { label: "key", scopes });
  for (const scopes of [["*"], ["insight:write"], ["query:read", "person:read"], ["query:write"]])
    expect([scopes, (await make(scopes)).status]).toEqual([scopes, 403]);
  const narrow = await make(["query:read", "insight:read"]);
  expect(narrow.status).toBe(201);
  const { id } = narrow.body;
  expect((await person.ask("PATCH", `${keys}${id}/`, { scopes: ["*"] })).status).toBe(403);
  expect((await person.ask("PATCH", `${keys}${id}/`, { label: "other" })).status).toBe(200);
  expect((await person.ask("POST", `${keys}${id}/roll/`)).status).toBe(200);
  expect((await person.ask("POST", `${keys}${wide.body["id"]}/roll/`)).status).toBe(403);
  const saving = async (by: string) =>
    await ask(tenants.app, "POST", `${home}/insights/`, { query: trends }, by);
  for (const by of [key, String(wide.body["value"])]) expect((await saving(by)).status).toBe(403);
  expect((await person.ask("DELETE", `${keys}${wide.body["id"]}/`)).status).toBe(204);
  expect((await setLevel(uuid, 1)).body["level"]).toBe(1);
  expect((await make(["insight:write"])).status).toBe(201);
  expect((await saving(key)).status).toBe(201);
});

test("a demotion is effective at once for keys and sessions, ends open streams, and is told to other servers", async () => {
  const { person, key, uuid, user_id } = await addMember(membershipLevels.member);
  const persons = `${home}/persons/`;
  const statuses = async () => [
    (await person.ask("GET", persons)).status,
    (await ask(tenants.app, "GET", persons, undefined, key)).status,
    (await ask(tenants.app, "POST", `${home}/annotations/`, { content: "Mine" }, key)).status,
  ];
  const follow = async () => {
    const headers = { authorization: `Bearer ${key}` };
    const { status, body } = await fetch(`${tenants.app.url}/console/stream/${tenants.owner.project_id}`, {
      headers,
    });
    return { status, reader: body!.getReader() };
  };
  expect(await statuses()).toEqual([200, 200, 201]);
  const { reader } = await follow();
  await reader.read();
  expect((await setLevel(uuid, 0)).status).toBe(200);
  expect(await statuses()).toEqual([403, 403, 403]);
  while (!(await reader.read()).done);
  const refused = await follow();
  expect(refused.status).toBe(403);
  await refused.reader.cancel();
  expect((await setLevel(uuid, 1)).status).toBe(200);
  expect(await statuses()).toEqual([200, 200, 201]);
  // As another server on the same Postgres does it.
  await tenants.stores.sql`UPDATE organization_memberships SET level = 0 WHERE user_id = ${user_id}`;
  expect((await statuses())[2]).toBe(403);
  await until(async () => (await statuses()).every((status) => status === 403));
});

test("what a member has running stops when they become a reader, and what others have does not", async () => {
  const theirs = await addMember(membershipLevels.member);
  const other = await addMember(membershipLevels.member);
  const { sql: postgres } = tenants.stores;
  await postgres`UPDATE insights SET query = ${postgres.json(trends)} WHERE id = ${tenants.owner.insight}`;
  const organization = `/api/organizations/${tenants.owner.organization_id}`;
  const make = async (key: string, path: string, body: unknown) => {
    const made = await ask(tenants.app, "POST", path, body, key);
    expect([path, made.status, made.text.slice(0, 0)]).toEqual([path, 201, ""]);
    return `${path}${String(made.body["id"])}/`;
  };
  const makeAll = async (key: string) => [
    await make(key, `${home}/subscriptions/`, bodyFor(tenants, { method: "POST", path: "/subscriptions/" })),
    await make(
      key,
      `${organization}/batch_exports/`,
      bodyFor(tenants, { method: "POST", path: "/batch_exports/" }),
    ),
    await make(key, `${home}/alerts/`, bodyFor(tenants, { method: "POST", path: "/alerts/" })),
  ];
  const read = async (paths: string[]) => {
    const bodies = await Promise.all(
      paths.map(async (path) => (await ask(tenants.app, "GET", path, undefined, tenants.owner.key)).body),
    );
    return [bodies[0]!["enabled"], bodies[1]!["paused"]];
  };
  const [mine, others] = [await makeAll(theirs.key), await makeAll(other.key)];
  const backfill = await ask(
    tenants.app,
    "POST",
    `${mine[1]}backfills/`,
    { start_at: "1980-01-01T00:00:00Z", end_at: null },
    theirs.key,
  );
  expect([await read(mine), backfill.status]).toEqual([[true, false], 201]);
  const lastOf = (path: string) => path.split("/").at(-2)!;
  for (const [subscription, batchExport] of [mine, others]) {
    await postgres`
      INSERT INTO subscription_deliveries (uuid, subscription_id, due_at, status, next_attempt_at, created_at)
      VALUES (${crypto.randomUUID()}, ${lastOf(subscription!)}, now(), 'retrying', now() + interval '1 hour', now())`;
    await postgres`
      INSERT INTO batch_export_runs (id, batch_export_id, data_interval_end, status, next_attempt_at, created_at,
        last_updated_at)
      VALUES (${crypto.randomUUID()}, ${lastOf(batchExport!)}, now(), 'FailedRetryable', now() + interval '1 hour', now(),
        now())`;
  }
  const open = async ([subscription, batchExport]: string[]) => [
    (
      await postgres`
      SELECT FROM subscription_deliveries
      WHERE subscription_id = ${lastOf(subscription!)} AND next_attempt_at IS NOT NULL`
    ).length,
    (
      await postgres`
      SELECT FROM batch_export_runs
      WHERE batch_export_id = ${lastOf(batchExport!)} AND status = 'FailedRetryable'`
    ).length,
  ];
  expect([await open(mine), await open(others)]).toEqual([
    [1, 1],
    [1, 1],
  ]);
  expect((await setLevel(theirs.uuid, 0)).status).toBe(200);
  expect(await read(mine)).toEqual([false, true]);
  expect(await read(others)).toEqual([true, false]);
  expect([await open(mine), await open(others)]).toEqual([
    [0, 0],
    [1, 1],
  ]);
  const rows = await postgres<{ status: string }[]>`
    SELECT status FROM batch_export_backfills WHERE id = ${String(backfill.body["backfill_id"])}`;
  expect(rows[0]?.status).toBe("Cancelled");
});

test("a member who is removed has nothing running, whatever they are invited as again", async () => {
  const { sql: postgres } = tenants.stores;
  const { organization_id, user_id: created_by_id } = tenants.owner;
  await postgres`UPDATE insights SET query = ${postgres.json(trends)} WHERE id = ${tenants.owner.insight}`;
  const rejoin = async (level: number) => {
    const { key, uuid, user_id } = await addMember(membershipLevels.member);
    const path = `${home}/subscriptions/`;
    const made = await ask(
      tenants.app,
      "POST",
      path,
      bodyFor(tenants, { method: "POST", path: "/subscriptions/" }),
      key,
    );
    expect(made.status).toBe(201);
    const removed = await ask(tenants.app, "DELETE", `${members}/${uuid}/`, undefined, tenants.owner.key);
    expect(removed.status).toBe(204);
    const invite = {
      organization_id,
      created_by_id,
      target_email: `${uuid}@example.com`,
      first_name: "",
      level,
    };
    const [
      {
        invite: { id },
        token,
      },
    ] = (await makeInvites(postgres, [invite])) as [Awaited<ReturnType<typeof makeInvites>>[0]];
    expect(await acceptInvite(postgres, { id, token, joining: { user_id } })).toBe(user_id);
    return (await ask(tenants.app, "GET", `${path}${made.body["id"]}/`, undefined, tenants.owner.key)).body[
      "enabled"
    ];
  };
  expect([await rejoin(0), await rejoin(1)]).toEqual([false, false]);
});

test("an invited reader is one, as PostHog's clients see too, and a level between levels is refused", async () => {
  const { organization_id, key } = tenants.owner;
  const invites = `/api/organizations/${organization_id}/invites/`;
  const invite = async (level: unknown) =>
    await ask(tenants.app, "POST", invites, { target_email: "new@reader.example", level }, key);
  for (const level of [-1, 2, 0.5, "reader"])
    expect([level, (await invite(level)).status]).toEqual([level, 400]);
  const { body } = await invite(0);
  expect(body["level"]).toBe(0);
  const [id = "", token = ""] = String(body["link"]).split("#invite=")[1]?.split(".") ?? [];
  const person = new Person(tenants.app);
  const ofLink = {
    "sec-fetch-site": "same-origin",
    "x-sluice-console": "1",
    authorization: `Bearer ${token}`,
  };
  const accepted = await person.ask("POST", `/api/signup/${id}/`, { password: "a reader's own" }, ofLink);
  expect(accepted.status).toBe(201);
  const me = (await person.ask("GET", "/api/users/@me/")).body;
  expect(me["organization"]).toMatchObject({ membership_level: 0 });
  expect((await person.ask("GET", `/api/organizations/${organization_id}/`)).body["membership_level"]).toBe(
    0,
  );
  expect((await person.ask("GET", `${members}/@me/`)).body["level"]).toBe(0);
  expect(problemOf(await person.ask("POST", "/api/organizations/", { name: "Mine" }))[0]).toBe(403);
});
