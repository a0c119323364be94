// Expired events, followed from their day's end to the disk, in a real engine under a clock that stands still.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { deriveAgain, deriveStored, storedBatches } from "../../src/capture/store.ts";
import { silentLog } from "../../src/core/log.ts";
import { retentionLimits } from "../../src/event_retention/limits.ts";
import type { PassOptions } from "../../src/event_retention/worker.ts";
import { createOrganization } from "../../src/organizations/store.ts";
import { createProject, updateProject } from "../../src/projects/store.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { addUser } from "../support/accounts.ts";
import { cleanUp } from "../support/cleanup.ts";
import { expireOnce } from "../support/retention.ts";
import { openMadeStores, storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp);

let stores: Stores;
let organization_id: string;
let now = Date.parse("2026-03-04T10:00:00Z");
let counted = 0;
const hourMs = 3_600_000;

beforeAll(async () => {
  stores = await openMadeStores();
  const owner_id = await addUser(stores.sql, "owner@example.com");
  organization_id = await createOrganization(stores.sql, { name: "O", owner_id, project_name: "First" });
}, storesStartMsMax);

/** Each test has projects of its own, and a pass is due at its beginning. */
beforeEach(async () => {
  await stores.sql`UPDATE projects SET event_retention_days = NULL`;
  await pass({ retentionDays: 36_500 });
  now += 2 * hourMs;
  counted = 0;
});

function options(own: Partial<PassOptions> = {}): PassOptions {
  return {
    sql: stores.sql,
    clickhouse: stores.clickhouse,
    log: silentLog,
    clock: { now: () => now, elapsed: () => now },
    retentionDays: undefined,
    expired: (events) => void (counted += events),
    stopping: new AbortController().signal,
    ...own,
  };
}

async function pass(own: Partial<PassOptions> = {}, atOnce = false) {
  return await expireOnce(options(own), atOnce);
}

async function makeProject(event_retention_days: number | null = null): Promise<number> {
  return (await createProject(stores.sql, { organization_id, name: "P", event_retention_days })).id;
}

let batches = 0n;

/** Events of one session, each at one of these times; the number of their batch. */
async function store(project_id: number, ...times: string[]): Promise<bigint> {
  batches += 1n;
  await insert(project_id, times, { batch: batches });
  return batches;
}

