// Segment's calls (track, identify, page, screen, group, alias), one a line. A group belongs to its own call
// only, as at Segment: later calls of the same user do not inherit it.

import * as raw from "../reading/raw_fields.ts";
import * as outcome from "./record.ts";
import { importTimestamp, type TimeRules } from "./timestamp.ts";

/** The group type that PostHog's own Segment destination uses. */
const groupType = "segment_group";

/** Fields of `context`, and of the objects in it, with the property that each becomes. */
const ofContext: Readonly<Record<string, string | Readonly<Record<string, string>>>> = {
  ip: "$ip",
  locale: "$locale",
  timezone: "$timezone",
  userAgent: "$raw_user_agent",
  page: { url: "$current_url", path: "$pathname", referrer: "$referrer", title: "title", search: "search" },
  os: { name: "$os", version: "$os_version" },
  device: {
    id: "$device_id",
    manufacturer: "$device_manufacturer",
    model: "$device_model",
    type: "$device_type",
  },
  app: { name: "$app_name", version: "$app_version", build: "$app_build", namespace: "$app_namespace" },
  screen: { width: "$screen_width", height: "$screen_height" },
  library: { name: "$lib", version: "$lib_version" },
  campaign: {
    source: "utm_source",
    medium: "utm_medium",
    name: "utm_campaign",
    term: "utm_term",
    content: "utm_content",
  },
};

export const segmentTypes = ["track", "identify", "page", "screen", "group", "alias"] as const;

/** @param rules how its times are read. */
export function mapSegment(record: outcome.JsonRecord, rules: TimeRules): outcome.RecordOutcome {
  const { value } = record;
  const type = segmentTypes.find((known) => known === value["type"]);
  if (type === undefined) {
    const typeText = JSON.stringify(value["type"])?.slice(0, 40) ?? "missing";
    return outcome.rejected(`not a Segment call: type is ${typeText}`);
  }
  const times = [value["timestamp"], value["originalTimestamp"], value["sentAt"], value["receivedAt"]];
  const time = importTimestamp(times, rules);
  if ("is" in time) return time;
  const call = raw.parseRawFields(record.text);
  const properties = raw.objectField(call, "properties");
  const context = raw.objectField(call, "context");
  const distinct_id = raw.fieldId(call, "userId") ?? raw.fieldId(call, "anonymousId");
  const translated = translate(type, { distinct_id, timestamp: time.text, properties }, call, context);
  if (translated === undefined)
    return outcome.rejected(`a ${type} call without ${type === "track" ? "event" : "its ids"}`);
  putContext(context, properties);
  raw.putField(properties, "analytics_source", '"segment"');
  const of = ["segment", translated.event, translated.distinct_id ?? ""];
  return outcome.toBatchItem({
    ...translated,
    uuid: outcome.uuidFrom(record, of, raw.fieldId(call, "messageId")),
  });
}

function translate(
  type: (typeof segmentTypes)[number],
  outline: Omit<outcome.TranslatedEvent, "uuid" | "event">,
  call: raw.RawFields,
  context: raw.RawFields,
): Omit<outcome.TranslatedEvent, "uuid"> | undefined {
  const { properties } = outline;
  switch (type) {
    case "track": {
      const event = raw.fieldId(call, "event");
      return event === undefined ? undefined : { ...outline, event };
    }
    case "page":
      raw.putField(properties, "$current_url", properties.get("url"));
      raw.putField(properties, "$pathname", properties.get("path"));
      raw.putField(properties, "$referrer", properties.get("referrer"));
      raw.putField(properties, "name", call.get("name"));
      return { ...outline, event: "$pageview" };
    case "screen":
      raw.putField(properties, "$screen_name", call.get("name") ?? properties.get("name"));
      return { ...outline, event: "$screen" };
    case "identify":
      putTraits(properties, raw.objectField(call, "traits"), context);
      // A call with both ids connects them.
      if (raw.fieldId(call, "userId") !== undefined)
        raw.putField(properties, "$anon_distinct_id", call.get("anonymousId"));
      return { ...outline, event: "$identify" };
    case "group": {
      const key = raw.fieldId(call, "groupId") ?? raw.fieldId(context, "groupId");
      if (key === undefined) return undefined;
      raw.putField(properties, "$group_type", JSON.stringify(groupType));
      raw.putField(properties, "$group_key", JSON.stringify(key));
      raw.putField(properties, "$group_set", raw.writeRawFields(raw.objectField(call, "traits")));
      raw.putField(properties, "$groups", JSON.stringify({ [groupType]: key }));
      return { ...outline, event: "$groupidentify" };
    }
    case "alias": {
      const [user, anonymous] = [raw.fieldId(call, "userId"), raw.fieldId(call, "anonymousId")];
      const previous = raw.fieldId(call, "previousId") ?? (user === undefined ? undefined : anonymous);
      const alias = user ?? anonymous;
      if (previous === undefined || alias === undefined) return undefined;
      raw.putField(properties, "alias", JSON.stringify(alias));
      return { ...outline, event: "$create_alias", distinct_id: previous };
    }
  }
}

function putContext(context: raw.RawFields, properties: raw.RawFields): void {
  for (const [name, property] of Object.entries(ofContext)) {
    const [fields, names] =
      typeof property === "string"
        ? [context, { [name]: property }]
        : [raw.objectField(context, name), property];
    for (const [inner, to] of Object.entries(names)) raw.putField(properties, to, fields.get(inner));
  }
  const group = raw.fieldId(context, "groupId");
  if (group !== undefined) raw.putField(properties, "$groups", JSON.stringify({ [groupType]: group }));
  putTraits(properties, new Map(), context);
}

/** The traits of the call itself; without any, those in its context. */
function putTraits(properties: raw.RawFields, traits: raw.RawFields, context: raw.RawFields): void {
  const set = traits.size > 0 ? traits : raw.objectField(context, "traits");
  if (set.size > 0) raw.putField(properties, "$set", raw.writeRawFields(set));
}
