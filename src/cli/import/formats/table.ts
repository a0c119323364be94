// CSV rows as events: known columns by name, every other one a property that is text. Never guesses a type:
// typed values have a place in the column `properties`, which is JSON.

import { splitFields } from "../reading/csv.ts";
import { type Members, readMembers } from "../reading/members.ts";
import { noTime, timeFlaw, usableUuid } from "./plain.ts";
import { type RecordFate, rejected } from "./record.ts";
import { parseMoment } from "./timestamp.ts";

const known = ["event", "distinct_id", "timestamp", "uuid", "properties"] as const;
type Known = (typeof known)[number];

export interface CsvTable {
  separator: string;
  names: string[];
  /** Where a known column stands; -1 when there is none. */
  places: Record<Known, number>;
}

/** Reads a header; tells what is wrong with it in a sentence when it is none. */
export function readHeader(text: string): CsvTable | string {
  const separator = separatorOf(text);
  const names = splitFields(text, separator)?.map((name) => name.trim());
  if (names === undefined) return "the CSV header is not quoted right";
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) return `the CSV header names "${twice}" twice`;
  const lower = names.map((name) => name.toLowerCase());
  const places = Object.fromEntries(known.map((name) => [name, lower.indexOf(name)])) as Record<
    Known,
    number
  >;
  const missing = (["event", "distinct_id", "timestamp"] as const).filter((name) => places[name] < 0);
  if (missing.length === 0) return { separator, names, places };
  const has = names.slice(0, 12).join(", ").slice(0, 200);
  return `the CSV header needs the columns event, distinct_id and timestamp; it has ${has}`;
}

/** Comma, unless the header has more semicolons or tabs. */
export function separatorOf(header: string): string {
  const plain = header.replace(/"[^"]*"/g, "");
  const counts = [",", ";", "\t"].map((separator) => plain.split(separator).length);
  const most = Math.max(...counts);
  return [",", ";", "\t"][counts.indexOf(most)]!;
}

/** `ownUuid` gets what identifies the row: its header and its fields. */
export function mapTableRow(
  table: CsvTable,
  text: string,
  ownUuid: (text: string) => string,
  nowMs: number,
): RecordFate {
  const fields = splitFields(text, table.separator);
  if (fields === undefined) return rejected("something follows a closing quote");
  if (fields.length !== table.names.length) {
    return rejected(`${fields.length} fields, but the header has ${table.names.length}`);
  }
  const field = (name: Known): string => (table.places[name] < 0 ? "" : fields[table.places[name]]!);
  const moment = parseMoment(field("timestamp"));
  if (moment === undefined) return rejected(noTime(field("timestamp")));
  const flaw = timeFlaw(moment.ms, nowMs);
  if (flaw !== undefined) return rejected(flaw);
  const properties = propertiesOf(table, fields, field("properties").trim());
  if (properties === undefined) return rejected("properties is not the JSON text of an object");
  const uuid = usableUuid(field("uuid").trim()) ?? ownUuid(JSON.stringify([table.names, fields]));
  const head = `{"uuid":"${uuid}","event":${JSON.stringify(field("event"))}`;
  const id = `"distinct_id":${JSON.stringify(field("distinct_id"))}`;
  const time = `"timestamp":${JSON.stringify(moment.text)}`;
  return { is: "made", text: `${head},${id},${time},"properties":${properties}}` };
}

/**
 * The column `properties` as it is, with the other columns put in front; it wins where both name a
 * property.
 */
function propertiesOf(table: CsvTable, fields: readonly string[], given: string): string | undefined {
  let own: Members = new Map();
  if (given !== "") {
    try {
      const value = JSON.parse(given) as unknown;
      if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    } catch {
      return undefined;
    }
    own = readMembers(given);
  }
  const taken = new Set(Object.values(table.places));
  let head = "";
  for (const [place, name] of table.names.entries()) {
    const value = fields[place]!;
    if (taken.has(place) || value === "" || own.has(name)) continue;
    head += `${head === "" ? "" : ","}${JSON.stringify(name)}:${JSON.stringify(value)}`;
  }
  if (head === "") return given === "" ? "{}" : given;
  return own.size === 0 ? `{${head}}` : `{${head},${given.slice(1)}`;
}
