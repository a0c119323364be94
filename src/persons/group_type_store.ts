// The group types of projects. Indexes are assigned and freed in Postgres, in the order of merges, and copied to
// ClickHouse. Events and groups store the name of their type, so a reused index shows no groups of its former type.

import { limits } from "../core/limits.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import type { Postgres, PostgresTransaction as Transaction } from "../storage/postgres/postgres.ts";

/** A group type that a process saw for the first time. */
export interface AnnouncedType {
  project_id: number;
  name: string;
}

export interface RefusedType extends AnnouncedType {
  /** True: the project does not allow it. False: all indexes are assigned. */
  forbidden: boolean;
}

/** A project's group types, for capture. */
export interface ProjectGroupTypes {
  project_id: number;
  names: string[];
  /** null: any type is allowed. */
  allowed: string[] | null;
}

export interface GroupType {
  name: string;
  /** 0 to 4. */
  place: number;
}

/** The names that people see of a type of groups, and the columns of a list of its groups. */
export interface NamedGroupType extends GroupType {
  name_singular: string | null;
  name_plural: string | null;
  default_columns: string[] | null;
}

export type GroupTypeNames = Partial<Omit<NamedGroupType, keyof GroupType>>;

/** An arbitrary number; no other lock uses it. */
const lockKey = "7308332182925";

/**
 * Waits for the lock under which merges and group types are decided, one process at a time; the end of the transaction
 * releases it.
 */
export async function lockMerges(transaction: Transaction): Promise<void> {
  await transaction`SELECT pg_advisory_xact_lock(${lockKey}::bigint)`;
}

/** The group types of every project that has some, or allows certain types only. */
export async function listGroupTypes(sql: Postgres): Promise<ProjectGroupTypes[]> {
  return await sql<ProjectGroupTypes[]>`
    SELECT coalesce(t.project_id, p.id) AS project_id, coalesce(t.names, '{}') AS names, p.allowed
    FROM (SELECT project_id, array_agg(name ORDER BY place) AS names FROM group_types GROUP BY project_id) t
    FULL JOIN (
      SELECT id, allowed_group_types AS allowed FROM projects WHERE allowed_group_types IS NOT NULL
    ) p ON p.id = t.project_id`;
}

/** Changes what types are called, all or none. False when the project lacks one of the indexes. */
export async function renameGroupTypes(
  sql: Postgres,
  project_id: number,
  changes: readonly (GroupTypeNames & { place: number })[],
): Promise<boolean> {
  return await sql.begin(async (tx) => {
    const places = changes.map(({ place }) => place);
    const found = await tx`
      SELECT FROM group_types WHERE project_id = ${project_id} AND place = ANY(${places}::integer[]) FOR UPDATE`;
    if (found.length < new Set(places).size) return false;
    for (const { place, ...names } of changes.filter((change) => Object.keys(change).length > 1))
      await tx`UPDATE group_types SET ${tx(names as never)} WHERE project_id = ${project_id} AND place = ${place}`;
    return true;
  });
}

export async function readGroupTypes(sql: Postgres, project_id: number): Promise<NamedGroupType[]> {
  return await sql<NamedGroupType[]>`
    SELECT name, place, name_singular, name_plural, default_columns FROM group_types
    WHERE project_id = ${project_id} ORDER BY place`;
}

/** Assigns each type the first free index, in order. Resolves to the types that got none. */
export async function addTypes(transaction: Transaction, types: readonly AnnouncedType[], version: string) {
  const refused: RefusedType[] = [];
  for (const { project_id, name } of types) {
    const forbidden = transaction`EXISTS (
      SELECT 1 FROM projects WHERE id = ${project_id} AND NOT ${name} = ANY(allowed_group_types))`;
    await transaction`
      INSERT INTO group_types (project_id, name, place, version)
      SELECT ${project_id}::integer, ${name}, min(f.place), ${version}::bigint
      FROM generate_series(0, ${limits.groupTypesMax - 1}::integer) AS f(place)
      WHERE NOT EXISTS (SELECT 1 FROM group_types g WHERE g.project_id = ${project_id} AND g.place = f.place)
        AND NOT ${forbidden}
      HAVING count(*) > 0
      ON CONFLICT (project_id, name) DO NOTHING`;
    const [found] = await transaction<{ kept: boolean; forbidden: boolean }[]>`
      SELECT EXISTS (SELECT 1 FROM group_types WHERE project_id = ${project_id} AND name = ${name}) AS kept,
        ${forbidden} AS forbidden`;
    if (found?.kept !== true) refused.push({ project_id, name, forbidden: found?.forbidden === true });
  }
  return refused;
}

/** Copies the types of a version, or all, to ClickHouse. It may be repeated: the version decides. */
export async function mirrorTypes(sql: Postgres, clickhouse: ClickHouse, version?: string): Promise<void> {
  const types = await sql<Omit<TypeRow, "is_deleted">[]>`
    SELECT project_id, name, place, version::text FROM group_types
    ${version === undefined ? sql`` : sql`WHERE version = ${version}::bigint`}`;
  for (const type of types) await writeRow(clickhouse, { ...type, is_deleted: 0 });
}

/**
 * Frees an index; false when no type has it. Groups of the type remain stored, and are shown again when a type of that
 * name gets an index.
 */
export function deleteGroupType(sql: Postgres, clickhouse: ClickHouse, project_id: number, place: number) {
  return sql.begin(async (transaction) => {
    await lockMerges(transaction);
    const [groupType] = await transaction<{ name: string; version: string }[]>`
      DELETE FROM group_types WHERE project_id = ${project_id} AND place = ${place}
      RETURNING name, nextval('merge_versions')::text AS version`;
    if (!groupType) return false;
    // Written before the commit: if ClickHouse fails, the deletion is rolled back.
    await writeRow(clickhouse, { ...groupType, project_id, place, is_deleted: 1 });
    return true;
  });
}

interface TypeRow extends GroupType {
  project_id: number;
  version: string;
  is_deleted: 0 | 1;
}

async function writeRow(clickhouse: ClickHouse, row: TypeRow): Promise<void> {
  await clickhouse.command(
    `INSERT INTO group_type_rows (project_id, group_type, place, version, is_deleted)
     SELECT {project_id:UInt32}, {name:String}, {place:UInt8}, {version:UInt64}, {is_deleted:UInt8}`,
    { ...row },
  );
}
