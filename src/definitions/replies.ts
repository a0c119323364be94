// Names as replies show them.

import { isoWithFraction } from "../http/fields/field_time.ts";
import { definitionTypes } from "./model.ts";
import type { StoredEventName, StoredPropertyName } from "./store.ts";

const fixed = { query_usage_30_day: null, description: null, tags: [], verified: false, hidden: false };

export function eventReply({ id, name, created_at, last_seen_at, volume }: StoredEventName) {
  const created = isoWithFraction(created_at);
  const last = last_seen_at === "" ? null : isoWithFraction(last_seen_at);
  return {
    id,
    name,
    created_at: created,
    last_seen_at: last,
    last_updated_at: last ?? created,
    volume_30_day: Number(volume),
    ...fixed,
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
) {
  return {
    id,
    name,
    type: definitionTypes[kind - 1]!,
    group_type_index: indexes.get(group_type) ?? null,
    property_type: (property_type || null) as "DateTime" | "String" | "Numeric" | "Boolean" | null,
    is_numerical: property_type === "Numeric",
    is_seen_on_filtered_events: isRequested ? Boolean(is_seen) : null,
    created_at: isoWithFraction(created_at),
    ...fixed,
  };
}
