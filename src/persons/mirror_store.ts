// Copies rows of Postgres to ClickHouse, in blocks: merges, and ids for the statements of a deletion.

import { limits } from "../core/limits.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
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

const microsType = "DateTime64(6, 'UTC')";

/** Types of merged_ids' columns, for other rows of it. */
export const mergeTypes = { moment: microsType } as const;

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
