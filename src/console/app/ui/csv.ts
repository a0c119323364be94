// What a table shows as a file, for spreadsheets (RFC 4180).

export type Cell = string | number | boolean | null | undefined | object;

/** A spreadsheet computes a text that begins like a formula: an apostrophe before it makes it a text. */
const formulaStarts = new Set("=+-@＝＋－＠\t\r\n");

export function csvOf(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(cellText).join(",")}\r\n`).join("");
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell !== "string")
    return quotedCell(typeof cell === "object" ? JSON.stringify(cell) : String(cell));
  return quotedCell(formulaStarts.has(cell.charAt(0)) ? `'${cell}` : cell);
}

function quotedCell(text: string): string {
  const isPlain = ![",", '"', "\n", "\r"].some((sign) => text.includes(sign)) && text.trim() === text;
  return isPlain ? text : `"${text.replaceAll('"', '""')}"`;
}
