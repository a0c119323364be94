// Amplitude's export: one event a line, with `event_type`, `event_time` and its properties apart. Never
// connects devices to users by itself.

import {
  memberId,
  type Members,
  objectOf,
  readMembers,
  saysSomething,
  memberText,
  writeMembers,
} from "../reading/members.ts";
import { usableUuid } from "./plain.ts";
import { type RecordFate, type Mappable, rejected } from "./record.ts";
import { itemOf, translatedMoment, putMember } from "./translate.ts";

const events: Readonly<Record<string, string>> = {
  "[Amplitude] Page Viewed": "$pageview",
  "[Amplitude] Element Clicked": "$autocapture",
  "[Amplitude] Element Changed": "$autocapture",
};

/** Members of the row that become properties. */
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

/** Properties of Amplitude's own that have a usual name here; they stay under both. */
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

export function mapAmplitude(record: Mappable, nowMs: number): RecordFate {
  const { value } = record;
  const event = value["event_type"];
  if (typeof event !== "string" || event === "") return rejected("no event_type");
  if (event === "session_start") return { is: "skipped", reason: "Amplitude's session_start" };
  const times = [value["event_time"], value["client_event_time"], value["server_received_time"]];
  const moment = translatedMoment(times, nowMs);
  if ("is" in moment) return moment;
  const row = readMembers(record.text);
  const distinct_id = memberId(row, "user_id") ?? memberId(row, "device_id");
  const properties = propertiesOf(row);
  if (event === "$groupidentify") describeGroup(row, properties);
  const translated = { event: events[event] ?? event, distinct_id, timestamp: moment.text, properties };
  return itemOf({ ...translated, uuid: uuidOf(record, row, event, distinct_id) });
}

function uuidOf(record: Mappable, row: Members, event: string, distinct_id: string | undefined): string {
  const uuid = usableUuid(record.value["uuid"]);
  if (uuid !== undefined) return uuid;
  const insertId = memberId(row, "$insert_id");
  if (insertId === undefined) return record.ownUuid();
  return record.uuidOf(`amplitude\n${event}\n${distinct_id ?? ""}\n${insertId}`);
}

function propertiesOf(row: Members): Members {
  const properties = objectOf(row, "event_properties");
  for (const [from, to] of Object.entries(ofEvent)) putMember(properties, to, properties.get(from));
  for (const [from, to] of Object.entries(ofRow)) putMember(properties, to, notZero(row.get(from)));
  putMember(properties, "$device_id", row.get("device_id"));
  putPlatform(row, properties);
  const groups = firstKeys(objectOf(row, "groups"));
  if (groups.size > 0) putMember(properties, "$groups", writeMembers(groups));
  putPerson(objectOf(row, "user_properties"), properties);
  putMember(properties, "analytics_source", '"amplitude"');
  return properties;
}

/** On the web Amplitude calls the browser `os_name` and the system `device_type`. */
function putPlatform(row: Members, properties: Members): void {
  const device = memberText(row, "device_type");
  const web = memberText(row, "platform") === "Web";
  putMember(properties, web ? "$browser" : "$os", row.get("os_name"));
  putMember(properties, web ? "$browser_version" : "$os_version", row.get("os_version"));
  if (web) putMember(properties, "$os", row.get("device_type"));
  const mobile =
    /^(iOS|Android|Apple i)/.test(device ?? "") || /^(iOS|Android)$/.test(memberText(row, "platform") ?? "");
  const desktop = /^(Windows|Linux|Mac)/.test(device ?? "");
  if (mobile || desktop) putMember(properties, "$device_type", mobile ? '"Mobile"' : '"Desktop"');
}

/** What was known of the user becomes `$set`; where they first came from, `$set_once`. */
function putPerson(known: Members, properties: Members): void {
  const set: Members = new Map();
  const once: Members = new Map();
  for (const [name, raw] of known) {
    if (raw === '"EMPTY"' || !saysSomething(raw)) continue;
    if (name.startsWith("initial_")) once.set(`$${name}`, raw);
    else set.set(name, raw);
  }
  if (set.size > 0) putMember(properties, "$set", writeMembers(set));
  if (once.size > 0) putMember(properties, "$set_once", writeMembers(once));
}

/** Amplitude lists a group type's keys; an event here belongs to one group of a type. */
function firstKeys(groups: Members): Members {
  const keys: Members = new Map();
  for (const [type, raw] of groups) {
    const value = JSON.parse(raw) as unknown;
    const key: unknown = Array.isArray(value) ? value[0] : value;
    if ((typeof key === "string" && key !== "") || typeof key === "number")
      keys.set(type, JSON.stringify(String(key)));
  }
  return keys;
}

function describeGroup(row: Members, properties: Members): void {
  const [group] = firstKeys(objectOf(row, "groups"));
  if (group === undefined) return;
  putMember(properties, "$group_type", JSON.stringify(group[0]));
  putMember(properties, "$group_key", group[1]);
  putMember(properties, "$group_set", writeMembers(objectOf(row, "group_properties")));
}

/** Ids that Amplitude does not have are 0 or -1 in its export. */
function notZero(raw: string | undefined): string | undefined {
  return raw === "0" || raw === "-1" ? undefined : raw;
}
