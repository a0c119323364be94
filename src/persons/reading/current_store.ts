// Selects which changes of a property count, as in the view person_properties; and persons by the current values of
// their properties. Stored changes are searched first: a current value is one of them. Only the persons found by them
// are folded, since folding all of a project takes twenty times as long.

import type { ProjectReads } from "../../storage/clickhouse/query_options.ts";
import { frequentValues } from "../../storage/events/frequent_values.ts";

export const ofProject = "project_id = {project_id:UInt32}";

/** Rows of a statement with the main id of their distinct_id as `main`; main_id is empty where it was not merged. */
export function withMains(rows: string, merges = "1"): string {
  return `SELECT *, if(main_id = '', distinct_id, main_id) AS main FROM (${rows}) AS r LEFT ANY JOIN (
      SELECT distinct_id, main_id, merged_at FROM merged_ids FINAL WHERE ${ofProject} AND ${merges}
    ) AS m USING (distinct_id)`;
}

/**
 * Stored changes, which have the columns distinct_id, key, kind and w: of kind 0 the one of the highest `rank` counts,
 * of the other kinds the one of the lowest `entry`, which joined the person first.
 * @param merges a condition on merged_ids.
 */
export function rankedChanges(changes: string, merges?: string): string {
  return `SELECT main, key, kind, w.3 AS op, w.4 AS text,
      if(kind = 1, -w.1, w.1) AS at,
      if(kind = 1, bitNot(w.2), w.2) AS tie,
      toUnixTimestamp64Micro(merged_at) AS merged,
      main_id = '' OR main_id = distinct_id OR at >= merged AS senior,
      if(senior, 0, -merged) AS weak,
      (senior, weak, at, tie) AS rank,
      if(senior, at, merged) AS entered,
      (entered, senior, at, tie) AS entry
    FROM (${withMains(changes, merges)})`;
}

/**
 * A statement with the main ids of the persons of whom the current value of one of these keys satisfies `holds`.
 * @param keys a condition over `key`.
 * @param holds one over a value: JSON text in `value`, as a member in `properties`.
 */
export function mainsHolding(keys: string, holds: string): string {
  const candidates = `SELECT distinct_id FROM (
      SELECT distinct_id, w.3 AS op, ${selectValue("w.4")} FROM person_props WHERE ${ofProject} AND ${keys}
    ) WHERE op != 2 AND ${holds}`;
  const ids = `SELECT distinct_id FROM (${candidates}) UNION ALL
    SELECT distinct_id FROM merged_ids FINAL WHERE ${ofProject} AND main_id IN (
      SELECT main_id FROM merged_ids FINAL WHERE ${ofProject} AND distinct_id IN (${candidates})
    )`;
  return `SELECT main FROM (
      SELECT main, ${selectValue("current")} FROM (${currentValues(keys, ids)})
    ) WHERE ${holds}`;
}

function selectValue(text: string): string {
  return `${text} AS value, concat('{', toJSONString(toString(key)), ':', value, '}') AS properties, key`;
}

/**
 * The current value of each of these keys: rows of `main`, `key` and `current`.
 * @param ids a statement with all ids of the persons that are wanted; by default those of all persons.
 */
function currentValues(keys: string, ids?: string): string {
  const among = ids === undefined ? "" : `AND distinct_id IN (${ids})`;
  const changes = `SELECT distinct_id, key, kind, w FROM person_props WHERE ${ofProject} AND ${keys} ${among}`;
  return `SELECT main, key, if(is_set, last.6, later[1].6) AS current FROM (
      SELECT main, key, maxIf((senior, weak, at, tie, op, text), kind = 0) AS last, countIf(kind = 0) > 0 AS was_set,
        was_set AND last.5 = 0 AS is_set,
        arraySort(arrayFilter(
          once -> NOT was_set OR (once.2, once.5, once.3, once.4) > (last.1, last.2, last.3, last.4),
          groupArrayIf((entered, senior, at, tie, weak, text), kind > 0)
        )) AS later
      FROM (${rankedChanges(changes)})
      GROUP BY main, key
    ) WHERE is_set OR notEmpty(later)`;
}

export function listPersonValues(reads: ProjectReads, key: string, search: string | undefined) {
  const values = `SELECT current AS value FROM (${currentValues("key = {key:String}")})`;
  return frequentValues(reads, { values, params: { key }, search });
}
