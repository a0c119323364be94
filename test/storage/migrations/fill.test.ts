// Events that were stored before their properties had columns.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { propertyColumns } from "../../../src/storage/events/event_columns.ts";
import { propertyText } from "../../../src/storage/events/property_filter.ts";
import { listUnfilled, readFill, startFill } from "../../../src/storage/migrations/fill_store.ts";
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
  await startFill(clickhouse, "2022");
  while ((await readFill(clickhouse)).parts > 0) await Bun.sleep(20);
  expect(await listUnfilled(clickhouse)).toEqual([]);
  expect(await readFill(clickhouse)).toEqual({ parts: 0, failure: "" });
  expect(await check()).toEqual(all);
});
