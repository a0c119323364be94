// Queries over HTTP. Never keeps one: saved queries are insights.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import { readFields } from "../http/body.ts";
import { reply, requestBody } from "../http/fields/schema.ts";
import { slicedJson } from "../http/pages/sliced.ts";
import type { QueryEngine } from "./engine.ts";
import { queryBody, queryReply } from "./model.ts";

export interface QueryRoutes {
  gate: Gate;
  engine: QueryEngine;
}

export function queryRoutes({ gate, engine }: QueryRoutes) {
  const app = new Elysia({ name: "query", tags: ["Queries"] }).use(gate);
  for (const home of projectHomes) {
    app.post(
      `${home}/query/`,
      async ({ project, request }) => {
        const { query } = await readFields(request, queryBody);
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
      {
        project_scope: "query:read",
        detail: {
          summary: "Run a query",
          description:
            "Trends, funnels, retention or a list of events, computed at once. Without SQL; what of PostHog's " +
            "queries is not supported is refused by name. A funnel's `average_conversion_time` and " +
            "`median_conversion_time` of a step are seconds, of the persons who got there: from the latest time they " +
            "were at the step before to the first time they got to this one, in order and within the window; null " +
            "for the first step.",
          requestBody: requestBody(queryBody),
          responses: { 200: reply("Its results.", queryReply) },
        },
      },
    );
  }
  return app;
}
