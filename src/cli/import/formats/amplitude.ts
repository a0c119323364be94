// Amplitude's export: one event a line, with `event_type`, `event_time` and its properties beside them. A device
// with events before or after its user's is joined to that user.

import { importLimits } from "../limits.ts";
import * as raw from "../reading/raw_fields.ts";
import { usableUuid } from "./posthog.ts";
import { batchText, type JsonRecord, type RecordOutcome, rejected, uuidFrom } from "./record.ts";
import { importTimestamp, type TimeRules } from "./timestamp.ts";

const events: Readonly<Record<string, string>> = {
  "[Amplitude] Page Viewed": "$pageview",
  "[Amplitude] Element Clicked": "$autocapture",
  "[Amplitude] Element Changed": "$autocapture",
};

/** Fields of the row that become properties. */
const ofRow = {
  user_id: "$amplitude_user_id",
  device_id: "$amplitude_device_id",
  session_id: "$amplitude_session_id",
  event_id: "$amplitude_event_id",
  country: "$geoip_country_name",
  region: "$geoip_subdivision_1_name",
  city: "$geoip_city_name",
  ip_address: "$ip",
  language: "$browser_language",
  version_name: "$app_version",
  library: "$lib",
  device_model: "$device_model",
  device_manufacturer: "$device_manufacturer",
};

/** Amplitude's properties that PostHog names otherwise; they are kept under both names. */
const ofEvent = {
  "[Amplitude] Page URL": "$current_url",
  "[Amplitude] Page Domain": "$host",
  "[Amplitude] Page Path": "$pathname",
  "[Amplitude] Page Title": "title",
  "[Amplitude] Viewport Height": "$viewport_height",
  "[Amplitude] Viewport Width": "$viewport_width",
  referrer: "$referrer",
  referring_domain: "$referring_domain",
};

/** @param rules how its times are read. */
export function mapAmplitude(record: JsonRecord, rules: TimeRules): RecordOutcome {
  const { value } = record;
  const event = value["event_type"];
  if (typeof event !== "string" || event === "") return rejected("no event_type");
  if (event === "session_start") return { is: "skipped", reason: "Amplitude's session_start" };
  const times = [value["event_time"], value["client_event_time"], value["server_received_time"]];
  const time = importTimestamp(times, rules);
  if ("is" in time) return time;
  const row = raw.parseRawFields(record.text);
  const distinct_id = raw.fieldId(row, "user_id") ?? raw.fieldId(row, "device_id");
  const properties = readProperties(row);
  if (event === "$groupidentify") describeGroup(row, properties);
  raw.putField(properties, "$session_id", sessionId(record, row));
  const uuid =
    usableUuid(value["uuid"]) ??
    uuidFrom(record, ["amplitude", event, distinct_id ?? ""], raw.fieldId(row, "$insert_id"));
  const text = batchText({
    uuid,
    event: events[event] ?? event,
    distinct_id,
    timestamp: time.text,
    properties,
  });
  const before = identifyText(record, row, time.text);
  return { is: "rewritten", text, ...(before !== undefined && { before }) };
}

/**
 * An `$identify` event that joins the row's device to its first user, once the import has met both the user and an
 * event without one; undefined where there is nothing to join. Past the bound each row with a user joins its device.
 */
function identifyText(record: JsonRecord, row: raw.RawFields, timestamp: string): string | undefined {
  const { devices } = record;
  const [user, device] = [raw.fieldId(row, "user_id"), raw.fieldId(row, "device_id")];
  if (device === undefined || user === device) return undefined;
  const known = devices.get(device);
  const isNew = known === undefined && devices.size < importLimits.devicesMax;
  if (isNew) devices.set(device, user ?? "");
  const owner = known || user;
  // Not of a device that is joined, or that was met only with users so far, or only without.
  const isJoined =
    !isNew && known !== null && (known === undefined || (known === "") === (user !== undefined));
  if (!isJoined || owner === undefined) return undefined;
  if (known !== undefined) devices.set(device, null);
  const uuid = record.toUuid(["amplitude identify", owner, device].join("\n"));
  const properties = `{"$anon_distinct_id":${JSON.stringify(device)},"analytics_source":"amplitude"}`;
  return batchText({ uuid, event: "$identify", distinct_id: owner, timestamp, properties });
}

