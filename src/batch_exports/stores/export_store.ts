// The batch exports of a project or organization in Postgres. Secrets are encrypted.

import { isDeepStrictEqual } from "node:util";
import { refuseInput } from "../../core/fault.ts";
import { newUuid } from "../../core/id.ts";
import { wordsIn } from "../../core/words.ts";
import { checkFits, type Page } from "../../http/pages/page.ts";
import type { Postgres, PostgresTransaction } from "../../storage/postgres/postgres.ts";
import { countedPage, exactMoment } from "../../storage/postgres/rows.ts";
import type { DestinationType } from "../destinations/destinations.ts";
import type { Settings } from "../destinations/fields.ts";
import { type FilePlace, readPattern, writeSameNames } from "../destinations/file/path_pattern.ts";
import type { Cadence } from "../interval.ts";
import { exportLimits } from "../limits.ts";
import type { Run } from "../model.ts";
import type { ExportModel } from "../query/tables.ts";
import { latestRuns } from "./run_list_store.ts";

/** The scope of a request: one project, or all of an organization. */
export type ExportScope = { project_id: number } | { organization_id: string };

/** The columns that a request sets. Moments are ISO text, since a Date would lose microseconds. */
export interface ExportFields extends Cadence {
  name: string;
  model: ExportModel;
  paused: boolean;
  last_paused_at: string | null;
  start_at: string | null;
  end_at: string | null;
  native_query: string | null;
  filters: unknown;
  destination_type: DestinationType;
  destination_config: Settings;
  /** Encrypted. */
  destination_secrets: Uint8Array;
}

export interface StoredExport extends ExportFields {
  id: string;
  project_id: number;
  created_at: Date;
  last_updated_at: Date;
  scheduled_until: Date | null;
  /** Whether the names of its files contain a part of its id. */
  own_names: boolean;
  /** Changes with every update of the row. */
  revision: string;
}

export type ShownExport = StoredExport & { latest_runs: Run[] };

/**
 * A page of the exports, newest first, and the count of all.
 * @throws Fault with `limit` as its attr when the page is longer than httpLimits.pageBytesMax.
 */
export async function listExports(sql: Postgres, scope: ExportScope, page: Page) {
  const from = sql`FROM batch_exports e WHERE NOT e.deleted AND ${within(sql, scope)}`;
  const listing = { columns: columns(sql), from, order: sql`e.created_at DESC, e.id DESC`, page };
  return await countedPage(sql, { ...listing, check: checkFits, show: (row: StoredExport) => row });
}

export async function withRuns(sql: Postgres, rows: readonly StoredExport[]): Promise<ShownExport[]> {
  const ids = rows.map(({ id }) => id);
  const latest = await latestRuns(sql, ids);
  return rows.map((row) => ({ ...row, latest_runs: latest.get(row.id) ?? [] }));
}

export async function getExport(sql: Postgres, scope: ExportScope, id: string) {
  const [row] = await sql<StoredExport[]>`
    SELECT ${columns(sql)} FROM batch_exports e WHERE e.id = ${id} AND NOT e.deleted AND ${within(sql, scope)}`;
  return row;
}

/**
 * Writes an export of files under a lock, so that no other process can choose the same names. In an object store,
 * exports of one organization are compared: one with another model, query or filters gets names of its own.
 * @param stored the export before the change; it may keep its place and its rows.
 * @throws Fault invalid_input when another export writes its files there: into a folder any one, into an object store
 * one of another project, or of other events. The same rows may be written twice.
 */
