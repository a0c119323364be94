import { afterAll, beforeAll, expect, test } from "bun:test";
import { countDays, countFinalDays } from "../../src/events/day_store.ts";
import { eventLimits } from "../../src/events/limits.ts";
import { toReads } from "../../src/storage/clickhouse/query_options.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { cleanUp } from "../support/cleanup.ts";
import { openMadeStores, storesStartMsMax } from "../support/stores.ts";

let stores: Stores;

beforeAll(async () => {
  stores = await openMadeStores();
}, storesStartMsMax);

afterAll(cleanUp);

/** An INSERT of its own, and so a part: `n` events from `from` on, three a day, each `times` times. */
async function insert(project_id: number, first: string, from: number, n: number, times = 1): Promise<void> {
  await stores.clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at,
       historical_migration, _batch, _row)
     SELECT reinterpretAsUUID(toUInt128(number % ${n} + ${from} + 1)), ${project_id},
       if((number % ${n} + ${from}) % 2 = 0, 'even', 'odd'), 'd', '{}',
       toDateTime64('${first} 00:00:00', 6, 'UTC') + toIntervalHour(8 * (number % ${n})), now64(6, 'UTC'), false, 1, number
     FROM numbers(${n * times})`,
  );
}

const where = "project_id = {project_id:UInt32}";

/** The days by both counts, which must agree. */
async function daysOf(project_id: number, more = ""): Promise<[day: string, count: number][]> {
  const reads = toReads(stores.clickhouse, project_id);
  const conditions = { where: `${where}${more}`, params: { project_id } };
  const plain = (days: { day: string; count: string | number }[]) =>
    days.map(({ day, count }): [string, number] => [day, Number(count)]);
  const days = plain(await countDays(reads, conditions, "DESC"));
  const final = plain(await countFinalDays(reads, "stored_events", conditions, "DESC"));
  expect(days.filter(([, count]) => count > 0)).toEqual(final);
  return days;
}

test("equal rows count once, in one INSERT and in several, before they are merged and afterwards", async () => {
  const { clickhouse } = stores;
  const table = clickhouse.tables.local("event_rows");
  await clickhouse.command(`SYSTEM STOP MERGES ${table}`);
  await insert(1, "2024-05-01", 0, 9, 2);
  expect(await daysOf(1)).toEqual([
    ["2024-05-03", 3],
    ["2024-05-02", 3],
    ["2024-05-01", 3],
  ]);
  // Six that are there already, and three new ones on a fourth day.
  await insert(1, "2024-05-02", 3, 9);
  expect(await daysOf(1)).toEqual([
    ["2024-05-04", 3],
    ["2024-05-03", 3],
    ["2024-05-02", 3],
    ["2024-05-01", 3],
  ]);
  expect(await daysOf(1, " AND event = 'even'")).toHaveLength(4);
  await clickhouse.command(`SYSTEM START MERGES ${table}`);
  await clickhouse.command(`OPTIMIZE TABLE ${table} FINAL`);
  expect(await daysOf(1)).toHaveLength(4);
  // Beside a merged part, one with the last day again and one more.
  await insert(1, "2024-05-04", 9, 6);
  expect((await daysOf(1)).slice(0, 3)).toEqual([
    ["2024-05-05", 3],
    ["2024-05-04", 3],
    ["2024-05-03", 3],
  ]);
});

test("days before 1970, which the key of the table wraps, and more days than are named are counted as well", async () => {
  await insert(2, "1931-12-30", 100, 30);
  await insert(2, "1931-12-31", 103, 30);
  const days = await daysOf(2);
  expect([days.length, days.at(-1)]).toEqual([11, ["1931-12-30", 3]]);
  await insert(3, "2019-01-01", 1000, 3 * (eventLimits.unmergedDaysMax + 10));
  await insert(3, "2019-01-01", 1000, 3 * (eventLimits.unmergedDaysMax + 10));
  const many = await daysOf(3);
  expect(many).toHaveLength(eventLimits.unmergedDaysMax + 10);
  expect(new Set(many.map(([, count]) => count))).toEqual(new Set([3]));
});
