// Reads persons with many distinct ids. ClickHouse selects the changes that count, counts the ids and returns the
// first of them, so that the ids themselves need not be sent.

import { unavailable } from "../../core/fault.ts";
import type { Page } from "../../http/pages/page.ts";
import { orderedOptions, type ProjectReads } from "../../storage/clickhouse/query_options.ts";
import { ownPersonId } from "../identity.ts";
import { personLimits } from "../limits.ts";
import { ofProject, rankedChanges, withMains } from "./current_store.ts";
import { type CurrentValue, type Person, writeProperties } from "./fold.ts";

/** All distinct ids of the persons whose main ids the SQL expression lists. */
function selectIds(mains: string): string {
  return `(SELECT distinct_id FROM merged_ids FINAL WHERE ${ofProject} AND main_id IN ${mains}
    UNION ALL SELECT arrayJoin(${mains}))`;
}

const mainsParam = "{mains:Array(String)}";

/** Rows of the persons' ids in a table, each with its main id. */
function selectRows(columns: string, table: string, groupBy: string): string {
  return `SELECT ${columns} FROM ${table} WHERE ${ofProject}
    AND distinct_id IN ${selectIds(mainsParam)} GROUP BY ${groupBy}`;
}

const moments = "distinct_id, min(first) AS first, max(last) AS last";
const seenRows = selectRows(moments, "seen", "distinct_id");
const ofMains = `main_id IN ${mainsParam}`;

const changes = rankedChanges(
  selectRows("distinct_id, key, kind, max(w) AS w", "person_props", "distinct_id, key, kind"),
  ofMains,
);

/** Only the latest changed keys of a person, since a reply shows no more. */
const latestKeys = `GROUP BY main, key ORDER BY main, max(abs(at)) DESC LIMIT ${personLimits.personKeysMax} BY main`;

/** Selects for each person and key the latest set or unset, else the first set_once. */
const decisive = `SELECT main, key, if(lasts > 0, last, first) AS one, lasts > 0 AND last_op = 2 AS is_unset FROM (
    SELECT main, key, argMaxIf((at, text), rank, kind = 0) AS last, argMaxIf(op, rank, kind = 0) AS last_op,
      argMinIf((at, text), entry, kind > 0) AS first, countIf(kind = 0) AS lasts
    FROM (${changes}) ${latestKeys}
  )`;

/** Selects the first set_once after it for each key whose latest change is an unset. */
const afterUnsets = `SELECT main, key, argMin((at, text), entry) AS one, 0 AS is_unset
  FROM (${changes}) AS c
  INNER JOIN (
    SELECT main, key, max(rank) AS last FROM (${changes}) WHERE kind = 0
    GROUP BY main, key HAVING argMax(op, rank) = 2
  ) AS l USING (main, key)
  WHERE kind > 0 AND rank > last ${latestKeys}`;

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
  const [persons, rows] = await Promise.all([
    reads.query<{
      main: string;
      ids: string;
      shown: [number, string][];
      first: string;
      last: string;
      merged: number;
    }>(
      `SELECT main, count() AS ids, min(first) AS first, max(last) AS last, max(main_id != '') AS merged,
         groupArraySorted(${personLimits.distinctIdsShownMax})((distinct_id != main, distinct_id)) AS shown
       FROM (${withMains(seenRows, ofMains)})
       GROUP BY main`,
      { mains },
      orderedOptions,
    ),
    readDecisive(reads, mains, decisive),
  ]);
  // A set_once after an unset is rare, so it is read only for persons that have an unset.
  const unset = new Set(rows.filter(({ is_unset }) => is_unset === 1).map(({ main }) => main));
  const afterUnset = unset.size === 0 ? [] : await readDecisive(reads, [...unset], afterUnsets);
  const current = [...rows.filter(({ is_unset }) => is_unset === 0), ...afterUnset];
  const membersBy = Map.groupBy(current, ({ main }) => main);
  const pairs = persons.map(({ main, ids, shown, first, last, merged }) => {
    const person = {
      uuid: ownPersonId(reads.project_id, main),
      distinct_ids: shown.map(([, id]) => id),
      distinct_ids_count: Number(ids),
      properties: writeProperties(membersBy.get(main) ?? []),
      created_at: first,
      last_seen_at: last,
      is_identified: merged === 1,
    };
    return [main, person] as const;
  });
  return new Map(pairs);
}

/**
 * Bytes of stored changes of each person, by main id. Rows that ClickHouse has not merged yet are counted separately.
 */
export async function readSizes(reads: ProjectReads, mains: readonly string[]): Promise<Map<string, number>> {
  const sizes = "distinct_id, sum(length(w.4) + length(key)) AS bytes";
  const rows = await reads.query<{ main: string; bytes: string }>(
    `SELECT main, sum(bytes) AS bytes FROM (
       ${withMains(selectRows(sizes, "person_props", "distinct_id"), ofMains)}
     ) GROUP BY main`,
    { mains },
  );
  return new Map(rows.map(({ main, bytes }) => [main, Number(bytes)]));
}

function readDecisive(reads: ProjectReads, mains: readonly string[], rows: string) {
  return reads.query<CurrentValue & { main: string; is_unset: number }>(
    `SELECT main, toString(key) AS key, toFloat64(one.1) AS at, one.2 AS value, is_unset FROM (${rows})`,
    { mains },
    orderedOptions,
  );
}

/** A page of a person's distinct ids, in the order of Person.distinct_ids, and how many there are. */
export async function listDistinctIds(reads: ProjectReads, main_id: string, { limit, offset }: Page) {
  const params = { mains: [main_id] };
  const from = `FROM seen WHERE ${ofProject} AND distinct_id IN ${selectIds(mainsParam)}`;
  const [counted, rows] = await Promise.all([
    reads.query<{ count: string }>(`SELECT uniqExact(distinct_id) AS count ${from}`, params),
    reads.query<{ distinct_id: string }>(
      `SELECT distinct_id ${from} GROUP BY distinct_id
       ORDER BY distinct_id != {main_id:String}, distinct_id LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
      { ...params, main_id, limit, offset },
    ),
  ]);
  return { count: Number(counted[0]?.count ?? 0), rows: rows.map((row) => row.distinct_id) };
}
