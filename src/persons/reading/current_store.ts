// Persons by the current values of their properties. Stored changes are searched first: a current value is one of
// them. Only the persons found by them are folded, since folding all of a project takes twenty times as long.

import type { ProjectReads } from "../../storage/clickhouse/query_options.ts";
import { frequentValues } from "../../storage/events/frequent_values.ts";

const ofProject = "project_id = {project_id:UInt32}";

/** A condition on rows of person_props, and one on a value: JSON text in `value`, as a member in `properties`. */
interface Holding {
  /** Over `key`. */
  keys: string;
  /** Over `value` and `properties`. */
  holds: string;
}

/** A statement with the main ids of the persons of whom the current value of one of these keys satisfies `holds`. */
export function mainsHolding({ keys, holds }: Holding): string {
  const candidates = `SELECT distinct_id FROM (
      SELECT distinct_id, w.3 AS op, ${valueOf("w.4")} FROM person_props WHERE ${ofProject} AND ${keys}
    ) WHERE op != 2 AND ${holds}`;
  const ids = `SELECT distinct_id FROM (${candidates}) UNION ALL
    SELECT distinct_id FROM merged_ids FINAL WHERE ${ofProject} AND main_id IN (
      SELECT main_id FROM merged_ids FINAL WHERE ${ofProject} AND distinct_id IN (${candidates})
    )`;
  return `SELECT main FROM (
      SELECT main, ${valueOf("current")} FROM (${currentValues(keys, ids)})
    ) WHERE ${holds}`;
}

function valueOf(text: string): string {
  return `${text} AS value, concat('{', toJSONString(toString(key)), ':', value, '}') AS properties, key`;
}

/**
 * The current value of each of these keys, as in the view person_properties: rows of `main`, `key` and `current`.
 * @param ids a statement with all ids of the persons that are wanted; by default those of all persons.
 */
export function currentValues(keys: string, ids?: string): string {
  const among = ids === undefined ? "" : `AND distinct_id IN (${ids})`;
  return `SELECT main, key, if(is_set, last.6, later[1].6) AS current FROM (
      SELECT main, key, maxIf((senior, weak, at, tie, op, text), kind = 0) AS last, countIf(kind = 0) > 0 AS was_set,
        was_set AND last.5 = 0 AS is_set,
        arraySort(arrayFilter(
          once -> NOT was_set OR (once.2, once.5, once.3, once.4) > (last.1, last.2, last.3, last.4),
          groupArrayIf((entered, senior, at, tie, weak, text), kind > 0)
        )) AS later
      FROM (
        SELECT if(m.main_id = '', p.distinct_id, m.main_id) AS main, p.key AS key, p.kind AS kind,
          if(p.kind = 1, -p.w.1, p.w.1) AS at,
          if(p.kind = 1, bitNot(p.w.2), p.w.2) AS tie,
          p.w.3 AS op, p.w.4 AS text,
          toUnixTimestamp64Micro(m.merged_at) AS merged,
          m.main_id = '' OR m.main_id = p.distinct_id OR at >= merged AS senior,
          if(senior, 0, -merged) AS weak,
          if(senior, at, merged) AS entered
        FROM (
          SELECT distinct_id, key, kind, w FROM person_props WHERE ${ofProject} AND ${keys} ${among}
        ) AS p
        LEFT ANY JOIN (
          SELECT distinct_id, main_id, merged_at FROM merged_ids FINAL WHERE ${ofProject}
        ) AS m ON p.distinct_id = m.distinct_id
      )
      GROUP BY main, key
    ) WHERE is_set OR notEmpty(later)`;
}

export function listPersonValues(reads: ProjectReads, key: string, search: string | undefined) {
  const values = `SELECT current AS value FROM (${currentValues("key = {key:String}")})`;
  return frequentValues(reads, { values, params: { key }, search });
}
