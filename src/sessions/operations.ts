// Session properties over HTTP: which there are, and which values they have.

import type { Gate } from "../access/gate.ts";
import { flagParameter, limitParameter, textParameter } from "../http/fields/query.ts";
import { reply } from "../http/fields/schema.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { type ClickHouse, readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { definitionsModel, valuesModel } from "./model.ts";
import {
  findFixedValues,
  findProperties,
  isNumerical,
  isTextName,
  type SessionProperty,
} from "./property.ts";
import { listValues } from "./store.ts";

export function sessionRoutes({ gate, clickhouse }: { gate: Gate; clickhouse: ClickHouse }) {
  return mounted(gate, "Sessions", [
    projectOperation({
      method: "GET",
      path: "sessions/property_definitions/",
      scope: "query:read",
      summary: "List the properties of sessions",
      query: {
        search: textParameter("Only properties with all of these words in their name."),
        is_numerical: flagParameter("true: only numbers; false: only others."),
      },
      replies: { 200: reply("The properties; all of them, in one piece.", definitionsModel) },
      answer: ({ query: { search = "", is_numerical } }) => {
        const found = findProperties(search, is_numerical);
        return { count: found.length, results: found.map(definitionOf) };
      },
    }),
    projectOperation({
      method: "GET",
      path: "sessions/values/",
      scope: "query:read",
      summary: "List the values of a session property, most frequent first",
      query: {
        key: textParameter(
          "The property's name: without one no values are listed. Numbers and moments have no list.",
        ),
        value: textParameter("Only values with this in them."),
        limit: limitParameter("Values"),
      },
      replies: { 200: reply("The values.", valuesModel) },
      answer: async ({ project, query, request }) => {
        const { key: property = "", value: part = "", limit } = query;
        const fixed = findFixedValues(property, part);
        if (fixed) return fixed.slice(0, limit).map((name) => ({ name }));
        if (!isTextName(property)) return [];
        const filter = { project_id: project.id, property, part, limit };
        const values = await listValues(readsUntil(clickhouse, request.signal), filter);
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
