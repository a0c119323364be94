// Expired rows that are not deleted yet: no read shows them.

import { keptFrom } from "../core/clock.ts";
import type { HiddenRows } from "../storage/clickhouse/hidden_rows.ts";
import { localName } from "../storage/cluster/placement.ts";
import type { Uses } from "../storage/services.ts";
import { retentionLimits } from "./limits.ts";
import * as store from "./store.ts";

/**
 * Hides events and sessions beyond the retention of their project or server, and recordings that the engine has not
 * removed. Where nothing can expire, reads have no condition more. To be called regularly.
 */
export async function hideExpired(
  { sql, clickhouse, clock }: Uses<"sql" | "clickhouse" | "clock">,
  retentionDays: number | undefined,
): Promise<void> {
  const days = new Map<number, number>();
  for await (const retentions of store.listOwnRetentions(sql, retentionDays))
    for (const retention of retentions) days.set(retention.id, retention.days);
  const until = clock.now() + 2 * retentionLimits.hiddenPollMs;
  const hasPieces = await store.havePiecesExpired(clickhouse, until);
  const isNothing = retentionDays === undefined && days.size === 0 && !hasPieces;
  const find = (project_id: number): HiddenRows => {
    const now = clock.now();
    const kept = days.get(project_id) ?? retentionDays;
    const events = kept === undefined ? [] : before(store.expiringColumns, keptFrom(now, kept));
    const pieces = hasPieces ? before(store.pieceColumns, now) : [];
    // On a cluster the tables that hold the rows are filtered.
    const { cluster, database } = clickhouse;
    const named = [...events, ...pieces].map(([table, condition]) => [
      cluster ? `${database}.${localName(table)}` : table,
      condition,
    ]);
    return Object.fromEntries(named) as HiddenRows;
  };
  clickhouse.hide("expired", isNothing ? undefined : find);
}

/** Conditions of the rows before a moment, by the column of each table that decides it. */
function before(columns: Readonly<Record<string, string>>, ms: number): [table: string, condition: string][] {
  const moment = `fromUnixTimestamp64Milli(${ms}, 'UTC')`;
  return Object.entries(columns).map(([table, column]) => [table, `${column} < ${moment}`]);
}
