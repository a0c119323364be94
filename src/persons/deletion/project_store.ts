// The data of deleted projects, removed from every table.

import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { personLimits } from "../limits.ts";
import { isPassed } from "./journals_store.ts";

const options = { timeoutMs: personLimits.deletionMsMax };

/**
 * Deletes the rows of deleted projects from every table with a project_id: at once, and again when the journals have
 * passed the time until which their keys may have worked. Resolves to the projects finished.
 */
export async function removeGoneProjects(sql: Postgres, clickhouse: ClickHouse): Promise<number[]> {
  const keysEnd = sql`ordered_at + make_interval(secs => ${personLimits.goneKeySeconds})`;
  const orders = await sql<{ project_id: number; begun: boolean; passed: boolean }[]>`
    SELECT project_id, begun_at IS NOT NULL AS begun, ${isPassed(sql, keysEnd)} AS passed
    FROM project_deletions
    WHERE finished_at IS NULL
    ORDER BY project_id LIMIT ${personLimits.deletionsAtOnce}`;
  const finished: number[] = [];
  for (const { project_id, begun, passed } of orders) {
    if (begun && !passed) continue;
    const tables = await clickhouse.query<{ table: string }>(
      `SELECT DISTINCT table FROM system.columns
       WHERE database = currentDatabase() AND name = 'project_id' AND table IN
         (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree')`,
    );
    for (const { table } of tables) {
      const text = `DELETE FROM ${clickhouse.tables.local(table)} WHERE project_id = {project_id:UInt32}`;
      await clickhouse.command(text, { project_id }, options);
    }
    await sql`DELETE FROM merged_ids WHERE project_id = ${project_id}`;
    await sql`DELETE FROM person_splits WHERE project_id = ${project_id}`;
    await sql`DELETE FROM person_activity WHERE project_id = ${project_id}`;
    await sql`DELETE FROM group_types WHERE project_id = ${project_id}`;
    await sql`
      UPDATE project_deletions
      SET begun_at = coalesce(begun_at, now()), finished_at = CASE WHEN ${passed} THEN now() END
      WHERE project_id = ${project_id}`;
    if (passed) finished.push(project_id);
  }
  return finished;
}
