// The rows of one ClickHouse's tables copied to another one's, in portions that fit in memory.

import { UserError } from "../../../core/fault.ts";
import type { ClickHouse } from "../../../storage/clickhouse/clickhouse.ts";
import { backupLimits } from "../limits.ts";

/** @throws UserError when one of the tables has rows. */
export async function checkNoRows(clickhouse: ClickHouse, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    const found = await clickhouse.query("SELECT 1 FROM {table:Identifier} LIMIT 1", { table });
    if (found.length === 0) continue;
    throw new UserError(
      `the ClickHouse database ${clickhouse.database} is not empty (${table} has rows); ` +
        "name another one in CLICKHOUSE_URL, or drop it",
    );
  }
}

/**
 * Runs `work` while the views that write into tables are detached: from rows that are copied table by table, they would
 * derive deleted rows again.
 */
export async function withoutViews(clickhouse: ClickHouse, work: () => Promise<void>): Promise<void> {
  const views = await clickhouse.query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = {database:String} AND engine = 'MaterializedView'`,
    { database: clickhouse.database },
  );
  const all = async (verb: string): Promise<void> => {
    for (const { name } of views) await clickhouse.command(`${verb} TABLE ${clickhouse.tables.local(name)}`);
  };
  await all("DETACH");
  try {
    await work();
  } finally {
    await all("ATTACH");
  }
}

/** Copies a table that has no other writer; resolves to the number of rows. */
export async function copyTable(table: string, from: ClickHouse, to: ClickHouse): Promise<number> {
  // A part that was merged meanwhile could not be read to its end.
  await from.command("SYSTEM STOP MERGES {table:Identifier}", { table });
  const parts = await from.query<Record<"part" | "rows" | "bytes", string>>(
    `SELECT name AS part, rows, data_uncompressed_bytes AS bytes FROM ${from.tables.system("parts")}
     WHERE active AND database = {database:String} AND table = {table:String}`,
    { database: from.database, table },
  );
  let copied = 0;
  for (const part of parts) copied += await copyPart(table, part, from, to);
  return copied;
}

async function copyPart(
  table: string,
  { part, rows: count, bytes }: Record<"part" | "rows" | "bytes", string>,
  from: ClickHouse,
  to: ClickHouse,
): Promise<number> {
  const rows = Number(count);
  const step = Math.max(1, Math.floor((backupLimits.copiedBytes * rows) / Math.max(1, Number(bytes))));
  for (let at = 0; at < rows; at += step) {
    const native = await from.bytes(
      `SELECT * FROM {table:Identifier}
       WHERE _part = {part:String} AND _part_offset >= {at:UInt64} AND _part_offset < {end:UInt64}
       FORMAT Native`,
      { table, part, at, end: at + step },
      { timeoutMs: backupLimits.copyMsMax },
    );
    if (native.length === 0) continue;
    const settings = { max_partitions_per_insert_block: 0 };
    await to.insertNative(table, { bytes: [native] }, { settings, timeoutMs: backupLimits.copyMsMax });
  }
  return rows;
}
