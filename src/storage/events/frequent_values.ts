// The most frequent values of a property, which pages propose while a person types.

import type { ProjectReads } from "../clickhouse/query_options.ts";
import { storageLimits } from "../limits.ts";

export interface FrequentValue {
  name: string;
  count: number;
}

/** A property's value, stored as JSON, as text: a text as it is, anything else as its JSON. */
export function valueText(json: string): string {
  return `if(startsWith(${json}, '"'), JSONExtractString(${json}), ${json})`;
}

/**
 * @param query `values`: a SELECT with one row for each thing that is counted, whose `value` is JSON; `search`: only
 *   values that contain this text, in any case.
 */
export async function frequentValues(
  reads: ProjectReads,
  { values, params, search }: { values: string; params: Record<string, unknown>; search: string | undefined },
): Promise<FrequentValue[]> {
  const rows = await reads.query<{ name: string; count: string }>(
    `SELECT name, count() AS count FROM (
       SELECT substringUTF8(${valueText("value")}, 1, {chars:UInt64}) AS name FROM (${values})
       WHERE value NOT IN ('', 'null')
     )
     ${search === undefined ? "" : "WHERE positionCaseInsensitiveUTF8(name, {search:String}) > 0"}
     GROUP BY name ORDER BY count DESC, name LIMIT {listed:UInt64}`,
    {
      ...params,
      ...(search !== undefined && { search }),
      chars: storageLimits.listedValueCharsMax,
      listed: storageLimits.listedValuesMax,
    },
  );
  return rows.map(({ name, count }) => ({ name, count: Number(count) }));
}
