// Queries over HTTP, run at once. Saved queries are insights.

import type { Gate } from "../access/gate.ts";
import { reply } from "../http/fields/schema.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { slicedJson } from "../http/pages/sliced.ts";
import type { QueryEngine } from "./engine.ts";
import { queryBody, queryReply } from "./model.ts";

export function queryRoutes({ gate, engine }: { gate: Gate; engine: QueryEngine }) {
  return mounted(gate, "Queries", [
    projectOperation({
      method: "POST",
      path: "query/",
      scope: "query:read",
      summary: "Run a query",
      description:
        "Trends, funnels, retention or a list of events, computed at once. Without SQL; what of PostHog's " +
        "queries is not supported is refused by name. A funnel's `average_conversion_time` and " +
        "`median_conversion_time` of a step are seconds, of the persons who got there: from the latest time they " +
        "were at the step before to the first time they got to this one, in order and within the window; null " +
        "for the first step.",
      body: queryBody,
      replies: { 200: reply("Its results.", queryReply) },
      answer: async ({ project, body: { query }, request }) => {
        const result = await engine.run(project.id, query, undefined, request.signal);
        const { results, timezone, date_from, date_to, computed_at, columns } = result;
        return await slicedJson({
          results,
          timezone,
          resolved_date_range: { date_from, date_to },
          is_cached: false,
          last_refresh: computed_at,
          error: null,
          ...(columns && { columns, types: result.types, hasMore: result.hasMore }),
          ...(columns && { limit: result.limit, offset: result.offset }),
        });
      },
    }),
  ]);
}
