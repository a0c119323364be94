import { beforeAll, expect, test } from "bun:test";
import { consoleLimits } from "../../src/console/limits.ts";
import { newestEvents } from "../../src/console/store.ts";
import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { openMadeStores, storesStartMsMax } from "../support/stores.ts";

cleanUpEach();

let clickhouse: ClickHouse;

beforeAll(async () => {
  clickhouse = (await openMadeStores()).clickhouse;
  // Two projects, a hundred events each, a second apart; every tenth is paid, and one has much to say.
  await clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
     SELECT generateUUIDv4(), 1 + number % 2, if(number % 20 < 2, 'paid', 'seen'), concat('d', toString(number % 4)),
       if(number = 198, repeat('x', ${consoleLimits.propertiesBytesMax + 1}), '{"n":1}'),
       toDateTime64('2020-01-01 00:00:00', 6, 'UTC'),
       toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + intDiv(number, 2)
     FROM numbers(200)`,
  );
}, storesStartMsMax);

const all = { project_id: 1, event: undefined, distinct_id: undefined };

test("the newest events are those that arrived last, whenever they happened", async () => {
  const events = await newestEvents(clickhouse, all, "2026-01-01 00:00:00.000000");
  expect(events).toHaveLength(consoleLimits.newestMax);
  expect(events[0]).toMatchObject({
    event: "seen",
    distinct_id: "d2",
    properties: "",
    properties_bytes: consoleLimits.propertiesBytesMax + 1,
    timestamp: "2020-01-01 00:00:00.000000",
    created_at: "2026-01-01 00:01:39.000000",
  });
  expect(events[1]).toMatchObject({ properties: '{"n":1}', created_at: "2026-01-01 00:01:38.000000" });
});

test("only events after the moment count, of one project, as the filter says", async () => {
  const since = "2026-01-01 00:01:29.000000";
  expect(await newestEvents(clickhouse, all, since)).toHaveLength(10);
  expect(await newestEvents(clickhouse, { ...all, project_id: 3 }, since)).toEqual([]);
  const paid = await newestEvents(clickhouse, { ...all, event: "paid" }, "2026-01-01 00:00:00.000000");
  expect(paid.map(({ created_at }) => created_at.slice(14, 19))).toEqual([
    "01:30",
    "01:20",
    "01:10",
    "01:00",
    "00:50",
    "00:40",
    "00:30",
    "00:20",
    "00:10",
  ]);
  const mine = await newestEvents(clickhouse, { ...all, event: "paid", distinct_id: "d2" }, since);
  expect(mine).toEqual([]);
});
