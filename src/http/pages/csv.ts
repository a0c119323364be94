// A page of a list as CSV (RFC 4180): each member of a row is a column, and so is each of its properties. The page is
// read twice, for the names of the columns and for the rows, so that a block of it is in memory at a time.

import type { TObject } from "typebox";
import { toBytes } from "../../core/bytes.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { Fault, unavailable } from "../../core/fault.ts";
import { JsonCursor, pastValue } from "../../core/json/json_cursor.ts";
import { limits } from "../../core/limits.ts";
import { choiceParameter } from "../fields/query.ts";
import { httpLimits } from "../limits.ts";
import { wantedFormat } from "./format.ts";
import { type Page, pageLinks } from "./page.ts";
import { streamedReply } from "./sliced.ts";

/** Described in words: with two content types, the reply would be a union in generated clients. */
export const formatParameter = { ...choiceParameter("As JSON or CSV.", ["json", "csv"]), hidden: true };

export const csvDescription =
  "With `format=csv` or `Accept: text/csv` a table, " +
  `of ${httpLimits.pageMax} rows unless \`limit\` is lower; the Link header has the pages before and after it.`;

/** Whether a request wants CSV: by its query, or else by its Accept header. */
export function wantsCsv(request: Request, format: "json" | "csv" | undefined): boolean {
  return wantedFormat(request, format, csvTypes) === "csv";
}

const csvTypes = { csv: ["text/csv"] };

/** A list's rows as JSON objects in whole chunks, each object with a comma before it. */
type Rows = AsyncGenerator<Uint8Array, void>;

/**
 * @param list `name`: the file's, without its extension.
 * @throws Fault with attr `format` for too many columns, and what `read` throws.
 */
export async function csvReply(list: {
  url: URL;
  name: string;
  model: TObject;
  page: Page;
  read: (page: Page) => Promise<{ count: number; rows: Rows }>;
}): Promise<Response> {
  const { url, name, model, read } = list;
  const page = tablePage(url, list.page);
  const fixed = Object.keys(model.properties).filter((column) => column !== "properties");
  for (let tries = 0; tries < httpLimits.csvTriesMax; tries++) {
    const named = await propertyNames((await read(page)).rows);
    const { count, rows } = await read(page);
    const header = formatCsvLine([...fixed, ...named.map((key) => `properties.${key}`)].map(formatTextCell));
    const headers = {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="${name}.csv"`,
      "x-total-count": String(count),
      ...linkHeader(url, page, count),
    };
    try {
      return await streamedReply(
        toBytes(header),
        formatLines(rows, fixed, named),
        new Uint8Array(0),
        headers,
      );
    } catch (thrown) {
      if (!(thrown instanceof NewProperty)) throw thrown;
    }
  }
  throw unavailable("The rows change while they are read. Please retry.");
}

/** A row that was stored, or changed, after the names of the columns were read. */
class NewProperty extends Error {}

/** The page that is sent as a table: a whole one unless `limit` is less. */
export function tablePage(url: URL, { limit, offset }: Page): Page {
  return { limit: url.searchParams.has("limit") ? limit : httpLimits.pageMax, offset };
}

export function linkHeader(url: URL, page: Page, count: number): { link?: string } {
  const links = Object.entries(pageLinks(url, page, count)).flatMap(([rel, link]: [string, string | null]) =>
    link === null ? [] : [`<${link}>; rel="${rel === "previous" ? "prev" : rel}"`],
  );
  return links.length > 0 ? { link: links.join(", ") } : {};
}

async function propertyNames(rows: Rows): Promise<string[]> {
  const names = new Set<string>();
  for await (const { properties } of rowsIn(rows)) {
    for (const name of properties.keys()) names.add(name);
    if (names.size <= httpLimits.csvPropertiesMax) continue;
    const detail =
      `These rows have more than ${httpLimits.csvPropertiesMax} different properties, too many for a table. ` +
      "Use a smaller limit, or JSON.";
    throw new Fault("invalid_input", detail, { attr: "format" });
  }
  return [...names].toSorted();
}

async function* formatLines(rows: Rows, fixed: readonly string[], named: readonly string[]) {
  const columns = new Set(named);
  let text = "";
  for await (const { members, properties } of rowsIn(rows)) {
    // A reply that has begun is cut off, so that it cannot be taken for complete.
    for (const name of properties.keys())
      if (!columns.has(name)) throw new NewProperty("a row has a new property");
    const fixedCells = fixed.map((column) => members.get(column) ?? "");
    text += formatCsvLine([...fixedCells, ...named.map((name) => properties.get(name) ?? "")]);
    if (text.length < limits.replySliceBytes) continue;
    yield toBytes(text);
    text = "";
  }
  if (text !== "") yield toBytes(text);
}

async function* rowsIn(chunks: Rows) {
  let read = 0;
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    for (let at = 0; at < bytes.length;) {
      const end = pastValue(bytes, at + 1);
      yield rowAt(bytes, at + 1);
      read += end - at;
      at = end;
      if (read < limits.replySliceBytes) continue;
      read = 0;
      await yieldToEventLoop();
    }
  }
}

function rowAt(bytes: Buffer, from: number) {
  const row = { members: new Map<string, string>(), properties: new Map<string, string>() };
  const add = (cells: Map<string, string>, at: number): void => {
    const members = new JsonCursor(bytes, at);
    while (members.next()) {
      const name = JSON.parse(bytes.toString("utf8", members.key - 1, members.keyEnd + 1)) as string;
      if (cells === row.members && name === "properties") add(row.properties, members.value);
      else {
        const json = bytes.toString("utf8", members.value, members.end);
        cells.set(name, cells === row.properties && isTextInQuotes.test(json) ? json : formatCell(json));
      }
    }
  };
  add(row.members, from);
  return row;
}

/** A text in which a reader would see another value, or none: the importer tells it by its quotes. */
const isTextInQuotes = /^"(?:\d[\d.eE+-]*|true|false|null|)"$/;

/** A cell from JSON: a text as it is, null as "", anything else as its JSON, so that numbers keep all their digits. */
export function formatCell(json: string): string {
  if (json === "null") return "";
  return json.startsWith('"') ? formatTextCell(JSON.parse(json) as string) : quoted(json);
}

/** A spreadsheet computes a text that begins like a formula: an apostrophe before it makes it a text. */
export function formatTextCell(text: string): string {
  return quoted(formulaStarts.has(text.charAt(0)) ? `'${text}` : text);
}

const formulaStarts = new Set("=+-@＝＋－＠\t\r\n");

function quoted(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function formatCsvLine(cells: readonly string[]): string {
  return `${cells.join(",")}\r\n`;
}
