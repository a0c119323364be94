// CSV rows as events. Known columns go by name; every other column becomes a text property, since a cell does
// not show its type. Typed values belong in the column `properties`, which is JSON. The API's own CSV of events has
// columns `properties.NAME` instead, with nested values as JSON; that of PostHog's page `*.properties.NAME`.

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
  /** It comes from the API or PostHog's page: only `properties.NAME` are properties. */
  isOwn: boolean;
}

/** Reads a header; a string is its problem in one sentence. */
export function readHeader(text: string): CsvTable | string {
  const separator = detectSeparator(text);
  const header = splitFields(text, separator)?.map((name) => name.trim());
  if (header === undefined) return "the CSV header has a character after a closing quote";
  // The columns of PostHog's page repeat some of the event's; as `shown.…` they are read as none of them.
  const isPage = header.includes("*.event");
  const names = isPage
    ? header.map((name) => (name.startsWith("*.") ? name.slice(2) : `shown.${name}`))
    : header;
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return `the CSV header names "${twice}" twice`;
  const lower = names.map((name) => name.toLowerCase());
  const indexes = Object.fromEntries(eventColumns.map((name) => [name, lower.indexOf(name)])) as Record<
    Known,
    number
  >;
  const missing = (["event", "distinct_id", "timestamp"] as const).filter((name) => indexes[name] < 0);
  const isOwn = isPage || names.some(isProperty);
  if (missing.length === 0) return { separator, names, indexes, isOwn };
  const has = names.slice(0, 12).join(", ").slice(0, 200);
  return `the CSV header needs the columns event, distinct_id and timestamp; it has ${has}`;
}

/** Comma, unless the header has more semicolons or tabs. */
export function detectSeparator(header: string): string {
  const plain = header.replace(/"[^"]*"/g, "");
  const counts = [",", ";", "\t"].map((separator) => plain.split(separator).length);
  return [",", ";", "\t"][counts.indexOf(Math.max(...counts))]!;
}

/** The fields of a row, and the numbers of those in quotes. */
interface CsvRow {
  fields: readonly string[];
  quotes: ReadonlySet<number>;
}

/** Reads a row; a string is its problem. */
export function readRow({ separator, names }: CsvTable, text: string): CsvRow | string {
  const quotes = new Set<number>();
  const fields = splitFields(text, separator, quotes);
  if (fields === undefined) return "something follows a closing quote";
  if (fields.length === names.length) return { fields, quotes };
  return `${fields.length} fields, but the header has ${names.length}`;
}

/** A row as a /batch item, or its rejection. `ownUuid` receives the text that identifies it: its header and fields. */
export function mapCsvRow(table: CsvTable, row: CsvRow, ownUuid: (text: string) => string, rules: TimeRules) {
  const { fields } = row;
  const field = (name: Known): string => (table.indexes[name] < 0 ? "" : fields[table.indexes[name]]!);
  const time = importTimestamp([field("timestamp")], rules);
  if ("is" in time) return time;
  const properties = readProperties(table, row, field("properties").trim());
  if (properties === undefined) return rejected("properties is not the JSON text of an object");
  const uuid = usableUuid(field("uuid").trim()) ?? ownUuid(JSON.stringify([table.names, fields]));
  const readText = table.isOwn ? withoutApostrophe : String;
  const [event, distinct_id] = [readText(field("event")), readText(field("distinct_id"))];
  return toBatchItem({ uuid, event, distinct_id, timestamp: time.text, properties });
}

/** The JSON in the column `properties` with the other columns put in front; the JSON wins over an equal name. */
function readProperties(table: CsvTable, { fields, quotes }: CsvRow, json: string): string | undefined {
  if (json !== "" && !jsonObject(json)) return undefined;
  const eventIndexes = new Set(Object.values(table.indexes));
  const columns = table.names.flatMap((name, index) => {
    const value = fields[index]!;
    if (eventIndexes.has(index) || (value === "" && !(table.isOwn && quotes.has(index)))) return [];
    if (!table.isOwn) return [[name, JSON.stringify(value)] as const];
    // Its other columns are the server's: id, created_at, person_id, …
    if (!isProperty(name)) return [];
    return [[name.slice(ownPrefix.length), toRawValue(value, quotes.has(index))] as const];
  });
  return withFields(json || "{}", columns);
}

const ownPrefix = "properties.";
const isProperty = (name: string): boolean => name.startsWith(ownPrefix);

/** A cell of the API's CSV as JSON: in quotes are texts, and objects and lists. */
function toRawValue(cell: string, inQuotes: boolean): string {
  const value = inQuotes && !/^[[{]/.test(cell) ? cell : jsonIn(cell);
  return value !== undefined && typeof value !== "string" ? cell : JSON.stringify(withoutApostrophe(cell));
}

/** In the API's CSV an apostrophe stands before text that a spreadsheet would read as a formula. */
function withoutApostrophe(cell: string): string {
  return /^'[=+\-@＝＋－＠\t\r\n]/.test(cell) ? cell.slice(1) : cell;
}