export async function withOwnPath<T>(
  sql: Postgres,
  fields: ExportFields & { project_id: number },
  stored: StoredExport | undefined,
  write: (sql: Postgres | PostgresTransaction, own_names: boolean) => Promise<T>,
): Promise<T> {
  const own_names = stored?.own_names ?? false;
  const isFile = fields.destination_type === "File";
  const isKept = isDeepStrictEqual(readFileParts(fields), stored && readFileParts(stored));
  if (readPattern(fields) === undefined || isKept || (own_names && !isFile))
    return await write(sql, own_names);
  const written = await sql.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended('sluice places of file exports', 0))`;
    const otherExports = await tx<FileExport[]>`
      SELECT project_id, model, native_query, filters, "interval", destination_type, destination_config
      FROM batch_exports e JOIN projects p ON p.id = e.project_id
      WHERE destination_type = ${fields.destination_type} AND NOT deleted
        AND e.id IS DISTINCT FROM ${stored?.id ?? null}::uuid
        AND (${isFile} OR (NOT own_names
          AND organization_id = (SELECT organization_id FROM projects WHERE id = ${fields.project_id})))`;
    const { query, rows } = readFileParts(fields);
    const alike = otherExports.filter((candidate) => writeSameNames(candidate, fields)).map(readFileParts);
    const sameQuery = alike.filter((parts) => isDeepStrictEqual(parts.query, query));
    if (isFile ? alike.length > 0 : sameQuery.some((parts) => !isDeepStrictEqual(parts.rows, rows))) {
      const name = fields.destination_config["path"] ? "path" : "prefix";
      const detail = "Another batch export writes its files there. Choose another path or prefix.";
      refuseInput(detail, `destination__config__${name}`);
    }
    return [await write(tx, alike.length > sameQuery.length)];
  });
  return written[0] as T;
}

type FileExport = FilePlace & Pick<StoredExport, "project_id" | "native_query" | "filters">;

/** All that an export's files depend on: their names, and their rows. */
function readFileParts(placed: FileExport) {
  const { project_id, model, native_query, filters, destination_type, interval, destination_config } = placed;
  const { file_format, compression, max_file_size_mb, escape_formulas, ...config } = destination_config;
  const [included, excluded] = [config["include_events"], config["exclude_events"]].map((names) =>
    [...new Set((names ?? []) as string[])].toSorted(),
  );
  return {
    names: [readPattern(placed), destination_type, interval, file_format, compression],
    query: [model, native_query, (filters as unknown[] | null)?.length ? filters : null],
    rows: [project_id, included, excluded, max_file_size_mb ?? null, escape_formulas ?? false],
  };
}

/** Undefined when the project is gone or has exportLimits.exportsPerProjectMax exports. */
export async function createExport(
  sql: Postgres | PostgresTransaction,
  founding: ExportFields & { project_id: number; created_by: number; now: Date; own_names?: boolean },
): Promise<StoredExport | undefined> {
  const { project_id, created_by, now, own_names = false } = founding;
  const moments = { created_at: now, last_updated_at: now, scheduled_until: now };
  const values = {
    id: newUuid(),
    project_id,
    created_by,
    own_names,
    ...moments,
    ...toColumns(sql, founding),
  };
  const [row] = await sql<StoredExport[]>`
    INSERT INTO batch_exports AS e (${sql(Object.keys(values))})
    SELECT ${sql(values)} FROM projects p WHERE p.id = ${project_id} AND ${isBelowLimit(sql)}
    RETURNING ${columns(sql)}`;
  return row;
}

const plainColumns = wordsIn(`
  name model paused native_query interval timezone offset_day offset_hour destination_type destination_secrets
