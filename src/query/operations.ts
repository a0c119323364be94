// Queries over HTTP, run at once. Saved queries are insights.

import type { Gate } from "../access/gate.ts";
import { reply } from "../http/fields/schema.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { slicedJson } from "../http/pages/sliced.ts";
import type { QueryEngine } from "./engine.ts";
import { isForced, queryBody, queryReply } from "./model.ts";

export function queryRoutes({ gate, engine }: { gate: Gate; engine: QueryEngine }) {
  return mounted(gate, "Queries", [
    projectOperation({
      method: "POST",
      path: "query/",
      scope: "query:read",
      summary: "Run a query",
      description:
        "Trends, funnels, retention, a list of events or SQL (`HogQLQuery`), computed at once; what of PostHog's " +
        "queries is not supported is refused by name. A funnel's `average_conversion_time` and " +
        "`median_conversion_time` of a step are seconds, of the persons who got there: from the latest time they " +
        "were at the step before to the first time they got to this one, in order and within the window; null " +
        "for the first step. A result that took more than a second is kept for ten minutes and given again " +
        "(`is_cached`, `last_refresh`), unless `refresh` is `force_blocking`, `force_async` or true.",
      body: queryBody,
      replies: { 200: reply("Its results.", queryReply) },
      answer: async ({ access, project, body: { query, refresh }, request }) => {
        const mayBeKept = !isForced(refresh);
        const result = await engine.ask(project.id, query, {
          mayBeKept,
          scopes: access.key.scopes,
          abort: request.signal,
        });
        const { results, timezone, date_from, date_to, computed_at, table, is_cached } = result;
        return await slicedJson({
          results,
          timezone,
          resolved_date_range: { date_from, date_to },
          is_cached,
          last_refresh: computed_at,
          error: null,
          ...table,
          ...(table?.hogql !== undefined && {
            query: table.hogql,
            types: table.columns.map((name, i) => [name, table.types[i]]),
            timings: [],
          }),
        });
      },
    }),
  ]);
}
