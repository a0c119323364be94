// Queries in ClickHouse for persons: by distinct id, by uuid, or a page of them. Only the persons shown are folded.
// Persons with thousands of ids are read by large_store.ts.

import { byBytes } from "../../core/bytes.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { checkFits, cutBlocks } from "../../http/pages/page.ts";
import { type QueryOptions, unlessTooBig } from "../../storage/clickhouse/clickhouse.ts";
import { type ProjectReads, wholePageOptions } from "../../storage/clickhouse/query_options.ts";
import { ownPersonId } from "../identity.ts";
import { personLimits } from "../limits.ts";
import { foldProperties, type Person, type StoredChange } from "./fold.ts";
import { readLarge, readSizes } from "./large_store.ts";

interface MergedId {
  distinct_id: string;
  main_id: string;
  merged_at: string;
  /** 1: a row of a requested id; 0: a row under one of their main ids. */
  requested: number;
}

/** Bounds of a reading. Tests use smaller ones. */
export interface Reading {
  /** Merged ids of one person; a person with more is read by large_store.ts. */
  idsEachMax?: number;
  /** Merged ids of all persons together. */
  idsMax?: number;
  /** Options of the statement that reads their properties. */
  options?: QueryOptions;
}

const select = "SELECT distinct_id, main_id, toUnixTimestamp64Micro(merged_at) AS merged_at";
const ofProject = "FROM merged_ids FINAL WHERE project_id = {project_id:UInt32}";
const isRequested = "distinct_id IN {ids:Array(String)}";

/** The rows under these main ids. */
const under = (mains: string) => `${select}, 0 AS requested ${ofProject} AND main_id IN ${mains}
  LIMIT {each:UInt32} BY main_id LIMIT {all:UInt32}`;

const underMains = under("{ids:Array(String)}");
/** An id that was never merged has no row. */
const withMains = `${select}, 1 AS requested ${ofProject} AND ${isRequested} UNION ALL ${under(
  `(SELECT main_id ${ofProject} AND ${isRequested} UNION ALL SELECT arrayJoin({ids:Array(String)}))`,
)}`;

/** The persons of distinct ids, by distinct id; ids without a person are absent. */
export async function findPersons(reads: ProjectReads, distinct_ids: readonly string[], reading?: Reading) {
  return await readMerged(reads, distinct_ids, withMains, reading);
}

/** Persons by their main ids, in that order; ids without a person are left out. */
export async function readPersons(reads: ProjectReads, mains: readonly string[], reading?: Reading) {
  return [...(await readMerged(reads, mains, underMains, reading)).values()];
}

/**
 * Persons by the requested ids. The changes of these ids are read at the same time as the merges, since most ids are
 * not merged; then those of ids merged with them. Persons with too many ids are read by large_store.ts.
 */
async function readMerged(
  reads: ProjectReads,
  ids: readonly string[],
  statement: string,
  {
    idsEachMax = personLimits.distinctIdsShownMax,
    idsMax = personLimits.mergedIdsReadMax,
    options,
  }: Reading = {},
): Promise<Map<string, Person>> {
  if (ids.length === 0) return new Map();
  const [rows, storedChanges] = await Promise.all([
    reads.query<MergedId>(statement, { ids, each: idsEachMax + 1, all: idsMax + 1 }),
    readKept(reads, ids, options),
  ]);
  const mainOf = new Map(ids.map((id) => [id, id]));
  for (const { requested, distinct_id, main_id } of rows)
    if (requested === 1) mainOf.set(distinct_id, main_id);
  const merged = rows.filter(({ requested }) => requested === 0);
  const rowsOf = Map.groupBy(merged, ({ main_id }) => main_id);
  const isLarge = (main: string) => merged.length > idsMax || (rowsOf.get(main)?.length ?? 0) > idsEachMax;
  const mains = [...new Set(mainOf.values())];
  const large = mains.filter(isLarge);
  const theirs = merged.filter(({ main_id }) => !isLarge(main_id));
  const otherIds = new Set(theirs.flatMap(({ distinct_id, main_id }) => [distinct_id, main_id]));
  for (const id of ids) otherIds.delete(id);
  const [more, readByEngine] = await Promise.all([
    otherIds.size === 0 ? [] : readKept(reads, [...otherIds], options),
    large.length === 0 ? new Map<string, Person>() : readLarge(reads, large),
  ]);
  const small = mains.filter((main) => !isLarge(main));
  const persons = await foldPersons(reads.project_id, small, theirs, [...storedChanges, ...more]);
  const pairs = ids.flatMap((id) => {
    const main = mainOf.get(id)!;
    const person = persons.get(main) ?? readByEngine.get(main);
    return person ? [[id, person] as const] : [];
  });
  return new Map(pairs);
}

