// Queries in ClickHouse for persons: by distinct id, by uuid, or a page of them. Only the persons shown are folded.
// Persons with thousands of ids are read by large_store.ts.

import { yieldToEventLoop } from "../../core/clock.ts";
import { personLimits } from "../limits.ts";
import type { ClickHouse, QueryOptions } from "../../storage/clickhouse/clickhouse.ts";
import { ownPersonId } from "../identity.ts";
import { type KeptChange, foldProperties } from "./fold.ts";
import { type LargePerson, readLarge } from "./large_store.ts";
import { queryOptions } from "../../storage/clickhouse/query_options.ts";

export interface Person {
  uuid: string;
  /** The main id first, then the others sorted by bytes; at most personLimits.distinctIdsShownMax. */
  distinct_ids: string[];
  /** Number of all distinct ids. */
  distinct_ids_count: number;
  /** JSON text of an object. */
  properties: string;
  /** `YYYY-MM-DD hh:mm:ss.uuuuuu` in UTC. */
  created_at: string;
  is_identified: boolean;
}

interface MergedId {
  distinct_id: string;
  main_id: string;
  merged_at: string;
  /** 1: a row of an id that was asked for; 0: a row under one of their main ids. */
  asked: number;
}

/** Limits of one reading; tests use smaller ones. */
export interface ReadingBounds {
  /** Merged ids of one person; a person with more is read by large_store.ts. */
  idsEachMax: number;
  /** Merged ids of all persons together. */
  idsMax: number;
}

const defaultBounds: ReadingBounds = {
  idsEachMax: personLimits.distinctIdsShownMax,
  idsMax: personLimits.mergedIdsReadMax,
};

/** The person of a distinct id; undefined when there is none. */
export async function findPersonByDistinctId(
  clickhouse: ClickHouse,
  project_id: number,
  distinct_id: string,
): Promise<Person | undefined> {
  return (await findPersons(clickhouse, project_id, [distinct_id])).get(distinct_id);
}

/** The persons of distinct ids, by distinct id; ids without a person are absent. */
export async function findPersons(
  clickhouse: ClickHouse,
  project_id: number,
  distinct_ids: readonly string[],
  bounds: ReadingBounds = defaultBounds,
): Promise<Map<string, Person>> {
  if (distinct_ids.length === 0) return new Map();
  const merging = clickhouse.query<MergedId>(
    // An id that was never merged has no row.
    `SELECT distinct_id, main_id, toUnixTimestamp64Micro(merged_at) AS merged_at, 1 AS asked
     FROM merged_ids FINAL
     WHERE project_id = {project_id:UInt32} AND distinct_id IN {distinct_ids:Array(String)}
     UNION ALL
     SELECT distinct_id, main_id, toUnixTimestamp64Micro(merged_at) AS merged_at, 0 AS asked
     FROM merged_ids FINAL
     WHERE project_id = {project_id:UInt32} AND main_id IN (
       SELECT main_id FROM merged_ids FINAL
       WHERE project_id = {project_id:UInt32} AND distinct_id IN {distinct_ids:Array(String)}
       UNION ALL
       SELECT arrayJoin({distinct_ids:Array(String)})
     )
     LIMIT {each:UInt32} BY main_id
     LIMIT {all:UInt32}`,
    { project_id, distinct_ids, each: bounds.idsEachMax + 1, all: bounds.idsMax + 1 },
    queryOptions,
  );
  const own = readKept(clickhouse, project_id, distinct_ids);
  const [merged, kept] = await Promise.all([merging, own]);
  const mainOf = new Map(
    merged.filter(({ asked }) => asked === 1).map(({ distinct_id, main_id }) => [distinct_id, main_id]),
  );
  const mains = new Map(distinct_ids.map((id) => [id, mainOf.get(id) ?? id]));
  const theirs = merged.filter(({ asked }) => asked === 0);
  const wanted = { ids: distinct_ids, mains: [...new Set(mains.values())], merged: theirs, kept, bounds };
  const persons = await readWanted(clickhouse, project_id, wanted);
  const found = distinct_ids.map((id) => [id, persons.get(mains.get(id)!)] as const);
  return new Map(found.filter((pair): pair is [string, Person] => pair[1] !== undefined));
}

