// Session properties over HTTP: their names, and the values they have.

import { flagParameter, limitParameter, searchParameter, textParameter } from "../http/fields/query.ts";
import { reply } from "../http/fields/schema.ts";
import { mounted, projectOperation, type RoomParts } from "../http/operation.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { readsOf } from "../storage/clickhouse/query_options.ts";
import { textExpressions } from "../storage/events/session_property.ts";
import { definitionsModel, valuesModel } from "./model.ts";
import { findFixedValues, findProperties, isNumerical, type SessionProperty } from "./property.ts";
import { listValues } from "./store.ts";

export function sessionRoutes({ gate, clickhouse }: RoomParts<"gate" | "clickhouse">) {
  return mounted(gate, "Sessions", [
    projectOperation("GET /sessions/property_definitions/", "query:read", {
      summary: "List the properties of sessions",
      query: {
        search: searchParameter("Only properties with all of these words in their name."),
        is_numerical: flagParameter("true: only numbers; false: only others."),
      },
      replies: { 200: reply("The properties: all of them, in one reply.", definitionsModel) },
      answer: ({ query: { search = "", is_numerical } }) => {
        const found = findProperties(search, is_numerical);
        return { count: found.length, results: found.map(definitionOf) };
      },
    }),
    projectOperation("GET /sessions/values/", "query:read", {
      summary: "List the values of a session property, most frequent first",
      query: {
        key: textParameter(
          "The property's name: without one no values are listed. Numbers and moments have no list.",
        ),
        value: searchParameter("Only values that contain this text."),
        limit: limitParameter("Values"),
      },
      replies: { 200: reply("The values.", valuesModel) },
      answer: async ({ project, query, request }) => {
        const { key: property = "", value: part = "", limit } = query;
        const fixed = findFixedValues(property, part);
        if (fixed) return fixed.slice(0, limit).map((name) => ({ name }));
        const expression = Object.hasOwn(textExpressions, property) ? textExpressions[property] : undefined;
        if (expression === undefined) return [];
        const reads = readsOf(readsUntil(clickhouse, request.signal), project.id);
        const values = await listValues(reads, { expression, part, limit });
        return values.map((name) => ({ name }));
      },
    }),
  ]);
}

function definitionOf(property: SessionProperty) {
  return {
    id: property.name,
    name: property.name,
    is_numerical: isNumerical(property),
    property_type: property.type,
    is_seen_on_filtered_events: null,
    tags: [],
  };
}
