// Session properties over HTTP: their names, and the values they have.

import { flagParameter, limitParameter, searchParameter, textParameter } from "../http/fields/query.ts";
import { reply } from "../http/fields/schema.ts";
import { mounted, projectOperation, type RoomParts } from "../http/operation.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { toReads } from "../storage/clickhouse/query_options.ts";
import { textExpressions } from "../storage/events/session_property.ts";
import { definitionsModel, type PropertyType, valuesModel } from "./model.ts";
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
        return { count: found.length, results: found.map(toDefinition) };
      },
    }),
    projectOperation("GET /sessions/values/", "query:read", {
      summary: "List the values of a session property, most frequent first",
      description: "Of the million sessions with the highest ids: SDKs' ids rise with time.",
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
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const values = await listValues(reads, expression, { part, limit });
        return values.map((name) => ({ name }));
      },
    }),
  ]);
}

function toDefinition(property: SessionProperty) {
  return {
    id: property.name,
    name: property.name,
    is_numerical: isNumerical(property),
    property_type: property.type,
    is_seen_on_filtered_events: null,
    tags: [],
  };
}

interface SessionProperty {
  name: string;
  type: PropertyType;
}

/** Values that are the same in every project. */
const fixedValues: Readonly<Record<string, readonly string[]>> = {
  $channel_type: (
    "Affiliate, Audio, Cross Network, Direct, Email, Organic Search, Organic Shopping, Organic Social, " +
    "Organic Video, Unknown, Paid Unknown, Paid Search, Paid Shopping, Paid Social, Paid Video, Push, Referral, SMS"
  ).split(", "),
  $is_bounce: ["1", "0"],
};

const sessionProperties: readonly SessionProperty[] = [
  { name: "$start_timestamp", type: "DateTime" },
  { name: "$end_timestamp", type: "DateTime" },
  ...Object.keys(textExpressions).map((name) => ({ name, type: "String" as const })),
  { name: "$channel_type", type: "String" },
  { name: "$pageview_count", type: "Numeric" },
  { name: "$autocapture_count", type: "Numeric" },
  { name: "$screen_count", type: "Numeric" },
  { name: "$session_duration", type: "Duration" },
  { name: "$is_bounce", type: "Boolean" },
  { name: "$vitals_lcp", type: "Numeric" },
];

/** Whether a filter compares the property as a number. */
function isNumerical({ type }: SessionProperty): boolean {
  return type === "Numeric" || type === "Duration";
}

/**
 * The properties whose name contains every word of `search`, in any case; all properties when it has no word. A word
 * consists of letters, digits and underscores.
 */
export function findProperties(search: string, numerical: boolean | undefined): SessionProperty[] {
  const words = search.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  return sessionProperties.filter((property) => {
    if (numerical !== undefined && isNumerical(property) !== numerical) return false;
    return words.every((word) => property.name.toLowerCase().includes(word));
  });
}

/** The fixed values that contain `part`, in any case; undefined for a property without fixed values. */
export function findFixedValues(name: string, part: string): string[] | undefined {
  const values = Object.hasOwn(fixedValues, name) ? fixedValues[name] : undefined;
  return values?.filter((value) => value.toLowerCase().includes(part.toLowerCase()));
}
