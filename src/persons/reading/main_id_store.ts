// The main ids of persons, by uuid or distinct id.

import type { ProjectReads } from "../../storage/clickhouse/query_options.ts";

/** The main id of the person of a uuid; undefined when there is none, or when it was merged into another. */
export async function findMainId(reads: ProjectReads, uuid: string): Promise<string | undefined> {
  return (await findPersonMains(reads, [uuid])).get(uuid);
}

/** The main ids of persons by their uuids, in small letters. One that was merged into another is absent. */
export async function findPersonMains(reads: ProjectReads, uuids: readonly string[]) {
  const rows = await reads.query<{ uuid: string; distinct_id: string }>(
    `SELECT DISTINCT toString(own_person_id) AS uuid, distinct_id FROM seen
     WHERE project_id = {project_id:UInt32} AND own_person_id IN {uuids:Array(UUID)}`,
    { uuids },
  );
  const found = rows.map(({ distinct_id }) => distinct_id);
  const mains = await findMainIds(reads, found);
  const mainRows = rows.filter(({ distinct_id }) => mains.get(distinct_id) === distinct_id);
  return new Map(mainRows.map(({ uuid, distinct_id }) => [uuid, distinct_id]));
}

/** The main id of each distinct id that is a person's; others are absent. */
export async function findSeenMains(reads: ProjectReads, distinct_ids: readonly string[]) {
  const rows = await reads.query<{ distinct_id: string }>(
    `SELECT DISTINCT distinct_id FROM seen
     WHERE project_id = {project_id:UInt32} AND distinct_id IN {ids:Array(String)}`,
    { ids: distinct_ids },
  );
  const ids = rows.map(({ distinct_id }) => distinct_id);
  return await findMainIds(reads, ids);
}

/** The main id of each distinct id: the id itself unless it was merged. */
export async function findMainIds(reads: ProjectReads, distinct_ids: readonly string[]) {
  if (distinct_ids.length === 0) return new Map<string, string>();
  const rows = await reads.query<{ distinct_id: string; main_id: string }>(
    `SELECT distinct_id, main_id FROM merged_ids FINAL
     WHERE project_id = {project_id:UInt32} AND distinct_id IN {ids:Array(String)}`,
    { ids: distinct_ids },
  );
  return new Map([
    ...distinct_ids.map((id) => [id, id] as const),
    ...rows.map(({ distinct_id, main_id }) => [distinct_id, main_id] as const),
  ]);
}
