// What a compiled native_query means to the engine itself: every function that may be called runs, and means what its
// name says.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { compileQuery } from "../../../src/batch_exports/query/compile.ts";
import { queryFunctions } from "../../../src/batch_exports/query/tables.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { whyNoPattern } from "../../../src/storage/clickhouse/trial.ts";
import { checkPropertyFilters, patternsIn } from "../../../src/storage/events/property_filter.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openTestParser } from "../../support/sql_parser.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";

const { parse } = openTestParser();
let clickhouse: ClickHouse;

beforeAll(async () => {
  const stores = await openMadeStores();
  ({ clickhouse } = stores);
}, storesStartMsMax);
afterAll(cleanUp);

const properties = JSON.stringify({
  url: "https://www.example.com/a/b?x=1&y=2#frag",
  n: 42.5,
  word: "Straße",
  at: "2025-03-04T05:06:07Z",
  paid: true,
  nested: { deep: ["a", { b: 7 }] },
  code: "aGk=",
});

/** One event. */
const source = `
  SELECT toUUID('01890a5d-ac96-774b-bcce-b302099a8057') AS uuid, 'signed up' AS event, 'me' AS distinct_id,
    toUUID('11890a5d-ac96-574b-bcce-b302099a8057') AS person_id, {source_properties:String} AS properties,
    toDateTime64('2025-01-02 03:04:05.678901', 6, 'UTC') AS timestamp, timestamp AS created_at,
    false AS historical_migration`;

async function valuesOf(selected: string): Promise<unknown[]> {
  const owner = { model: "events", project_id: 1 } as const;
  const { columns, where_sql, params } = await compileQuery(parse, selected, owner, clickhouse.zones);
  const shown = columns.map(({ expression_sql, alias }) => `${expression_sql} AS \`${alias}\``);
  const text = `SELECT ${shown.join(", ")} FROM (${source}) WHERE ${where_sql ?? "1"}`;
  const rows = await clickhouse.query<Record<string, unknown>>(text, {
    ...params,
    source_properties: properties,
  });
  return rows.flatMap((row) => Object.values(row));
}

async function valueOf(expression: string): Promise<unknown> {
  return (await valuesOf(`SELECT ${expression} AS c FROM events`))[0];
}

