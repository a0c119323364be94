// The words that editors offer are those that the compiler takes.

import { expect, test } from "bun:test";
import { sqlTables } from "../../../src/query/sql/compile/lists/tables.ts";
import { sqlWords } from "../../../src/query/sql/words.ts";

test("every table, column, join and function of the language is among its words, once", () => {
  const { tables, functions } = sqlWords();
  expect(Object.keys(tables)).toEqual(Object.keys(sqlTables));
  expect(tables["events"]?.columns).toContain("timestamp");
  expect(tables["events"]?.joins).toMatchObject({ person: "persons", session: "sessions" });
  for (const name of ["count", "toDate", "toStartOfDay", "uniq", "coalesce", "JSONExtractString", "dateDiff"])
    expect(functions.map((one) => one.toLowerCase())).toContain(name.toLowerCase());
  expect(new Set(functions).size).toBe(functions.length);
  const joined = Object.values(tables).flatMap(({ joins }) => Object.values(joins));
  expect(joined.filter((name) => !tables[name])).toEqual([]);
});
