// Traces by which stores without an id are known to belong together, or not.

import { toCode } from "../core/log.ts";
import { type ClickHouse, ClickHouseError } from "./clickhouse/clickhouse.ts";
import { storageLimits } from "./limits.ts";
import type { Postgres } from "./postgres/postgres.ts";

/**
 * Reads what Postgres knows of the events of its projects: the last numbers that it issued, and when it was made, in s.
 */
export async function readTraces(sql: Postgres) {
  const last = (sequence: string) =>
    sql`coalesce((SELECT max(last_value) FROM pg_sequences WHERE sequencename = ${sequence}), 0)::integer`;
  const [traces] = await sql<{ projects: number; journals: number; made: number; hasMerges: boolean }[]>`
    SELECT ${last("projects_id_seq")} AS projects, ${last("journals_id_seq")} AS journals,
      EXISTS (SELECT FROM merged_ids) OR EXISTS (SELECT FROM group_types) AS "hasMerges",
      extract(epoch FROM least((SELECT min(applied_at) FROM schema_migrations),
        (SELECT min(created_at) FROM organizations)))::float AS made`;
  return traces!;
}

/** The rows of a ClickHouse without an id, and the first arrival, in s; undefined where there are no tables. */
export async function readRowTraces(clickhouse: ClickHouse) {
  // Bits 11 to 22 of a batch are its journal's number.
  const [rows] = await clickhouse
    .query<Record<"count" | "projects" | "journals" | "first", number>>(
      `SELECT toFloat64(max(project_id)) AS projects,
         toFloat64(max(bitAnd(bitShiftRight(_batch, 11), 4095))) AS journals,
         if(count() = 0, 1e12, toFloat64(min(created_at))) AS first,
         toFloat64(count() + (SELECT count() FROM snapshot_chunks) + (SELECT count() FROM ingestion_warnings)) AS count
       FROM event_rows`,
      undefined,
      { timeoutMs: storageLimits.migrateMsMax },
    )
    .catch(emptyIfUnmade);
  return rows;
}

type Traces = Awaited<ReturnType<typeof readTraces>>;
type Rows = Awaited<ReturnType<typeof readRowTraces>>;

/** An empty Postgres. */
export const unmade: Traces = { projects: 0, journals: 0, made: Number.POSITIVE_INFINITY, hasMerges: false };
const daySeconds = 86_400;
const journalNumbers = 4096;

/** Why a ClickHouse without an id cannot be this Postgres's; undefined when nothing speaks against it. */
export function findContradiction(
  { projects, journals, made, hasMerges }: Traces,
  rows: Rows,
  known?: { hasSent: boolean },
): string | undefined {
  if (!rows) return projects > 0 ? "it has no tables, and there are projects already" : undefined;
  if (rows.count === 0)
    return hasMerges || known?.hasSent ? "it has no events, and there were some" : undefined;
  if (rows.projects > projects) return "it has events of projects that were never made";
  if (journals < journalNumbers && rows.journals > journals)
    return "it has batches of journals that never were";
  // Clocks of several servers may differ.
  if (rows.first < made - daySeconds) return "it has events from before there was one";
  return undefined;
}

export function emptyIfUnmade(thrown: unknown): never[] {
  if (isUnmade(thrown)) return [];
  throw thrown;
}

/** Whether a store lacks the table: no server has started on it. */
export function isUnmade(thrown: unknown): boolean {
  if (thrown instanceof ClickHouseError) return /^UNKNOWN_(TABLE|DATABASE)$/.test(thrown.type);
  return toCode(thrown) === "42P01";
}
