// Values of every type that the engine gives, as an answer in SQL shows them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { systemClock } from "../../../src/core/clock.ts";
import { readTableRows } from "../../../src/query/results/table_rows.ts";
import { openQueryRunners, type TableRunner } from "../../../src/query/store.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { usualBounds } from "../../support/query_bounds.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";
import { countTurns } from "../../support/turns.ts";

afterAll(cleanUp, storesStartMsMax);

let table: TableRunner;
beforeAll(async () => {
  const { clickhouse } = await openMadeStores();
  table = openQueryRunners(clickhouse, systemClock, usualBounds()).table;
}, storesStartMsMax);

const berlin = "'Europe/Berlin'";

/** An expression, its type, and its JSON. */
const values: [sql: string, type: string, json: string][] = [
  ["toUInt8(200)", "UInt8", "200"],
  ["toUInt64(18446744073709551615)", "UInt64", "18446744073709551615"],
  ["toInt64(-9223372036854775807)", "Int64", "-9223372036854775807"],
  ["toUInt64(9007199254740993)", "UInt64", "9007199254740993"],
  ["toUInt64(12)", "UInt64", "12"],
  [
    "toInt128('-170141183460469231731687303715884105727')",
    "Int128",
    "-170141183460469231731687303715884105727",
  ],
  [
    "toUInt256('1234567890123456789012345678901234567890')",
    "UInt256",
    "1234567890123456789012345678901234567890",
  ],
  ["cityHash64('a')", "UInt64", "2603192927274642682"],
  ["toNullable(toUInt64(18446744073709551615))", "Nullable(UInt64)", "18446744073709551615"],
  ["[toUInt64(9007199254740993), NULL]", "Array(Nullable(UInt64))", "[9007199254740993,null]"],
  [
    "tuple(toUInt64(9007199254740993), 'a 9007199254740993')",
    "Tuple(UInt64, String)",
    '[9007199254740993,"a 9007199254740993"]',
  ],
  ["map('a', toUInt64(9007199254740993))", "Map(String, UInt64)", '{"a":9007199254740993}'],
  ["toDecimal64(1.5, 3)", "Decimal(18, 3)", "1.5"],
  ["toDecimal128('12345678901234567890.123456789', 9)", "Decimal(38, 9)", "12345678901234567890.123456789"],
  ["[toDecimal64('0.123456789012345678', 18)]", "Array(Decimal(18, 18))", "[0.123456789012345678]"],
  ["toFloat64(0.1) + 0.2", "Float64", "0.30000000000000004"],
  ["toFloat64(1e300)", "Float64", "1e+300"],
  ["nan", "Float64", "null"],
  ["-inf", "Float64", "null"],
  ["true", "Bool", "true"],
  ["NULL", "Nullable(Nothing)", "null"],
  ["[]", "Array(Nothing)", "[]"],
  ["'a\\n\"b'", "String", '"a\\n\\"b"'],
  ["toLowCardinality(toNullable('x'))", "LowCardinality(Nullable(String))", '"x"'],
  ["CAST('a, (b' AS Enum8('a, (b' = 1))", "Enum8('a, (b' = 1)", '"a, (b"'],
  ["toUUID('00000000-0000-4000-8000-000000000000')", "UUID", '"00000000-0000-4000-8000-000000000000"'],
  ["toDate('2024-03-30')", "Date", '"2024-03-30"'],
  ["toDate32('1999-03-30')", "Date32", '"1999-03-30"'],
  ["toDateTime('2024-03-30 12:00:00', 'UTC')", "DateTime('UTC')", '"2024-03-30T12:00:00Z"'],
  [`toDateTime('2024-03-30 00:00:00', ${berlin})`, `DateTime(${berlin})`, '"2024-03-30T00:00:00+01:00"'],
  [
    `toDateTime64('2024-07-30 00:00:00.123456', 6, ${berlin})`,
    `DateTime64(6, ${berlin})`,
    '"2024-07-30T00:00:00.123456+02:00"',
  ],
  [
    `toDateTime(1729989000, ${berlin}) AS first`,
    `DateTime(${berlin})`,
    // The clock is turned back at three: half past two comes twice.
    '"2024-10-27T02:30:00+02:00"',
  ],
  [`toDateTime(1729992600, ${berlin})`, `DateTime(${berlin})`, '"2024-10-27T02:30:00+01:00"'],
  [
    "toDateTime64('2024-03-30 00:00:00', 3, 'Asia/Kathmandu')",
    "DateTime64(3, 'Asia/Kathmandu')",
    '"2024-03-30T00:00:00.000+05:45"',
  ],
  [
    "toDateTime64('2024-03-29 21:00:00', 3, 'America/St_Johns')",
    "DateTime64(3, 'America/St_Johns')",
    '"2024-03-29T21:00:00.000-02:30"',
  ],
  [
    `[toNullable(toDateTime('2024-03-30 00:00:00', ${berlin})), NULL]`,
    `Array(Nullable(DateTime(${berlin})))`,
    '["2024-03-30T00:00:00+01:00",null]',
  ],
  [
    `tuple('a', toDateTime('2024-03-30 00:00:00', ${berlin}))`,
    `Tuple(String, DateTime(${berlin}))`,
    '["a","2024-03-30T00:00:00+01:00"]',
  ],
  [
    `map('since', toDateTime('2024-03-30 00:00:00', ${berlin}))`,
    `Map(String, DateTime(${berlin}))`,
    '{"since":"2024-03-30T00:00:00+01:00"}',
  ],
  [
    `CAST(tuple(1, toDateTime('2024-03-30 00:00:00', ${berlin})) AS Tuple(\`a b\` UInt8, at DateTime(${berlin})))`,
    `Tuple(\`a b\` UInt8, at DateTime(${berlin}))`,
    '[1,"2024-03-30T00:00:00+01:00"]',
  ],
];

