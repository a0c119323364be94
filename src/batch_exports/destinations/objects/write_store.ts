// The ClickHouse statements that write an export's rows into a table function. Values are parameters.

import { marked, type Selection, type ExportStatement } from "../../source/store.ts";

/** Writes a selection into a table function. */
export function insertStatement(
  target: ExportStatement,
  { select }: Selection,
  mark: string,
): ExportStatement {
  return {
    text: `INSERT INTO FUNCTION ${target.text} ${select.text} ${marked(mark)}`,
    params: { ...target.params, ...select.params },
  };
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
  return {
    text:
      `INSERT INTO FUNCTION ${target.text} PARTITION BY toString(${file}) ` +
      `SELECT * FROM (${select.text}) WHERE ${where} ${marked(mark)}`,
    params: { ...target.params, ...select.params, files, from_file: from, to_file: to },
  };
}

/** Writes one text into a table function. */
export function insertTextOf(target: ExportStatement, content: string, mark: string): ExportStatement {
  return {
    text: `INSERT INTO FUNCTION ${target.text} SELECT {content:String} AS line ${marked(mark)}`,
    params: { ...target.params, content },
  };
}
