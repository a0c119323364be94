// Checks the filters of a list of recordings: which properties exist, and which of an event can be used.

import { isDictionary, jsonIn } from "../../core/json/dictionary.ts";
import { fieldFault } from "../../http/fields/field_fault.ts";
import {
  checkPropertyFilters,
  type PropertyCondition,
  type PropertyFilter,
} from "../../storage/events/property_filter.ts";
import { sessionExpressions } from "../../storage/events/session_property.ts";
import { sessionRecordingLimits } from "../limits.ts";

/** Recordings whose session has an event of this name with these properties. */
export interface EventFilter {
  /** undefined: any name. */
  event: string | undefined;
  filters: readonly PropertyFilter[];
}

/** Figures of recordings by which lists are filtered and ordered: the name in requests → the column. */
const numbers = {
  duration: "recording_duration",
  recording_duration: "recording_duration",
  active_seconds: "active_seconds",
  inactive_seconds: "inactive_seconds",
  click_count: "click_count",
  keypress_count: "keypress_count",
  mouse_activity_count: "mouse_activity_count",
  console_log_count: "console_log_count",
  console_warn_count: "console_warn_count",
  console_error_count: "console_error_count",
  activity_score: "activity_score",
} as const;

export const recordingColumns: Readonly<Record<string, string>> = {
  ...numbers,
  snapshot_source: "snapshot_source",
};

export const orders: Readonly<Record<string, string>> = { start_time: "start_time", ...numbers };

/** Columns that count log lines of a level. */
export const logColumns: Readonly<Record<string, string>> = {
  info: "console_log_count",
  log: "console_log_count",
  warn: "console_warn_count",
  warning: "console_warn_count",
  error: "console_error_count",
};

const anyType = ["event", "person", "group", "session", "recording", "log_entry"] as const;
type FilterType = (typeof anyType)[number];

/** Filters of these types in the query key `name`. @throws Fault */
export function readFilters(query: URLSearchParams, attr: string, types: readonly FilterType[] = anyType) {
  const value = readJson(query, attr);
  const only = types.length === 1 ? types[0] : undefined;
  const typed = only === undefined ? value : withType(value, only);
  const filters = checkPropertyFilters(typed, attr, { types });
  return checkKeys(filters, attr);
}

/** In a list of filters of one type, the type may be left out. */
function withType(value: unknown, type: FilterType): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown) =>
    isDictionary(item) && !("type" in item) && !("values" in item) ? { ...item, type } : item,
  );
}

const keysOf: Partial<Record<PropertyCondition["type"], readonly string[]>> = {
  session: Object.keys(sessionExpressions),
  recording: Object.keys(recordingColumns),
  log_entry: ["level"],
};

function checkKeys(filters: readonly PropertyFilter[], attr: string): PropertyFilter[] {
  return filters.map((filter, i) => {
    const at = `${attr}__${i}`;
    if (filter.type === "hogql") return filter;
    if (!("key" in filter)) return { ...filter, values: checkKeys(filter.values, `${at}__values`) };
    if (filter.type === "recording" && filter.key === "visited_page") return ofPage(filter);
    const allowed = keysOf[filter.type];
    if (allowed && !allowed.includes(filter.key)) {
      const detail = `"${filter.key.slice(0, 100)}" cannot be filtered by. These can: ${allowed.join(", ")}.`;
      throw fieldFault("invalid_choice", detail, [at, "key"]);
    }
    if (filter.type === "log_entry") checkLevels(filter, at);
    return filter;
  });
}

/** A page that was visited, by the session's events. */
const ofPage = (filter: PropertyCondition): PropertyCondition => ({
  ...filter,
  type: "event",
  key: "$current_url",
});

function checkLevels({ operator, values }: PropertyCondition, at: string): void {
  if (!["exact", "in", "is_not", "not_in"].includes(operator))
    throw fieldFault("invalid_choice", `"${operator}" is not supported for a level.`, [at, "operator"]);
  const level = values.find((value) => !Object.hasOwn(logColumns, String(value)));
  if (level === undefined) return;
  const detail = `"${String(level).slice(0, 100)}" is not a level. These are: ${Object.keys(logColumns).join(", ")}.`;
  throw fieldFault("invalid_choice", detail, [at, "value"]);
}

const eventFields = ["id", "name", "custom_name", "type", "order", "properties"];

/** The events in the query key `name`. @throws Fault */
export function readEvents(query: URLSearchParams, name: string): EventFilter[] {
  const value = readJson(query, name);
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw fieldFault("not_a_list", "Expected a JSON list of events.", [name]);
  const { eventFiltersMax } = sessionRecordingLimits;
  if (value.length > eventFiltersMax)
    throw fieldFault("max_length", `Ensure this field has no more than ${eventFiltersMax} elements.`, [name]);
  return value.map((item: unknown, i) => checkEventFilter(item, `${name}__${i}`));
}

function checkEventFilter(value: unknown, at: string): EventFilter {
  if (!isDictionary(value)) throw fieldFault("not_a_dict", "Expected an event: an object with an id.", [at]);
  const unknownField = Object.keys(value).find((field) => !eventFields.includes(field));
  if (unknownField !== undefined) {
    const detail = `An event has no field "${unknownField.slice(0, 100)}" here; it has ${eventFields.join(", ")}.`;
    throw fieldFault("invalid_input", detail, [at, unknownField.slice(0, 100)]);
  }
  const { id, type = "events", properties } = value;
  if (type !== "events") {
    const detail = `"${String(type).slice(0, 100)}" is not supported; "events" is.`;
    throw fieldFault("invalid_choice", detail, [at, "type"]);
  }
  if (id === undefined) throw fieldFault("required", "This field is required.", [at, "id"]);
  if (id !== null && !isEventName(id))
    throw fieldFault("invalid_input", "The name of an event is needed, or null for any event.", [at, "id"]);
  const filters = checkPropertyFilters(properties, `${at}__properties`);
  return { event: id ?? undefined, filters };
}

function isEventName(id: unknown): id is string {
  const { eventNameCharsMax } = sessionRecordingLimits;
  return typeof id === "string" && id !== "" && id.length <= eventNameCharsMax && !id.includes("\0");
}

/** @throws Fault for what is no JSON. */
export function readJson(query: URLSearchParams, name: string): unknown {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = jsonIn(text);
  if (value === undefined) throw fieldFault("invalid_input", "Expected JSON.", [name]);
  return value;
}