async function insert(
  project_id: number,
  times: string[],
  { batch, uuids }: { batch: bigint; uuids?: string[] },
): Promise<void> {
  await stores.clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, pk, pw, pv)
     SELECT uuid, {project_id:UInt32}, 'seen', 'd', concat('{"$session_id":"s', {batch:String}, '"}'),
       toDateTime64(time, 6, 'UTC'), now64(6), {batch:UInt64}, ['plan'], [0], ['"free"']
     FROM (SELECT arrayJoin(arrayZip({times:Array(String)}, {uuids:Array(UUID)})) AS one, one.1 AS time, one.2 AS uuid)
     SETTINGS max_partitions_per_insert_block = 0, optimize_on_insert = 0`,
    { project_id, times, batch, uuids: uuids ?? times.map(() => crypto.randomUUID()) },
  );
  await deriveStored(stores.clickhouse, [batch]);
}

/** The times of a project's events as a reader sees them. */
async function timesOf(project_id: number): Promise<string[]> {
  const rows = await stores.clickhouse.query<{ time: string }>(
    `SELECT toString(timestamp) AS time FROM events WHERE project_id = {project_id:UInt32} ORDER BY timestamp`,
    { project_id },
  );
  return rows.map(({ time }) => time.replace(/\.0+$/, ""));
}

async function countOf(table: string, project_id: number, settings = {}): Promise<number> {
  const [row] = await stores.clickhouse.query<{ count: string }>(
    "SELECT count() AS count FROM {table:Identifier} WHERE project_id = {project_id:UInt32}",
    { table, project_id },
    { settings },
  );
  return Number(row?.count);
}

/** Rows that files hold, deleted or not. */
const onDisk = (project_id: number) => countOf("event_rows", project_id, { apply_deleted_mask: 0 });

test("a day expires whole, once all of it is as old as the retention", async () => {
  const id = await makeProject();
  now = Date.parse("2026-03-10T23:59:59.999Z");
  await store(
    id,
    "2026-03-02 23:59:59.999999",
    "2026-03-03 00:00:00",
    "2026-03-03 23:59:59",
    "2026-03-10 12:00:00",
  );
  expect(await pass({ retentionDays: 7 })).toMatchObject({ is: "passed", events: 1 });
  expect((await timesOf(id))[0]).toBe("2026-03-03 00:00:00");
  now += 1;
  expect(await pass({ retentionDays: 7 })).toMatchObject({ is: "passed", events: 2 });
  expect(await timesOf(id)).toEqual(["2026-03-10 12:00:00"]);
  expect(counted).toBe(3);
});

test("nothing expires unless somebody says so", async () => {
  const id = await makeProject();
  await store(id, "1901-05-05 00:00:00", "2001-01-01 00:00:00");
  expect(await pass()).toEqual({ is: "passed", events: 0, sessions: 0, rewritten: 0 });
  expect(await timesOf(id)).toHaveLength(2);
});

test("a project keeps fewer days than the server, or any number where the server keeps all", async () => {
  const [plain, shorter, longer] = [await makeProject(), await makeProject(10), await makeProject(400)];
  const times = ["2025-01-01 00:00:00", "2025-12-31 00:00:00", "2026-03-08 00:00:00"];
  for (const id of [plain, shorter, longer]) await store(id, ...times);
  await pass();
  expect([await timesOf(plain), await timesOf(shorter), await timesOf(longer)]).toEqual([
    times,
    times.slice(2),
    times.slice(1),
  ]);
  // A setting from before the server said less counts no more.
  now += 2 * hourMs;
  await pass({ retentionDays: 30 });
  expect([await timesOf(plain), await timesOf(shorter), await timesOf(longer)]).toEqual([
    times.slice(2),
    times.slice(2),
    times.slice(2),
  ]);
});

test("a pass is due after an hour, and at once when a project's retention was changed or a server starts", async () => {
  const id = await makeProject();
  await store(id, "2025-12-31 00:00:00", "2026-02-01 00:00:00");
  await pass();
  now += hourMs - 1;
  expect(await pass()).toEqual({ is: "not due" });
  await updateProject(stores.sql, id, { name: "Other" });
  expect(await pass()).toEqual({ is: "not due" });
  await updateProject(stores.sql, id, { event_retention_days: 40 });
  expect(await pass()).toMatchObject({ is: "passed", events: 1 });
  now += 1;
  expect(await pass({ retentionDays: 5 })).toEqual({ is: "not due" });
  expect(await pass({ retentionDays: 5 }, true)).toMatchObject({ is: "passed", events: 1 });
});

test("a pass that was stopped after one year continues with the others", async () => {
  const id = await makeProject(7);
  await store(id, "2021-01-01 00:00:00", "2022-01-01 00:00:00");
  const stop = new AbortController();
  const expired = () => stop.abort();
  expect(await pass({ expired, stopping: stop.signal })).toEqual({ is: "stopped" });
  expect(await timesOf(id)).toEqual(["2022-01-01 00:00:00"]);
  expect(await pass()).toMatchObject({ is: "passed", events: 1, sessions: 1 });
  expect(await timesOf(id)).toEqual([]);
});

test("events of before 1970, whose days ClickHouse wraps round, expire like all others", async () => {
  const [young, old] = [await makeProject(20_000), await makeProject(36_500)];
  await store(
    young,
    "1901-05-05 00:00:00",
    "1969-12-31 23:59:59",
    "1970-01-01 00:00:00",
    "2020-01-01 00:00:00",
  );
  await store(old, "1901-05-05 00:00:00", "1969-12-31 23:59:59");
  await pass();
  expect(await timesOf(young)).toEqual(["2020-01-01 00:00:00"]);
  expect(await timesOf(old)).toEqual(["1969-12-31 23:59:59"]);
});

test("an event that was stored twice goes as a whole", async () => {
  const id = await makeProject(7);
  const uuids = [crypto.randomUUID()];
  await insert(id, ["2026-01-01 01:00:00"], { batch: 90_001n, uuids });
  await insert(id, ["2026-01-01 23:00:00"], { batch: 90_002n, uuids });
  expect(await timesOf(id)).toHaveLength(1);
  await pass();
  expect(await timesOf(id)).toEqual([]);
});

test("sessions expire with their last event; persons and what is known of them stay", async () => {
  const id = await makeProject(7);
  await store(id, "2026-01-01 10:00:00", "2026-01-01 10:05:00");
  await store(id, "2026-01-01 10:00:00", new Date(now).toISOString().slice(0, 19).replace("T", " "));
  // Without FINAL the counts fall when the engine merges parts in between.
  const known = async () => [
    await countOf("persons", id, { final: 1 }),
    await countOf("person_props", id, { final: 1 }),
    await countOf("seen", id, { final: 1 }),
  ];
  const persons = await known();
  expect(await countOf("sessions", id)).toBe(2);
  expect(await pass()).toMatchObject({ is: "passed", events: 3, sessions: 1 });
  expect(await countOf("sessions", id)).toBe(1);
  expect(await known()).toEqual(persons);
  expect(persons[0]).toBe(1);
});

test("a batch that is derived again brings no expired session back", async () => {
  const id = await makeProject(7);
  const recent = new Date(now).toISOString().slice(0, 19).replace("T", " ");
  const [old, mixed] = [
    await store(id, "2026-01-01 10:00:00"),
    await store(id, "2026-01-01 10:00:00", recent),
  ];
  await pass();
  await deriveAgain(stores.clickhouse, "event_rows", [old, mixed]);
  await deriveStored(stores.clickhouse, [old, mixed]);
  expect(await countOf("sessions", id)).toBe(1);
  // Derived while its events were not deleted yet: the next pass finds it, though it finds no event.
  const late = await store(id, "2026-01-02 10:00:00");
  const { clickhouse } = stores;
  const rows = clickhouse.tables.local("event_rows");
  await clickhouse.command(`DELETE FROM ${rows} WHERE _batch = {late:UInt64}`, { late });
  now += 2 * hourMs;
  expect(await pass()).toMatchObject({ events: 0, sessions: 1 });
  expect(await countOf("sessions", id)).toBe(1);
});

test("a batch whose answer was lost is stored once more after all of it expired, and expires again", async () => {
  const id = await makeProject(7);
  const uuids = [crypto.randomUUID()];
  await insert(id, ["2026-01-01 10:00:00"], { batch: 90_003n, uuids });
  await pass();
  expect(await storedBatches(stores.clickhouse, "event_rows", [{ id: 90_003n, rows: 1 }])).toEqual(new Set());
  await insert(id, ["2026-01-01 10:00:00"], { batch: 90_003n, uuids });
  now += 2 * hourMs;
  expect(await pass()).toMatchObject({ is: "passed", events: 1, sessions: 1 });
  expect([await timesOf(id), await countOf("sessions", id)]).toEqual([[], 0]);
});

test("more projects than one statement takes are worked off some at a time", async () => {
  const rows = await stores.sql<{ id: number }[]>`
    INSERT INTO projects (uuid, organization_id, name, api_token, event_retention_days)
    SELECT gen_random_uuid(), ${organization_id}, 'many', 'many-' || number, 1 + number % 300
    FROM generate_series(1, ${2 * retentionLimits.expiryProjectsMax + 5}) AS number RETURNING id`;
  const ids = [rows[0]!.id, rows[999]!.id, rows.at(-1)!.id];
  for (const id of ids) await store(id, "2024-06-01 00:00:00");
  expect(await pass()).toMatchObject({ is: "passed", events: 3 });
  for (const id of ids) expect(await timesOf(id)).toEqual([]);
  await stores.sql`DELETE FROM projects WHERE name = 'many'`;
});

test("deleted rows leave the files once they are a quarter of a year's, or have rested for a month", async () => {
  // What others have left there goes first.
  now += retentionLimits.expiryMaskedMsMax;
  await pass();
  now += 2 * hourMs;
  const few = await makeProject(7);
  const day = (number: number) => `1990-01-0${number} 00:00:00`;
  const keeper = await makeProject();
  await store(keeper, ...Array.from({ length: 9 }, (_, i) => day(i + 1)));
  await store(few, day(1));
  expect(await pass()).toMatchObject({ events: 1 });
  expect([await timesOf(few), await onDisk(few)]).toEqual([[], 1]);
  now += retentionLimits.expiryMaskedMsMax - hourMs;
  await pass();
  expect(await onDisk(few)).toBe(1);
  now += 2 * hourMs;
  expect(await pass()).toMatchObject({ is: "passed", events: 0 });
  expect(await onDisk(few)).toBe(0);
  await store(few, day(1), day(2), day(3));
  now += 2 * hourMs;
  expect(await pass()).toMatchObject({ events: 3 });
  expect(await onDisk(few)).toBe(0);
  expect(await timesOf(keeper)).toHaveLength(9);
});
