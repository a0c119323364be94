// The kind of a file, by its first bytes.

import { UserError } from "../../../core/fault.ts";
import { isDictionary } from "../../../core/json/dictionary.ts";
import { wordsIn } from "../../../core/words.ts";
import { importLimits } from "../limits.ts";
import { CsvReader } from "../reading/csv.ts";
import { type FileRecord, LineReader, type RecordReader } from "../reading/file_record.ts";
import { ItemReader } from "../reading/items.ts";
import { jsonObject } from "../reading/raw_fields.ts";
import { segmentTypes } from "./segment.ts";
import { type CsvTable, detectSeparator, readHeader } from "./table.ts";

export const formats = wordsIn("auto jsonl json csv posthog mixpanel amplitude segment");
export type Format = (typeof formats)[number];
/** The system whose names a record uses; "batch" is an item of /batch. */
type Dialect = "batch" | "posthog" | "mixpanel" | "amplitude" | "segment";
/** documents: events one after the other, each over several lines, as jq prints them. */
type RecordLayout = "jsonl" | "json" | "documents" | "csv";

export interface FileKind {
  layout: RecordLayout;
  dialect: Dialect;
  /** The header, when the layout is csv. */
  table: CsvTable | undefined;
}

/** How many records are examined to find the dialect. */
const sampleCount = 20;

/**
 * @param head the file's first bytes, all of them when `whole`.
 * @param format `auto` examines the bytes; any other format is taken as given.
 * @param name how errors name the file.
 * @throws UserError when the bytes are of no kind that can be imported.
 */
export function detectFileKind(head: Buffer, whole: boolean, format: Format, name: string): FileKind {
  refuseUnsupported(head, name);
  const first = head.find((byte) => byte > 0x20);
  if (first === undefined) return { layout: "jsonl", dialect: "batch", table: undefined };
  const json = first === 0x7b || first === 0x5b;
  if (format === "csv" || (!json && (format === "auto" || format === "posthog"))) {
    const table = detectHeader(head, whole);
    if (typeof table !== "string")
      return { layout: "csv", dialect: format === "csv" ? "batch" : detectTableDialect(table), table };
    if (format === "csv") throw new UserError(`${name}: ${table}`);
    throw new UserError(`${name}: neither JSON nor CSV with a header (${table}); set --format`);
  }
  if (format === "jsonl" || format === "json") return { layout: format, dialect: "batch", table: undefined };
  const layout = detectLayout(head, first);
  const dialects = format === "auto" ? sample(head, layout).map(detectRowDialect) : [format as Dialect];
  const dialect = dialects.find((found) => found !== "batch") ?? "batch";
  return { layout, dialect, table: undefined };
}

export function chooseReader({ layout, table }: Pick<FileKind, "layout" | "table">): RecordReader {
  if (table !== undefined) return new CsvReader(table.separator);
  if (layout === "jsonl") return new LineReader();
  return new ItemReader({ isBare: layout === "documents" });
}

/** @throws UserError for common formats that cannot be imported, with what to do instead. */
function refuseUnsupported(head: Buffer, name: string): void {
  const starts = (text: string): boolean => head.toString("latin1", 0, text.length) === text;
  if (starts("PK\x03\x04"))
    throw new UserError(`${name}: a zip archive; unpack it and import the files in it`);
  if (starts("PAR1")) throw new UserError(`${name}: a Parquet file; export JSON Lines instead`);
  if (starts("BZh"))
    throw new UserError(`${name}: packed with bzip2; unpack it first (gzip and zstd are read as they are)`);
  if (starts("\xfd7zXZ"))
    throw new UserError(`${name}: packed with xz; unpack it first (gzip and zstd are read as they are)`);
  if (starts("\xff\xfe") || starts("\xfe\xff")) throw new UserError(`${name}: UTF-16 text; save it as UTF-8`);
}

function detectHeader(head: Buffer, whole: boolean): CsvTable | string {
  const line = head
    .toString("utf8", 0, Math.min(head.length, 64 * 1024))
    .trimStart()
    .split("\n", 1)[0]!;
  for (const record of records(new CsvReader(detectSeparator(line)), head, whole)) {
    if (record.problem !== undefined) return record.problem;
    return readHeader(record.source.toString("utf8", record.from, record.to));
  }
  return "the CSV header is too long or does not end";
}

/** JSON for an array or for an object around one, even when it spans many lines; else JSON Lines. */
function detectLayout(head: Buffer, first: number): RecordLayout {
  if (first === 0x5b) return "json";
  for (const record of new LineReader().read(head)) {
    if (record.problem !== undefined) break;
    const value = parsed(record);
    if (value === undefined) break;
    return isEnvelope(value) ? "json" : "jsonl";
  }
  const only = parsed({ source: head, from: 0, to: head.length });
  if (only !== undefined) {
    const isLine = !head.toString("latin1").trim().includes("\n");
    return isEnvelope(only) ? "json" : isLine ? "jsonl" : "documents";
  }
  for (const record of new ItemReader({ isBare: true }).read(head)) {
    const value = record.problem === undefined ? parsed(record) : undefined;
    if (value !== undefined && !isEnvelope(value)) return "documents";
    break;
  }
  // The first line alone is not JSON: it begins an object of many lines, or the row is broken or very long.
  for (const record of new ItemReader().read(head)) return record.problem === undefined ? "json" : "jsonl";
  return "jsonl";
}

function isEnvelope(value: Record<string, unknown>): boolean {
  return (
    typeof value["event"] !== "string" && (Array.isArray(value["batch"]) || Array.isArray(value["results"]))
  );
}

function* records(reader: RecordReader, head: Buffer, whole: boolean): Generator<FileRecord> {
  yield* reader.read(head);
  if (whole) yield* reader.end();
}

function sample(head: Buffer, layout: RecordLayout): Record<string, unknown>[] {
  const found: Record<string, unknown>[] = [];
  for (const record of records(chooseReader({ layout, table: undefined }), head, true)) {
    const value = record.problem === undefined ? parsed(record) : undefined;
    if (value !== undefined) found.push(value);
    if (found.length >= sampleCount) break;
  }
  return found;
}

/** The object that a record is; undefined when it is not one. */
function parsed({ source, from, to }: Omit<FileRecord, "line" | "problem">) {
  return to - from > importLimits.recordBytesMax ? undefined : jsonObject(source.toString("utf8", from, to));
}

const posthogColumns = wordsIn("person_properties person_id elements_chain _inserted_at created_at set_once");

/** A warehouse writes PostHog's rows as CSV, with JSON in some columns. */
function detectTableDialect({ names, indexes }: CsvTable): Dialect {
  const isPosthog = names.some((name) => /^(person_properties|elements_chain|_inserted_at)$/i.test(name));
  return isPosthog && indexes.properties >= 0 ? "posthog" : "batch";
}

function detectRowDialect(row: Record<string, unknown>): Dialect {
  const has = (name: string): boolean => row[name] !== undefined;
  if (has("event_type") && (has("event_time") || has("amplitude_id") || has("event_properties")))
    return "amplitude";
  const call = segmentTypes.some((type) => type === row["type"]);
  if (call && (has("messageId") || has("userId") || has("anonymousId"))) return "segment";
  if (typeof row["event"] !== "string") return "batch";
  const properties = row["properties"];
  if (typeof properties === "string" || posthogColumns.some(has)) return "posthog";
  const isMixpanel =
    isDictionary(properties) && "time" in properties && !has("timestamp") && !has("distinct_id");
  return isMixpanel ? "mixpanel" : "batch";
}
