import { expect, test } from "bun:test";
import { toCsv, toTsv } from "../../../../src/console/app/ui/csv.ts";

test("a file for spreadsheets holds texts as texts, and never a formula", () => {
  const rows = [
    ['a "b", c', null, 1.5],
    ["=1+1", { a: 1 }, -2],
    [" x", true, undefined],
  ];
  expect(toCsv(["name", "b", "c"], rows)).toBe(
    'name,b,c\r\n"a ""b"", c",,1.5\r\n\'=1+1,"{""a"":1}",-2\r\n" x",true,\r\n',
  );
  expect(toTsv(["name", "b\tc"], [["two\r\nlines", "=1"]])).toBe("name\tb c\ntwo lines\t'=1\n");
});
