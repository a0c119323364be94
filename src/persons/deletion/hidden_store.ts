// Persons whose deletion is ordered and not yet carried out: reads omit their rows until these are removed.

import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import type { HiddenRows } from "../../storage/clickhouse/hidden_rows.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { personLimits } from "../limits.ts";

interface Ordered {
  project_id: number;
  /** Microseconds since 1970. */
  ordered_at: string;
  delete_events: boolean;
  delete_recordings: boolean;
}

/**
 * Updates which rows are hidden. @returns whether all ordered persons are: not on a cluster, where filters of reads do
 * not reach the shards' tables, not where the engine cannot, and not with too many orders to name in each read.
 */
export async function hideOrdered(sql: Postgres, clickhouse: ClickHouse): Promise<boolean> {
  if (clickhouse.cluster) return false;
  const orders = await sql<Ordered[]>`
    SELECT DISTINCT project_id, ordered_at::text, delete_events,
      coalesce(delete_recordings, delete_events) AS delete_recordings
    FROM person_deletion_orders
    WHERE finished_at IS NULL AND begun_at IS NULL AND NOT keep_person
    ORDER BY 1, 2 LIMIT ${personLimits.hiddenOrdersMax + 1}`;
  if (orders.length > 0 && !(await clickhouse.canHide())) return false;
  const projects = Map.groupBy(orders.slice(0, personLimits.hiddenOrdersMax), (order) => order.project_id);
  clickhouse.hide(new Map([...projects].map(([id, own]) => [id, hiddenRows(id, own)])));
  return orders.length <= personLimits.hiddenOrdersMax;
}

/** By table, the rows that a deletion will remove: those that had arrived by its order. */
function hiddenRows(project_id: number, orders: readonly Ordered[]): HiddenRows {
  const rows: HiddenRows = {};
  const hide = (deletions: readonly Ordered[], tables: Readonly<Record<string, TableRows>>) => {
    if (deletions.length === 0) return;
    const moments = deletions.map(({ ordered_at }) => `fromUnixTimestamp64Micro(${ordered_at}, 'UTC')`);
    const latest = moments.at(-1)!;
    for (const [table, { id = "distinct_id", arrived }] of Object.entries(tables)) {
      const ids = `SELECT id_hash FROM deleted_ids
        WHERE project_id = ${project_id} AND deleted_at IN (${moments.join()})`;
      const until = arrived === undefined ? "" : ` AND ${arrived} <= ${latest}`;
      rows[table] = `project_id = ${project_id} AND sipHash64(${id}) IN (${ids})${until}`;
    }
  };
  hide(orders, { seen: { arrived: "arrived" }, person_props: {} });
  hide(
    orders.filter((order) => order.delete_events),
    {
      event_rows: { arrived: "created_at" },
      session_facts: { id: "substring(first_seen, 9)" },
      ingestion_warnings: { arrived: "timestamp" },
    },
  );
  hide(
    orders.filter((order) => order.delete_recordings),
    { snapshot_chunks: { arrived: "created_at" }, session_recording_days: {} },
  );
  return rows;
}

interface TableRows {
  /** The distinct id of a row. */
  id?: string;
  /** The row's arrival; without one, rows that arrive until the deletion is carried out are hidden, too. */
  arrived?: string;
}
