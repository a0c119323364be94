import { afterAll, beforeAll, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { openGate } from "../../src/access/gate.ts";
import { bootstrap } from "../../src/accounts/prepare.ts";
import type { Clock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { eventRoutes } from "../../src/events/operations.ts";
import { openProblems } from "../../src/http/problem.ts";
import { findUserId, issueKey } from "../../src/personal_api_keys/store.ts";
import { createProject } from "../../src/projects/store.ts";
import { openQueryEngine } from "../../src/query/engine.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { startMsMax } from "../support/accounts.ts";
import { cleanUp } from "../support/cleanup.ts";
import { noSqlParser } from "../support/sql_parser.ts";
import { openMadeStores } from "../support/stores.ts";

const clock: Clock = { now: () => Date.UTC(2024, 0, 11), elapsed: () => 0 };
let stores: Stores;
let app: { handle(request: Request): Promise<Response> };
let key: string;
let user_id: number;
let project_id: number;
let empty_id: number;
let odd_id: number;

beforeAll(async () => {
  stores = await openMadeStores();
  const { sql, clickhouse } = stores;
  const made = await bootstrap(sql, {
    bootstrapProjectApiKey: undefined,
    bootstrapPersonalApiKey: undefined,
    bootstrapEmail: undefined,
  });
  project_id = made?.project_id ?? 0;
  key = made?.personalApiKey ?? "";
  user_id = (await findUserId(sql, undefined)) ?? 0;
  const organization_id = made?.organization_id ?? "";
  empty_id = (await createProject(sql, { organization_id, name: "Empty" })).id;
  odd_id = (await createProject(sql, { organization_id, name: "Odd" })).id;
  const gate = openGate({ sql, clock, log: silentLog });
  const engine = openQueryEngine({ parser: noSqlParser, sql, clickhouse, clock });
  const room = eventRoutes({ gate, clickhouse, clock, engine });
  app = new Elysia().onError(openProblems({ log: silentLog, routes: () => room.routes })).use(room);
  await addEvents();
}, startMsMax);

afterAll(cleanUp, startMsMax);

/**
 * 240 events, one an hour from 2024-01-01; even hours "tick", odd ones "tock"; and two of another project.
 */
async function addEvents(): Promise<void> {
  const columns =
    "uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration";
  const properties = `concat('{"hour":', toString(number), ',"exact":12345678901234567890.10}')`;
  await stores.clickhouse.command(`
    INSERT INTO event_rows (${columns}, _batch, _row)
    SELECT generateUUIDv7(), ${project_id}, if(number % 2 = 0, 'tick', 'tock'),
      concat('id', toString(number % 3)),
      ${properties}, toDateTime64('2024-01-01 00:00:00', 6, 'UTC') + toIntervalHour(number),
      toDateTime64('2024-01-10 00:00:00.5', 6, 'UTC'), number < 24, 1, number
    FROM numbers(240)`);
  await stores.clickhouse.command(`
    INSERT INTO event_rows (${columns}, _batch, _row)
    SELECT generateUUIDv7(), 4000000000, 'theirs', 'id0', '{}', toDateTime64('2024-01-05 00:00:00', 6, 'UTC'),
      toDateTime64('2024-01-10 00:00:00', 6, 'UTC'), false, 2, number
    FROM numbers(2)`);
}

/** Texts that a writer of JSON may get wrong, as the event's name and its distinct id. */
const oddTexts = [
  'say "hi"',
  "back\\slash and / slash",
  "line\nfeed\ttab\r\b\f",
  "\u0001\u001f\u007f",
  "é ü 漢字 🙂",
  "\u2028\u2029",
  "</script>",
  "",
];
const oddProperties = [
  "",
  "{}",
  '{"n":12345678901234567890.10,"n":1e400,"t":"\\u00e9\\/"}',
  '{\n  "a": [1 , 2]\t}',
];
const oddMoments = [
  ["2024-01-02 03:04:05.600000", "2024-01-02T03:04:05.600000Z"],
  ["2024-01-02 03:04:05.000000", "2024-01-02T03:04:05Z"],
  ["2024-01-02 03:04:05.000001", "2024-01-02T03:04:05.000001Z"],
  ["1970-01-01 00:00:00.100000", "1970-01-01T00:00:00.100000Z"],
  ["2199-12-31 23:59:59.999999", "2199-12-31T23:59:59.999999Z"],
] as const;

function oddEvents() {
  return oddTexts.flatMap((odd, i) =>
    oddMoments.map(([stored, shown], k) => ({
      uuid: `0190cbd8-9e1b-7000-8000-${String(i * 100 + k).padStart(12, "0")}`,
      event: odd,
      distinct_id: `${odd}${i}`,
      properties: oddProperties[(i + k) % oddProperties.length] ?? "",
      stored,
      shown,
    })),
  );
}

interface EventReply {
  uuid: string;
  event: string;
  distinct_id: string;
  timestamp: string;
  person_id: string;
  properties: { hour: number };
}

interface Reply {
  status: number;
  text: string;
  body: { count: number; next: string | null; previous: string | null; results: EventReply[] };
}

async function ask(query: string, { home = "projects", id = project_id, bearer = key } = {}): Promise<Reply> {
  const headers = { authorization: `Bearer ${bearer}` };
  const reply = await app.handle(
    new Request(`http://localhost/api/${home}/${id}/events/${query}`, { headers }),
  );
  const text = await reply.text();
  return { status: reply.status, text, body: JSON.parse(text) as Reply["body"] };
}

const hoursOf = ({ body }: Reply): number[] => body.results.map(({ properties }) => properties.hour);

test("lists the newest events first, in the envelope of every list", async () => {
  const reply = await ask("?limit=3");
  expect(reply.status).toBe(200);
  expect(reply.body).toMatchObject({ count: 240, previous: null });
  expect(reply.body.next).toBe(`http://localhost/api/projects/${project_id}/events/?limit=3&offset=3`);
  expect(hoursOf(reply)).toEqual([239, 238, 237]);
  expect(reply.body.results[0]).toMatchObject({
    event: "tock",
    distinct_id: "id2",
    timestamp: "2024-01-10T23:00:00Z",
    created_at: "2024-01-10T00:00:00.500000Z",
    historical_migration: false,
    person_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(reply.text).toContain('"properties":{"hour":239,"exact":12345678901234567890.10}');
});

test("whatever is in an event, its text is what JSON makes of it, and its properties are the client's own", async () => {
  const events = oddEvents();
  const column = (name: "uuid" | "event" | "distinct_id" | "properties" | "stored") =>
    events.map((one) => one[name]);
  await stores.clickhouse.command(
    `INSERT INTO event_rows
       (uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration, _batch, _row)
     SELECT {uuid:Array(UUID)}[n], {project_id:UInt32}, {event:Array(String)}[n], {distinct_id:Array(String)}[n],
       {properties:Array(String)}[n], moment, moment, n % 2 = 0, 9, n
     FROM (SELECT number + 1 AS n, toDateTime64({stored:Array(String)}[n], 6, 'UTC') AS moment
           FROM numbers(${events.length}))`,
    {
      project_id: odd_id,
      uuid: column("uuid"),
      event: column("event"),
      distinct_id: column("distinct_id"),
      properties: column("properties"),
      stored: column("stored"),
    },
  );
  const reply = await ask("?limit=1000&before=2300-01-01", { id: odd_id });
  const people = new Map(reply.body.results.map(({ uuid, person_id }) => [uuid, person_id]));
  const texts = new Map(
    events.map(({ uuid, event, distinct_id, properties, shown }, at) => {
      const head = JSON.stringify({ id: uuid, uuid, event, distinct_id }).slice(0, -1);
      const tail = JSON.stringify({
        timestamp: shown,
        created_at: shown,
        person_id: people.get(uuid),
        historical_migration: at % 2 === 1,
      });
      return [uuid, `${head},"properties":${properties || "{}"},${tail.slice(1)}`];
    }),
  );
  expect(reply.body.results).toHaveLength(events.length);
  expect(reply.body).toMatchObject({ count: events.length, next: null, previous: null });
  const wanted = reply.body.results.map(({ uuid }) => texts.get(uuid)).join(",");
  expect(unescaped(reply.text)).toBe(
    unescaped(`{"count":${events.length},"next":null,"previous":null,"results":[${wanted}]}`),
  );
});

/** JSON spells a few characters in two ways, and the engine's is the other one. */
function unescaped(text: string): string {
  const lower = text.replaceAll(/\\u[0-9A-F]{4}/g, (escape) => escape.toLowerCase());
  return lower.replaceAll(String.raw`\u2028`, "\u2028").replaceAll(String.raw`\u2029`, "\u2029");
}

test("environments are projects", async () => {
  expect(hoursOf(await ask("?limit=2", { home: "environments" }))).toEqual([239, 238]);
});

test("following next visits every event once", async () => {
  const seen: string[] = [];
  let next: string | null = "?limit=70";
  while (next !== null) {
    const { body }: Reply = await ask(next);
    seen.push(...body.results.map(({ uuid }) => uuid));
    next = body.next === null ? null : new URL(body.next).search;
  }
  expect(seen).toHaveLength(240);
  expect(new Set(seen).size).toBe(240);
});

test("filters by event, distinct id and time, together", async () => {
  expect((await ask("?event=tick")).body.count).toBe(120);
  expect((await ask("?distinct_id=id0")).body.count).toBe(80);
  const reply = await ask("?event=tick&distinct_id=id0&after=2024-01-02&before=2024-01-03T00:00:00Z");
  expect(hoursOf(reply)).toEqual([42, 36, 30]);
  expect(reply.body.count).toBe(3);
});

test("after and before leave their own moment out", async () => {
  expect(hoursOf(await ask("?after=2024-01-01T01:00:00Z&before=2024-01-01T04:00:00Z"))).toEqual([3, 2]);
});

test("relative moments count back from now", async () => {
  expect((await ask("?after=-2d&before=2024-01-10")).body.count).toBe(23);
});

test("a moment that is none is refused, naming its key", async () => {
  for (const name of ["after", "before"]) {
    const { status, body } = await ask(`?${name}=yesterday`);
    expect(status).toBe(400);
    expect(body).toMatchObject({ type: "validation_error", code: "invalid_input", attr: name });
  }
});

test("a page past the end is empty and leads back", async () => {
  const { body } = await ask("?limit=10&offset=1000");
  expect(body).toMatchObject({ count: 240, next: null, results: [] });
  expect(body.previous).toContain("offset=990");
});

test("a value cannot leave its place in the statement", async () => {
  for (const value of ["' OR 1=1 --", "\\' OR 1=1 --", "{project_id:UInt32}", "a\nb", "é"]) {
    const { status, body } = await ask(`?event=${encodeURIComponent(value)}`);
    expect(status).toBe(200);
    expect(body.count).toBe(0);
  }
  const { status, body } = await ask("?event=%00");
  expect(status).toBe(400);
  expect(body).toMatchObject({ code: "null_characters_not_allowed", attr: "event" });
});

test("a project without events has an empty list, whatever others have", async () => {
  expect((await ask("", { id: empty_id })).body).toEqual({
    count: 0,
    next: null,
    previous: null,
    results: [],
  });
});

test("needs query:read, and a project of the key's", async () => {
  const { value } = await issueKey(stores.sql, user_id, { label: "other", scopes: ["project:read"] });
  expect(await ask("", { bearer: value })).toMatchObject({
    status: 403,
    body: { detail: "API key missing required scope 'query:read'" },
  });
  const held = await issueKey(stores.sql, user_id, {
    label: "held",
    scopes: ["*"],
    scoped_teams: [empty_id],
  });
  expect((await ask("", { bearer: held.value })).status).toBe(403);
  expect((await ask("", { id: 4_000_000 })).status).toBe(404);
});

const filtered = (filters: unknown, more = "") =>
  ask(`?limit=5&properties=${encodeURIComponent(JSON.stringify(filters))}${more}`);

test("only events that hold all property filters are listed and counted, and links keep the filters", async () => {
  const late = await filtered([{ key: "hour", value: 230, operator: "gte" }], "&event=tick");
  expect([late.status, late.body.count, hoursOf(late)]).toEqual([200, 5, [238, 236, 234, 232, 230]]);
  const both = await filtered([
    { key: "hour", value: ["7", "8", "9"], operator: "exact", type: "event" },
    { key: "hour", value: 8, operator: "is_not" },
  ]);
  expect([both.body.count, hoursOf(both)]).toEqual([2, [9, 7]]);
  const group = {
    type: "OR",
    values: [
      { key: "hour", value: 3 },
      { key: "absent", operator: "is_set" },
    ],
  };
  expect(hoursOf(await filtered(group))).toEqual([3]);
  const next = (await filtered([{ key: "hour", value: 10, operator: "lt" }])).body.next ?? "";
  const follows = await ask(new URL(next).search);
  expect([follows.body.count, hoursOf(follows)]).toEqual([10, [4, 3, 2, 1, 0]]);
  expect((await filtered([])).body.count).toBe(240);
});

test("filters on persons use their present properties", async () => {
  await stores.clickhouse.command(
    `INSERT INTO event_feed (uuid, project_id, distinct_id, timestamp, created_at, pk, pw, pv)
     SELECT generateUUIDv4(), {project_id:UInt32}, 'id1', now64(6), now64(6), ['plan'], [0], ['"paid"']`,
    { project_id },
  );
  const paid = await filtered([{ key: "plan", value: "paid", type: "person" }]);
  expect([paid.status, paid.body.count, hoursOf(paid)]).toEqual([200, 80, [238, 235, 232, 229, 226]]);
});

test("filters that are none are refused, and never ignored", async () => {
  const refused = async (properties: string) => {
    const { status, body } = await ask(`?properties=${encodeURIComponent(properties)}`);
    expect(status).toBe(400);
    return (body as unknown as { attr: string }).attr;
  };
  expect(await refused("{")).toBe("properties");
  expect(await refused('"hour"')).toBe("properties");
  expect(await refused('{"hour__like":3}')).toBe("properties__0__operator");
  expect(await refused('[{"key":"hour","value":1,"operator":"sounds_like"}]')).toBe(
    "properties__0__operator",
  );
  expect(await refused('[{"key":"id","value":1,"type":"cohort"}]')).toBe("properties__0__type");
  expect(await refused('[{"key":"hour","value":"(","operator":"regex"}]')).toBe("properties");
});