`);

/** Fields as columns. Moments are cast by the database: a Date would lose their microseconds. */
function toColumns(sql: Postgres | PostgresTransaction, fields: ExportFields) {
  const { filters, destination_config, last_paused_at, start_at, end_at } = fields;
  const columns = {
    ...Object.fromEntries(plainColumns.map((name) => [name, fields[name]])),
    filters: toJson(sql, filters),
    destination_config: toJson(sql, destination_config),
    last_paused_at: sql`${last_paused_at}::text::timestamptz`,
    start_at: sql`${start_at}::text::timestamptz`,
    end_at: sql`${end_at}::text::timestamptz`,
  };
  return columns as unknown as Record<string, string>;
}

export async function canCreate(sql: Postgres | PostgresTransaction, { project_id }: { project_id: number }) {
  const rows = await sql`SELECT p.id FROM projects p WHERE p.id = ${project_id} AND ${isBelowLimit(sql)}`;
  return rows.length > 0;
}

function isBelowLimit(sql: Postgres | PostgresTransaction) {
  return sql`(SELECT count(*) FROM batch_exports e WHERE e.project_id = p.id AND NOT e.deleted)
    < ${exportLimits.exportsPerProjectMax}`;
}

/**
 * Changes an export unless it was changed since it was read; then undefined. A resumed export continues with the
 * present interval; missed ones are left to a backfill.
 */
export async function updateExport(
  sql: Postgres | PostgresTransaction,
  stored: StoredExport,
  fields: ExportFields & { own_names?: boolean },
  now: Date,
): Promise<StoredExport | undefined> {
  const resumed = stored.paused && !fields.paused;
  // A moment that the request names is stored.
  const isPausedNow = !stored.paused && fields.paused && fields.last_paused_at === stored.last_paused_at;
  const last_paused_at = isPausedNow ? now.toISOString() : fields.last_paused_at;
  const [row] = await sql<StoredExport[]>`
    UPDATE batch_exports e SET ${sql(toColumns(sql, { ...fields, last_paused_at }))},
      own_names = ${fields.own_names ?? stored.own_names}, due_at = NULL, last_updated_at = ${now}::timestamptz,
      scheduled_until = CASE WHEN ${resumed} THEN ${now}::timestamptz ELSE scheduled_until END
    WHERE id = ${stored.id} AND NOT deleted AND xmin::text = ${stored.revision}
    RETURNING ${columns(sql)}`;
  return row;
}

/** Pauses or resumes; undefined, and nothing is written, when it already is. */
export async function setPaused(sql: Postgres | PostgresTransaction, id: string, paused: boolean, now: Date) {
  const [row] = await sql<StoredExport[]>`
    UPDATE batch_exports e SET
      paused = ${paused},
      last_paused_at = CASE WHEN ${paused} THEN ${now}::timestamptz ELSE last_paused_at END,
      scheduled_until = CASE WHEN ${paused} THEN scheduled_until ELSE ${now}::timestamptz END, due_at = NULL,
      last_updated_at = ${now}::timestamptz
    WHERE id = ${id} AND NOT deleted AND paused <> ${paused}
    RETURNING ${columns(sql)}`;
  return row;
}

/** Deletes an export: its runs are cancelled, its secrets erased. False when it was deleted already. */
export async function removeExport(sql: Postgres, scope: ExportScope, id: string, now: Date) {
  const rows = await sql`
    WITH removed AS (
      UPDATE batch_exports e SET deleted = true, destination_secrets = '', last_updated_at = ${now}
      WHERE e.id = ${id} AND NOT e.deleted AND ${within(sql, scope)}
      RETURNING e.id
    ), ended AS (
      UPDATE batch_export_backfills b SET status = 'Cancelled', finished_at = ${now}, last_updated_at = ${now}
      FROM removed r WHERE b.batch_export_id = r.id AND b.status IN ('Starting', 'Running')
    ), stopped AS (
      UPDATE batch_export_runs u SET status = 'Cancelled', finished_at = ${now}, last_updated_at = ${now}
      FROM removed r
      WHERE u.batch_export_id = r.id AND u.status IN ('Starting', 'Running', 'FailedRetryable')
    )
    SELECT id FROM removed`;
  return rows.length > 0;
}

/** The project of a new export under an organization: the one named, else the user's current one, else the oldest. */
export async function homeProject(
  sql: Postgres,
  organization_id: string,
  named: number | undefined,
  current: number | null,
): Promise<number | undefined> {
  const [row] = await sql<{ id: number }[]>`
    SELECT p.id FROM projects p
    WHERE p.organization_id = ${organization_id}
      AND (${named === undefined} OR p.id = ${named ?? null}::integer)
    ORDER BY p.id = ${current}::integer DESC NULLS LAST, p.id LIMIT 1`;
  return row?.id;
}

function within(sql: Postgres, scope: ExportScope) {
  if ("project_id" in scope) return sql`e.project_id = ${scope.project_id}`;
  return sql`e.project_id IN (SELECT p.id FROM projects p WHERE p.organization_id = ${scope.organization_id})`;
}

/** A missing value is SQL's null, not JSON's. */
function toJson(sql: Postgres | PostgresTransaction, value: unknown) {
  return value === null || value === undefined ? null : sql.json(value as never);
}

/** The columns of the row e; moments that requests set are formatted exactly. */
function columns(sql: Postgres | PostgresTransaction) {
  const set = ["last_paused_at", "start_at", "end_at"].map((name) => sql`, ${exactMoment(sql, "e", name)}`);
  return sql`e.*, e.xmin::text AS revision${set}`;
}
