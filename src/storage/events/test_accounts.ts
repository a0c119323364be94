// Test accounts: the property filters of a project's settings. With `filterTestAccounts` a query reads the events, or
// the persons, that pass all of them.

import type { Postgres } from "../postgres/postgres.ts";
import { checkPropertyFilters, filtersOfQueries, type PropertyFilter } from "./property_filter.ts";

/**
 * The filters of a project's `test_account_filters`; none when it has none, or does not exist.
 * @throws Fault for a filter that is not supported any more.
 */
export async function testAccountFilters(sql: Postgres, project_id: number): Promise<PropertyFilter[]> {
  const [row] = await sql<{ test_account_filters: unknown }[]>`
    SELECT test_account_filters FROM projects WHERE id = ${project_id}`;
  return checkPropertyFilters(row?.test_account_filters, "test_account_filters", filtersOfQueries);
}
