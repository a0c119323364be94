import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { deriveAgain, storedBatches } from "../../../src/capture/store.ts";
import { silentLog as log } from "../../../src/core/log.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { clusterLimits } from "../../../src/storage/cluster/limits.ts";
import { migrate } from "../../../src/storage/migrate.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { type ClusterFront, openClusterStores, ownShard } from "../../support/cluster.ts";
import { makeStoresFolder } from "../../support/made_stores.ts";
import { nativeOf } from "../../support/stores.ts";

afterAll(cleanUp);

let clickhouse: ClickHouse;
let cluster: ClusterFront;
beforeAll(async () => {
  const stores = await openClusterStores(await makeStoresFolder(["postgres"]));
  ({ clickhouse, cluster } = stores);
  await migrate(stores, { log });
});

/** Stores `rows` of a batch in Native, as the flush does. */
async function store(project: number, batch: bigint, rows: string, more = ""): Promise<void> {
  const select = `SELECT toUUID(concat('00000000-0000-4000-8000-', leftPad(toString(number), 12, '0'))) AS uuid,
    toUInt32(${project}) AS project_id, 'seen' AS event, concat('id', toString(number % 7)) AS distinct_id,
    '{"$session_id":"s1"}' AS properties, toDateTime64('2026-03-01 00:00:00', 6, 'UTC') + number AS timestamp,
    toDateTime64('2026-03-02 00:00:00', 6, 'UTC') AS created_at, toUInt64(${batch}) AS _batch,
    toUInt32(number) AS _row, ['color'] AS pk, [toInt8(0)] AS pw, [concat('"', toString(number), '"')] AS pv ${more}
    FROM ${rows}`;
  const native = await nativeOf(cluster.front.url, select);
  await clickhouse.insertNative("event_rows", { bytes: [native] });
}

const one = async <Row>(text: string): Promise<Row | undefined> => (await clickhouse.query<Row>(text))[0];

describe("an INSERT through the cluster", () => {
  test("fills the tables of the shard, and all that is derived there", async () => {
    await store(1, 11n, "numbers(70)");
    expect(await one("SELECT count() AS n FROM event_rows_local WHERE project_id = 1")).toEqual({ n: "70" });
    expect(await one("SELECT count() AS n FROM stored_events WHERE project_id = 1")).toEqual({ n: "70" });
    expect(await one("SELECT count() AS n FROM seen_local WHERE project_id = 1")).toEqual({ n: "7" });
    expect(
      await clickhouse.query(
        "SELECT properties FROM persons WHERE project_id = 1 ORDER BY properties LIMIT 2",
      ),
    ).toEqual([{ properties: '{"color":"63"}' }, { properties: '{"color":"64"}' }]);
  });

  test("that is sent again changes nothing that is read", async () => {
    await store(1, 11n, "numbers(70)");
    await deriveAgain(clickhouse, "event_rows", [11n]);
    expect(await one("SELECT count() AS n FROM event_rows_local WHERE project_id = 1")).toEqual({ n: "140" });
    expect(await one("SELECT count() AS n FROM events WHERE project_id = 1")).toEqual({ n: "70" });
    expect(await one("SELECT count() AS n FROM person_distinct_ids WHERE project_id = 1")).toEqual({
      n: "7",
    });
    expect(await one("SELECT sum(length(distinct_ids)) AS n FROM persons WHERE project_id = 1")).toEqual({
      n: "7",
    });
  });

  test("in doubt is excluded only when every row of the batch is found", async () => {
    await store(2, 21n, "numbers(30)");
    // As if the shard of the other rows had not answered.
    await store(2, 22n, "numbers(30) WHERE number % 2 = 0");
    const batches = [21n, 22n, 23n].map((id) => ({ id, rows: 30 }));
    expect(await storedBatches(clickhouse, "event_rows", batches)).toEqual(new Set([21n]));
    await store(2, 22n, "numbers(30)");
    expect(await storedBatches(clickhouse, "event_rows", batches)).toEqual(new Set([21n, 22n]));
    expect(await one("SELECT count() AS n FROM events WHERE project_id = 2")).toEqual({ n: "30" });
  });

  test("of warnings goes to one shard, so one row found is all of them", async () => {
    await clickhouse.command(
      `INSERT INTO ingestion_warnings (project_id, type, details, timestamp, _batch, _row)
       SELECT 2, 'x', '{}', now64(6), 24, number FROM numbers(3)`,
    );
    const batches = [24n, 25n].map((id) => ({ id, rows: 9 }));
    expect(await storedBatches(clickhouse, "ingestion_warnings", batches)).toEqual(new Set([24n]));
  });
});