/** The person of a uuid; undefined when there is none, or when it was merged into another. */
export async function findPersonByUuid(
  clickhouse: ClickHouse,
  project_id: number,
  uuid: string,
): Promise<Person | undefined> {
  const main = await findMainId(clickhouse, project_id, uuid);
  if (main === undefined) return undefined;
  const [person] = await readPersons(clickhouse, project_id, [main]);
  return person;
}

/** The main id of the person of a uuid; undefined as for findPersonByUuid. */
export async function findMainId(
  clickhouse: ClickHouse,
  project_id: number,
  uuid: string,
): Promise<string | undefined> {
  const [own] = await clickhouse.query<{ distinct_id: string }>(
    `SELECT distinct_id FROM seen
     WHERE project_id = {project_id:UInt32} AND own_person_id = {uuid:UUID} LIMIT 1`,
    { project_id, uuid },
    queryOptions,
  );
  if (!own) return undefined;
  const mains = await findMainIds(clickhouse, project_id, [own.distinct_id]);
  return mains.get(own.distinct_id) === own.distinct_id ? own.distinct_id : undefined;
}

/** The main id of each distinct id: the id itself unless it was merged. */
export async function findMainIds(
  clickhouse: ClickHouse,
  project_id: number,
  distinct_ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await clickhouse.query<{ distinct_id: string; main_id: string }>(
    `SELECT distinct_id, main_id FROM merged_ids FINAL
     WHERE project_id = {project_id:UInt32} AND distinct_id IN {distinct_ids:Array(String)}`,
    { project_id, distinct_ids },
    queryOptions,
  );
  const mains = new Map(distinct_ids.map((id) => [id, id]));
  for (const { distinct_id, main_id } of rows) mains.set(distinct_id, main_id);
  return mains;
}

/** Persons by their main ids, in that order; ids without a person are left out. */
export async function readPersons(
  clickhouse: ClickHouse,
  project_id: number,
  mains: readonly string[],
  bounds: ReadingBounds = defaultBounds,
  options: QueryOptions = queryOptions,
): Promise<Person[]> {
  if (mains.length === 0) return [];
  const merging = clickhouse.query<MergedId>(
    `SELECT distinct_id, main_id, toUnixTimestamp64Micro(merged_at) AS merged_at, 0 AS asked
     FROM merged_ids FINAL
     WHERE project_id = {project_id:UInt32} AND main_id IN {mains:Array(String)}
     LIMIT {each:UInt32} BY main_id
     LIMIT {all:UInt32}`,
    { project_id, mains, each: bounds.idsEachMax + 1, all: bounds.idsMax + 1 },
    queryOptions,
  );
  const [merged, kept] = await Promise.all([merging, readKept(clickhouse, project_id, mains, options)]);
  const wanted = { ids: mains, mains, merged, kept, bounds, options };
  const persons = await readWanted(clickhouse, project_id, wanted);
  return mains.map((main) => persons.get(main)).filter((person) => person !== undefined);
}

interface Wanted {
  /** Ids whose stored changes are in `kept`. */
  ids: readonly string[];
  mains: readonly string[];
  /** Rows of these main ids and of the ids merged into them, as far as `bounds` allow. */
  merged: readonly MergedId[];
  kept: readonly KeptChange[];
  bounds: ReadingBounds;
  options?: QueryOptions;
}

/**
 * Reads the changes of ids that were merged with `ids`, and folds all. The changes of `ids` themselves were read at
 * the same time as the merges, since most ids are not merged. Persons with too many ids are read by large_store.ts.
 */