const calls: Record<string, unknown> = {
  "lower('AbC')": "abc",
  "upper(event)": "SIGNED UP",
  "lowerUTF8('ÄB')": "äb",
  "upperUTF8(properties.word)": "STRASSE",
  "length(event)": "9",
  "lengthUTF8(properties.word)": "6",
  "reverse('abc')": "cba",
  "reverseUTF8('äb')": "bä",
  "empty('')": 1,
  "notEmpty(event)": 1,
  "trimLeft('  a ')": "a ",
  "trimRight('  a ')": "  a",
  "trimBoth('  a ')": "a",
  "trim('  a ')": "a",
  "substring(event, 1, 6)": "signed",
  "substringUTF8(properties.word, 5)": "ße",
  "left(event, 3)": "sig",
  "right(event, 2)": "up",
  "leftUTF8('äb', 1)": "ä",
  "rightUTF8('bä', 1)": "ä",
  "startsWith(event, 'sign')": 1,
  "endsWith(event, 'up')": 1,
  "extract(event, 'signed (.*)')": "up",
  "match(event, '^signed')": 1,
  "position(event, 'up')": "8",
  "positionUTF8('äb', 'b')": "2",
  "positionCaseInsensitive(event, 'UP')": "8",
  "positionCaseInsensitiveUTF8('äB', 'b')": "2",
  "concat(event, '-', distinct_id)": "signed up-me",
  "replaceOne('aa', 'a', 'b')": "ba",
  "replaceRegexpOne('a1b2', '[0-9]', '')": "ab2",
  "replaceAll('aa', 'a', 'b')": "bb",
  "replaceRegexpAll('a1b2', '[0-9]', '')": "ab",
  "hex('a')": "61",
  "base64Encode('hi')": "aGk=",
  "encodeURLComponent('a b')": "a%20b",
  "toJSONString(event)": '"signed up"',
  "decodeURLComponent('a%20b')": "a b",
  "unhex('61')": "a",
  "tryBase64Decode(properties.code)": "hi",
  "protocol(properties.url)": "https",
  "domain(properties.url)": "www.example.com",
  "domainWithoutWWW(properties.url)": "example.com",
  "topLevelDomain(properties.url)": "com",
  "path(properties.url)": "/a/b",
  "pathFull(properties.url)": "/a/b?x=1&y=2#frag",
  "queryString(properties.url)": "x=1&y=2",
  "fragment(properties.url)": "frag",
  "cutQueryString(properties.url)": "https://www.example.com/a/b#frag",
  "cutFragment(properties.url)": "https://www.example.com/a/b?x=1&y=2",
  "cutQueryStringAndFragment(properties.url)": "https://www.example.com/a/b",
  "cutWWW(properties.url)": "https://example.com/a/b?x=1&y=2#frag",
  "extractURLParameter(properties.url, 'y')": "2",
  "cutURLParameter(properties.url, 'x')": "https://www.example.com/a/b?y=2#frag",
  "JSONExtractString(properties, 'word')": "Straße",
  "JSONExtractInt(properties, 'nested', 'deep', 2, 'b')": "7",
  "JSONExtractUInt(properties, 'nested', 'deep', 2, 'b')": "7",
  "JSONExtractFloat(properties, 'n')": 42.5,
  "JSONExtractBool(properties, 'paid')": 1,
  "JSONExtractRaw(properties, 'nested', 'deep', 1)": '"a"',
  "JSONHas(properties, 'word')": 1,
  "JSONLength(properties, 'nested', 'deep')": "2",
  "JSONType(properties, 'n')": "Double",
  "toString(uuid)": "01890a5d-ac96-774b-bcce-b302099a8057",
  "toInt('12')": "12",
  "toInt(event)": null,
  "toFloat(properties.n)": 42.5,
  "toBool(properties.paid)": true,
  "toUUID('01890a5d-ac96-774b-bcce-b302099a8057')": "01890a5d-ac96-774b-bcce-b302099a8057",
  "toUUID(event)": null,
  "toDate(properties.at)": "2025-03-04",
  "toDate(timestamp)": "2025-01-02",
  "toDate(event)": null,
  "toDateTime(properties.at) = toDateTime('2025-03-04 05:06:07')": 1,
  "toUnixTimestamp(timestamp)": 1_735_787_045,
  "toUnixTimestamp64Milli(timestamp)": "1735787045678",
  "toUnixTimestamp64Micro(timestamp)": "1735787045678901",
  "toYear(timestamp)": 2025,
  "toQuarter(timestamp)": 1,
  "toMonth(timestamp)": 1,
  "toDayOfYear(timestamp)": 2,
  "toDayOfMonth(timestamp)": 2,
  "toDayOfWeek(timestamp)": 4,
  "toHour(timestamp)": 3,
  "toMinute(timestamp)": 4,
  "toSecond(timestamp)": 5,
  "toString(toStartOfYear(timestamp))": "2025-01-01",
  "toString(toStartOfQuarter(timestamp))": "2025-01-01",
  "toString(toStartOfMonth(timestamp))": "2025-01-01",
  "toString(toMonday(timestamp))": "2024-12-30",
  "toString(toStartOfWeek(timestamp))": "2024-12-29",
  "toString(toStartOfDay(timestamp))": "2025-01-02 00:00:00",
  "toString(toStartOfHour(timestamp))": "2025-01-02 03:00:00",
  "toString(toStartOfMinute(timestamp))": "2025-01-02 03:04:00",
  "toString(toStartOfFiveMinutes(timestamp))": "2025-01-02 03:00:00",
  "toString(toStartOfFifteenMinutes(timestamp))": "2025-01-02 03:00:00",
  "toYYYYMM(timestamp)": 202_501,
  "toYYYYMMDD(timestamp)": 20_250_102,
  "toString(toTimeZone(timestamp, 'Europe/Paris'))": "2025-01-02 04:04:05.678901",
  "formatDateTime(timestamp, '%Y/%m')": "2025/01",
  "toSecond(addSeconds(timestamp, 1))": 6,
  "toMinute(addMinutes(timestamp, 1))": 5,
  "toHour(addHours(timestamp, 1))": 4,
  "toDayOfMonth(addDays(timestamp, 1))": 3,
  "toDayOfMonth(addWeeks(timestamp, 1))": 9,
  "toMonth(addMonths(timestamp, 1))": 2,
  "toYear(addYears(timestamp, 1))": 2026,
  "toSecond(subtractSeconds(timestamp, 1))": 4,
  "toMinute(subtractMinutes(timestamp, 1))": 3,
  "toHour(subtractHours(timestamp, 1))": 2,
  "toDayOfMonth(subtractDays(timestamp, 1))": 1,
  "toDayOfMonth(subtractWeeks(timestamp, 1))": 26,
  "toMonth(subtractMonths(timestamp, 1))": 12,
  "dateDiff('hour', created_at, addDays(timestamp, 1))": "24",
  "toString(dateTrunc('month', timestamp))": "2025-01-01",
  "coalesce(properties.nobody, event)": "signed up",
  "ifNull(properties.nobody, 'x')": "x",
  "nullIf(event, 'signed up')": null,
  "isNull(properties.nobody)": 1,
  "isNotNull(event)": 1,
  "if(event = 'x', 1, 2)": "2",
  "multiIf(event = 'x', 1, event = 'signed up', 3, 2)": "3",
  "equals(1, 1)": 1,
  "notEquals(1, 1)": 0,
  "less(1, 2)": 1,
  "lessOrEquals(1, 2)": 1,
  "greater(1, 2)": 0,
  "greaterOrEquals(1, 2)": 0,
  "abs(-1)": "1",
  "sign(-5)": -1,
  "sqrt(4)": 2,
  "exp(0)": 1,
  "log(1)": 0,
  "log2(8)": 3,
  "log10(100)": 2,
  "isFinite(1.5)": 1,
  "isNaN(1.5)": 0,
  "round(1.55, 1)": 1.6,
  "floor(1.5)": 1,
  "ceil(1.5)": 2,
  "trunc(1.5)": 1,
  "plus(1, 2)": "3",
  "minus(1, 2)": "-1",
  "multiply(2, 3)": "6",
  "divide(1, 2)": 0.5,
  "intDivOrZero(7, 0)": "0",
  "moduloOrZero(7, 4)": "3",
  "pow(2, 3)": 8,
  "least(1, 2)": "1",
  "greatest(1, 2)": "2",
  "hex(MD5(event))": new Bun.CryptoHasher("md5").update("signed up").digest("hex").toUpperCase(),
  "length(hex(SHA1(event)))": "40",
  "length(hex(SHA256(distinct_id)))": "64",
  "length(hex(SHA512(event)))": "128",
  "cityHash64(event) = cityHash64(event)": 1,
  "sipHash64(event) = sipHash64('x')": 0,
  "xxHash64(event) = xxHash64(event)": 1,
};

