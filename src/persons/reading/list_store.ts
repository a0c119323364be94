// The persons of a page, and their number, from ClickHouse.

import type { Page } from "../../http/pages/page.ts";
import {
  filteredOptions,
  orderedOptions,
  type ProjectReads,
  queryOptions,
} from "../../storage/clickhouse/query_options.ts";
import { compilePropertyFilters, type PropertyFilter } from "../../storage/events/property_filter.ts";
import { mainsHolding, ofProject, withMains } from "./current_store.ts";

export interface PersonFilter {
  /** Only the person with this main id. */
  main_id?: string | undefined;
  /** A text that a distinct id, an e-mail address or a name contains. */
  search?: string | undefined;
  /** The person whose uuid that text is. */
  searchedId?: string | undefined;
  properties: readonly PropertyFilter[];
  /** The moment that relative dates count from, in ms since 1970, and the zone of days. */
  now: number;
  timezone: string;
}

const searchedKeys = ["email", "Email", "name", "Name", "username", "Username"];

const contains = (text: string) => `positionCaseInsensitiveUTF8(${text}, {search:String}) > 0`;

/** Main ids of persons of whom one id satisfies a condition. */
const mainsNamed = (holds: string) =>
  `SELECT main FROM (${withMains(`SELECT distinct_id FROM seen WHERE ${ofProject} AND ${holds}`)})`;

/** Main ids of persons with a distinct id, a current e-mail address or a current name that contains the text. */
const found = `(
  ${mainsNamed(contains("distinct_id"))}
  UNION ALL
  ${mainsHolding("key IN {keys:Array(String)}", contains("JSONExtractString(value)"))}
)`;

/** Main ids: distinct ids that were seen and are not merged into another. */
const mains = `FROM seen WHERE ${ofProject} AND distinct_id NOT IN (
    SELECT distinct_id FROM merged_ids FINAL WHERE ${ofProject} AND main_id != distinct_id
  )`;

export async function countPersons(reads: ProjectReads): Promise<number> {
  const [row] = await reads.query<{ count: string }>(
    `SELECT count() AS count FROM (SELECT distinct_id ${mains} GROUP BY distinct_id)`,
  );
  return Number(row?.count ?? 0);
}

const orders = { created_at: "min(first)", last_seen_at: "max(last)" };
export const personOrders = Object.keys(orders).flatMap((name) => [name, `-${name}`] as PersonOrder[]);
export type PersonOrder = `${"" | "-"}${keyof typeof orders}`;

/** The moments of persons with merged ids, of which a main id's own row has a part. */
const mergedMoments = (moment: string) => `SELECT main_id AS distinct_id, ${moment} AS merged_moment
  FROM (SELECT distinct_id, first, last FROM seen WHERE ${ofProject} AND distinct_id IN (
    SELECT distinct_id FROM merged_ids FINAL WHERE ${ofProject}
  )) AS s
  INNER JOIN (SELECT distinct_id, main_id FROM merged_ids FINAL WHERE ${ofProject}) AS m USING (distinct_id)
  GROUP BY main_id`;

/** Sorts main ids, of `mains` with further conditions: by themselves, or by a moment of their persons. */
function sortMains(selected: string, ordering: PersonOrder | undefined): string {
  if (!ordering) return `SELECT distinct_id ${selected} GROUP BY distinct_id ORDER BY distinct_id`;
  const [, minus, name] = /^(-?)(.*)$/.exec(ordering)!;
  const moment = orders[name as keyof typeof orders];
  return `SELECT distinct_id FROM (
      SELECT distinct_id, ${moment} AS moment ${selected} GROUP BY distinct_id
    ) AS own
    LEFT ANY JOIN (${mergedMoments(moment)}) AS merged USING (distinct_id)
    ORDER BY if(merged_moment = 0, moment, merged_moment) ${minus ? "DESC" : "ASC"}, distinct_id`;
}

/** The main ids on a page, by default sorted by themselves, which reads no more than the page. */
export async function listMainIds(
  reads: ProjectReads,
  { limit, offset }: Page,
  ordering?: PersonOrder,
): Promise<string[]> {
  const rows = await reads.query<{ distinct_id: string }>(
    `${sortMains(mains, ordering)} LIMIT {limit:UInt64} OFFSET {offset:UInt64}`,
    { limit, offset },
    orderedOptions,
  );
  return rows.map(({ distinct_id }) => distinct_id);
}

/** A page of the main ids of persons that match the filter, sorted as listMainIds() does, and how many match. */
export async function filterMainIds(
  reads: ProjectReads,
  { main_id, search, searchedId = "", properties, now, timezone }: PersonFilter,
  { limit, offset }: Page,
  ordering?: PersonOrder,
): Promise<{ count: number; mains: string[] }> {
  const params: Record<string, unknown> = { limit, offset };
  const conditions = [mains];
  if (main_id !== undefined) {
    params["main_id"] = main_id;
    conditions.push("distinct_id = {main_id:String}");
  }
  if (search !== undefined) {
    Object.assign(params, { search, keys: searchedKeys, searched_id: searchedId });
    conditions.push(`(distinct_id IN ${found}${searchedId ? " OR distinct_id = {searched_id:String}" : ""})`);
  }
  const lookup = {
    column: "distinct_id",
    of: (key: string, holds: string) => mainsHolding(`key = ${key}`, holds),
    named: mainsNamed,
  };
  const options = { rows: "persons", now, timezone, lookup } as const;
  conditions.push(compilePropertyFilters(properties, params, "property", options));
  const [answer] = await reads.query<{ count: string; mains: string[] }>(
    `SELECT count() AS count, arraySlice(groupArray(distinct_id), {offset:UInt64} + 1, {limit:UInt64}) AS mains
     FROM (${sortMains(conditions.join(" AND "), ordering)})`,
    params,
    // A search alone fails on no value, and takes a fifth longer in written order.
    properties.length > 0 ? filteredOptions : queryOptions,
  );
  return { count: Number(answer?.count ?? 0), mains: answer?.mains ?? [] };
}
