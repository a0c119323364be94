// The ClickHouse statements that write an export's rows into a table function. Values are parameters.

import { type ExportStatement, marked, over, type Selection } from "../../source/store.ts";

/** Writes all rows of a selection into one file. */
export function insertStatement(
  target: ExportStatement,
  { select }: Selection,
  mark: string,
): ExportStatement {
  return over(target, (into) => `INSERT INTO FUNCTION ${into} ${select.text} ${marked(mark)}`, select.params);
}

/** Writes some of `files` files at once: a row's file follows from the row's identity. */
export function splitInsertOf(
  target: ExportStatement,
  { select, identity }: Selection,
  { files, from, to }: { files: number; from: number; to: number },
  mark: string,
): ExportStatement {
  const file = `${identity} % {files:UInt64}`;
  const where = `${file} >= {from_file:UInt64} AND ${file} < {to_file:UInt64}`;
  const rows = `SELECT * FROM (${select.text}) WHERE ${where} ${marked(mark)}`;
  const text = (into: string) => `INSERT INTO FUNCTION ${into} PARTITION BY toString(${file}) ${rows}`;
  return over(target, text, { ...select.params, files, from_file: from, to_file: to });
}

/** Writes one line of text into a file. */
export function insertTextOf(target: ExportStatement, content: string, mark: string): ExportStatement {
  const line = `SELECT {content:String} AS line ${marked(mark)}`;
  return over(target, (into) => `INSERT INTO FUNCTION ${into} ${line}`, { content });
}
