// Names of events and properties in replies.

import Type from "typebox";
import { limits } from "../core/limits.ts";
import {
  exactText,
  flag,
  line,
  model,
  nullable,
  reference,
  strictModel,
  text,
} from "../http/fields/field.ts";
import { isoWithFraction } from "../http/fields/field_time.ts";
import { userModel } from "../http/fields/user.ts";
import { definitionQueryLimits } from "./limits.ts";
import type { Note } from "./note_store.ts";
import type { StoredEventName, StoredPropertyName } from "./store.ts";

const moment = Type.String({ format: "date-time" });
const unknown = { description: "Not known here; always null." };
const never = { description: "Definitions cannot be changed here; always the same." };

/** Fields of every definition whose values do not change. */
const fixedFields = {
  query_usage_30_day: nullable(Type.Integer(), unknown),
};

/** Fields that people change. */
const noted = {
  description: nullable(text({ maxLength: definitionQueryLimits.descriptionCharsMax, blank: true })),
  tags: Type.Array(line({ maxLength: 255 }), { maxItems: limits.tagsMax }),
  verified: flag(),
  hidden: flag({ description: "Left out with `exclude_hidden`." }),
};
const notedOf = {
  ...noted,
  owner: Type.Optional(nullable(reference({ description: "The id of a member." }))),
};
const primaryProperty = nullable(exactText({ maxLength: definitionQueryLimits.primaryPropertyCharsMax }), {
  description: "The property that tells one event from another, for clients.",
});
const noteFields = {
  ...noted,
  owner: nullable(userModel),
  updated_at: moment,
  updated_by: nullable(userModel),
  verified_at: nullable(moment),
  verified_by: nullable(userModel),
};

export const eventDefinitionModel = model("EventDefinition", {
  id: Type.String({ format: "uuid", description: "Computed from the project and the name." }),
  name: Type.String({ examples: ["$pageview"] }),
  created_at: Type.String({ format: "date-time", description: "When the first event of this name arrived." }),
  last_seen_at: Type.Union([moment, Type.Null()], { description: "When the latest event happened." }),
  last_updated_at: moment,
  volume_30_day: Type.Integer({
    description:
      "Events that happened in the last 30 days. Exact up to 65,536 a day, within one percent beyond; an event that " +
      "a client sends twice counts once.",
  }),
  ...fixedFields,
  ...noteFields,
  primary_property: primaryProperty,
  default_columns: Type.Array(Type.String(), never),
  media_preview_urls: Type.Array(Type.String(), never),
  enforcement_mode: Type.String(never),
  is_action: Type.Boolean(never),
  action_id: nullable(Type.Integer(), never),
  is_calculating: Type.Boolean(never),
  last_calculated_at: nullable(moment, never),
  created_by: nullable(Type.Record(Type.String(), Type.Unknown()), never),
  post_to_slack: Type.Boolean(never),
});

export const definitionTypes = ["event", "person", "group"] as const;
const detectedTypes = ["DateTime", "String", "Numeric", "Boolean"] as const;

export const propertyDefinitionModel = model("PropertyDefinition", {
  id: Type.String({ format: "uuid", description: "Computed from the project, the type and the name." }),
  name: Type.String({ examples: ["$current_url"] }),
  type: Type.Enum(definitionTypes, { type: "string", description: "What has the property." }),
  group_type_index: Type.Union([Type.Integer(), Type.Null()], { description: "Of a group's property." }),
  property_type: Type.Union([Type.Enum(detectedTypes, { type: "string" }), Type.Null()], {
    description: "By the first value that shows one; null while there were only lists, objects and nulls.",
  }),
  is_numerical: Type.Boolean(),
  is_seen_on_filtered_events: Type.Union([Type.Boolean(), Type.Null()], {
    description: "Whether one of `event_names` had it; null without `event_names`.",
  }),
  created_at: moment,
  ...fixedFields,
  ...noteFields,
});

export const eventDefinitionBody = strictModel(
  "EventDefinitionUpdate",
  { ...notedOf, primary_property: Type.Optional(primaryProperty) },
  eventDefinitionModel,
);
export const eventMetricsModel = model("EventDefinitionMetrics", { query_usage_30_day: Type.Integer() });
export const primaryPropertiesModel = model("PrimaryProperties", {
  primary_properties: Type.Record(Type.String(), Type.String()),
});
export const propertyDefinitionBody = strictModel(
  "PropertyDefinitionUpdate",
  { ...notedOf, property_type: propertyDefinitionModel.properties.property_type },
  propertyDefinitionModel,
);

const unsaid = { description: null, tags: [], verified: false, hidden: false };
const nobody = {
  updated_by: null,
  verified_at: null,
  verified_by: null,
  owner: null,
  primary_property: null,
};

const showNote = (note: Note | undefined, created: string) => {
  const { id: _, primary_property, ...said } = note ?? { id: "", ...unsaid, updated_at: created, ...nobody };
  return { said: { query_usage_30_day: null, ...said }, primary_property };
};

export function eventReply({ id, name, created_at, last_seen_at, volume }: StoredEventName, note?: Note) {
  const created = isoWithFraction(created_at);
  const last = last_seen_at === "" ? null : isoWithFraction(last_seen_at);
  const { said, primary_property } = showNote(note, created);
  return {
    id,
    name,
    created_at: created,
    last_seen_at: last,
    last_updated_at: last ?? created,
    volume_30_day: Number(volume),
    ...said,
    primary_property,
    default_columns: [],
    media_preview_urls: [],
    enforcement_mode: "allow",
    is_action: false,
    action_id: null,
    is_calculating: false,
    last_calculated_at: null,
    created_by: null,
    post_to_slack: false,
  };
}

export function propertyReply(
  { id, name, kind, group_type, property_type, created_at, is_seen }: StoredPropertyName,
  indexes: ReadonlyMap<string, number>,
  isRequested: boolean,
  note?: Note,
) {
  const created = isoWithFraction(created_at);
  return {
    id,
    name,
    type: definitionTypes[kind - 1]!,
    group_type_index: indexes.get(group_type) ?? null,
    property_type: (property_type || null) as (typeof detectedTypes)[number] | null,
    is_numerical: property_type === "Numeric",
    is_seen_on_filtered_events: isRequested ? Boolean(is_seen) : null,
    created_at: created,
    ...showNote(note, created).said,
  };
}

export const seenTogetherModel = Type.Record(Type.String(), Type.Boolean());
