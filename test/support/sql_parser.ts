// A parser for tests that ask no SQL.

import type { SqlParser } from "../../src/query/sql/parser/parser.ts";

export const noSqlParser: SqlParser = {
  parse: () => Promise.reject(new Error("this test asks no SQL")),
  close: () => {},
};
