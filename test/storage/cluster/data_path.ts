// What a cluster does with rows, whichever it is: the one shard of the tests, or one that SLUICE_TEST_CLUSTER_URL names.
// Projects and batches have numbers of their own, so that a cluster may hold others.

import { beforeAll, describe, expect, test } from "bun:test";
import type { ExportInterval } from "../../../src/batch_exports/interval.ts";
import { eventColumns, personColumns } from "../../../src/batch_exports/source/columns.ts";
import {
  copyStatement,
  countExported,
  dropCopy,
  type ExportSource,
  type ExportStatement,
  selectDays,
  toSelection,
} from "../../../src/batch_exports/source/store.ts";
import { deriveAgain, storedBatches } from "../../../src/capture/store.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { clusterLimits } from "../../../src/storage/cluster/limits.ts";
import { deleteListed } from "../../../src/storage/cluster/listed_deletion.ts";
import { insertStoredSessions } from "../../../src/storage/events/sessions.ts";
import { until } from "../../support/server.ts";
import { nativeOf } from "../../support/stores.ts";

export interface TestedCluster {
  clickhouse: ClickHouse;
  /** Where a SELECT is answered in Native. */
  nativeUrl: string;
}

/** Above the projects of a trial. */
const base = 1_000_000 + Math.floor(Math.random() * 1_000_000) * 10;
const batchOf = (number: number): bigint => BigInt(base) * 1000n + BigInt(number);