async function readWanted(
  clickhouse: ClickHouse,
  project_id: number,
  { ids, mains, merged, kept, bounds, options }: Wanted,
): Promise<Map<string, Person>> {
  const counts = new Map<string, number>();
  for (const { main_id } of merged) counts.set(main_id, (counts.get(main_id) ?? 0) + 1);
  const cut = merged.length > bounds.idsMax;
  const isLarge = (main: string) => cut || (counts.get(main) ?? 0) > bounds.idsEachMax;
  const large = mains.filter(isLarge);
  const small = large.length === 0 ? mains : mains.filter((main) => !isLarge(main));
  const theirs = large.length === 0 ? merged : merged.filter(({ main_id }) => !isLarge(main_id));
  const others = new Set(theirs.flatMap(({ distinct_id, main_id }) => [distinct_id, main_id]));
  for (const id of ids) others.delete(id);
  const [more, largeOnes] = await Promise.all([
    others.size === 0 ? [] : readKept(clickhouse, project_id, [...others], options),
    large.length === 0 ? [] : readLarge(clickhouse, project_id, large),
  ]);
  const persons = await foldPersons(project_id, small, theirs, [...kept, ...more]);
  for (const one of largeOnes) persons.set(one.main_id, largePerson(project_id, one));
  return persons;
}

/** The kind of rows that tell when an id was first seen. */
const idKind = 9;

/** One statement for both tables, since every statement has a fixed cost. */
function readKept(
  clickhouse: ClickHouse,
  project_id: number,
  ids: readonly string[],
  options: QueryOptions = queryOptions,
): Promise<KeptChange[]> {
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
    options,
  );
}

/**
 * Persons by their main ids. `merged` has the rows of these main ids and of all ids merged into them; `kept` has their
 * stored changes and may have others. Yields to the event loop after `changesFoldedMax` changes.
 */
async function foldPersons(
  project_id: number,
  mains: readonly string[],
  merged: readonly MergedId[],
  kept: readonly KeptChange[],
): Promise<Map<string, Person>> {
  const mainOf = new Map(mains.map((main) => [main, main]));
  for (const { distinct_id, main_id } of merged) mainOf.set(distinct_id, main_id);
  const mergedAt = new Map(merged.map((one) => [one.distinct_id, Number(one.merged_at)]));
  const seen = kept.filter(({ kind }) => kind === idKind);
  const changes = kept.filter(({ kind }) => kind !== idKind);
  const identified = new Set(merged.map(({ main_id }) => main_id));
  const seenBy = Map.groupBy(seen, ({ distinct_id }) => mainOf.get(distinct_id));
  const changesBy = Map.groupBy(changes, ({ distinct_id }) => mainOf.get(distinct_id));
  const persons = new Map<string, Person>();
  let folded = 0;
  for (const main of mains) {
    const ids = seenBy.get(main);
    if (!ids) continue;
    const own = changesBy.get(main) ?? [];
    folded += own.length + ids.length;
    if (folded > personLimits.changesFoldedMax) {
      folded = 0;
      await yieldToEventLoop();
    }
    const joined = (id: string) => (id === main ? undefined : mergedAt.get(id));
    const others = ids.map(({ distinct_id }) => distinct_id).filter((id) => id !== main);
    persons.set(main, {
      uuid: ownPersonId(project_id, main),
      distinct_ids: [main, ...others.toSorted(byBytes)].slice(0, personLimits.distinctIdsShownMax),
      distinct_ids_count: others.length + 1,
      properties: foldProperties(own, joined),
      created_at: ids.map(({ at }) => at).toSorted()[0]!,
      is_identified: identified.has(main),
    });
  }
  return persons;
}

function largePerson(project_id: number, one: LargePerson): Person {
  const { main_id, distinct_ids, distinct_ids_count, created_at, is_identified } = one;
  const joined = (id: string) => (id === main_id ? undefined : one.mergedAt.get(id));
  const properties = foldProperties(one.changes, joined);
  const uuid = ownPersonId(project_id, main_id);
  return { uuid, distinct_ids, distinct_ids_count, properties, created_at, is_identified };
}

/** Compares as ClickHouse does, by UTF-8 bytes. UTF-16 order differs for surrogate pairs. */
function byBytes(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  for (let at = 0; at < end; at++) {
    const [a, b] = [one.charCodeAt(at), other.charCodeAt(at)];
    if (a !== b) return rank(a) - rank(b);
  }
  return one.length - other.length;
}

function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
