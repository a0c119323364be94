// The columns of properties of events that older versions stored: which parts lack them, and the engine's work on
// these.

import type { ClickHouse } from "../clickhouse/clickhouse.ts";
import { quoteName, quoteText } from "../clickhouse/statement.ts";
import { localName } from "../cluster/placement.ts";
import { propertyColumns } from "../events/event_columns.ts";

const ofEvents = "database = currentDatabase() AND table = 'event_rows'";
/** Whether a mutation is a fill's. */
export const isFill = "command LIKE '%MATERIALIZE COLUMN%'";

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

/** Whether the disk has room for the partition's largest part: the engine writes the parts anew, one by one. */
export async function hasRoomToFill({ query, tables }: ClickHouse, partition: string): Promise<boolean> {
  const [row] = await query<{ is_room: number }>(
    `SELECT max(bytes_on_disk) * 1.25 <= (SELECT max(free_space) FROM ${tables.system("disks")}) AS is_room
     FROM ${tables.system("parts")} WHERE active AND ${ofEvents} AND partition_id = {partition:String}`,
    { partition },
  );
  return row?.is_room === 1;
}

/** Has the engine write the columns of a partition's events, in the background and also after a restart. */
export async function startFill({ command, tables }: ClickHouse, partition: string): Promise<void> {
  const columns = propertyColumns.map(
    (name) => `MATERIALIZE COLUMN ${quoteName(name)} IN PARTITION ID ${quoteText(partition)}`,
  );
  const text = `ALTER TABLE ${tables.local("event_rows")} ${columns.join(", ")}`;
  await command(text, undefined, { settings: { mutations_sync: 0 } });
}

/**
 * Ends the engine's filling. It carries out a part's mutations in their order: deletions would wait behind a fill for
 * an hour, and behind one that fails for ever. `sluice fill` begins again where it was.
 */
export async function stopFill(clickhouse: ClickHouse): Promise<void> {
  const { parts, failure } = await readFill(clickhouse);
  if (parts === 0 && failure === "") return;
  await clickhouse.command(
    `KILL MUTATION${clickhouse.tables.onAll} WHERE database = ${quoteText(clickhouse.database)}
       AND table IN ('event_rows', ${quoteText(localName("event_rows"))}) AND ${isFill}`,
  );
}

/** How many parts the engine still has to fill, and why it failed the last time; "" where it did not. */
export async function readFill(clickhouse: ClickHouse): Promise<{ parts: number; failure: string }> {
  const [row] = await clickhouse.query<{ parts: string; failure: string }>(
    // Each command of a statement is a row.
    `SELECT sum(left) AS parts, max(reason) AS failure FROM (
       SELECT max(parts_to_do) AS left, max(latest_fail_reason) AS reason
       FROM ${clickhouse.tables.system("mutations")}
       WHERE ${ofEvents} AND NOT is_done AND ${isFill}
       GROUP BY mutation_id)`,
  );
  return { parts: Number(row?.parts ?? 0), failure: row?.failure ?? "" };
}
