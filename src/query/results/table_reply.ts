// The table of a result as CSV (RFC 4180) or as JSON lines, an object for each row.

import { refuseInput } from "../../core/fault.ts";
import { choiceParameter } from "../../http/fields/query.ts";
import { formatCell, formatCsvLine, formatTextCell } from "../../http/pages/csv.ts";
import { wantedFormat } from "../../http/pages/format.ts";
import { slicedTexts } from "../../http/pages/sliced.ts";
import type { ResultType, TrendLine } from "../result.ts";
import type { QueryResult } from "../store.ts";
import { isTotals } from "./figures.ts";

const formats = ["json", "csv", "jsonl"] as const;
type TableFormat = Exclude<(typeof formats)[number], "json">;

/** Described in words, as `format` of lists: the description has one content type for each reply. */
export const tableFormatParameter = {
  ...choiceParameter("As JSON, or a table as CSV or as JSON lines; else by the Accept header.", formats),
  hidden: true,
};

/** Media types of each format; it is sent as the first. */
const mediaTypes = {
  csv: ["text/csv"],
  jsonl: ["application/x-ndjson", "application/jsonl", "application/x-jsonlines"],
} as const;

export function wantedTable(request: Request, named: TableFormat | "json" | undefined) {
  const format = wantedFormat(request, named, mediaTypes);
  return format === "json" ? undefined : format;
}

/** @throws Fault for results without rows and columns, and for background queries. */
export function refuseTable({ kind, type }: { kind: string; type: ResultType }, isAsync: boolean): void {
  if (type !== "table") refuseInput(`A ${kind} is no table: it is answered as JSON.`, "format");
  if (isAsync) refuseInput("A query in the background is answered as JSON.", "format");
}

/**
 * A table of a saved query: its rows, or of a trend a row for each line, with its numbers or its one number.
 * @throws Fault for other results.
 */
export function toTable({ kind, type, results, table }: Pick<QueryResult, "kind" | "type" | "table"> & Rows) {
  if (type !== "series") {
    refuseTable({ kind, type }, false);
    return { results, ...(table && { table }) };
  }
  const lines = [...results] as TrendLine[];
  const areNumbers = isTotals(lines);
  const columns = ["series", ...(areNumbers ? ["value"] : (lines[0]?.labels ?? []))];
  const shown = { columns, types: [], hasMore: false, limit: lines.length, offset: 0 };
  const rows = lines.map(({ label, data, aggregated_value }) => [
    label,
    ...(areNumbers ? [aggregated_value] : data),
  ]);
  return { results: rows, table: shown };
}

/** @param name the file's name, without its extension. @throws Fault for columns that an object cannot both have. */
export async function tableReply(
  { results, table }: Pick<QueryResult, "table"> & Rows,
  format: TableFormat,
  { name = "query", headers = {} }: { name?: string; headers?: Readonly<Record<string, string>> } = {},
): Promise<Response> {
  const { columns = [], hasMore = false } = table ?? {};
  const header = format === "csv" ? formatCsvLine(columns.map(formatTextCell)) : "";
  const lines = format === "csv" ? csvLine : objectLine(columns);
  return await slicedTexts(writeTexts(header, results as Iterable<unknown[]>, lines), {
    "content-type": `${mediaTypes[format][0]}; charset=utf-8`,
    "content-disposition": `attachment; filename="${name}.${format}"`,
    "x-has-more": String(hasMore),
    ...headers,
  });
}

type Row = readonly unknown[];
interface Rows {
  results: Iterable<unknown>;
}

function* writeTexts(header: string, rows: Iterable<Row>, formatRow: (row: Row) => string) {
  yield header;
  for (const row of rows) yield formatRow(row);
}

function csvLine(row: Row): string {
  return formatCsvLine(row.map((cell) => formatCell(JSON.stringify(cell))));
}

function objectLine(columns: readonly string[]): (row: Row) => string {
  const twice = columns.find((name, i) => columns.indexOf(name) !== i);
  if (twice !== undefined) {
    const name = JSON.stringify(twice.slice(0, 100));
    refuseInput(`Two columns are called ${name}: give them names with AS.`, "format");
  }
  const names = columns.map((name) => `${JSON.stringify(name)}:`);
  return (row) => `{${names.map((name, i) => name + JSON.stringify(row[i])).join(",")}}\n`;
}
