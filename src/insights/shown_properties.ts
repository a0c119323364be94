// The properties that SQL of insights would show to whoever has a link.

import { Fault } from "../core/fault.ts";
import type { QueryEngine } from "../query/engine.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { getDashboardContent, getShownInsights, type InsightRow } from "./store.ts";

/** Returns a function that lists the properties that SQL on a dashboard would show. */
export function openSharedProperties({ sql, queries }: { sql: Postgres; queries: QueryEngine }) {
  return async (project_id: number, id: number): Promise<string[]> => {
    const content = await getDashboardContent(sql, project_id, id);
    return await listProperties(queries, content ? await getShownInsights(sql, project_id, content) : []);
  };
}

/** The properties that SQL of these insights would show, each once. */
export async function listProperties(
  queries: QueryEngine,
  rows: readonly Pick<InsightRow, "project_id" | "query">[],
): Promise<string[]> {
  const names = new Set<string>();
  for (const { project_id, query } of rows) {
    const shown = await queries.shownColumns(project_id, query).catch((thrown: unknown) => {
      if (!(thrown instanceof Fault) || thrown.code === "unavailable") throw thrown;
    });
    for (const name of shown?.properties ?? []) names.add(name);
  }
  return [...names];
}
