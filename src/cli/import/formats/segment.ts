// Segment's calls (track, identify, page, screen, group, alias), one a line. Never carries a group from one
// call to the next: Segment does not either.

import { memberId, type Members, objectOf, readMembers, writeMembers } from "../reading/members.ts";
import { type RecordFate, type Mappable, rejected, type Translated } from "./record.ts";
import { itemOf, translatedMoment, putMember } from "./translate.ts";

/** The group type that PostHog's own Segment destination uses. */
const groupType = "segment_group";

/** Paths in `context` that have a usual property. */
const ofContext: readonly (readonly [path: string, property: string])[] = [
  ["ip", "$ip"],
  ["locale", "$locale"],
  ["timezone", "$timezone"],
  ["userAgent", "$raw_user_agent"],
  ["page.url", "$current_url"],
  ["page.path", "$pathname"],
  ["page.referrer", "$referrer"],
  ["page.title", "title"],
  ["page.search", "search"],
  ["os.name", "$os"],
  ["os.version", "$os_version"],
  ["device.id", "$device_id"],
  ["device.manufacturer", "$device_manufacturer"],
  ["device.model", "$device_model"],
  ["device.type", "$device_type"],
  ["app.name", "$app_name"],
  ["app.version", "$app_version"],
  ["app.build", "$app_build"],
  ["app.namespace", "$app_namespace"],
  ["screen.width", "$screen_width"],
  ["screen.height", "$screen_height"],
  ["library.name", "$lib"],
  ["library.version", "$lib_version"],
  ["campaign.source", "utm_source"],
  ["campaign.medium", "utm_medium"],
  ["campaign.name", "utm_campaign"],
  ["campaign.term", "utm_term"],
  ["campaign.content", "utm_content"],
];

export const segmentTypes = ["track", "identify", "page", "screen", "group", "alias"] as const;

export function mapSegment(record: Mappable, nowMs: number): RecordFate {
  const { value } = record;
  const type = segmentTypes.find((known) => known === value["type"]);
  if (type === undefined) return rejected(`not a call of Segment's: type is ${shown(value["type"])}`);
  const times = [value["timestamp"], value["originalTimestamp"], value["sentAt"], value["receivedAt"]];
  const moment = translatedMoment(times, nowMs);
  if ("is" in moment) return moment;
  const call = readMembers(record.text);
  const properties = objectOf(call, "properties");
  const context = objectOf(call, "context");
  const distinct_id = memberId(call, "userId") ?? memberId(call, "anonymousId");
  const event = { uuid: "", event: "", distinct_id, timestamp: moment.text, properties };
  const translated = translate(type, event, call, context);
  if (translated === undefined)
    return rejected(`a ${type} call without ${type === "track" ? "event" : "its ids"}`);
  putContext(context, properties);
  putMember(properties, "analytics_source", '"segment"');
  const messageId = memberId(call, "messageId");
  translated.uuid =
    messageId === undefined
      ? record.ownUuid()
      : record.uuidOf(`segment\n${translated.event}\n${translated.distinct_id ?? ""}\n${messageId}`);
  return itemOf(translated);
}

type Call = (typeof segmentTypes)[number];

function translate(type: Call, outline: Translated, call: Members, context: Members): Translated | undefined {
  const { properties } = outline;
  switch (type) {
    case "track": {
      const event = memberId(call, "event");
      return event === undefined ? undefined : { ...outline, event };
    }
    case "page":
      putMember(properties, "$current_url", properties.get("url"));
      putMember(properties, "$pathname", properties.get("path"));
      putMember(properties, "$referrer", properties.get("referrer"));
      putMember(properties, "name", call.get("name"));
      return { ...outline, event: "$pageview" };
    case "screen":
      putMember(properties, "$screen_name", call.get("name") ?? properties.get("name"));
      return { ...outline, event: "$screen" };
    case "identify":
      putTraits(properties, "$set", objectOf(call, "traits"), context);
      // A call with both ids is where Segment connects them.
      if (memberId(call, "userId") !== undefined)
        putMember(properties, "$anon_distinct_id", call.get("anonymousId"));
      return { ...outline, event: "$identify" };
    case "group": {
      const key = memberId(call, "groupId") ?? memberId(context, "groupId");
      if (key === undefined) return undefined;
      putMember(properties, "$group_type", JSON.stringify(groupType));
      putMember(properties, "$group_key", JSON.stringify(key));
      putMember(properties, "$group_set", writeMembers(objectOf(call, "traits")));
      putMember(properties, "$groups", JSON.stringify({ [groupType]: key }));
      return { ...outline, event: "$groupidentify" };
    }
    case "alias": {
      const [previous, user] = [
        memberId(call, "previousId") ?? memberId(call, "anonymousId"),
        memberId(call, "userId"),
      ];
      if (previous === undefined || user === undefined) return undefined;
      // The user's id becomes the main one.
      putMember(properties, "alias", JSON.stringify(user));
      return { ...outline, event: "$create_alias", distinct_id: previous };
    }
  }
}

function putContext(context: Members, properties: Members): void {
  const parts = new Map<string, Members>();
  for (const [path, property] of ofContext) {
    const [outer, inner] = path.split(".") as [string, string | undefined];
    if (!context.has(outer)) continue;
    if (inner === undefined) {
      putMember(properties, property, context.get(outer));
      continue;
    }
    let part = parts.get(outer);
    if (part === undefined) parts.set(outer, (part = objectOf(context, outer)));
    putMember(properties, property, part.get(inner));
  }
  const group = memberId(context, "groupId");
  if (group !== undefined) putMember(properties, "$groups", JSON.stringify({ [groupType]: group }));
  putTraits(properties, "$set", objectOf(context, "traits"), new Map());
}

/** Traits of the call itself, or else those its context repeats. */
function putTraits(properties: Members, to: string, traits: Members, context: Members): void {
  const set = traits.size > 0 ? traits : objectOf(context, "traits");
  if (set.size > 0) putMember(properties, to, writeMembers(set));
}

function shown(value: unknown): string {
  return value === undefined ? "missing" : (JSON.stringify(value) ?? "").slice(0, 40);
}
