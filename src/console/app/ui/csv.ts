// A table's rows for spreadsheets: as a file (RFC 4180), and as a text to paste.

export type Cell = string | number | boolean | null | undefined | object;

export interface TableData {
  /** The file's name, without its ending. */
  name: string;
  columns: readonly string[];
  rows: readonly (readonly Cell[])[];
}

/** A spreadsheet computes texts that begin like a formula; an apostrophe before them prevents that. */
const formulaStarts = new Set("=+-@＝＋－＠\t\r\n");

export function toCsv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(quotedText).join(",")}\r\n`).join("");
}

/** Cells separated by tabs, which spreadsheets paste into columns. Tabs and line ends in a cell become spaces. */
export function toTsv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const plain = (cell: Cell) => bareText(cell).replaceAll(/[\t\r\n]+/g, " ");
  return [columns, ...rows].map((row) => `${row.map(plain).join("\t")}\n`).join("");
}

function bareText(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell !== "string") return typeof cell === "object" ? JSON.stringify(cell) : String(cell);
  return formulaStarts.has(cell.charAt(0)) ? `'${cell}` : cell;
}

function quotedText(cell: Cell): string {
  const text = bareText(cell);
  const isPlain = ![",", '"', "\n", "\r"].some((sign) => text.includes(sign)) && text.trim() === text;
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`;
}
