// CSV rows as events. Known columns go by name; every other column becomes a text property, since a cell does
// not show its type. Typed values belong in the column `properties`, which is JSON. The API's own CSV of events has
// columns `properties.NAME` instead, with nested values as JSON.

import { jsonIn } from "../../../core/json/dictionary.ts";
import { splitFields } from "../reading/csv.ts";
import { jsonObject, withFields } from "../reading/raw_fields.ts";
import { usableUuid } from "./posthog.ts";
import { rejected, toBatchItem } from "./record.ts";
import { importTimestamp, type TimeRules } from "./timestamp.ts";

const eventColumns = ["event", "distinct_id", "timestamp", "uuid", "properties"] as const;
type Known = (typeof eventColumns)[number];

export interface CsvTable {
  separator: string;
  names: string[];
  /** The index of each known column; -1 when the file has none. */
  indexes: Record<Known, number>;
}

/** Reads a header; a string is its problem in one sentence. */
export function readHeader(text: string): CsvTable | string {
  const separator = detectSeparator(text);
  const names = splitFields(text, separator)?.map((name) => name.trim());
  if (names === undefined) return "the CSV header has a character after a closing quote";
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return `the CSV header names "${twice}" twice`;
  const lower = names.map((name) => name.toLowerCase());
  const indexes = Object.fromEntries(eventColumns.map((name) => [name, lower.indexOf(name)])) as Record<
    Known,
    number
  >;
  const missing = (["event", "distinct_id", "timestamp"] as const).filter((name) => indexes[name] < 0);
  if (missing.length === 0) return { separator, names, indexes };
  const has = names.slice(0, 12).join(", ").slice(0, 200);
  return `the CSV header needs the columns event, distinct_id and timestamp; it has ${has}`;
}

/** Comma, unless the header has more semicolons or tabs. */
export function detectSeparator(header: string): string {
  const plain = header.replace(/"[^"]*"/g, "");
  const counts = [",", ";", "\t"].map((separator) => plain.split(separator).length);
  return [",", ";", "\t"][counts.indexOf(Math.max(...counts))]!;
}

/**
 * One row as a /batch item, or its rejection. `ownUuid` receives the text that identifies the row: its header
 * and its fields.
 */
export function mapCsvRow(
  table: CsvTable,
  text: string,
  ownUuid: (text: string) => string,
  rules: TimeRules,
) {
  const fields = splitFields(text, table.separator);
  if (fields === undefined) return rejected("something follows a closing quote");
  if (fields.length !== table.names.length) {
    return rejected(`${fields.length} fields, but the header has ${table.names.length}`);
  }
  const field = (name: Known): string => (table.indexes[name] < 0 ? "" : fields[table.indexes[name]]!);
  const time = importTimestamp([field("timestamp")], rules);
  if ("is" in time) return time;
  const properties = readProperties(table, fields, field("properties").trim());
  if (properties === undefined) return rejected("properties is not the JSON text of an object");
  const uuid = usableUuid(field("uuid").trim()) ?? ownUuid(JSON.stringify([table.names, fields]));
  const [event, distinct_id] = [field("event"), field("distinct_id")];
  return toBatchItem({ uuid, event, distinct_id, timestamp: time.text, properties });
}

/** The JSON in the column `properties` with the other columns put in front; the JSON wins over an equal name. */
function readProperties(table: CsvTable, fields: readonly string[], json: string): string | undefined {
  if (json !== "" && !jsonObject(json)) return undefined;
  const eventIndexes = new Set(Object.values(table.indexes));
  const isOwn = table.names.some((name) => name.startsWith(ownPrefix));
  const columns = table.names.flatMap((name, index) => {
    const value = fields[index]!;
    if (eventIndexes.has(index) || value === "") return [];
    if (!isOwn) return [[name, JSON.stringify(value)] as const];
    // Its other columns are the server's: id, created_at, person_id, …
    return name.startsWith(ownPrefix) ? [[name.slice(ownPrefix.length), toRawValue(value)] as const] : [];
  });
  return withFields(json || "{}", columns);
}

const ownPrefix = "properties.";

/** A cell of the API's CSV as JSON. An apostrophe stands before text that a spreadsheet would read as a formula. */
function toRawValue(cell: string): string {
  const value = jsonIn(cell);
  if (value !== undefined && typeof value !== "string") return cell;
  return JSON.stringify(/^'[=+\-@\t]/.test(cell) ? cell.slice(1) : cell);
}
