// Parsers of HogQL for tests.

import { Fault } from "../../src/core/fault.ts";
import { silentLog } from "../../src/core/log.ts";
import { openSqlParser, type SqlParser } from "../../src/query/sql/parser/parser.ts";
import { later } from "./cleanup.ts";

/** For tests that ask no SQL. */
export const noSqlParser: SqlParser = {
  parse: () => Promise.reject(new Error("this test parses no SQL")),
  close: () => {},
};

/** Its process starts with the first text, however long that takes, and ends with the test file. */
export function openTestParser(): SqlParser {
  const parser = openSqlParser(silentLog);
  later(() => parser.close());
  const parse: SqlParser["parse"] = async (text, kind, project_id) => {
    for (;;) {
      try {
        return await parser.parse(text, kind, project_id);
      } catch (thrown) {
        if (!(thrown instanceof Fault) || thrown.code !== "unavailable") throw thrown;
      }
    }
  };
  return { ...parser, parse };
}
