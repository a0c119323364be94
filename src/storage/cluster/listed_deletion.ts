// Deletions of rows that a SELECT lists.

import { sleep } from "../../core/clock.ts";
import { type ClickHouse, ClickHouseError, type QueryOptions } from "../clickhouse/clickhouse.ts";
import { type Cluster, quoteText } from "../clickhouse/statement.ts";
import { stopFill } from "../migrations/fill_store.ts";
import { cutPortions } from "../portions.ts";
import { clusterLimits } from "./limits.ts";
import { localEnding, localName } from "./placement.ts";

export interface ListedDeletion {
  table: string;
  where: string;
  /** The text of a row that is compared with the list. */
  value: string;
  list: string;
}

type Params = Record<string, unknown>;

/**
 * Resolves when the engine has carried out the table's earlier deletions: one whose wait ended goes on in the engine,
 * and each further one would only stand behind it.
 * @throws ClickHouseError when that takes too long.
 */
export async function awaitDeletions(
  clickhouse: ClickHouse,
  table: string,
  timeoutMs: number,
  pollMs = clusterLimits.deletionPollMs,
): Promise<void> {
  const name = table.endsWith(localEnding) ? table.slice(0, -localEnding.length) : table;
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    if (name === "event_rows") await stopFill(clickhouse);
    const [unfinished] = await clickhouse.query<{ reason: string }>(
      `SELECT latest_fail_reason AS reason FROM ${clickhouse.tables.system("mutations")}
       WHERE database = currentDatabase() AND table = {table:String} AND NOT is_done LIMIT 1`,
      { table: name },
    );
    if (!unfinished) return;
    if (waitedMs >= timeoutMs)
      throw new ClickHouseError(
        `ClickHouse has not finished earlier deletions. ${unfinished.reason}`,
        "TIMEOUT",
        "TIMEOUT",
      );
    await sleep(pollMs);
  }
}

/** Deletes the rows; resolves when they are gone from every server. */
export async function deleteListed(
  clickhouse: ClickHouse,
  deletion: ListedDeletion,
  params: Params,
  options: QueryOptions,
): Promise<void> {
  if (clickhouse.cluster)
    return await deleteOnCluster(clickhouse, clickhouse.cluster, deletion, params, options);
  const { table, where, value, list } = deletion;
  await clickhouse.command(`DELETE FROM ${table} WHERE ${where} AND ${value} IN (${list})`, params, options);
}

/**
 * Replicas apply deletions later, each by itself, so a deletion must have literal values. They are read from all
 * replicas, since one may have rows that others still lack, and sent in portions that fit an entry of the keeper. A
 * portion is queued; queued ones are applied in one pass over a part, when the last is waited for.
 */
async function deleteOnCluster(
  clickhouse: ClickHouse,
  { name, database }: Cluster,
  { table, where, value, list }: ListedDeletion,
  params: Params,
  options: QueryOptions,
): Promise<void> {
  const { listedRowsMax, listedBytesMax, queuedDeletionsMax } = clusterLimits;
  const rows = `clusterAllReplicas(${[name, database, localName(table)].map(quoteText).join(", ")})`;
  const select = `SELECT DISTINCT ${value} AS listed FROM ${rows}
    WHERE ${where} AND ${value} GLOBAL IN (${list}) LIMIT {listed_rows:UInt64}`;
  // A list of 10,000 texts takes the engine three times as long as one text, since each step of a deletion parses it.
  const deletion = `DELETE FROM ${clickhouse.tables.local(table)} WHERE ${where}
    AND ${value} IN splitByChar('\\0', {listed_values:String})`;
  for (;;) {
    const found = await clickhouse.query<{ listed: string }>(
      select,
      { ...params, listed_rows: listedRowsMax },
      options,
    );
    const values = found.map(({ listed }) => listed);
    const texts = cutPortions(values, textBytes, listedBytesMax).map(listedText);
    for (const [i, listed_values] of texts.entries()) {
      const waits = i === texts.length - 1 || (i + 1) % queuedDeletionsMax === 0;
      const settings = { ...options.settings, lightweight_deletes_sync: waits ? 2 : 0 };
      await clickhouse.command(deletion, { ...params, listed_values }, { ...options, settings });
    }
    // Deleted values are not found again.
    if (found.length < listedRowsMax) return;
  }
}

/** Values as one text, separated by NUL, which no text in a column holds. */
export function listedText(values: readonly string[]): string {
  if (values.some((value) => value.includes("\0"))) throw new Error("a value of a deletion holds NUL");
  // The first value is repeated, which changes nothing: a single empty one would be no list.
  return [...values, values[0]].join("\0");
}

/** The length of a value in the text of a statement: escaped, before an escaped NUL. */
export function textBytes(value: string): number {
  return Buffer.byteLength(value) + (value.match(escapedPattern)?.length ?? 0) + 2;
}

/** Includes control characters. */
const escapedPattern = /[\\'\p{Cc}]/gu;
