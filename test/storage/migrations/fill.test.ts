// Events that were stored before their properties had columns.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fillPartition } from "../../../src/cli/fill.ts";
import { ExpiredRows } from "../../../src/event_retention/store.ts";
import { awaitDeletions } from "../../../src/storage/cluster/listed_deletion.ts";
import { propertyColumns } from "../../../src/storage/events/event_columns.ts";
import { propertyText } from "../../../src/storage/events/property_filter.ts";
import {
  hasRoomToFill,
  listUnfilled,
  readFill,
  startFill,
  stopFill,
} from "../../../src/storage/migrations/fill_store.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";

let stores: Stores;
beforeAll(async () => {
  stores = await openMadeStores();
}, storesStartMsMax);
afterAll(cleanUp);

const file = join(import.meta.dir, "../../../sql/clickhouse/0027_property_columns.sql");
/** The statement of the migration that adds the columns. */
const addColumns = /ALTER TABLE event_rows\n[^;]*/.exec(readFileSync(file, "utf8"))![0];

async function insert(year: number, rows: number): Promise<void> {
  await stores.clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
     SELECT generateUUIDv4(), 1, 'e', 'd', concat('{"$browser":"b', toString(number % 3), '","$os":', toString(number),
       '.5,"$pathname":null}'), toDateTime64({at:String}, 6, 'UTC') + number, now64(6) FROM numbers({rows:UInt32})`,
    { at: `${year}-05-01 00:00:00`, rows },
  );
}

test("older events are read alike before and after their columns are filled, year by year", async () => {
  const { clickhouse } = stores;
  const drop = propertyColumns.map((name) => `DROP COLUMN \`${name}\``).join(", ");
  await clickhouse.command(`ALTER TABLE event_rows ${drop}`);
  await insert(2022, 40);
  await insert(2023, 20);
  await clickhouse.command(addColumns);
  await insert(2023, 7);
  const unequal = propertyColumns.map((name) => `\`${name}\` IS DISTINCT FROM ${propertyText(`'${name}'`)}`);
  const check = async () =>
    await clickhouse.query(
      `SELECT toYear(timestamp) AS year, toUInt32(count()) AS rows, toUInt32(countIf(${unequal.join(" OR ")})) AS wrong,
         arraySort(groupUniqArray(\`$browser\`)) AS browsers
       FROM event_rows GROUP BY year ORDER BY year`,
    );
  const all = [
    { year: 2022, rows: 40, wrong: 0, browsers: ["b0", "b1", "b2"] },
    { year: 2023, rows: 27, wrong: 0, browsers: ["b0", "b1", "b2"] },
  ];
  expect(await check()).toEqual(all);
  expect(await listUnfilled(clickhouse)).toEqual([
    { partition: "2023", events: 20 },
    { partition: "2022", events: 40 },
  ]);
  await startFill(clickhouse, "2023");
  while ((await readFill(clickhouse)).parts > 0) await Bun.sleep(20);
  expect(await listUnfilled(clickhouse)).toEqual([{ partition: "2022", events: 40 }]);
  const printed: string[] = [];
  await fillPartition(stores, "2022", (line) => printed.push(line));
  expect(printed.at(-1)).toBe("2022: done");
  expect(await listUnfilled(clickhouse)).toEqual([]);
  expect(await readFill(clickhouse)).toEqual({ parts: 0, failure: "" });
  expect(await check()).toEqual(all);
});

const mutations = async () =>
  await stores.clickhouse.query<{ command: string }>(
    `SELECT command FROM ${stores.clickhouse.tables.system("mutations")}
     WHERE database = currentDatabase() AND table = 'event_rows' AND NOT is_done`,
  );

test("a fill is begun and not awaited, however long the engine takes, and may be ended", async () => {
  const { clickhouse } = stores;
  await insert(2021, 5);
  expect(await hasRoomToFill(clickhouse, "2021")).toBe(true);
  await clickhouse.command("SYSTEM STOP MERGES event_rows");
  await startFill(clickhouse, "2021");
  expect((await readFill(clickhouse)).parts).toBeGreaterThan(0);
  const rows = new ExpiredRows(clickhouse, new AbortController().signal);
  expect(await rows.unfinishedDeletion()).toBeUndefined();
  await stopFill(clickhouse);
  expect(await mutations()).toEqual([]);
  await clickhouse.command("SYSTEM START MERGES event_rows");
});

/** Plays a fill of 2024 that fails, again and again. */
async function startFailing(): Promise<void> {
  const { clickhouse } = stores;
  await clickhouse.command(
    `ALTER TABLE event_rows MATERIALIZE COLUMN \`$os\` IN PARTITION ID '2024',
     UPDATE historical_migration = throwIf(1) IN PARTITION ID '2024' WHERE 1`,
    {},
    { settings: { mutations_sync: 0 } },
  );
  while ((await readFill(clickhouse)).failure === "") await Bun.sleep(20);
}

test("a fill that fails ends, with the engine's reason in one line", async () => {
  await insert(2024, 5);
  await startFailing();
  const reason = /^The engine could not fill 2024: .*throwIf.*$/;
  await expect(fillPartition(stores, "2024", () => {})).rejects.toThrow(reason);
  expect(await mutations()).toEqual([]);
});

test("a fill that fails holds up neither retention nor a deletion", async () => {
  const { clickhouse } = stores;
  await startFailing();
  const rows = new ExpiredRows(clickhouse, new AbortController().signal);
  await rows.deleteEvents({ before: Date.parse("2025-01-01") * 1000, projects: undefined }, 2024);
  expect(await clickhouse.query("SELECT 1 FROM event_rows WHERE toYear(timestamp) = 2024")).toEqual([]);
});

test("a deletion that has not ended is awaited, and none is added to it", async () => {
  const { clickhouse } = stores;
  await insert(2025, 5);
  await clickhouse.command("SYSTEM STOP MERGES event_rows");
  const statement = "DELETE FROM event_rows WHERE distinct_id = 'd'";
  await clickhouse.command(statement, {}, { settings: { lightweight_deletes_sync: 0, mutations_sync: 0 } });
  await startFill(clickhouse, "2025");
  await expect(awaitDeletions(clickhouse, "event_rows", 1, 1)).rejects.toThrow("earlier deletions");
  expect(await mutations()).toHaveLength(1);
  await clickhouse.command("SYSTEM START MERGES event_rows");
  await awaitDeletions(clickhouse, "event_rows", 300_000, 20);
  expect(await clickhouse.query("SELECT 1 FROM event_rows")).toEqual([]);
});
