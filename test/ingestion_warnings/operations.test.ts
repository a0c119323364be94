import { afterAll, beforeAll, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { openGate } from "../../src/access/gate.ts";
import { bootstrap } from "../../src/accounts/prepare.ts";
import type { Clock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { openProblems } from "../../src/http/problem.ts";
import { ingestionWarningRoutes } from "../../src/ingestion_warnings/operations.ts";
import { findUserId, issueKey } from "../../src/personal_api_keys/store.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { startMsMax } from "../support/accounts.ts";
import { cleanUp } from "../support/cleanup.ts";
import { openMadeStores } from "../support/stores.ts";

afterAll(cleanUp, startMsMax);

const hourMs = 3_600_000;
/** Warnings are kept for 90 days, by the engine's own clock: these are of the day before yesterday. */
const first = Math.floor(Date.now() / 86_400_000 - 2) * 86_400_000;
const clock: Clock = { now: () => first + 24 * hourMs, elapsed: () => 0 };

/** The moment of the warning of this number, as replies write it. */
function at(hour: number): string {
  return new Date(first + hour * hourMs).toISOString().replace("Z", "000Z");
}

let stores: Stores;
let app: { handle(request: Request): Promise<Response> };
let key: string;
let project_id: number;

beforeAll(async () => {
  stores = await openMadeStores();
  const made = await bootstrap(stores.sql, {
    bootstrapProjectApiKey: undefined,
    bootstrapPersonalApiKey: undefined,
    bootstrapEmail: undefined,
  });
  project_id = made?.project_id ?? 0;
  key = made?.personalApiKey ?? "";
  const gate = openGate({ sql: stores.sql, clock, log: silentLog });
  const room = ingestionWarningRoutes({ gate, clickhouse: stores.clickhouse, clock });
  app = new Elysia().onError(openProblems({ log: silentLog, routes: () => room.routes })).use(room);
  // 30 warnings, one an hour; every third a "b"; the last stands for 40 events. And another project's.
  for (const project of [project_id, 4_000_000_000])
    await stores.clickhouse.command(`
      INSERT INTO ingestion_warnings (project_id, type, details, event, distinct_id, count, timestamp, _batch, _row)
      SELECT ${project}, if(number % 3 = 0, 'b', 'a'), concat('{"index":', toString(number), '}'), 'e',
        concat('d', toString(number)), if(number = 29, 40, 1),
        fromUnixTimestamp64Milli(toInt64(${first}), 'UTC') + toIntervalHour(number), 1, number
      FROM numbers(30)`);
}, startMsMax);

interface Reply {
  count: number;
  next: string | null;
  previous: string | null;
  types: { type: string; count: number; first_seen: string; last_seen: string }[];
  results: {
    type: string;
    event: string;
    distinct_id: string;
    timestamp: string;
    count: number;
    details: { index: number };
  }[];
}

async function ask(query: string, home = "projects", id = project_id, bearer = key) {
  const headers = { authorization: `Bearer ${bearer}` };
  const url = `http://localhost/api/${home}/${id}/ingestion_warnings/${query}`;
  const reply = await app.handle(new Request(url, { headers }));
  return { status: reply.status, body: (await reply.json()) as Reply };
}

test("counts events by type and lists warnings, newest first", async () => {
  const { status, body } = await ask("?limit=2");
  expect(status).toBe(200);
  expect(body.count).toBe(30);
  expect(body.types).toEqual([
    { type: "a", count: 59, first_seen: at(1), last_seen: at(29) },
    { type: "b", count: 10, first_seen: at(0), last_seen: at(27) },
  ]);
  expect(body.results).toEqual([
    {
      type: "a",
      event: "e",
      distinct_id: "d29",
      timestamp: at(29),
      count: 40,
      details: { index: 29 },
    },
    {
      type: "a",
      event: "e",
      distinct_id: "d28",
      timestamp: at(28),
      count: 1,
      details: { index: 28 },
    },
  ]);
  expect(body.next).toContain("limit=2&offset=2");
});

test("pages lead through all of them, past the end to none", async () => {
  const seen: number[] = [];
  for (let query: string | null = "?limit=7"; query !== null;) {
    const { body }: { body: Reply } = await ask(query, "environments");
    seen.push(...body.results.map(({ details }) => details.index));
    query = body.next === null ? null : new URL(body.next).search;
  }
  expect(seen).toEqual(Array.from({ length: 30 }, (_, i) => 29 - i));
  expect((await ask("?offset=30")).body).toMatchObject({ count: 30, results: [], next: null });
});

test("filters by type, event, distinct id and time", async () => {
  const indexes = async (query: string) =>
    (await ask(query)).body.results.map(({ details }) => details.index);
  expect(await indexes("?type=b&limit=2")).toEqual([27, 24]);
  expect(await indexes("?distinct_id=d4")).toEqual([4]);
  expect(await indexes("?event=other")).toEqual([]);
  expect(await indexes(`?after=${at(1)}&before=${at(4)}`)).toEqual([3, 2]);
  expect(await indexes(`?after=-22h&before=${at(4)}`)).toEqual([3]);
  expect((await ask("?after=someday")).status).toBe(400);
});

test("needs query:read, and a project of the key's", async () => {
  const user_id = (await findUserId(stores.sql, undefined)) ?? 0;
  const { value } = await issueKey(stores.sql, user_id, { label: "other", scopes: ["project:read"] });
  expect((await ask("", "projects", project_id, value)).status).toBe(403);
  expect((await ask("", "projects", project_id, "phx_nobody")).status).toBe(401);
  expect((await ask("", "projects", 4_000_000)).status).toBe(404);
});