test("every function does what it is called for", async () => {
  const wrong: unknown[] = [];
  for (const [call, expected] of Object.entries(calls)) {
    const value = await valueOf(call).catch((thrown: unknown) => String(thrown).slice(0, 200));
    if (value !== expected) wrong.push({ call, value, expected });
  }
  expect(wrong).toEqual([]);
}, 300_000);

test("no function is left untried", () => {
  const tried = Object.keys(calls).join(" ");
  const lower = tried.toLowerCase();
  expect([...queryFunctions].filter((name) => !lower.includes(`${name}(`))).toEqual([]);
});

test("operators, words and properties mean what they do in SQL", async () => {
  const cases: Record<string, unknown> = {
    "1 + 2 * 3": "7",
    "(1 + 2) * 3": "9",
    "-3 - -2": "-1",
    "10 - 3 - 2 + 1 + 1": "7",
    "event || '-' || distinct_id": "signed up-me",
    "7 % 4": "3",
    "properties.n > 42": 1,
    "properties.n + 1": 43.5,
    "properties.n between 42 and 43": 1,
    "properties.paid = true": 1,
    "properties.nobody": null,
    "properties.nobody is null": 1,
    "properties.nested.deep": '["a",{"b":7}]',
    "properties.n in (1, 42.5)": 1,
    "event in ('a', 'signed up')": 1,
    "event not in ['a']": 1,
    "not event = 'x' and event like '%up'": 1,
    "event || '!'": "signed up!",
    "'it''s \\\\ \\n'": "it's \\ \n",
    "'100\\%' like '100\\%'": 0,
    true: true,
    NULL: null,
    "9223372036854775807": "9223372036854775807",
    "1.25e1": 12.5,
  };
  const wrong: unknown[] = [];
  for (const [text, expected] of Object.entries(cases)) {
    const value = await valueOf(text).catch((thrown: unknown) => String(thrown).slice(0, 200));
    if (value !== expected) wrong.push({ text, value, expected });
  }
  expect(wrong).toEqual([]);
}, 300_000);

test("long lists of alternatives are no deeper than short ones", async () => {
  const alternatives = Array.from({ length: 240 }, (_, i) => `event = 'event ${i}'`);
  const text = `SELECT event FROM events WHERE ${[...alternatives, "event = 'signed up'"].join(" OR ")}`;
  expect(await valuesOf(text)).toEqual(["signed up"]);
});

test("rows that do not match are left out", async () => {
  expect(await valuesOf("SELECT event FROM events WHERE properties.n > 100")).toEqual([]);
  expect(await valuesOf("SELECT event, uuid FROM events WHERE properties.n < 100")).toHaveLength(2);
  expect(await valuesOf("SELECT event FROM events WHERE properties.nobody = 'x'")).toEqual([]);
  expect(await valuesOf("SELECT event FROM events WHERE NOT properties.nobody = 'x'")).toEqual(["signed up"]);
});

test("an invalid regular expression is reported by the engine, before any row is read", async () => {
  expect(await whyNoPattern(clickhouse, ["^a+$", "(a|b)*"])).toBeUndefined();
  expect(await whyNoPattern(clickhouse, ["^a+$", "("])).toContain("missing )");
  expect(await whyNoPattern(clickhouse, [])).toBeUndefined();
  const filters = checkPropertyFilters([
    { key: "a", operator: "not_regex", value: "(" },
    { type: "OR", values: [{ key: "b", operator: "regex", value: ["x", "["] }] },
    { key: "c", value: "(" },
  ]);
  expect(patternsIn(filters)).toEqual(["(", "x", "["]);
});
