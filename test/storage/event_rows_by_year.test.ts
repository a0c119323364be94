// A store filled by migrations before 0014, which part events by month: its rows are all there by year, wherever the
// migration dies and is begun again.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { silentLog as log } from "../../src/core/log.ts";
import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { migrate } from "../../src/storage/migrate.ts";
import { statementsOf } from "../../src/storage/clickhouse/statement.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { earlierMigrations, openTestStores, storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp);

const sql = await Bun.file(
  new URL("../../sql/clickhouse/0014_event_rows_by_year.sql", import.meta.url),
).text();
const statements = statementsOf(sql);

/** Events of 110 years, the first and the last that ClickHouse knows among them, a third of them sent twice. */
const rows = `
  SELECT
    UUIDNumToString(reinterpretAsFixedString(sipHash128(intDiv(number, 3) * 2 + least(number % 3, 1))))::UUID AS uuid,
    1 + number % 2 AS project_id,
    ['$pageview', 'bought'][number % 2 + 1] AS event,
    concat('id', toString(number % 40)) AS distinct_id,
    concat('{"$session_id":"s', toString(number % 90), '","n":', toString(number), '.50, "text":"ä"}') AS properties,
    toDateTime64(concat(toString([2262, 2299, 1900 + intDiv(number, 3) % 110][least(intDiv(number, 3) % 110, 2) + 1]), ['-01-01 00:00:00', '-12-31 23:59:59.999999'][intDiv(number, 3) % 2 + 1]), 6, 'UTC') AS timestamp,
    toDateTime64('2024-06-01 00:00:00', 6, 'UTC') + number AS created_at,
    number % 5 = 0 AS historical_migration,
    7 + intDiv(number, 100) AS _batch,
    number % 100 AS _row,
    toUInt8(if(number % 10 = 9, 2, 0)) AS person_mode,
    if(number % 4 = 0, ['a', 'b'], []) AS pk,
    if(number % 4 = 0, [0, 1], [])::Array(Int8) AS pw,
    arrayMap(key -> concat('"', key, toString(number), '"'), pk) AS pv,
    if(person_mode = 2, ['company'], []) AS gt,
    if(person_mode = 2, [toString(number % 3)], []) AS gk
  FROM numbers(1320)`;

const columns =
  "uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration, _batch, _row, " +
  "person_mode, pk, pw, pv, gt, gk";

const fillMsMax = 120_000;

async function fill(clickhouse: ClickHouse): Promise<void> {
  const settings = { max_partitions_per_insert_block: 0, optimize_on_insert: 0 };
  await clickhouse.command(`INSERT INTO event_rows (${columns}) ${rows}`, undefined, { settings });
  await clickhouse.command(
    `INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version)
     SELECT 1, concat('id', toString(number)), 'id0', now64(6), now64(6), 1 FROM numbers(10)`,
  );
  // Every part is written anew for that.
  const deletion = "DELETE FROM event_rows WHERE project_id = 1 AND distinct_id = 'id20'";
  await clickhouse.command(deletion, undefined, { timeoutMs: fillMsMax });
}

/** Everything that rests in event_rows, what it looks like through the views, and how often what is derived was. */
async function picture(clickhouse: ClickHouse): Promise<unknown> {
  const stored = `count() AS rows, sum(cityHash64(properties)) AS texts, sum(cityHash64(${columns}, _version)) AS sum`;
  const seen = "count() AS rows, sum(cityHash64(*)) AS sum";
  const asked = [
    `SELECT ${stored} FROM event_rows`,
    `SELECT ${seen} FROM events`,
    `SELECT ${seen} FROM stored_events`,
    `SELECT count() AS rows, sum(cityHash64(person_id, properties, arraySort(distinct_ids))) AS sum FROM persons`,
    `SELECT ${seen} FROM sessions`,
    ...["seen", "person_props", "groups_seen", "group_props", "session_facts"].map(
      (table) => `SELECT count() AS rows FROM ${table}`,
    ),
  ];
  return await Promise.all(asked.map((text) => clickhouse.query(text)));
}

