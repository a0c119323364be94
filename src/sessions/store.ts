// Values of session properties, from the sessions that events told of. Never looks beyond one project.

import { limits } from "../core/limits.ts";
import type { ClickHouse, QueryOptions } from "../storage/clickhouse/clickhouse.ts";
import type { TextName } from "./property.ts";

/** What each property is of a row of `sessions`; those not named here are an ad's click ids. */
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

const queryOptions: QueryOptions = {
  // The engine gives up first and says why; the client only guards against an engine that says nothing.
  timeoutMs: limits.querySecondsMax * 1000 + limits.engineSaysMsMax,
  // One thread: a reader who waits a little longer costs capture nothing, all cores at once would.
  settings: { max_execution_time: limits.querySecondsMax, max_threads: 1 },
};

export interface ValueFilter {
  project_id: number;
  property: TextName;
  /** Only values with this in them, whatever its case. */
  part: string;
  limit: number;
}

/** The values that occur, those of most sessions first. */
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
