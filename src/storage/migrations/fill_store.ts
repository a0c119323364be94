// The columns of properties of events that older versions stored: which parts lack them, and the engine's work on
// these.

import type { ClickHouse } from "../clickhouse/clickhouse.ts";
import { quoteName, quoteText } from "../clickhouse/statement.ts";
import { propertyColumns } from "../events/event_columns.ts";

const ofEvents = "database = currentDatabase() AND table = 'event_rows'";

/** The partitions with parts that lack the columns, the latest first, and how many events these parts have. */
export async function listUnfilled({
  query,
  tables,
}: ClickHouse): Promise<{ partition: string; events: number }[]> {
  const rows = await query<{ partition: string; events: string }>(
    `SELECT partition_id AS partition, sum(part_rows) AS events FROM (
       SELECT partition_id, name, any(rows) AS part_rows FROM ${tables.system("parts_columns")}
       WHERE active AND ${ofEvents}
       GROUP BY partition_id, name, path
       HAVING countIf(column IN {names:Array(String)}) < length({names:Array(String)}))
     GROUP BY partition ORDER BY partition DESC`,
    { names: propertyColumns },
  );
  return rows.map(({ partition, events }) => ({ partition, events: Number(events) }));
}

/** Has the engine write the columns of a partition's events, in the background and also after a restart. */
export async function startFill({ command, tables }: ClickHouse, partition: string): Promise<void> {
  const columns = propertyColumns.map(
    (name) => `MATERIALIZE COLUMN ${quoteName(name)} IN PARTITION ID ${quoteText(partition)}`,
  );
  await command(`ALTER TABLE ${tables.local("event_rows")} ${columns.join(", ")}`);
}

/** How many parts the engine still has to fill, and why it failed the last time; "" where it did not. */
export async function readFill(clickhouse: ClickHouse): Promise<{ parts: number; failure: string }> {
  const [row] = await clickhouse.query<{ parts: string; failure: string }>(
    // Each command of a statement is a row.
    `SELECT sum(left) AS parts, max(reason) AS failure FROM (
       SELECT max(parts_to_do) AS left, max(latest_fail_reason) AS reason
       FROM ${clickhouse.tables.system("mutations")}
       WHERE ${ofEvents} AND NOT is_done AND command LIKE '%MATERIALIZE COLUMN%'
       GROUP BY mutation_id)`,
  );
  return { parts: Number(row?.parts ?? 0), failure: row?.failure ?? "" };
}