/** The kind of rows with the times when an id was first and last seen, `at` and `value`. */
const idKind = 9;

/** One statement for both tables, since every statement has a fixed cost. */
function readKept(reads: ProjectReads, ids: readonly string[], options?: QueryOptions) {
  return reads.query<StoredChange>(
    `SELECT distinct_id, '' AS key, toUInt8(${idKind}) AS kind, toString(min(first)) AS at,
       '' AS tie, toInt8(0) AS op, toString(max(last)) AS value
     FROM seen
     WHERE project_id = {project_id:UInt32} AND distinct_id IN {ids:Array(String)}
     GROUP BY distinct_id
     UNION ALL
     SELECT distinct_id, toString(key), kind, toString(if(kind = 1, -w.1, w.1)),
       toString(if(kind = 1, bitNot(w.2), w.2)), w.3, w.4
     FROM (
       SELECT distinct_id, key, kind, max(w) AS w FROM person_props
       WHERE project_id = {project_id:UInt32} AND distinct_id IN {ids:Array(String)}
       GROUP BY distinct_id, key, kind
     )`,
    { ids },
    options,
  );
}

/**
 * Persons by their main ids. `merged` has the rows of these main ids and of all ids merged into them; `storedChanges`
 * has theirs and may have others. Yields to the event loop after `changesFoldedMax` changes.
 */
async function foldPersons(
  project_id: number,
  mains: readonly string[],
  merged: readonly MergedId[],
  storedChanges: readonly StoredChange[],
): Promise<Map<string, Person>> {
  const mainOf = new Map(mains.map((main) => [main, main]));
  for (const { distinct_id, main_id } of merged) mainOf.set(distinct_id, main_id);
  const mergedAt = new Map(merged.map((mergedId) => [mergedId.distinct_id, Number(mergedId.merged_at)]));
  const identified = new Set(merged.map(({ main_id }) => main_id));
  const rowsBy = Map.groupBy(storedChanges, ({ distinct_id }) => mainOf.get(distinct_id));
  const persons = new Map<string, Person>();
  let folded = 0;
  for (const main of mains) {
    const rows = rowsBy.get(main) ?? [];
    const ids = rows.filter(({ kind }) => kind === idKind);
    if (ids.length === 0) continue;
    const lasts = ids.map(({ value }) => value);
    const changes = rows.filter(({ kind }) => kind !== idKind);
    folded += rows.length;
    if (folded > personLimits.changesFoldedMax) {
      folded = 0;
      await yieldToEventLoop();
    }
    const joined = (id: string) => (id === main ? undefined : mergedAt.get(id));
    const otherIds = ids.map(({ distinct_id }) => distinct_id).filter((id) => id !== main);
    persons.set(main, {
      uuid: ownPersonId(project_id, main),
      distinct_ids: [main, ...otherIds.toSorted(byBytes)].slice(0, personLimits.distinctIdsShownMax),
      distinct_ids_count: otherIds.length + 1,
      properties: foldProperties(changes, joined),
      created_at: ids.map(({ at }) => at).toSorted()[0]!,
      last_seen_at: lasts.toSorted().at(-1)!,
      is_identified: identified.has(main),
    });
  }
  return persons;
}

/**
 * Persons by their main ids, in that order; ids without a person are left out.
 * @throws Fault with attr `limit` when their properties exceed httpLimits.pageBytesMax.
 */
export async function* personBlocks(reads: ProjectReads, mains: readonly string[]) {
  const whole = await unlessTooBig(readPersons(reads, mains, { options: wholePageOptions }));
  if (whole) yield whole;
  else {
    yield* reads.clickhouse.longReads.withPermit(reads.project_id, async function* () {
      for (const block of await fittingBlocks(reads, mains)) yield await readPersons(reads, block);
    });
  }
}

/**
 * The persons of the distinct ids on a page, by distinct id; ids without a person are absent.
 * @throws Fault with attr `limit` when their properties exceed httpLimits.pageBytesMax.
 */
export async function findPagePersons(reads: ProjectReads, distinct_ids: readonly string[]) {
  const whole = await unlessTooBig(findPersons(reads, distinct_ids));
  if (whole) return whole;
  const found = new Map<string, Person>();
  for (const block of await fittingBlocks(reads, distinct_ids))
    for (const [id, person] of await findPersons(reads, block)) found.set(id, person);
  return found;
}

/** @throws Fault when all of them, with at most `personBytesMax` of each, exceed a page. */
async function fittingBlocks(reads: ProjectReads, ids: readonly string[]): Promise<string[][]> {
  const bytes = await readSizes(reads, ids);
  const readSize = (id: string) => bytes.get(id) ?? 0;
  checkFits(ids.map((id) => Math.min(readSize(id), personLimits.personBytesMax)));
  return cutBlocks(ids, readSize);
}
