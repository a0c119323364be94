// Merges of persons who are deleted: which are forgotten, decided in Postgres.

import { arrayText, type PostgresTransaction } from "../../storage/postgres/postgres.ts";
import { lockMerges } from "../group_type_store.ts";

/**
 * Adds ids that had been merged into these persons before the order, where that was applied behind it, and deletes the
 * merges of them all. A person into whom others were merged since then keeps the row of its main id: without it, these
 * would stay behind when it is merged itself. Resolves to the version of such rows; undefined without any.
 */
export async function forgetMerges(
  transaction: PostgresTransaction,
  {
    project_id,
    ids,
    ordered_at,
    keep_person,
  }: { project_id: number; ids: readonly string[]; ordered_at: number; keep_person: boolean },
): Promise<string | undefined> {
  await lockMerges(transaction);
  const ofPersons = transaction`
    d.deletion_id = ANY (${arrayText(ids)}::text::bigint[]) AND m.project_id = ${project_id}`;
  const isOlder = transaction`m.created_at <= ${ordered_at}::bigint`;
  await transaction`
    INSERT INTO person_deletion_ids (deletion_id, distinct_id)
    SELECT d.deletion_id, m.distinct_id
    FROM person_deletion_ids d JOIN merged_ids m ON m.main_id = d.distinct_id
    WHERE ${ofPersons} AND ${isOlder}
    ON CONFLICT DO NOTHING`;
  if (keep_person) return undefined;
  const [next] = await transaction<{ version: string }[]>`SELECT nextval('merge_versions')::text AS version`;
  const { count } = await transaction`
    UPDATE merged_ids m
    SET merged_at = CASE WHEN ${isOlder} THEN later.merged_at ELSE m.merged_at END,
      created_at = greatest(m.created_at, later.created_at), version = ${next!.version}::bigint
    FROM (
      SELECT m.main_id, min(m.merged_at) AS merged_at, min(m.created_at) AS created_at
      FROM person_deletion_ids d JOIN merged_ids m ON m.main_id = d.distinct_id
      WHERE ${ofPersons} AND NOT ${isOlder} AND m.distinct_id <> m.main_id
      GROUP BY m.main_id
    ) AS later
    WHERE m.project_id = ${project_id} AND m.distinct_id = later.main_id AND m.main_id = m.distinct_id`;
  await transaction`
    DELETE FROM merged_ids m USING person_deletion_ids d
    WHERE ${ofPersons} AND m.distinct_id = d.distinct_id AND ${isOlder}`;
  return count > 0 ? next!.version : undefined;
}
