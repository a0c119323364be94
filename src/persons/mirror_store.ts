// Copies rows of Postgres to ClickHouse, in blocks: merges, and ids for the statements of one attempt at a deletion: a
// person may have hundreds of thousands, which are not sent with each statement.

import { newUuid } from "../core/id.ts";
import { limits } from "../core/limits.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import { awaitDeletions, deleteListed } from "../storage/cluster/listed_deletion.ts";
import { microsType } from "../storage/native/native.ts";
import { nativeBlock, type NativeColumns } from "../storage/native/native_block.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { mirrorTypes } from "./group_type_store.ts";
import { personLimits } from "./limits.ts";
import type { Moved } from "./merge.ts";

type MirroredId = Moved & { version: number };

/** Copies the rows of a version, or all, to ClickHouse, as they are now. It may be repeated: the version decides. */
export async function mirrorMerges(sql: Postgres, clickhouse: ClickHouse, version?: string): Promise<void> {
  const rows = sql<MirroredId[]>`
    SELECT project_id, distinct_id, main_id, merged_at, created_at, version
    FROM merged_ids ${version === undefined ? sql`` : sql`WHERE version = ${version}::bigint`}`;
  await copyRows(rows, clickhouse, "merged_ids", mergedColumns);
  await mirrorTypes(sql, clickhouse, version);
}

const mergedColumns: NativeColumns<MirroredId> = [
  ["project_id", "UInt32", (out, row) => out.u32(row.project_id)],
  ["distinct_id", "String", (out, row) => out.text(row.distinct_id)],
  ["main_id", "String", (out, row) => out.text(row.main_id)],
  ["merged_at", microsType, (out, row) => out.i64(row.merged_at)],
  ["created_at", microsType, (out, row) => out.i64(row.created_at)],
  ["version", "UInt64", (out, row) => out.i64(row.version)],
];

/**
 * Inserts all rows of a Postgres query into a table of ClickHouse, `personLimits.mirrorRowsMax` or a little more at a
 * time, in blocks that are each read and encoded in their own turn of the event loop.
 */
export async function copyRows<Row>(
  query: { cursor(rows: number): AsyncIterable<Row[]> },
  clickhouse: ClickHouse,
  table: string,
  columns: NativeColumns<Row>,
): Promise<void> {
  let blocks: Uint8Array[] = [];
  let waiting = 0;
  const insert = async () => {
    if (waiting > 0) await clickhouse.insertNative(table, { bytes: blocks });
    [blocks, waiting] = [[], 0];
  };
  for await (const rows of query.cursor(limits.mergesAtOnceMax)) {
    if (rows.length > 0) blocks.push(nativeBlock(rows, columns));
    waiting += rows.length;
    if (waiting >= personLimits.mirrorRowsMax) await insert();
  }
  await insert();
}

/** Statements of one attempt at changing what is stored of these ids. */
export interface ListedIds {
  /** Condition for rows of the ids: project and distinct id. */
  rows: string;
  /** Deletes the rows of the ids; `value` is their distinct id, and `where` a further condition. */
  remove(table: string, params?: Record<string, unknown>, where?: string, value?: string): Promise<void>;
  /** The ids, one in a row, as a FROM clause. */
  from: string;
  /** With the parameters `project_id` and `attempt`, and its own. */
  command(
    text: string,
    params?: Record<string, unknown>,
    settings?: Record<string, string | number>,
  ): Promise<void>;
}

const from = "deleting_ids WHERE attempt = {attempt:UUID}";
const list = `SELECT distinct_id FROM ${from}`;
const ofProject = "project_id = {project_id:UInt32}";
const ofIds = `${ofProject} AND distinct_id IN (${list})`;

/** Timeout of each statement: it may touch all parts of a large table. */
const options = { timeoutMs: personLimits.deletionMsMax };

/** Copies the ids of a Postgres query to ClickHouse for the time of `run`. */
export async function withListedIds(
  clickhouse: ClickHouse,
  project_id: number,
  ids: { cursor(rows: number): AsyncIterable<{ distinct_id: string }[]> },
  run: (listed: ListedIds) => Promise<void>,
): Promise<void> {
  // A name for this attempt, since two processes may carry out one order at the same time.
  const attempt = newUuid();
  const command: ListedIds["command"] = async (text, params = {}, settings = {}) => {
    await clickhouse.command(text, { project_id, attempt, ...params }, { ...options, settings });
  };
  await copyRows<{ distinct_id: string }>(ids, clickhouse, "deleting_ids", [
    ["attempt", "String", (out) => out.text(attempt)],
    ["project_id", "UInt32", (out) => out.u32(project_id)],
    ["distinct_id", "String", (out, { distinct_id }) => out.text(distinct_id)],
  ]);
  const remove: ListedIds["remove"] = async (table, params, where = "1", value = "distinct_id") => {
    const deletion = { table, where: `${ofProject} AND ${where}`, value, list };
    await awaitDeletions(clickhouse, table, options.timeoutMs);
    await deleteListed(clickhouse, deletion, { project_id, attempt, ...params }, options);
  };
  await run({ rows: ofIds, from, remove, command });
  await command(`ALTER TABLE ${clickhouse.tables.local("deleting_ids")} DROP PARTITION {attempt:UUID}`);
}
