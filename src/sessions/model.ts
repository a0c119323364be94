// The replies about session properties.

import Type from "typebox";
import { model, nullable } from "../http/fields/field.ts";

const propertyTypes = ["String", "Numeric", "DateTime", "Boolean", "Duration"] as const;
export type PropertyType = (typeof propertyTypes)[number];

const definitionModel = model("SessionPropertyDefinition", {
  id: Type.String({ description: "The name again." }),
  name: Type.String({ examples: ["$entry_utm_source"] }),
  is_numerical: Type.Boolean(),
  property_type: Type.Enum(propertyTypes, { type: "string" }),
  is_seen_on_filtered_events: nullable(Type.Boolean(), { description: "Not counted here: null." }),
  tags: Type.Array(Type.String()),
});

export const definitionsModel = model("SessionPropertyDefinitionList", {
  count: Type.Integer(),
  results: Type.Array(definitionModel),
});

export const valuesModel = Type.Array(
  model("SessionPropertyValue", { name: Type.String({ examples: ["google"] }) }),
  {
    description: "The most frequent first.",
  },
);
