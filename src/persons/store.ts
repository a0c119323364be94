// Where merges rest: decided in Postgres, one transaction for each journal segment, mirrored to ClickHouse. Never
// applies a segment twice.

import { limits } from "../core/limits.ts";
import type { ClickHouse } from "../storage/clickhouse.ts";
import { ByteColumn, writeBlockHead, writeColumnHead } from "../storage/native.ts";
import type { Postgres } from "../storage/postgres.ts";
import { type KnownId, type Merge, type Moved, planMerges } from "./merge.ts";

/** A type of groups that was seen for the first time by some process. */
export interface SightedType {
  project_id: number;
  name: string;
}

export interface Applied {
  /** The transaction's number; its rows are mirrored by it. */
  version: string;
  refused: Merge[];
  /** Types beyond the five that a project may have. */
  refusedTypes: SightedType[];
}

/** Any number that nobody else locks: merges of all processes are decided one segment after the other. */
const lockKey = "7308332182925";

/**
 * Applies a segment's merges and types in order; a segment that was applied already changes nothing and refuses
 * nothing. All or none of it, also when the process dies.
 */
export async function applyMerges(
  sql: Postgres,
  name: string,
  merges: readonly Merge[],
  types: readonly SightedType[],
): Promise<Applied> {
  return await sql.begin(async (transaction) => {
    await transaction`SELECT pg_advisory_xact_lock(${lockKey}::bigint)`;
    const [begun] = await transaction<{ version: string }[]>`
      INSERT INTO merge_segments (name, version) VALUES (${name}, nextval('merge_versions'))
      ON CONFLICT (name) DO NOTHING
      RETURNING version::text`;
    if (!begun) {
      const [done] = await transaction<{ version: string }[]>`
        SELECT version::text FROM merge_segments WHERE name = ${name}`;
      return { version: done?.version ?? "0", refused: [], refusedTypes: [] };
    }
    const { version } = begun;
    const refused = await writeMerges(transaction, merges, version);
    return { version, refused, refusedTypes: await addTypes(transaction, types, version) };
  });
}

type Transaction = Parameters<Parameters<Postgres["begin"]>[1]>[0];

async function writeMerges(
  transaction: Transaction,
  merges: readonly Merge[],
  version: string,
): Promise<Merge[]> {
  if (merges.length === 0) return [];
  const ids = new Map<string, Pick<KnownId, "project_id" | "distinct_id">>();
  for (const { project_id, from, into } of merges) {
    ids.set(`${project_id}:${from}`, { project_id, distinct_id: from });
    ids.set(`${project_id}:${into}`, { project_id, distinct_id: into });
  }
  const known = await transaction<KnownId[]>`
    SELECT m.project_id, m.distinct_id, m.main_id
    FROM json_to_recordset(${JSON.stringify([...ids.values()])}::text::json)
      AS w(project_id integer, distinct_id text)
    JOIN merged_ids m ON m.project_id = w.project_id AND m.distinct_id = w.distinct_id`;
  const { added, moved, refused } = planMerges(merges, known);
  await transaction`
    UPDATE merged_ids m
    SET main_id = w.main_id, merged_at = w.merged_at, created_at = w.created_at, version = ${version}::bigint
    FROM json_to_recordset(${JSON.stringify(moved)}::text::json)
      AS w(project_id integer, distinct_id text, main_id text, merged_at bigint, created_at bigint)
    WHERE m.project_id = w.project_id AND m.main_id = w.distinct_id`;
  await transaction`
    INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version)
    SELECT project_id, distinct_id, main_id, merged_at, created_at, ${version}::bigint
    FROM json_to_recordset(${JSON.stringify(added)}::text::json)
      AS w(project_id integer, distinct_id text, main_id text, merged_at bigint, created_at bigint)`;
  return refused;
}

/** One after the other: who comes first has the place. */
async function addTypes(
  transaction: Transaction,
  types: readonly SightedType[],
  version: string,
): Promise<SightedType[]> {
  const refused: SightedType[] = [];
  for (const { project_id, name } of types) {
    await transaction`
      INSERT INTO group_types (project_id, name, place, version)
      SELECT ${project_id}::integer, ${name}, count(*), ${version}::bigint
      FROM group_types WHERE project_id = ${project_id}
      HAVING count(*) < ${limits.groupTypesMax}
      ON CONFLICT (project_id, name) DO NOTHING`;
    const [kept] = await transaction`
      SELECT 1 FROM group_types WHERE project_id = ${project_id} AND name = ${name}`;
    if (!kept) refused.push({ project_id, name });
  }
  return refused;
}

type MirroredId = Moved & { version: number };

/** Copies to ClickHouse what a transaction wrote, as it is now. Again does no harm: the version decides. */
export async function mirrorMerges(sql: Postgres, clickhouse: ClickHouse, version: string): Promise<void> {
  const rows = sql<MirroredId[]>`
    SELECT project_id, distinct_id, main_id, merged_at, created_at, version
    FROM merged_ids WHERE version = ${version}::bigint`;
  for await (const some of rows.cursor(limits.mirrorRowsMax)) {
    if (some.length > 0) await clickhouse.insertNative("merged_ids", { bytes: [mergedBlock(some)] });
  }
  const types = await sql<{ project_id: number; name: string; place: number }[]>`
    SELECT project_id, name, place FROM group_types WHERE version = ${version}::bigint`;
  for (const { project_id, name, place } of types) {
    await clickhouse.command(
      `INSERT INTO group_types (project_id, group_type, place)
       SELECT {project_id:UInt32}, {name:String}, {place:UInt8}`,
      { project_id, name, place },
    );
  }
}

/** Forgets a segment that its journal has forgotten. */
export async function forgetSegment(sql: Postgres, name: string): Promise<void> {
  await sql`DELETE FROM merge_segments WHERE name = ${name}`;
}

const microsType = "DateTime64(6, 'UTC')";

function mergedBlock(rows: readonly MirroredId[]): Uint8Array {
  const out = new ByteColumn(rows.length * 96);
  writeBlockHead(out, 6, rows.length);
  const column = (name: string, type: string, write: (row: MirroredId) => void) => {
    writeColumnHead(out, name, type);
    for (const row of rows) write(row);
  };
  column("project_id", "UInt32", (row) => out.u32(row.project_id));
  column("distinct_id", "String", (row) => out.text(row.distinct_id));
  column("main_id", "String", (row) => out.text(row.main_id));
  column("merged_at", microsType, (row) => out.i64(row.merged_at));
  column("created_at", microsType, (row) => out.i64(row.created_at));
  column("version", "UInt64", (row) => out.i64(row.version));
  return out.filled();
}

/** The types of groups of every project. */
export async function listGroupTypes(sql: Postgres): Promise<SightedType[]> {
  return await sql<SightedType[]>`SELECT project_id, name FROM group_types ORDER BY project_id, place`;
}
