// Queries in ClickHouse for the values of session properties.

import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import { queryOptions } from "../storage/clickhouse/query_options.ts";
import type { TextName } from "./property.ts";

/** The column of `sessions` of each property. The other properties are click ids of ads. */
const columns: Partial<Record<TextName, string>> = {
  $entry_current_url: "entry_url",
  $entry_pathname: "entry_pathname",
  $entry_hostname: "entry_hostname",
  $end_current_url: "exit_url",
  $end_pathname: "exit_pathname",
  $end_hostname: "exit_hostname",
  $last_external_click_url: "last_external_click_url",
  $entry_referrer: "entry_referrer",
  $entry_referring_domain: "entry_referring_domain",
  $entry_utm_source: "entry_utm_source",
  $entry_utm_campaign: "entry_utm_campaign",
  $entry_utm_medium: "entry_utm_medium",
  $entry_utm_term: "entry_utm_term",
  $entry_utm_content: "entry_utm_content",
};

export interface ValueFilter {
  project_id: number;
  property: TextName;
  /** Part of the values wanted, in any case; empty for all. */
  part: string;
  limit: number;
}

/** Values of the property, those of the most sessions first. */
export async function listValues(
  clickhouse: ClickHouse,
  { project_id, property, part, limit }: ValueFilter,
): Promise<string[]> {
  const column = columns[property];
  const params = { project_id, part, limit, ad: property.replace("$entry_", "") };
  const rows = await clickhouse.query<{ name: string }>(
    `SELECT ${column ?? "entry_click_ids[{ad:String}]"} AS name
     FROM sessions
     WHERE project_id = {project_id:UInt32} AND name != ''
       AND ({part:String} = '' OR positionCaseInsensitiveUTF8(name, {part:String}) > 0)
     GROUP BY name
     ORDER BY count() DESC, name
     LIMIT {limit:UInt64}`,
    params,
    queryOptions,
  );
  return rows.map(({ name }) => name);
}
