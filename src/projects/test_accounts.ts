// Checks the filters by which a project knows its test accounts.

import { Fault } from "../core/fault.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import { whyNoPattern } from "../storage/clickhouse/trial.ts";
import { checkPropertyFilters, filtersOfQueries, patternsIn } from "../storage/events/property_filter.ts";
import { projectLimits } from "./limits.ts";

const attr = "test_account_filters";

/** @throws Fault for what no query could filter by: it would make each query fail that leaves test accounts out. */
export async function checkTestAccountFilters(clickhouse: ClickHouse, value: unknown): Promise<void> {
  if (value === undefined) return;
  const filters = checkPropertyFilters(value, attr, filtersOfQueries);
  const max = projectLimits.testAccountFiltersBytesMax;
  if (Buffer.byteLength(JSON.stringify(value)) > max) {
    throw new Fault("max_length", `Ensure these filters have no more than ${max} bytes as JSON.`, { attr });
  }
  const reason = await whyNoPattern(clickhouse, patternsIn(filters));
  if (reason !== undefined) throw new Fault("invalid_input", reason, { attr });
}
