// Numbers beyond 64 bits and a double, against JSON.parse.

import { expect, test } from "bun:test";
import { boundNumbers } from "../../../src/core/json/bounded_numbers.ts";

const bound = (text: string): string => Buffer.from(boundNumbers(Buffer.from(text))).toString();

const beyond = [
  "1e309",
  "-1e309",
  "1E+400",
  "1e200000",
  "1e-400",
  "-1e-20000",
  "1e-20000",
  "1234567890123456789012345",
  "-1234567890123456789012345",
  "18446744073709551616",
  "-9223372036854775809",
  `1${"0".repeat(400)}`,
  `0.${"0".repeat(20_000)}1`,
  `0.1${"2".repeat(20_000)}`,
  "1234567890123456789.0123456789",
  "2.5e-330",
];

const held = [
  "0",
  "-0",
  "0.0",
  "-0.0e5",
  "1.5e300",
  "5e-324",
  "-1.7976931348623157e+308",
  "9007199254740993",
  "18446744073709551615",
  "-9223372036854775808",
  "1715000000000.123",
];

test("a number that neither 64 bits nor a double can hold becomes what JSON.parse reads, wherever it stands", () => {
  const places = [
    "#",
    "[#]",
    '{"n":#}',
    '{ "a" : [1, #\n] , "b":"x" }',
    '{"s":"\\"1e999","n":\t#}',
    "[#,#,-1,#]",
  ];
  for (const number of beyond) {
    for (const place of places) {
      const text = place.replaceAll("#", number);
      expect(JSON.parse(bound(text))).toEqual(JSON.parse(JSON.stringify(JSON.parse(text))));
    }
  }
  expect(bound('{"a":1e200000,"b":-1e-20000,"c":1234567890123456789012345}')).toBe(
    '{"a":null,"b":0,"c":1.2345678901234568e+24}',
  );
});

test("any other number stays as it was written, and so does the text around the others", () => {
  for (const number of held) expect(bound(`{"n":${number}}`)).toBe(`{"n":${number}}`);
  expect(bound(`[ ${held.join(" ,\n")}, 1e999 ]`)).toBe(`[ ${held.join(" ,\n")}, null ]`);
});

test("texts are no numbers, whatever they look like", () => {
  const texts = [
    "1e999",
    ":1e999",
    "\\\\",
    '\\"1e999',
    "[1e999,1e999",
    "0191e309-1e309-7",
    "\\n1e999",
    "ü,1e999",
  ];
  const json = `{${texts.map((text, i) => `"${text}${i}":"${text}"`).join(",")},"n":1e999}`;
  expect(bound(json)).toBe(json.replace(/1e999}$/, "null}"));
  const without = Buffer.from(json.replace(/1e999}$/, "1}"));
  expect(boundNumbers(without)).toBe(without);
});

test("numbers are found in hostile texts of a megabyte, without recursion", () => {
  const megabyte = 1_000_000;
  const hostile = [
    `[${"1e999,".repeat(megabyte / 6)}1]`,
    `[${"1".repeat(megabyte)}]`,
    `[1.${"0".repeat(megabyte)}1e${"9".repeat(megabyte)}]`,
    `${"[".repeat(megabyte)}1e999${"]".repeat(megabyte)}`,
    `["${"\\\\".repeat(megabyte / 2)}",1e999]`,
    `["${"\\n".repeat(megabyte / 2)}",1e999]`,
    `[${"1e10,".repeat(megabyte / 5)}1e999]`,
  ];
  for (const text of hostile) {
    expect(bound(text)).not.toBe(text);
  }
});
