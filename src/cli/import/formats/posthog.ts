// PostHog's own exports: rows of its batch export (JSON Lines) and of its events API. Never touches
// `properties` but for the element chain, which PostHog keeps beside them.

import { type Members, objectOf, readMembers, saysSomething, writeMembers } from "../reading/members.ts";
import { usableUuid } from "./plain.ts";
import { type RecordFate, type Mappable, rejected } from "./record.ts";
import { translatedMoment } from "./translate.ts";

/** Columns that belong into the properties when they are not there already. */
const ofRow = { elements_chain: "$elements_chain", ip: "$ip" };

export function mapPosthog(record: Mappable, nowMs: number): RecordFate {
  const { value } = record;
  const moment = translatedMoment([value["timestamp"]], nowMs);
  if ("is" in moment) return moment;
  const row = readMembers(record.text);
  const properties = objectText(row.get("properties"));
  if (properties === undefined) return rejected("properties are neither an object nor its JSON text");
  const uuid = usableUuid(value["uuid"]) ?? usableUuid(value["id"]) ?? record.ownUuid();
  const item: Members = new Map([["uuid", JSON.stringify(uuid)]]);
  for (const name of ["event", "distinct_id"]) {
    const raw = row.get(name);
    if (raw !== undefined) item.set(name, raw);
  }
  item.set("timestamp", JSON.stringify(moment.text));
  item.set("properties", withColumns(properties, row));
  putPerson(row, item);
  return { is: "made", text: writeMembers(item) };
}

/** An object's text, whether it was exported as an object or as its JSON text. */
function objectText(raw: string | undefined): string | undefined {
  if (!saysSomething(raw)) return "{}";
  if (raw.charCodeAt(0) === 0x7b) return raw;
  if (raw.charCodeAt(0) !== 0x22) return undefined;
  const text = (JSON.parse(raw) as string).trim();
  if (text === "") return "{}";
  try {
    const inner = JSON.parse(text) as unknown;
    return typeof inner === "object" && inner !== null && !Array.isArray(inner) ? text : undefined;
  } catch {
    return undefined;
  }
}

function withColumns(properties: string, row: Members): string {
  let known: Members | undefined;
  let head = "";
  for (const [column, name] of Object.entries(ofRow)) {
    const raw = row.get(column);
    if (!saysSomething(raw)) continue;
    known ??= readMembers(properties);
    if (!known.has(name)) head += `${JSON.stringify(name)}:${raw},`;
  }
  if (head === "") return properties;
  return known?.size === 0 ? `{${head.slice(0, -1)}}` : `{${head}${properties.slice(1)}`;
}

/**
 * What PostHog knew of the person at the event. It rides beside the properties, so that people arrive with
 * all that is known of them, even when the events that told it lie before the export.
 */
function putPerson(row: Members, item: Members): void {
  const known = objectText(row.get("person_properties")) ?? "{}";
  const set = isEmpty(known) ? objectText(row.get("set")) : known;
  const once = objectText(row.get("set_once"));
  if (set !== undefined && !isEmpty(set)) item.set("$set", set);
  if (once !== undefined && !isEmpty(once)) item.set("$set_once", once);
  for (const name of ["$set", "$set_once"]) {
    const own = objectOf(row, name);
    if (own.size > 0 && !item.has(name)) item.set(name, writeMembers(own));
  }
}

function isEmpty(text: string): boolean {
  return /^\{\s*\}$/.test(text);
}
