// Reads persons with many distinct ids. ClickHouse selects the changes that count, counts the ids and returns the
// first of them, so that the ids themselves need not be sent.

import { unavailable } from "../../core/fault.ts";
import type { QueryOptions } from "../../storage/clickhouse/clickhouse.ts";
import { type ProjectReads, queryOptions } from "../../storage/clickhouse/query_options.ts";
import { ownPersonId } from "../identity.ts";
import { personLimits } from "../limits.ts";
import { foldProperties, type Person, type StoredChange } from "./fold.ts";

const ofProject = "project_id = {project_id:UInt32}";

/** All distinct ids of the persons whose main ids the SQL expression lists. */
function idsOf(mains: string): string {
  return `(SELECT distinct_id FROM merged_ids FINAL WHERE ${ofProject} AND main_id IN ${mains}
    UNION ALL SELECT arrayJoin(${mains}))`;
}

const wanted = "{mains:Array(String)}";

const merges = `(SELECT distinct_id, main_id, toUnixTimestamp64Micro(merged_at) AS merged
  FROM merged_ids FINAL WHERE ${ofProject} AND main_id IN ${wanted})`;

/** Distinct ids that were seen, each with its main id. */
const seenIds = `(SELECT s.distinct_id AS distinct_id, if(m.main_id = '', s.distinct_id, m.main_id) AS main,
    m.main_id != '' AS is_merged, s.first AS first
  FROM (
    SELECT distinct_id, min(first) AS first FROM seen
    WHERE ${ofProject} AND distinct_id IN ${idsOf(wanted)} GROUP BY distinct_id
  ) AS s
  LEFT ANY JOIN ${merges} AS m ON s.distinct_id = m.distinct_id)`;

/**
 * Stored changes of these ids, with ranks as in the view person_properties: of kind 0 the latest of a key counts, of
 * the other kinds the first to join the person.
 */
const changes = `(SELECT p.distinct_id AS distinct_id, if(m.main_id = '', p.distinct_id, m.main_id) AS main,
    p.key AS key, p.kind AS kind, p.w AS w, m.merged AS merged,
    if(p.kind = 1, -p.w.1, p.w.1) AS at,
    if(p.kind = 1, bitNot(p.w.2), p.w.2) AS tie,
    m.main_id = '' OR m.main_id = p.distinct_id OR at >= merged AS senior,
    if(senior, 0, -merged) AS weak,
    (senior, weak, at, tie) AS rank,
    (if(senior, at, merged), senior, at, tie) AS entry
  FROM (
    SELECT distinct_id, key, kind, max(w) AS w FROM person_props
    WHERE ${ofProject} AND distinct_id IN ${idsOf(wanted)} GROUP BY distinct_id, key, kind
  ) AS p
  LEFT ANY JOIN ${merges} AS m ON p.distinct_id = m.distinct_id)`;

const change = "(distinct_id, w, kind, merged)";

/** Only the latest changed keys of a person, since a reply shows no more. */
const latestKeys = `ORDER BY main, moment DESC LIMIT ${personLimits.personKeysMax} BY main`;

/** For each person and key: the latest set or unset, and the first set_once. */
const decisive = `SELECT main, key,
    arrayJoin(arraySlice([last, first], 1 + (lasts = 0), (lasts > 0) + (firsts > 0))) AS one
  FROM (
    SELECT main, key, argMaxIf(${change}, rank, kind = 0) AS last, argMinIf(${change}, entry, kind > 0) AS first,
      countIf(kind = 0) AS lasts, countIf(kind > 0) AS firsts, max(abs(at)) AS moment
    FROM ${changes} GROUP BY main, key ${latestKeys}
  )`;

/** For each key whose latest change is an unset: the first set_once after it. */
const afterUnsets = `SELECT main, key, one FROM (
    SELECT main, key, argMin(${change}, entry) AS one, max(abs(at)) AS moment
    FROM ${changes} AS c
    INNER JOIN (
      SELECT main, key, max(rank) AS last, argMax(w.3, rank) AS op FROM ${changes} WHERE kind = 0
      GROUP BY main, key HAVING op = 2
    ) AS l ON c.main = l.main AND c.key = l.key
    WHERE kind > 0 AND rank > last GROUP BY main, key ${latestKeys}
  )`;

interface DecisiveRow extends StoredChange {
  main: string;
  merged: string;
}

/** Rows are stored in the order of ids, so aggregation needs little memory. */
const options: QueryOptions = {
  ...queryOptions,
  settings: { ...queryOptions.settings, optimize_aggregation_in_order: 1 },
};