export function clusterDataPath(open: () => Promise<TestedCluster>): void {
  let clickhouse: ClickHouse;
  let nativeUrl: string;
  beforeAll(async () => {
    ({ clickhouse, nativeUrl } = await open());
  });

  /** Stores `rows` of a batch in Native, as the flush does: of seven distinct ids, on one session. */
  async function store(project: number, batch: number, rows: string): Promise<void> {
    const select = `SELECT toUUID(concat('00000000-0000-4000-8000-', leftPad(toString(number), 12, '0'))) AS uuid,
      toUInt32(${base + project}) AS project_id, 'seen' AS event, concat('id', toString(number % 7)) AS distinct_id,
      '{"$session_id":"s1"}' AS properties, toDateTime64('2026-03-01 00:00:00', 6, 'UTC') + number AS timestamp,
      toDateTime64('2026-03-02 00:00:00', 6, 'UTC') AS created_at, toUInt64(${batchOf(batch)}) AS _batch,
      toUInt32(number) AS _row, ['color'] AS pk, [toInt8(0)] AS pw, [concat('"', toString(number), '"')] AS pv
      FROM ${rows}`;
    await clickhouse.insertNative("event_rows", { bytes: [await nativeOf(nativeUrl, select)] });
  }

  /** The first column of the first row that is of the project. */
  async function one(select: string, from: string, project: number, more = "1"): Promise<unknown> {
    const text = `SELECT ${select} AS value FROM ${from} WHERE project_id = {project_id:UInt32} AND ${more}`;
    const [row] = await clickhouse.query<{ value: unknown }>(text, { project_id: base + project });
    return row?.value;
  }
  const count = async (from: string, project: number, more?: string) =>
    Number(await one("count()", from, project, more));

  describe("an INSERT through the cluster", () => {
    test("fills the tables of the shards, and all that is derived there", async () => {
      await store(1, 11, "numbers(70)");
      expect(await count("event_rows", 1)).toBe(70);
      expect(await count("stored_events", 1)).toBe(70);
      expect(await count("seen", 1)).toBe(7);
      expect(await one("arraySort(groupArray(properties))", "persons", 1)).toEqual(
        [63, 64, 65, 66, 67, 68, 69].map((last) => `{"color":"${last}"}`),
      );
    });

    test("divides rows by project and distinct id over all shards", async () => {
      const text = "SELECT uniqExact(shard_num) AS shards FROM system.clusters WHERE cluster = {name:String}";
      const [found] = await clickhouse.query<{ shards: string }>(text, { name: clickhouse.cluster?.name });
      await store(6, 61, "numbers(700)");
      await clickhouse.command(
        `INSERT INTO event_rows (uuid, project_id, event, distinct_id, timestamp, created_at)
         SELECT generateUUIDv4(), ${base + 6}, 'many', toString(number), now64(6), now64(6) FROM numbers(1000)`,
      );
      expect(await one("uniqExact(_shard_num)", "event_rows", 6)).toBe(found!.shards);
      const places =
        "(SELECT distinct_id, project_id, uniqExact(_shard_num) AS n FROM event_rows GROUP BY ALL)";
      expect(await one("max(n)", places, 6)).toBe("1");
    });

    test("that is sent again changes nothing that is read", async () => {
      await store(1, 11, "numbers(70)");
      await deriveAgain(clickhouse, "event_rows", [batchOf(11)]);
      expect(await count("events", 1)).toBe(70);
      expect(await count("stored_events", 1)).toBe(70);
      expect(await count("person_distinct_ids", 1)).toBe(7);
      expect(await one("sum(length(distinct_ids))", "persons", 1)).toBe("7");
    });

    test("in doubt is excluded only when every row of the batch is found", async () => {
      await store(2, 21, "numbers(30)");
      // As if the shard of the other rows had not answered.
      await store(7, 22, "numbers(30) WHERE number % 2 = 0");
      const batches = [21, 22, 23].map((number) => ({ id: batchOf(number), rows: 30 }));
      const stored = () => storedBatches(clickhouse, "event_rows", batches);
      expect(await stored()).toEqual(new Set([batchOf(21)]));
      await store(7, 22, "numbers(30)");
      expect(await stored()).toEqual(new Set([batchOf(21), batchOf(22)]));
      expect(await count("events", 7)).toBe(30);
    });

    test("of warnings goes to one shard, so one row found is all of them", async () => {
      await clickhouse.command(
        `INSERT INTO ingestion_warnings (project_id, type, details, timestamp, _batch, _row)
         SELECT ${base + 2}, 'x', '{}', now64(6), ${batchOf(24)}, number FROM numbers(3)`,
      );
      const batches = [24, 25].map((number) => ({ id: batchOf(number), rows: 9 }));
      expect(await storedBatches(clickhouse, "ingestion_warnings", batches)).toEqual(new Set([batchOf(24)]));
    });
  });

  describe("merged ids", () => {
    test("are of one person, whichever shards its events lie on", async () => {
      await store(3, 31, "numbers(14)");
      await clickhouse.command(
        `INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version)
         SELECT ${base + 3}, id, 'id0', toDateTime64('2026-03-01 00:00:00', 6, 'UTC'), now64(6), 1
         FROM (SELECT arrayJoin(['id0', 'id1', 'new']) AS id)`,
      );
      // The merges reach the other servers a moment later.
      await until(async () => (await one("uniqExact(person_id)", "events", 3)) === "6");
      // The view of merged_ids has written the id without events to its shard.
      expect(await count("seen", 3, "distinct_id = 'new'")).toBe(1);
      expect(await one("arraySort(distinct_ids)", "persons", 3, "is_identified")).toEqual([
        "id0",
        "id1",
        "new",
      ]);
      const persons = `SELECT person_id FROM persons WHERE project_id = ${base + 3} AND is_identified`;
      expect(await count("events", 3, `person_id IN (${persons})`)).toBe(4);
      expect(await count("events", 3, `person_id NOT IN (${persons})`)).toBe(10);
    });
  });

  describe("a session", () => {
    test("is one, though its events come from several shards and twice", async () => {
      const feed = insertStoredSessions(
        "project_id = {project:UInt32} AND distinct_id IN {ids:Array(String)}",
      );
      await store(4, 41, "numbers(14)");
      await clickhouse.command(feed, { project: base + 4, ids: ["id0", "id1"] });
      await clickhouse.command(feed, { project: base + 4, ids: ["id1", "id2", "id3", "id4", "id5", "id6"] });
      expect(await count("sessions", 4)).toBe(1);
      expect(await one("(event_count, distinct_id)", "sessions", 4)).toEqual(["14", "id0"]);
    });
  });

  describe("an export", () => {
    const source = (
      project: number,
      model: "events" | "persons",
      interval: ExportInterval,
    ): ExportSource => ({
      project_id: base + project,
      model,
      interval,
      moment: model === "events" ? "created_at" : "_inserted_at",
      events: { include_events: [], exclude_events: [] },
      conditions: [],
      columns: model === "events" ? eventColumns : personColumns,
      compiled: undefined,
    });
    const arrived = { start: Date.UTC(2026, 2, 2), end: Date.UTC(2026, 2, 2, 1) };
    const ask = <Row>({ text, params }: ExportStatement) => clickhouse.query<Row>(text, params);

    test("of events has each once, with what is known of its person", async () => {
      await store(8, 81, "numbers(14)");
      await store(8, 81, "numbers(14)");
      const events = source(8, "events", arrived);
      const days = (await ask<{ day: string }>(selectDays(events))).map(({ day }) => day);
      expect(await ask<{ rows: string }>(countExported(events, days))).toEqual([{ rows: "14" }]);
      const rows = await ask<{ line: string }>(toSelection(events, "lines", days).select);
      const read = rows.map(
        ({ line }) => JSON.parse(line) as { distinct_id: string; person_properties: unknown },
      );
      const colors = new Map(read.map((row) => [row.distinct_id, row.person_properties]));
      expect(read.length).toBe(14);
      expect(colors.get("id3")).toEqual({ color: "10" });
      expect(colors.size).toBe(7);
    });

    test("of persons copies them first, and counts what it copied", async () => {
      const copyId = crypto.randomUUID();
      const persons = source(8, "persons", arrived);
      const { text, params } = copyStatement(persons, copyId, `copy ${copyId}`);
      await clickhouse.command(text, params);
      const copied = { ...persons, copyId };
      expect(await ask<{ rows: string }>(countExported(copied, []))).toEqual([{ rows: "7" }]);
      const dropped = dropCopy(copyId, clickhouse.tables);
      await clickhouse.command(dropped.text, dropped.params);
      expect(await ask<{ rows: string }>(countExported(copied, []))).toEqual([{ rows: "0" }]);
    });
  });

  describe("a deletion", () => {
    test("of listed rows reaches all shards, in as many portions as it needs", async () => {
      const attempt = crypto.randomUUID();
      await store(5, 51, "numbers(70)");
      // Beside the two of which the batch has events, so many that they do not fit a portion.
      const many = Math.ceil((clusterLimits.listedBytesMax / 200) * 1.2);
      const long = "repeat('x', 190) || toString(number)";
      await clickhouse.command(
        `INSERT INTO event_rows (uuid, project_id, event, distinct_id, timestamp, created_at)
         SELECT generateUUIDv4(), ${base + 5}, 'e', ${long}, now64(6), now64(6) FROM numbers(3, {many:UInt64})`,
        { many },
      );
      expect(await count("events", 5)).toBe(70 + many);
      // And as many again of which there are none.
      await clickhouse.command(
        `INSERT INTO deleting_ids (attempt, project_id, distinct_id)
         SELECT toUUID({a:String}), ${base + 5}, if(number < 3, concat('id', toString(number)), ${long})
         FROM numbers(1, {listed:UInt64})`,
        { a: attempt, listed: 2 * many },
      );
      const deletion = {
        table: "event_rows",
        where: `project_id = ${base + 5}`,
        value: "distinct_id",
        list: "SELECT distinct_id FROM deleting_ids WHERE attempt = {attempt:UUID}",
      };
      await deleteListed(clickhouse, deletion, { attempt }, { timeoutMs: 120_000 });
      expect(await count("events", 5)).toBe(50);
      await clickhouse.command(
        `ALTER TABLE ${clickhouse.tables.local("deleting_ids")} DROP PARTITION {attempt:UUID}`,
        { attempt },
      );
      expect(await count("deleting_ids", 5)).toBe(0);
    });
  });
}