async function shape(clickhouse: ClickHouse): Promise<unknown> {
  const [tables, parts] = await Promise.all([
    clickhouse.query<{ name: string; partition_key: string }>(
      `SELECT name, partition_key FROM system.tables
       WHERE database = currentDatabase() AND startsWith(name, 'event_rows')`,
    ),
    clickhouse.query<{ years: string }>(
      `SELECT uniqExact(partition_id) AS years FROM system.parts
       WHERE database = currentDatabase() AND table = 'event_rows' AND active`,
    ),
  ]);
  return { tables, parts };
}

const byYear = {
  tables: [{ name: "event_rows", partition_key: "toYear(timestamp)" }],
  parts: [{ years: "110" }],
};

/** Stores on which the migration dies behind so many of its statements. */
function dying(stores: Stores, after: number, half: boolean): Pick<Stores, "sql" | "clickhouse"> {
  let done = 0;
  const command: ClickHouse["command"] = async (text, params, options) => {
    const own = statements.includes(text);
    if (own && done === after) {
      // The copy may be written in part as well.
      if (half && text.includes("INSERT INTO event_rows_by_year")) {
        await stores.clickhouse.command(`${text} LIMIT 1000`, params, options);
      }
      throw new Error("died");
    }
    await stores.clickhouse.command(text, params, options);
    if (own) done++;
  };
  return { sql: stores.sql, clickhouse: { ...stores.clickhouse, command } };
}

let stores: Stores;
let dataDir: string;
let before: unknown;

beforeAll(async () => {
  dataDir = makeFolder();
  stores = await openTestStores(dataDir);
  await migrate(stores, { log, clickhouseDir: earlierMigrations("0014") });
  await fill(stores.clickhouse);
  before = await picture(stores.clickhouse);
}, storesStartMsMax + fillMsMax);

test("a store of months has the same rows by year, however often the migration dies, and derives what is new", async () => {
  expect(statements).toHaveLength(5);
  for (let after = 0; after < statements.length; after++) {
    for (const half of [false, true]) {
      await expect(migrate(dying(stores, after, half), { log })).rejects.toThrow("died");
      expect(await picture(stores.clickhouse)).toEqual(before);
    }
  }
  // All was done but noted: what is there is copied once more.
  const { clickhouse } = stores;
  const noteless: ClickHouse["command"] = (text, params, options) =>
    text.includes("INSERT INTO schema_migrations")
      ? Promise.reject(new Error("died"))
      : clickhouse.command(text, params, options);
  const unnoted = { sql: stores.sql, clickhouse: { ...clickhouse, command: noteless } };
  await expect(migrate(unnoted, { log })).rejects.toThrow("died");
  expect(await shape(clickhouse)).toEqual(byYear);
  await migrate(stores, { log });
  expect(await shape(clickhouse)).toEqual(byYear);
  expect(await picture(clickhouse)).toEqual(before);
  await expectDerived(clickhouse, "new");
});

test("an engine that is started again behind the migration derives what is new as well", async () => {
  await stores.close();
  stores = await openTestStores(dataDir);
  expect(await shape(stores.clickhouse)).toEqual(byYear);
  await expectDerived(stores.clickhouse, "newer");
});

async function expectDerived(clickhouse: ClickHouse, name: string): Promise<void> {
  await clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, pk, pw, pv, _batch)
     SELECT generateUUIDv4(), 3, 'e', {name:String}, '{}', toDateTime64('1999-01-01', 6, 'UTC'), now64(6), ['k'], [0], ['1'], 1`,
    { name },
  );
  expect(
    await clickhouse.query(
      "SELECT distinct_ids, properties FROM persons WHERE project_id = 3 AND has(distinct_ids, {name:String})",
      { name },
    ),
  ).toEqual([{ distinct_ids: [name], properties: '{"k":1}' }]);
}