test.each(values)("%s", async (sql, type, json) => {
  const { types, rows } = await table(`SELECT ${sql}`, {});
  expect([types, JSON.stringify(rows)]).toEqual([[type], `[[${json}]]`]);
});

test("columns beside each other are shown each by its type, row by row", async () => {
  const { types, rows } = await table(
    `SELECT number AS n, toDateTime(number, ${berlin}), number + 18446744073709000000 FROM numbers(3)`,
    {},
  );
  expect(types).toEqual(["UInt64", `DateTime(${berlin})`, "UInt64"]);
  expect(JSON.stringify(rows)).toBe(
    '[[0,"1970-01-01T01:00:00+01:00",18446744073709000000],[1,"1970-01-01T01:00:01+01:00",18446744073709000001],' +
      '[2,"1970-01-01T01:00:02+01:00",18446744073709000002]]',
  );
});

test("a moment of a zone that has no offset in ISO 8601, or that is not known here, stays in UTC", async () => {
  const answer = (type: string, at: string) =>
    readTableRows(Buffer.from(`["at"]\n[${JSON.stringify(type)}]\n["${at}"]\n`));
  const before = await answer(`DateTime64(3, ${berlin})`, "1890-01-01T00:00:00.000Z");
  expect(before.rows).toEqual([["1890-01-01T00:00:00.000Z"]]);
  const unknown = await answer("DateTime('Nowhere/Land')", "2024-01-01T00:00:00Z");
  expect(unknown.rows).toEqual([["2024-01-01T00:00:00Z"]]);
});

test("an answer without rows has its types, and one that is cut off is an error", async () => {
  expect(await table("SELECT 1 AS one WHERE 0", {})).toEqual({ types: ["UInt8"], rows: [] });
  expect(readTableRows(Buffer.from('["at"]\n'))).rejects.toThrow("no line of types");
});

/** An answer of one row with one cell of `count` times `value`. */
const wide = (type: string, value: string, count: number): Uint8Array =>
  Buffer.from(`["a"]\n["Array(${type})"]\n[[${Array.from({ length: count }, () => value).join(",")}]]\n`);

test.each([
  ["empty lists", "Array(Nothing)", "[]", 400_000],
  ["numbers of many digits", "UInt64", "12345678901234567", 50_000],
  ["moments of a zone", "DateTime('Europe/Berlin')", '"2024-01-01T00:00:00Z"', 40_000],
])("a row of too many %s is refused, half as many are not", async (_, type, value, count) => {
  const fault = await readTableRows(wide(type, value, count)).catch((thrown: unknown) => thrown);
  expect(fault).toMatchObject({ code: "invalid_input", attr: "query" });
  const { rows } = await readTableRows(wide(type, value, count / 2));
  expect((rows[0]![0] as unknown[]).length).toBe(count / 2);
});

test("as many values in rows of their own are read", async () => {
  const rows = '["2024-01-01T00:00:00Z",12345678901234567]\n'.repeat(50_000);
  const answer = Buffer.from(`["a","b"]\n["DateTime('Europe/Berlin')","UInt64"]\n${rows}`);
  expect((await readTableRows(answer)).rows.length).toBe(50_000);
});

test("short rows beside a number of many digits are read in turns of a few thousand", async () => {
  const answer = Buffer.from(`["a"]\n["UInt64"]\n[12345678901234567]\n${"[1]\n".repeat(50_000)}`);
  const turns = await countTurns(async () => expect((await readTableRows(answer)).rows.length).toBe(50_001));
  expect(turns).toBeGreaterThanOrEqual(12);
});
