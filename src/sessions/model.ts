// What the look-ups of session properties answer. Never how sessions rest.

import Type from "typebox";

export const propertyTypes = ["String", "Numeric", "DateTime", "Boolean", "Duration"] as const;
export type PropertyType = (typeof propertyTypes)[number];

export const definitionModel = Type.Object({
  id: Type.String({ description: "The name again." }),
  name: Type.String({ examples: ["$entry_utm_source"] }),
  is_numerical: Type.Boolean(),
  property_type: Type.Enum(propertyTypes, { type: "string" }),
  is_seen_on_filtered_events: Type.Null(),
  tags: Type.Array(Type.String()),
});

export const definitionsModel = Type.Object({
  count: Type.Integer(),
  results: Type.Array(definitionModel),
});

export const valuesModel = Type.Array(Type.Object({ name: Type.String({ examples: ["google"] }) }), {
  description: "The most frequent first.",
});
