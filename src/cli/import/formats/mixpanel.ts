// Mixpanel's raw export: `{"event": …, "properties": {"time": …, "distinct_id": …, …}}`, as JSON Lines.

import { wordsIn } from "../../../core/words.ts";
import * as raw from "../reading/raw_fields.ts";
import * as outcome from "./record.ts";
import { importTimestamp, type TimeRules } from "./timestamp.ts";

/** Properties that are read elsewhere, or that mean nothing outside Mixpanel. */
const dropped = wordsIn(`
  time distinct_id token $insert_id $geo_source $mp_api_endpoint $mp_api_timestamp_ms
  mp_processing_time_ms
`);
const renamed = {
  $city: "$geoip_city_name",
  $region: "$geoip_subdivision_1_name",
  mp_country_code: "$geoip_country_code",
  mp_lib: "$lib",
};
const countries = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

/** @param rules how its times are read. */
export function mapMixpanel(record: outcome.JsonRecord, rules: TimeRules): outcome.RecordOutcome {
  const { event } = record.value;
  if (typeof event !== "string" || event === "") return outcome.rejected("no event name");
  const properties = raw.objectField(raw.parseRawFields(record.text), "properties");
  const rawTime = properties.get("time");
  const time = importTimestamp([rawTime === undefined ? undefined : JSON.parse(rawTime)], rules);
  if ("is" in time) return time;
  const distinct_id = distinctId(properties);
  const insertId = raw.fieldId(properties, "$insert_id");
  const uuid = outcome.uuidFrom(record, ["mixpanel", event, distinct_id ?? ""], insertId);
  for (const name of dropped) properties.delete(name);
  raw.renameFields(properties, renamed);
  raw.putField(
    properties,
    "$geoip_country_name",
    countryName(raw.fieldText(properties, "$geoip_country_code")),
  );
  raw.putField(properties, "analytics_source", '"mixpanel"');
  return outcome.toBatchItem(withIdentity({ uuid, event, distinct_id, timestamp: time.text, properties }));
}

/**
 * The event's id. Mixpanel overwrites it when it merges people: where it is now the id of a device, the id from
 * before the merge is used.
 */
function distinctId(properties: raw.RawFields): string | undefined {
  const id =
    raw.fieldId(properties, "distinct_id") ??
    raw.fieldId(properties, "$user_id") ??
    raw.fieldId(properties, "$device_id");
  const before = raw.fieldText(properties, "$distinct_id_before_identity");
  // Ids of users may look like those of devices: numbers, ULIDs, capitals.
  if (before === undefined || id === raw.fieldId(properties, "$user_id")) return id;
  const ofDevice = id === undefined || id.startsWith("$device:") || /^[A-Z0-9-]+$/.test(id);
  return ofDevice ? before : id;
}

/** Renames Mixpanel's own events; those that connect ids get the properties this API reads. */
function withIdentity(translated: outcome.TranslatedEvent): outcome.TranslatedEvent {
  const { event, properties } = translated;
  if (event === "$mp_web_page_view") return { ...translated, event: "$pageview" };
  if (event === "$identify") {
    raw.putField(properties, "$anon_distinct_id", properties.get("$anon_id"));
    return {
      ...translated,
      distinct_id: raw.fieldId(properties, "$identified_id") ?? translated.distinct_id,
    };
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
