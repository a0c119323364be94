// PostHog's own exports: rows of its batch export (JSON Lines) and of its events API. `properties` are unchanged
// but for the columns of `ofRow`, which PostHog stores beside them.

import { isUuid, nilUuid, readUuid } from "../../../core/id.ts";
import * as raw from "../reading/raw_fields.ts";
import { type JsonRecord, type RecordOutcome, rejected } from "./record.ts";
import { importTimestamp, rfc3339Ms, timeProblem, type TimeRules } from "./timestamp.ts";

/** Columns that become properties, unless the properties have them. */
const ofRow = { elements_chain: "$elements_chain", ip: "$ip" };

/** @param rules how its times are read. */
export function mapPosthog(record: JsonRecord, rules: TimeRules): RecordOutcome {
  const { value } = record;
  const time = importTimestamp([value["timestamp"]], rules);
  if ("is" in time) return time;
  const row = raw.parseRawFields(record.text);
  const properties = objectText(row.get("properties"));
  if (properties === undefined) return rejected("properties are neither an object nor its JSON text");
  const uuid = usableUuid(value["uuid"]) ?? usableUuid(value["id"]) ?? record.ownUuid();
  const item: raw.RawFields = new Map([["uuid", JSON.stringify(uuid)]]);
  for (const name of ["event", "distinct_id"]) {
    const json = row.get(name);
    if (json !== undefined) item.set(name, json);
  }
  item.set("timestamp", JSON.stringify(time.text));
  const columns = Object.entries(ofRow).map(([column, name]) => [name, row.get(column) ?? "null"] as const);
  item.set(
    "properties",
    raw.withFields(
      properties,
      columns.filter(([, json]) => raw.hasValue(json)),
    ),
  );
  putPerson(row, item);
  return { is: "rewritten", text: raw.writeRawFields(item) };
}

/** The JSON text of an object that was exported as an object or as a string of JSON; undefined for anything else. */
function objectText(json: string | undefined): string | undefined {
  if (!raw.hasValue(json)) return "{}";
  if (json.charCodeAt(0) === 0x7b) return json;
  if (json.charCodeAt(0) !== 0x22) return undefined;
  const text = (JSON.parse(json) as string).trim() || "{}";
  return raw.jsonObject(text) && text;
}

/**
 * The person's properties at the time of the event, as `$set`, since the events that set them may not be exported.
 */
function putPerson(row: raw.RawFields, item: raw.RawFields): void {
  const properties = objectText(row.get("person_properties")) ?? "{}";
  const set = isEmpty(properties) ? objectText(row.get("set")) : properties;
  const once = objectText(row.get("set_once"));
  if (set !== undefined && !isEmpty(set)) item.set("$set", set);
  if (once !== undefined && !isEmpty(once)) item.set("$set_once", once);
  for (const name of ["$set", "$set_once"]) {
    const fields = raw.objectField(row, name);
    if (fields.size > 0 && !item.has(name)) item.set(name, raw.writeRawFields(fields));
  }
}

function isEmpty(text: string): boolean {
  return /^\{\s*\}$/.test(text);
}

/**
 * A record that is a /batch item already. Its bytes are sent as they are; it is rewritten only where the server would
 * otherwise replace the event's time or uuid. `properties` is not changed.
 */
export function mapBatchItem(record: JsonRecord, rules: TimeRules): RecordOutcome {
  const { value } = record;
  const ms = typeof value["timestamp"] === "string" ? rfc3339Ms(value["timestamp"]) : Number.NaN;
  const uuidFits = value["uuid"] === undefined || usableUuid(value["uuid"]) === value["uuid"];
  if (Number.isNaN(ms) || !uuidFits || value["offset"] !== undefined) return rewrite(record, rules);
  const problem = timeProblem(ms, rules.nowMs);
  if (problem !== undefined) return rejected(problem);
  return { is: "verbatim", uuid: value["uuid"] === undefined ? record.ownUuid() : undefined };
}

/** Replaces `uuid` and `timestamp` and drops `offset`; every other field stays as written. */
function rewrite(record: JsonRecord, rules: TimeRules): RecordOutcome {
  const time = importTimestamp([record.value["timestamp"]], rules);
  if ("is" in time) return time;
  const row = raw.parseRawFields(record.text);
  // The server would subtract `offset` from its own clock.
  for (const name of ["uuid", "timestamp", "offset"]) row.delete(name);
  const uuid = usableUuid(record.value["uuid"]) ?? record.ownUuid();
  const head: raw.RawFields = new Map([
    ["uuid", JSON.stringify(uuid)],
    ["timestamp", JSON.stringify(time.text)],
  ]);
  return { is: "rewritten", text: raw.writeRawFields(new Map([...head, ...row])) };
}

/** A uuid with dashes, as it is written if it has them; undefined for the nil uuid and for what is none. */
export function usableUuid(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const uuid = isUuid(value) ? value : readUuid(value);
  return uuid === nilUuid ? undefined : uuid;
}
