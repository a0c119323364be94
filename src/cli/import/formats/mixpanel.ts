// Mixpanel's raw export: `{"event": …, "properties": {"time": …, "distinct_id": …, …}}`. Never invents an id.

import { memberId, type Members, objectOf, readMembers, memberText } from "../reading/members.ts";
import { type RecordFate, type Mappable, rejected, type Translated } from "./record.ts";
import { itemOf, translatedMoment, putMember, rename } from "./translate.ts";

/** Of no use outside Mixpanel. */
const dropped = [
  "time",
  "distinct_id",
  "token",
  "$insert_id",
  "$geo_source",
  "$mp_api_endpoint",
  "$mp_api_timestamp_ms",
  "mp_processing_time_ms",
];
const renamed = {
  $city: "$geoip_city_name",
  $region: "$geoip_subdivision_1_name",
  mp_country_code: "$geoip_country_code",
  mp_lib: "$lib",
};
const countries = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

export function mapMixpanel(record: Mappable, nowMs: number): RecordFate {
  const { event } = record.value;
  if (typeof event !== "string" || event === "") return rejected("no event name");
  const properties = objectOf(readMembers(record.text), "properties");
  const time = properties.get("time");
  const moment = translatedMoment([time === undefined ? undefined : JSON.parse(time)], nowMs);
  if ("is" in moment) return moment;
  const distinct_id = distinctId(properties);
  const insertId = memberId(properties, "$insert_id");
  const uuid =
    insertId === undefined
      ? record.ownUuid()
      : record.uuidOf(`mixpanel\n${event}\n${distinct_id ?? ""}\n${insertId}`);
  for (const name of dropped) properties.delete(name);
  rename(properties, renamed);
  putMember(properties, "$geoip_country_name", countryName(memberText(properties, "$geoip_country_code")));
  putMember(properties, "analytics_source", '"mixpanel"');
  return itemOf(joined({ uuid, event, distinct_id, timestamp: moment.text, properties }));
}

/**
 * Mixpanel rewrites an event's id when it merges people; the id from before is the surer one if this is a
 * device's.
 */
function distinctId(properties: Members): string | undefined {
  const id =
    memberId(properties, "distinct_id") ??
    memberId(properties, "$user_id") ??
    memberId(properties, "$device_id");
  const before = memberText(properties, "$distinct_id_before_identity");
  if (before === undefined) return id;
  const ofDevice = id === undefined || id.startsWith("$device:") || /^[A-Z0-9-]+$/.test(id);
  return ofDevice ? before : id;
}

/** Events that connect ids, in the words of this API. */
function joined(translated: Translated): Translated {
  const { event, properties } = translated;
  if (event === "$mp_web_page_view") return { ...translated, event: "$pageview" };
  if (event === "$identify") {
    putMember(properties, "$anon_distinct_id", properties.get("$anon_id"));
    return { ...translated, distinct_id: memberId(properties, "$identified_id") ?? translated.distinct_id };
  }
  if (event !== "$merge") return translated;
  const ids = JSON.parse(properties.get("$distinct_ids") ?? "[]") as unknown;
  if (!Array.isArray(ids) || typeof ids[0] !== "string" || typeof ids[1] !== "string") return translated;
  properties.set("alias", JSON.stringify(ids[1]));
  return { ...translated, event: "$merge_dangerously", distinct_id: ids[0] };
}

function countryName(code: string | undefined): string | undefined {
  if (code === undefined || !/^[A-Z]{2}$/i.test(code)) return undefined;
  const name = countries.of(code.toUpperCase());
  return name === undefined ? undefined : JSON.stringify(name);
}
