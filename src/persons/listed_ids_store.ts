// Distinct ids as a table in ClickHouse, for the statements of one attempt: a person may have hundreds of thousands,
// and they are not sent with each statement.

import { newUuid } from "../core/id.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import { deleteListed } from "../storage/cluster/listed_deletion.ts";
import { personLimits } from "./limits.ts";
import { copyRows } from "./mirror_store.ts";

/** Statements of one attempt at changing what is stored of these ids. */
export interface ListedIds {
  /** Condition for rows of the ids: project and distinct id. */
  rows: string;
  /** Deletes the rows of the ids; `value` is their distinct id, and `where` a further condition. */
  remove(table: string, params?: Record<string, unknown>, where?: string, value?: string): Promise<void>;
  /** The ids, one in a row, as a FROM clause. */
  from: string;
  /** With the parameters `project_id` and `attempt`, and its own. */
  command(text: string, params?: Record<string, unknown>): Promise<void>;
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
  const command = async (text: string, params: Record<string, unknown> = {}): Promise<void> => {
    await clickhouse.command(text, { project_id, attempt, ...params }, options);
  };
  await copyRows<{ distinct_id: string }>(ids, clickhouse, "deleting_ids", [
    ["attempt", "String", (out) => out.text(attempt)],
    ["project_id", "UInt32", (out) => out.u32(project_id)],
    ["distinct_id", "String", (out, { distinct_id }) => out.text(distinct_id)],
  ]);
  const remove: ListedIds["remove"] = async (table, params, where = "1", value = "distinct_id") => {
    const deletion = { table, where: `${ofProject} AND ${where}`, value, list };
    await deleteListed(clickhouse, deletion, { project_id, attempt, ...params }, options);
  };
  await run({ rows: ofIds, from, remove, command });
  await command(`ALTER TABLE ${clickhouse.tables.local("deleting_ids")} DROP PARTITION {attempt:UUID}`);
}
