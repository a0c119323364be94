// Persons read back from ClickHouse: one by one of its ids, or a page of them. Never folds more persons than it shows.

import { limits } from "../../core/limits.ts";
import type { ClickHouse, QueryOptions } from "../../storage/clickhouse.ts";
import { ownPersonId } from "../identity.ts";
import { type KeptChange, foldProperties } from "./fold.ts";

export interface Person {
  uuid: string;
  /** All of them, the main one first. */
  distinct_ids: string[];
  /** JSON text of an object. */
  properties: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC. */
  created_at: string;
  is_identified: boolean;
}

export const queryOptions: QueryOptions = {
  timeoutMs: (limits.querySecondsMax + 5) * 1000,
  settings: { max_execution_time: limits.querySecondsMax, date_time_output_format: "simple", max_threads: 1 },
};

interface MergedId {
  distinct_id: string;
  main_id: string;
  merged_at: string;
}

/** The person of a distinct id; undefined when there is none. */
export async function findPersonByDistinctId(
  clickhouse: ClickHouse,
  project_id: number,
  distinct_id: string,
): Promise<Person | undefined> {
  return (await findPersons(clickhouse, project_id, [distinct_id])).get(distinct_id);
}

/** The persons of distinct ids, by those; of some there is none. */
export async function findPersons(
  clickhouse: ClickHouse,
  project_id: number,
  distinct_ids: readonly string[],
): Promise<Map<string, Person>> {
  if (distinct_ids.length === 0) return new Map();
  // All ids of their persons; an id that was never merged is in no row.
  const merging = clickhouse.query<MergedId>(
    `SELECT distinct_id, main_id, toUnixTimestamp64Micro(merged_at) AS merged_at
     FROM merged_ids FINAL
     WHERE project_id = {project_id:UInt32} AND main_id IN (
       SELECT main_id FROM merged_ids FINAL
       WHERE project_id = {project_id:UInt32} AND distinct_id IN {distinct_ids:Array(String)}
       UNION ALL
       SELECT arrayJoin({distinct_ids:Array(String)})
     )`,
    { project_id, distinct_ids },
    queryOptions,
  );
  const { merged, kept } = await withTheirs(clickhouse, project_id, distinct_ids, merging);
  const mainOf = new Map(merged.map(({ distinct_id, main_id }) => [distinct_id, main_id]));
  const mains = new Map(distinct_ids.map((id) => [id, mainOf.get(id) ?? id]));
  const persons = foldPersons(project_id, [...new Set(mains.values())], merged, kept);
  const byMain = new Map(persons.map((person) => [person.distinct_ids[0], person]));
  const found = distinct_ids.map((id) => [id, byMain.get(mains.get(id))] as const);
  return new Map(found.filter((pair): pair is [string, Person] => pair[1] !== undefined));
}

/** The person of a uuid; undefined when there is none, or when it has become part of another. */
export async function findPersonByUuid(
  clickhouse: ClickHouse,
  project_id: number,
  uuid: string,
): Promise<Person | undefined> {
  const [own] = await clickhouse.query<{ distinct_id: string }>(
    `SELECT distinct_id FROM seen
     WHERE project_id = {project_id:UInt32} AND own_person_id = {uuid:UUID} LIMIT 1`,
    { project_id, uuid },
    queryOptions,
  );
  if (!own) return undefined;
  const person = await findPersonByDistinctId(clickhouse, project_id, own.distinct_id);
  return person?.uuid === uuid.toLowerCase() ? person : undefined;
}

/** Persons by their main ids, in that order; those that do not exist are left out. */
export async function readPersons(
  clickhouse: ClickHouse,
  project_id: number,
  mains: readonly string[],
): Promise<Person[]> {
  if (mains.length === 0) return [];
  const merging = clickhouse.query<MergedId>(
    `SELECT distinct_id, main_id, toUnixTimestamp64Micro(merged_at) AS merged_at
     FROM merged_ids FINAL
     WHERE project_id = {project_id:UInt32} AND main_id IN {mains:Array(String)}`,
    { project_id, mains },
    queryOptions,
  );
  const { merged, kept } = await withTheirs(clickhouse, project_id, mains, merging);
  return foldPersons(project_id, mains, merged, kept);
}

/** What is kept of an id itself, in a row like those of its keys. */
const idKind = 9;

/**
 * What is kept of these ids, read while it is asked who was merged with them; of those others then, if there are any.
 * Most ids were never merged, and have both in the time of one.
 */
async function withTheirs(
  clickhouse: ClickHouse,
  project_id: number,
  ids: readonly string[],
  merging: Promise<MergedId[]>,
): Promise<{ merged: MergedId[]; kept: KeptChange[] }> {
  const [merged, own] = await Promise.all([merging, readKept(clickhouse, project_id, ids)]);
  const others = new Set(merged.flatMap(({ distinct_id, main_id }) => [distinct_id, main_id]));
  for (const id of ids) others.delete(id);
  if (others.size === 0) return { merged, kept: own };
  return { merged, kept: [...own, ...(await readKept(clickhouse, project_id, [...others]))] };
}

/** One statement for both tables: each has its price, however little it reads. */
function readKept(clickhouse: ClickHouse, project_id: number, ids: readonly string[]): Promise<KeptChange[]> {
  return clickhouse.query<KeptChange>(
    `SELECT distinct_id, '' AS key, toUInt8(${idKind}) AS kind, toString(min(first)) AS at,
       '' AS tie, toInt8(0) AS op, '' AS value
     FROM seen
     WHERE project_id = {project_id:UInt32} AND distinct_id IN {ids:Array(String)}
     GROUP BY distinct_id
     UNION ALL
     SELECT distinct_id, toString(key), kind, toString(w.1), toString(w.2), w.3, w.4
     FROM (
       SELECT distinct_id, key, kind, max(w) AS w FROM person_props
       WHERE project_id = {project_id:UInt32} AND distinct_id IN {ids:Array(String)}
       GROUP BY distinct_id, key, kind
     )`,
    { project_id, ids },
    queryOptions,
  );
}

/**
 * `merged`: all ids that were merged into these main ids, and those themselves; `kept`: what is kept of them all.
 */
function foldPersons(
  project_id: number,
  mains: readonly string[],
  merged: readonly MergedId[],
  kept: readonly KeptChange[],
): Person[] {
  const mainOf = new Map(mains.map((main) => [main, main]));
  for (const { distinct_id, main_id } of merged) mainOf.set(distinct_id, main_id);
  const mergedAt = new Map(merged.map((one) => [one.distinct_id, Number(one.merged_at)]));
  const seen = kept.filter(({ kind }) => kind === idKind);
  const changes = kept.filter(({ kind }) => kind !== idKind);
  const identified = new Set(merged.map(({ main_id }) => main_id));
  const seenBy = Map.groupBy(seen, ({ distinct_id }) => mainOf.get(distinct_id)!);
  const changesBy = Map.groupBy(changes, ({ distinct_id }) => mainOf.get(distinct_id)!);
  return mains.flatMap((main) => {
    const ids = seenBy.get(main);
    if (!ids) return [];
    const joined = (id: string) => (id === main ? undefined : mergedAt.get(id));
    const others = ids.map(({ distinct_id }) => distinct_id).filter((id) => id !== main);
    return {
      uuid: ownPersonId(project_id, main),
      distinct_ids: [main, ...others.toSorted()],
      properties: foldProperties(changesBy.get(main) ?? [], joined),
      created_at: ids.map(({ at }) => at).toSorted()[0]!,
      is_identified: identified.has(main),
    };
  });
}