/**
 * Persons by their main ids; ids without a person are absent. Few run at once: each uses the engine for about a
 * second.
 * @throws Fault unavailable when too many wait, or the wait is too long.
 */
export async function readLarge(reads: ProjectReads, mains: readonly string[]): Promise<Map<string, Person>> {
  const wait = { owner: reads.project_id, msMax: personLimits.largePersonWaitMs, busy };
  return await reads.clickhouse.longReads.persons.run(wait, () => readNow(reads, mains));
}

const busy = () => unavailable("Too many persons of many distinct ids are being read. Please retry.");

async function readNow(reads: ProjectReads, mains: readonly string[]): Promise<Map<string, Person>> {
  const [persons, kept] = await Promise.all([
    reads.query<{ main: string; ids: string; shown: [number, string][]; first: string; merged: number }>(
      `SELECT main, count() AS ids, min(first) AS first, max(is_merged) AS merged,
         groupArraySorted(${personLimits.distinctIdsShownMax})((distinct_id != main, distinct_id)) AS shown
       FROM ${seenIds} GROUP BY main`,
      { mains },
      options,
    ),
    readDecisive(reads, mains, decisive),
  ]);
  // A set_once after an unset is rare, so it is read only for persons that have an unset.
  const unset = new Set(kept.filter(({ kind, op }) => kind === 0 && op === 2).map(({ main }) => main));
  const afterUnset = unset.size === 0 ? [] : await readDecisive(reads, [...unset], afterUnsets);
  const changesOf = Map.groupBy([...kept, ...afterUnset], ({ main }) => main);
  return new Map(
    persons.map(({ main, ids, shown, first, merged }) => {
      const theirs = changesOf.get(main) ?? [];
      const mergedAt = new Map(theirs.map((one) => [one.distinct_id, Number(one.merged)]));
      const person = {
        uuid: ownPersonId(reads.project_id, main),
        distinct_ids: shown.map(([, id]) => id),
        distinct_ids_count: Number(ids),
        properties: foldProperties(theirs, (id) => (id === main ? undefined : mergedAt.get(id))),
        created_at: first,
        is_identified: merged === 1,
      };
      return [main, person];
    }),
  );
}

/**
 * Bytes of stored changes of each person, by main id. Rows that ClickHouse has not merged yet are counted separately.
 */
export async function sizesOf(reads: ProjectReads, mains: readonly string[]): Promise<Map<string, number>> {
  const rows = await reads.query<{ main: string; bytes: string }>(
    `SELECT if(m.main_id = '', p.distinct_id, m.main_id) AS main, sum(p.bytes) AS bytes
     FROM (
       SELECT distinct_id, sum(length(w.4) + length(key)) AS bytes FROM person_props
       WHERE ${ofProject} AND distinct_id IN ${idsOf(wanted)} GROUP BY distinct_id
     ) AS p
     LEFT ANY JOIN ${merges} AS m ON p.distinct_id = m.distinct_id
     GROUP BY main`,
    { mains },
  );
  return new Map(rows.map(({ main, bytes }) => [main, Number(bytes)]));
}

function readDecisive(reads: ProjectReads, mains: readonly string[], rows: string): Promise<DecisiveRow[]> {
  return reads.query<DecisiveRow>(
    `SELECT main, toString(key) AS key, one.1 AS distinct_id, one.3 AS kind, toString(one.2.1) AS at,
       toString(one.2.2) AS tie, one.2.3 AS op, one.2.4 AS value, toString(one.4) AS merged
     FROM (${rows})`,
    { mains },
    options,
  );
}

/** A page of a person's distinct ids, in the order of Person.distinct_ids, and how many there are. */
export async function listDistinctIds(
  reads: ProjectReads,
  main_id: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ count: number; distinct_ids: string[] }> {
  const params = { mains: [main_id] };
  const from = `FROM seen WHERE ${ofProject} AND distinct_id IN ${idsOf(wanted)}`;
  const [counted, rows] = await Promise.all([
    reads.query<{ count: string }>(`SELECT uniqExact(distinct_id) AS count ${from}`, params),
    reads.query<{ distinct_id: string }>(
      `SELECT distinct_id ${from} GROUP BY distinct_id
       ORDER BY distinct_id != {main_id:String}, distinct_id LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
      { ...params, main_id, limit, offset },
    ),
  ]);
  return { count: Number(counted[0]?.count ?? 0), distinct_ids: rows.map((row) => row.distinct_id) };
}
