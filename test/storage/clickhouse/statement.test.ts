import { expect, test } from "bun:test";
import {
  quoteText,
  readInsert,
  readShape,
  readTokens,
  splitStatements,
  unquoteText,
} from "../../../src/storage/clickhouse/statement.ts";

const scripts: [string, string[]][] = [
  ["SELECT 1", ["SELECT 1"]],
  ["SELECT 1;\n\nSELECT 2;\n", ["SELECT 1", "SELECT 2"]],
  ["-- only; a comment\n/* and; another */ ;;", []],
  ["SELECT ';', \"a;b\", `c;d`; SELECT 2", ["SELECT ';', \"a;b\", `c;d`", "SELECT 2"]],
  ["SELECT 'it''s; \\'; still'; SELECT 2", ["SELECT 'it''s; \\'; still'", "SELECT 2"]],
  ["SELECT $doc$ a; 'b $doc$; SELECT 2", ["SELECT $doc$ a; 'b $doc$", "SELECT 2"]],
  ["SELECT 1 -- one; two\n, 2; SELECT 3 /* ; */", ["SELECT 1 -- one; two\n, 2", "SELECT 3 /* ; */"]],
  ["SELECT 'never closed; ", ["SELECT 'never closed;"]],
];
test.each(scripts)("%j has its statements", (script, statements) => {
  expect(splitStatements(script)).toEqual(statements);
});

test("a text of any bytes ends in tokens that cover it in order", () => {
  const text = "a\\'\"`$x$(}\u0000é😀/*";
  let last = 0;
  for (const { start, end } of readTokens(text)) {
    expect(start).toBeGreaterThanOrEqual(last);
    expect(end).toBeGreaterThan(start);
    last = end;
  }
});

test("a literal of megabytes is read at once", () => {
  const literal = quoteText("'\\".repeat(2_000_000));
  expect([...readTokens(`SELECT ${literal}`)].length).toBe(2);
});

test("an INSERT says where its data begin and where a file may be named", () => {
  const text = "INSERT INTO t (format, `values`) SETTINGS a = 1 FORMAT CSV 1;2";
  const insert = readInsert(text);
  expect(insert?.format).toBe("CSV");
  expect(text.slice(0, insert?.splitAt)).toBe("INSERT INTO t (format, `values`) ");
  expect(insert?.settings).toBe("SETTINGS a = 1 ");
  expect(text.slice(insert?.dataAt)).toBe(" 1;2");
});

test("an INSERT may select from its own data", () => {
  const text =
    "INSERT INTO t WITH 1 AS input SELECT a, 'input(' FROM ( SELECT a FROM Input ('a Int8')) FORMAT CSV 1;2";
  const insert = readInsert(text);
  expect(insert?.format).toBe("CSV");
  expect(text.slice(insert?.input?.start, insert?.input?.end)).toBe("Input (");
  expect(text.slice(insert?.dataAt)).toBe(" 1;2");
  expect(text.slice(0, insert?.splitAt)).toEndWith("('a Int8')) ");
});

test("an INSERT that reads rows or a file takes no data", () => {
  expect(readInsert("INSERT INTO t SELECT 1 FORMAT CSV")?.format).toBeUndefined();
  expect(readInsert("INSERT INTO t WITH 1 AS x SELECT x")?.format).toBeUndefined();
  expect(readInsert("INSERT INTO FUNCTION file('x', CSV) SELECT 1")?.format).toBeUndefined();
  expect(readInsert("/* x */ insert into t from infile 'a''b' format Native")?.file).toBe("'a''b'");
  expect(readInsert("SELECT 'INSERT'")).toBeUndefined();
});

test("a statement's shape is its first word, its last FORMAT, its SELECTs and where it writes", () => {
  expect(readShape("SELECT (SELECT 1 FORMAT x) FORMAT JSON")).toEqual({
    verb: "SELECT",
    format: "JSON",
    unformatted: "SELECT (SELECT 1 FORMAT x) ",
    selects: 2,
    outfile: false,
  });
  expect(readShape("(SELECT 1)")).toMatchObject({ verb: "", selects: 1, format: undefined });
  expect(readShape("SELECT 1 into /* */ outfile 'x'").outfile).toBe(true);
  expect(readShape("SELECT 'INTO OUTFILE'").outfile).toBe(false);
  expect(readShape("SELECT 1 FORMAT CSV SETTINGS a = 1").unformatted).toBeUndefined();
  expect(readShape("SELECT 1").unformatted).toBeUndefined();
});

test("a quoted text is read back as it was", () => {
  for (const text of ["", "it's", "\\", "\\'", "a\nb", "''"]) expect(unquoteText(quoteText(text))).toBe(text);
});