describe("merged ids", () => {
  test("are of one person, whichever shard its events lie on", async () => {
    await store(3, 31n, "numbers(14)");
    await clickhouse.command(
      `INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version)
       SELECT 3, id, 'id0', toDateTime64('2026-03-01 00:00:00', 6, 'UTC'), now64(6), 1
       FROM (SELECT arrayJoin(['id0', 'id1', 'new']) AS id)`,
    );
    const persons = "SELECT uniqExact(person_id) AS n FROM events WHERE project_id = 3";
    expect(await one(persons)).toEqual({ n: "6" });
    // The view of merged_ids has written `new` through the Distributed table.
    expect(
      await one("SELECT count() AS n FROM seen_local WHERE project_id = 3 AND distinct_id = 'new'"),
    ).toEqual({
      n: "1",
    });
    expect(
      await one("SELECT arraySort(distinct_ids) AS ids FROM persons WHERE project_id = 3 AND is_identified"),
    ).toEqual({ ids: ["id0", "id1", "new"] });
    expect(
      await one(
        `SELECT count() AS n FROM events
         WHERE project_id = 3 AND person_id IN (SELECT person_id FROM persons WHERE project_id = 3 AND is_identified)`,
      ),
    ).toEqual({ n: "4" });
  });
});

describe("a session", () => {
  test("is one, though its events come to several shards and twice", async () => {
    const feed = `INSERT INTO session_feed (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
      SELECT uuid, project_id, event, distinct_id, properties, timestamp, created_at FROM event_rows
      WHERE project_id = {project:UInt32} AND distinct_id IN {ids:Array(String)}`;
    await store(4, 41n, "numbers(14)");
    await clickhouse.command(feed, { project: 4, ids: ["id0", "id1"] });
    await clickhouse.command(feed, { project: 4, ids: ["id1", "id2", "id3", "id4", "id5", "id6"] });
    expect(
      await clickhouse.query(
        "SELECT session_id, event_count, distinct_id FROM sessions WHERE project_id = 4",
      ),
    ).toEqual([{ session_id: "s1", event_count: "14", distinct_id: "id0" }]);
  });
});

describe("a deletion", () => {
  test("of listed rows is sent to all servers with its values, in portions", async () => {
    await store(5, 51n, "numbers(70)");
    // Beside the two that have events, so many that they do not fit a portion.
    const many = Math.ceil((clusterLimits.listedBytesMax / 200) * 1.2);
    await clickhouse.command(
      `INSERT INTO deleting_ids (attempt, project_id, distinct_id)
       SELECT toUUID({a:String}), 5, if(number < 3, concat('id', toString(number)), repeat(toString(number), 200))
       FROM numbers(1, {many:UInt64})`,
      { a: attempt, many },
    );
    const before = cluster.everywhere.length;
    await clickhouse.command(
      `DELETE FROM event_rows WHERE project_id = 5
       AND distinct_id IN (SELECT distinct_id FROM deleting_ids WHERE attempt = {attempt:UUID})`,
      { attempt },
    );
    expect(await one("SELECT count() AS n FROM events WHERE project_id = 5")).toEqual({ n: "50" });
    const sent = cluster.everywhere.slice(before);
    expect(
      sent.filter((text) => text.includes("DELETE FROM event_rows_local ON CLUSTER 'one' WHERE")).length,
    ).toBe(2);
    await clickhouse.command("ALTER TABLE deleting_ids DROP PARTITION {attempt:UUID}", { attempt });
    expect(await one("SELECT count() AS n FROM deleting_ids")).toEqual({ n: "0" });
  });

  const attempt = "00000000-0000-4000-8000-000000000001";
});

test("a shard that is away is an error, never a shorter answer", async () => {
  const stores = await openClusterStores(await makeStoresFolder(["postgres"]));
  await migrate(stores, { log });
  const lost = await openClusterStores(undefined, {
    shards: ownShard + ownShard.replace("<port>9000</port>", "<port>9</port>"),
  });
  await lost.clickhouse.createDatabase();
  await lost.clickhouse.command("CREATE TABLE some_local (a UInt8) ENGINE = MergeTree ORDER BY a");
  await lost.clickhouse.command(
    "CREATE TABLE some (a UInt8) ENGINE = Distributed('one', 'sluice', 'some_local', a)",
  );
  await expect(lost.clickhouse.query("SELECT count() FROM some")).rejects.toThrow();
  await expect(lost.clickhouse.command("INSERT INTO some SELECT 1")).rejects.toThrow();
});

test("where INSERTs wait for a quorum, what was found is not excluded", async () => {
  const stores = await openClusterStores(await makeStoresFolder(["postgres"]), {
    settings: { insert_quorum: "2" },
  });
  await migrate(stores, { log });
  await stores.clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, timestamp, created_at, _batch, _row)
     SELECT generateUUIDv4(), 1, 'e', 'd', now64(6), now64(6), 61, 0`,
  );
  const batches = [{ id: 61n, rows: 1 }];
  expect(await storedBatches(stores.clickhouse, "event_rows", batches)).toEqual(new Set());
});