/** A UUIDv7 of the session's start, in ms, and of its device, as JSON; undefined outside of a session, which is -1. */
function sessionId(record: JsonRecord, row: raw.RawFields): string | undefined {
  const start = Number(row.get("session_id") ?? -1);
  if (!Number.isSafeInteger(start) || start <= 0 || start >= 2 ** 48) return undefined;
  const time = start.toString(16).padStart(12, "0");
  const hashed = record.toUuid(["amplitude session", raw.fieldId(row, "device_id") ?? "", start].join("\n"));
  return JSON.stringify(`${time.slice(0, 8)}-${time.slice(8)}-7${hashed.slice(15)}`);
}

function readProperties(row: raw.RawFields): raw.RawFields {
  const properties = raw.objectField(row, "event_properties");
  for (const [from, to] of Object.entries(ofEvent)) raw.putField(properties, to, properties.get(from));
  for (const [from, to] of Object.entries(ofRow)) raw.putField(properties, to, notZero(row.get(from)));
  raw.putField(properties, "$device_id", row.get("device_id"));
  putPlatform(row, properties);
  const groups = firstKeys(raw.objectField(row, "groups"));
  if (groups.size > 0) raw.putField(properties, "$groups", raw.writeRawFields(groups));
  putPerson(raw.objectField(row, "user_properties"), properties);
  raw.putField(properties, "analytics_source", '"amplitude"');
  return properties;
}

/**
 * Writes the platform: for events from the web, Amplitude's `os_name` is the browser and `device_type` the operating
 * system.
 */
function putPlatform(row: raw.RawFields, properties: raw.RawFields): void {
  const device = raw.fieldText(row, "device_type");
  const web = raw.fieldText(row, "platform") === "Web";
  raw.putField(properties, web ? "$browser" : "$os", row.get("os_name"));
  raw.putField(properties, web ? "$browser_version" : "$os_version", row.get("os_version"));
  if (web) raw.putField(properties, "$os", row.get("device_type"));
  const mobile =
    /^(iOS|Android|Apple i)/.test(device ?? "") ||
    /^(iOS|Android)$/.test(raw.fieldText(row, "platform") ?? "");
  const desktop = /^(Windows|Linux|Mac)/.test(device ?? "");
  if (mobile || desktop) raw.putField(properties, "$device_type", mobile ? '"Mobile"' : '"Desktop"');
}

/** User properties become `$set`; those named `initial_…` become `$set_once`. */
function putPerson(known: raw.RawFields, properties: raw.RawFields): void {
  const set: raw.RawFields = new Map();
  const once: raw.RawFields = new Map();
  for (const [name, json] of known) {
    if (json === '"EMPTY"' || !raw.hasValue(json)) continue;
    if (name.startsWith("initial_")) once.set(`$${name}`, json);
    else set.set(name, json);
  }
  if (set.size > 0) raw.putField(properties, "$set", raw.writeRawFields(set));
  if (once.size > 0) raw.putField(properties, "$set_once", raw.writeRawFields(once));
}

/** The first key of each group type: Amplitude lists several, an event here has one group of a type. */
function firstKeys(groups: raw.RawFields): raw.RawFields {
  const keys: raw.RawFields = new Map();
  for (const [type, json] of groups) {
    const value = JSON.parse(json) as unknown;
    const key: unknown = Array.isArray(value) ? value[0] : value;
    if ((typeof key === "string" && key !== "") || typeof key === "number")
      keys.set(type, JSON.stringify(String(key)));
  }
  return keys;
}

function describeGroup(row: raw.RawFields, properties: raw.RawFields): void {
  const [group] = firstKeys(raw.objectField(row, "groups"));
  if (group === undefined) return;
  raw.putField(properties, "$group_type", JSON.stringify(group[0]));
  raw.putField(properties, "$group_key", group[1]);
  raw.putField(properties, "$group_set", raw.writeRawFields(raw.objectField(row, "group_properties")));
}

/** Undefined for 0 and -1, which stand for a missing id in the export. */
function notZero(json: string | undefined): string | undefined {
  return json === "0" || json === "-1" ? undefined : json;
}
