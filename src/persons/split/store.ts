// Splits of persons: merges undone, so that each distinct id is a person of its own again. A split is decided in
// Postgres under the lock of merges and stored with the merges that it undid; then the mirror in ClickHouse follows. It
// is carried out again when no merge that arrived before it can still be applied.

import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { microsType } from "../../storage/native/native.ts";
import { arrayText, type Postgres, type PostgresTransaction } from "../../storage/postgres/postgres.ts";
import { lockMerges } from "../group_type_store.ts";
import { isOrderDue, isPassed } from "../journals_store.ts";
import { personLimits } from "../limits.ts";
import { copyRows, withListedIds } from "../mirror_store.ts";

interface SplitRequest {
  project_id: number;
  main_id: string;
  /** The ids that are split off; undefined: all but the main id. */
  distinct_ids: readonly string[] | undefined;
}

/** A split as stored; its ids are in person_split_ids. */
interface Split {
  id: string;
  project_id: number;
  main_id: string;
  /** Version of the transaction that undid the merges last: later merges have higher ones. */
  version: string;
  /** Merges that arrived up to this moment are undone; microseconds since 1970. */
  split_at: number;
}

/**
 * Resolves to the ids of the request that are not the person's, and whether it was merged into another in the meantime:
 * then nothing is done. `now` is in microseconds.
 */
export async function splitPerson(sql: Postgres, clickhouse: ClickHouse, request: SplitRequest, now: number) {
  const { unknown, gone, split } = await sql.begin((transaction) => decideSplit(transaction, request, now));
  if (split) await mirrorSplit(sql, clickhouse, split, now);
  return { unknown, gone };
}

async function decideSplit(transaction: PostgresTransaction, request: SplitRequest, now: number) {
  const { project_id, main_id, distinct_ids } = request;
  await lockMerges(transaction);
  const ofPerson = transaction`project_id = ${project_id} AND main_id = ${main_id} AND distinct_id <> ${main_id}`;
  const ids = arrayText(distinct_ids ?? []);
  const [moved] = await transaction`
    SELECT 1 FROM merged_ids
    WHERE project_id = ${project_id} AND distinct_id = ${main_id} AND main_id <> ${main_id}`;
  if (moved) return { unknown: [], gone: true };
  if (distinct_ids) {
    const missing = await transaction<{ distinct_id: string }[]>`
      SELECT w.distinct_id FROM unnest(${ids}::text::text[]) AS w(distinct_id)
      WHERE NOT EXISTS (SELECT 1 FROM merged_ids m WHERE ${ofPerson} AND m.distinct_id = w.distinct_id)`;
    if (missing.length > 0) return { unknown: missing.map((row) => row.distinct_id), gone: false };
  }
  const [split] = await transaction<Split[]>`
    INSERT INTO person_splits (project_id, main_id, version, split_at)
    SELECT ${project_id}::integer, ${main_id}, nextval('merge_versions'), ${now}::bigint
    WHERE EXISTS (SELECT 1 FROM merged_ids WHERE ${ofPerson})
    RETURNING id::text, project_id, main_id, version::text, split_at`;
  if (!split) return { unknown: [], gone: false };
  const among = distinct_ids ? transaction`AND distinct_id = ANY (${ids}::text::text[])` : transaction``;
  await transaction`
    WITH undone AS (DELETE FROM merged_ids WHERE ${ofPerson} ${among} RETURNING distinct_id)
    INSERT INTO person_split_ids (split_id, distinct_id) SELECT ${split.id}::bigint, distinct_id FROM undone`;
  return { unknown: [], gone: false, split };
}

/**
 * Removes the undone merges from ClickHouse, and records that these persons changed, for exports. It may be repeated:
 * an id that was merged again has a row of a higher version.
 * @param changed_at microseconds since 1970.
 */
async function mirrorSplit(sql: Postgres, clickhouse: ClickHouse, split: Split, changed_at: number) {
  const { id, project_id, main_id, version } = split;
  const unmerged = sql<{ distinct_id: string }[]>`
    SELECT distinct_id FROM person_split_ids d
    WHERE split_id = ${id}::bigint AND NOT EXISTS (
      SELECT 1 FROM merged_ids m WHERE m.project_id = ${project_id} AND m.distinct_id = d.distinct_id
    )`;
  await copyRows<{ distinct_id: string }>(unmerged, clickhouse, "merged_ids", [
    ["project_id", "UInt32", (out) => out.u32(project_id)],
    ["distinct_id", "String", (out, row) => out.text(row.distinct_id)],
    ["main_id", "String", (out) => out.text("")],
    ["merged_at", microsType, (out) => out.i64(0)],
    ["created_at", microsType, (out) => out.i64(0)],
    ["version", "UInt64", (out) => out.i64(Number(version))],
    ["is_deleted", "UInt8", (out) => out.u8(1)],
  ]);
  const touched = sql<{ distinct_id: string }[]>`
    SELECT distinct_id FROM person_split_ids WHERE split_id = ${id}::bigint UNION SELECT ${main_id}`;
  await withListedIds(clickhouse, project_id, touched, ({ rows, command }) =>
    command(
      `INSERT INTO seen (project_id, distinct_id, first, last, arrived, changed)
       SELECT project_id, distinct_id, min(first), max(last), min(arrived), fromUnixTimestamp64Micro({at:Int64}, 'UTC')
       FROM seen WHERE ${rows} GROUP BY project_id, distinct_id`,
      { at: changed_at },
    ),
  );
  await sql`UPDATE person_splits SET begun_at = coalesce(begun_at, now()) WHERE id = ${id}::bigint`;
}

const splitAt = (sql: Postgres) => sql`to_timestamp(split_at / 1e6)`;
export const dueSplits = (sql: Postgres) => sql`FROM person_splits WHERE ${isOrderDue(sql, splitAt(sql))}`;

/**
 * Carries out splits that a killed process left, and once more those that every journal has passed. Resolves to the
 * number of splits finished. `now` is in microseconds.
 */
export async function finishSplits(sql: Postgres, clickhouse: ClickHouse, now: number): Promise<number> {
  const due = await sql<(Split & { passed: boolean })[]>`
    SELECT id::text, project_id, main_id, version::text, split_at, ${isPassed(sql, splitAt(sql))} AS passed
    ${dueSplits(sql)}
    ORDER BY id LIMIT ${personLimits.deletionsAtOnce}`;
  let finished = 0;
  for (const split of due) {
    if (split.passed) {
      const version = await sql.begin((transaction) => undoLate(transaction, split));
      if (version === undefined) continue;
      await mirrorSplit(sql, clickhouse, { ...split, version }, now);
      await sql`DELETE FROM person_splits WHERE id = ${split.id}::bigint`;
      finished++;
    } else await mirrorSplit(sql, clickhouse, split, now);
  }
  return finished;
}

/**
 * Undoes merges of these ids that arrived before the split and were applied after it. Resolves to the new version;
 * undefined when another process has finished the split.
 */
async function undoLate(transaction: PostgresTransaction, { id, project_id, split_at }: Split) {
  await lockMerges(transaction);
  await transaction`
    DELETE FROM merged_ids m USING person_split_ids d
    WHERE d.split_id = ${id}::bigint AND m.project_id = ${project_id} AND m.distinct_id = d.distinct_id
      AND m.main_id <> m.distinct_id AND m.created_at <= ${split_at}::bigint`;
  const [row] = await transaction<{ version: string }[]>`
    UPDATE person_splits SET version = nextval('merge_versions') WHERE id = ${id}::bigint
    RETURNING version::text`;
  return row?.version;
}
