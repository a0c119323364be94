// A filled cluster that needs another shard: its rows are copied to a database that was made for all shards.

import { afterAll, expect, test } from "bun:test";
import { silentLog as log } from "../../../src/core/log.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { localName, tables } from "../../../src/storage/cluster/placement.ts";
import { migrate } from "../../../src/storage/migrate.ts";
import { openStores, type Stores } from "../../../src/storage/stores.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { clusterName } from "../../support/cluster.ts";
import { makeStoresFolder } from "../../support/made_stores.ts";
import { type Shards, startShards } from "../../support/shards.ts";
import { nativeOf } from "../../support/stores.ts";

afterAll(cleanUp);

/** What people read of the rows, and of those that are derived from them. */
const reads = [
  "SELECT * EXCEPT (_shard_num) FROM events ORDER BY uuid",
  "SELECT * EXCEPT (_shard_num) FROM persons ORDER BY person_id",
  "SELECT * EXCEPT (_shard_num) FROM person_distinct_ids ORDER BY distinct_id",
  "SELECT * EXCEPT (_shard_num) FROM groups ORDER BY group_key",
  "SELECT * EXCEPT (_shard_num) FROM deleted_ids ORDER BY id_hash",
];
const readAll = (clickhouse: ClickHouse) => Promise.all(reads.map((text) => clickhouse.query(text)));

async function open(shards: Shards, dataDir: string, confirmed: boolean): Promise<Stores> {
  const remote = { clickhouseUrl: shards.url, clickhouseCluster: clusterName };
  const stores = await openStores({ dataDir, ...remote, requireReachable: true, log });
  later(() => stores.close());
  await migrate(stores, { log, confirmed });
  return stores;
}

test("rows of a filled cluster that are copied to one with another shard lie by its shards, and read the same", async () => {
  const [filled, grown] = [await startShards(1), await startShards(2)];
  const dataDir = await makeStoresFolder(["postgres"]);
  const older = await open(filled, dataDir, false);
  const rows = `SELECT generateUUIDv4() AS uuid, toUInt32(7) AS project_id, 'seen' AS event,
    concat('id', toString(number % 40)) AS distinct_id, '{}' AS properties,
    toDateTime64('2026-03-01 00:00:00', 6, 'UTC') + number AS timestamp, now64(6, 'UTC') AS created_at,
    toUInt64(number % 3 + 1) AS _batch, toUInt32(number) AS _row, toUInt8(2) AS person_mode, ['color', 'size'] AS pk,
    [toInt8(0), toInt8(3)] AS pw, [toString(number), toString(number)] AS pv, ['company'] AS gt, [toString(number % 5)] AS gk FROM numbers(400)`;
  const bytes = [await nativeOf(filled.nativeUrl, rows)];
  await older.clickhouse.insertNative("event_rows", { bytes });
  await older.clickhouse.command(
    "INSERT INTO group_type_rows SELECT 7 AS project_id, 'company' AS group_type, 0 AS place, 1 AS version, 0 AS is_deleted",
  );
  // Its rows arrive once more when they are copied, and must not come back.
  await older.clickhouse.command(
    "INSERT INTO deleted_ids SELECT 7 AS project_id, sipHash64('id3') AS id_hash, now64(6, 'UTC') AS deleted_at",
  );
  const before = await readAll(older.clickhouse);
  expect(before.map(({ length }) => length)).toEqual([400, 40, 40, 5, 1]);
  await older.close();
  const newer = await open(grown, dataDir, true);
  const order = Object.keys(tables).toSorted(
    (a, b) => Number(b === "deleted_ids") - Number(a === "deleted_ids"),
  );
  for (const table of order.filter((name) => !/_feed$|^schema_migrations$|^store_identity$/.test(name))) {
    const columns = await newer.clickhouse.query<{ name: string }>(
      `SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String}
         AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') ORDER BY position`,
      { table: localName(table) },
    );
    const names = columns.map(({ name }) => `\`${name}\``).join(", ");
    const copied = await nativeOf(filled.nativeUrl, `SELECT ${names} FROM sluice.${table}`);
    if (copied.length > 0) await newer.clickhouse.insertNative(table, { bytes: [copied] });
  }
  expect(await readAll(newer.clickhouse)).toEqual(before);
  const counts = await newer.clickhouse.query(
    `SELECT _shard_num AS shard, count() > 0 AS has, countIf(cityHash64(project_id, distinct_id) % 2 + 1 != shard) AS astray
     FROM event_rows GROUP BY shard ORDER BY shard`,
  );
  expect(counts).toEqual([1, 2].map((shard) => ({ shard, has: 1, astray: "0" })));
});
