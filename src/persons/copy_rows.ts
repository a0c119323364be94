// Copies rows from Postgres to ClickHouse in blocks, each read and encoded in its own turn of the event loop.

import { limits } from "../core/limits.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import { personLimits } from "./limits.ts";

/**
 * Inserts all rows of a query into `table`, `personLimits.mirrorRowsMax` or a little more at a time.
 * @param encode some rows as a Native block.
 */
export async function copyRows<Row>(
  query: { cursor(rows: number): AsyncIterable<Row[]> },
  clickhouse: ClickHouse,
  table: string,
  encode: (rows: Row[]) => Uint8Array,
): Promise<void> {
  let blocks: Uint8Array[] = [];
  let waiting = 0;
  const insert = async () => {
    if (waiting > 0) await clickhouse.insertNative(table, { bytes: blocks });
    [blocks, waiting] = [[], 0];
  };
  for await (const rows of query.cursor(limits.mergesAtOnceMax)) {
    if (rows.length > 0) blocks.push(encode(rows));
    waiting += rows.length;
    if (waiting >= personLimits.mirrorRowsMax) await insert();
  }
  await insert();
}
