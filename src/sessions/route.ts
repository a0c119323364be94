// Look-ups of session properties over HTTP: which there are, and which values they have. Never changes anything.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import { readLimit, requestUrl } from "../http/pages/page.ts";
import { flagParameter, limitParameter, queryParameter, reply } from "../http/fields/schema.ts";
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

export interface SessionRoutes {
  gate: Gate;
  clickhouse: ClickHouse;
}

export function sessionRoutes({ gate, clickhouse }: SessionRoutes) {
  const app = new Elysia({ name: "sessions", tags: ["Sessions"] }).use(gate);
  for (const home of projectHomes) {
    app.get(
      `${home}/sessions/property_definitions/`,
      ({ request }) => {
        const query = requestUrl(request).searchParams;
        const found = findProperties(query.get("search") ?? "", readFlag(query.get("is_numerical")));
        return { count: found.length, results: found.map(definitionOf) };
      },
      {
        project_scope: "query:read",
        detail: {
          summary: "List the properties of sessions",
          parameters: [
            queryParameter("search", "Only properties with all of these words in their name."),
            flagParameter("is_numerical", "true: only numbers; false: only others."),
          ],
          responses: { 200: reply("The properties; all of them, in one piece.", definitionsModel) },
        },
      },
    );
    app.get(
      `${home}/sessions/values/`,
      async ({ project, request }) => {
        const query = requestUrl(request).searchParams;
        // Asked for no property's values, there are none to list.
        const name = query.get("key") ?? "";
        const part = query.get("value") ?? "";
        const limit = readLimit(query);
        const fixed = findFixedValues(name, part);
        if (fixed) return fixed.slice(0, limit).map((value) => ({ name: value }));
        if (!isTextName(name)) return [];
        const filter = { project_id: project.id, property: name, part, limit };
        return (await listValues(readsUntil(clickhouse, request.signal), filter)).map((value) => ({
          name: value,
        }));
      },
      {
        project_scope: "query:read",
        detail: {
          summary: "List the values of a session property, most frequent first",
          parameters: [
            queryParameter(
              "key",
              "The property's name: without one no values are listed. Numbers and moments have no list.",
            ),
            queryParameter("value", "Only values with this in them."),
            limitParameter("Values"),
          ],
          responses: { 200: reply("The values.", valuesModel) },
        },
      },
    );
  }
  return app;
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

function readFlag(text: string | null): boolean | undefined {
  if (text === "true") return true;
  return text === "false" ? false : undefined;
}
