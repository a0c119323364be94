// A client's expression is computed for rows of its own project only, after the project's filter. Two projects have rows
// in the same granules of every table; an expression that fails on each row which is not its own fails nowhere.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { wordsIn } from "../../../src/core/words.ts";
import { sqlFunctions } from "../../../src/query/sql/compile/lists/functions.ts";
import type { SqlTable } from "../../../src/query/sql/compile/lists/table.ts";
import { sqlTables } from "../../../src/query/sql/compile/lists/tables.ts";
import { startMsMax } from "../../support/accounts.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { type Neighbours, startNeighbours } from "../../support/neighbours.ts";

afterAll(cleanUp, startMsMax);

let ask: Neighbours["sql"];
let other: number;

beforeAll(async () => {
  const neighbours = await startNeighbours();
  ask = neighbours.sql;
  other = neighbours.other.id;
  expect(neighbours.mixed).toEqual(
    expect.arrayContaining([
      "event_rows",
      "seen",
      "groups_seen",
      "session_facts",
      "snapshot_chunks",
      "ingestion_warnings",
    ]),
  );
}, startMsMax);

/** Calls that fail where `bad` holds: each function that a value of a row can make fail. */
const failing = [
  "IPv4StringToNum(if(bad, 'x', '127.0.0.1'))",
  "JSONExtractInt(concat('[', toString(intDiv(1, if(bad, 0, 1))), ']'), 1)",
  "L2Distance(if(bad, [1, 2], [1]), [1])",
  "arrayAUC(if(bad, [1, 2], [1]), [1])",
  "arrayAll((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayAvg((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayCount((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayCumSum((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayCumSumNonNegative((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayEnumerateDense(if(bad, [1, 2], [1]), [1])",
  "arrayEnumerateUniq(if(bad, [1, 2], [1]), [1])",
  "arrayExists((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayFill((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayFilter((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayFirst((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayFirstIndex((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayFirstOrNull((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayLast((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayLastIndex((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayLastOrNull((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayMap((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayMax((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayMin((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayProduct((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayResize([1], if(bad, 1000000000000, 2))",
  "arrayReverseFill((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayReverseSort((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayReverseSplit((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arraySort((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arraySplit((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arraySum((x, y) -> x > y, if(bad, [1, 2], [1]), [1])",
  "arrayUniq(if(bad, [1, 2], [1]), [1])",
  "arrayWithConstant(if(bad, -1, 2), 2)",
  "arrayZip(if(bad, [1, 2], [1]), [1])",
  "base64Decode(if(bad, '(', 'aaaa'))",
  "L1Distance(if(bad, [1, 2], [1]), [1])",
  "LinfDistance(if(bad, [1, 2], [1]), [1])",
  "bitShiftLeft(2, if(bad, -1, 2))",
  "bitShiftRight(2, if(bad, -1, 2))",
  "bitTest(2, if(bad, 1000, 2))",
  "bitTestAll(2, if(bad, 1000, 2), 1)",
  "bitTestAny(2, if(bad, 1000, 2), 1)",
  "ceil(2, if(bad, 1000000000000, 2))",
  "cosineDistance(if(bad, [1, 2], [1]), [1])",
  "dayOfWeek(if(bad, 'x', '2024-01-01 00:00:00'))",
  "divideDecimal(toDecimal(2, 2), toDecimal(if(bad, 0, 2), 2), 2)",
  "dotProduct(if(bad, [1, 2], [1]), [1])",
  "factorial(if(bad, 1000000000000, 2))",
  "floor(2, if(bad, 1000000000000, 2))",
  "gcd(if(bad, 0, 2), 2)",
  "intDiv(2, if(bad, 0, 2))",
  "intExp10(if(bad, divide(0, 0), 2))",
  "intExp2(if(bad, divide(0, 0), 2))",
  "lcm(if(bad, 0, 2), 2)",
  "leftPad('aaaa', if(bad, -1, 2))",
  "leftPadUTF8('aaaa', if(bad, -1, 2))",
  "mapFromArrays(if(bad, [1, 2], [1]), [1])",
  "if(bad, match(toString(bad), '('), true)",
  "if(bad, toString(bad) =~ '(', true)",
  "modulo(2, if(bad, 0, 2))",
  "multiplyDecimal(toDecimal(if(bad, 100000000000000, 2), 2), toDecimal(2, 2), 70)",
  "positiveModulo(2, if(bad, 0, 2))",
  "range(if(bad, -1, 2))",
  "repeat('aaaa', if(bad, 1000000000000, 2))",
  "rightPad('aaaa', if(bad, -1, 2))",
  "rightPadUTF8('aaaa', if(bad, -1, 2))",
  "round(2, if(bad, 1000000000000, 2))",
  "roundBankers(2, if(bad, 1000000000000, 2))",
  "toFixedString(if(bad, 'longer', 'aaaa'), 4)",
  "toUnixTimestamp(if(bad, 'x', '2024-01-01 00:00:00'))",
  "trunc(2, if(bad, 1000000000000, 2))",
  "tuple(intDiv(1, if(bad, 0, 1)), 1).1",
  "widthBucket(2, 2, 2, if(bad, 0, 2))",
  "isIPAddressInRange(if(bad, 'x', '127.0.0.1'), '127.0.0.0/8')",
  "arraySum(arrayMap(x -> intDiv(x, if(bad, 0, 1)), [1]))",
  // Operators.
  "toInt('a' like if(bad, '\\\\', 'a'))",
  "2 % if(bad, 0, 2)",
];

/** Functions that no value of a row makes fail, or whose other arguments are constants. */
const harmless: ReadonlySet<string> = new Set(
  wordsIn(`
    URLPathHierarchy arrayCompact arrayDifference extractURLParameterNames toStartOfDay
    IPv4NumToString IPv4StringToNumOrNull IPv6NumToString JSONArrayLength JSONExtractArrayRaw JSONExtractBool
    JSONExtractFloat JSONExtractKey JSONExtractKeys JSONExtractKeysAndValuesRaw JSONExtractRaw JSONExtractString
    JSONExtractUInt JSONHas JSONLength JSONType JSON_EXISTS JSON_QUERY JSON_VALUE MD5 SHA1 SHA224 SHA256 SHA384
    SHA512 URLHierarchy UUIDv7ToDateTime abs acos acosh addDays addHours addMinutes addMonths addQuarters
    addSeconds addWeeks addYears age alphaTokens appendTrailingCharIfAbsent array arrayConcat arrayDistinct
    arrayElement arrayElementOrNull arrayEnumerate arrayFlatten arrayIntersect arrayJoin arrayPartialSort
    arrayPopBack arrayPopFront arrayPushBack arrayPushFront arrayReverse arrayRotateLeft arrayRotateRight
    arraySlice arrayStringConcat ascii asin asinh assumeNotNull atan atan2 atanh base58Encode base64Encode bitAnd
    bitCount bitNot bitOr bitXor cbrt cityHash64 concatWithSeparator cos cosh countEqual countMatches
    countMatchesCaseInsensitive countSubstrings countSubstringsCaseInsensitive countSubstringsCaseInsensitiveUTF8
    cume_dist cutFragment cutQueryString cutQueryStringAndFragment cutToFirstSignificantSubdomain emptyArrayDate
    emptyArrayDateTime emptyArrayFloat64 emptyArrayInt64 emptyArrayString emptyArrayUInt8
    cutToFirstSignificantSubdomainWithWWW cutURLParameter cutWWW dateDiff dateName dateTrunc decodeURLComponent
    decodeURLFormComponent decodeXMLComponent degrees dense_rank divide domain domainWithoutWWW e empty
    encodeURLComponent encodeURLFormComponent encodeXMLComponent endsWith endsWithUTF8 erf erfc exp exp10 exp2
    extract extractAll extractAllGroups extractAllGroupsHorizontal extractAllGroupsVertical extractGroups
    extractTextFromHTML extractURLParameter extractURLParameters farmHash64 finalizeAggregation
    firstSignificantSubdomain first_value format formatDateTime fragment generateUUIDv4 grouping has hasAll hasAny
    hasSubsequence hasSubsequenceCaseInsensitive hasSubstr hasToken hasTokenCaseInsensitive hex hypot idnaEncode
    ifNotFinite indexOf initcap initcapUTF8 intDivOrZero isFinite isIPv4String isIPv6String
    isInfinite isNaN isNotNull isNull isValidJSON isValidUTF8 jaroSimilarity javaHash lagInFrame last_value
    leadInFrame leftUTF8 length lengthUTF8 lgamma locate log log10 log1p log2 lower lowerUTF8 makeDate map mapAdd
    mapApply mapContains mapFilter mapKeys mapSubtract mapUpdate mapValues materialize minus moduloOrZero monthName
    multiSearchAny multiSearchAnyCaseInsensitive multiSearchAnyCaseInsensitiveUTF8 multiSearchAnyUTF8
    multiSearchFirstIndex multiSearchFirstPosition multiply murmurHash2_64 murmurHash3_64 negate netloc
    ngramDistance ngramDistanceCaseInsensitive ngramSearch ngramSearchCaseInsensitive ngrams normalizeQuery
    normalizedQueryHash notEmpty nth_value ntile path pathFull percent_rank pi plus port position
    positionCaseInsensitive positionCaseInsensitiveUTF8 positionUTF8 pow protocol punycodeEncode queryString
    queryStringAndFragment radians rand rand32 rand64 randCanonical rank regexpExtract regexpQuoteMeta replaceAll
    replaceOne reverse reverseUTF8 rightUTF8 row_number sign sin sinh sipHash64 soundex splitByChar splitByNonAlpha
    splitByRegexp splitByString splitByWhitespace sqrt startsWith startsWithUTF8 substring substringIndex
    substringUTF8 subtractDays subtractHours subtractMinutes subtractMonths subtractQuarters subtractSeconds
    subtractWeeks subtractYears tan tanh tgamma timeSlot timeZoneOf timeZoneOffset toDayOfMonth toDayOfWeek
    toDayOfYear toFloat64OrDefault toFloat64OrZero toHour toISOWeek toISOYear toInt64OrDefault toInt64OrZero
    toIntervalDay toIntervalHour toIntervalMinute toIntervalMonth toIntervalQuarter toIntervalSecond toIntervalWeek
    toIntervalYear toJSONString toLastDayOfMonth toLastDayOfWeek toLowCardinality toMillisecond toMinute toMonday
    toMonth toNullable toQuarter toRelativeDayNum toRelativeHourNum toRelativeMonthNum toRelativeWeekNum
    toRelativeYearNum toSecond toStartOfFifteenMinutes toStartOfFiveMinutes toStartOfHour toStartOfISOYear
    toStartOfInterval toStartOfMinute toStartOfMonth toStartOfQuarter toStartOfSecond toStartOfTenMinutes
    toStartOfWeek toStartOfYear toString toTime toTypeName toUUIDOrDefault toUnixTimestamp64Micro
    toUnixTimestamp64Milli toValidUTF8 toWeek toYYYYMM toYYYYMMDD toYYYYMMDDhhmmss toYear toYearWeek tokens
    topLevelDomain transform translate translateUTF8 trimBoth trimLeft trimRight tryBase58Decode tryBase64Decode
    tupleElement unhex untuple upper upperUTF8 xor xxHash32 xxHash64 replaceRegexpAll
    replaceRegexpOne
    L1Norm L1Normalize L2Norm L2Normalize LinfNorm LinfNormalize bar bitHammingDistance bitRotateLeft bitRotateRight
    bitmapAnd bitmapAndCardinality bitmapAndnot bitmapAndnotCardinality bitmapBuild
    bitmapCardinality bitmapContains bitmapHasAll bitmapHasAny bitmapMax bitmapMin bitmapOr bitmapOrCardinality
    bitmapToArray bitmapXor bitmapXorCardinality formatReadableDecimalSize formatReadableQuantity
    formatReadableSize formatReadableTimeDelta fromModifiedJulianDayOrNull geoDistance greatCircleAngle
    greatCircleDistance JSONExtractKeysAndValues max2 min2 multiSearchAllPositions
    multiSearchAllPositionsCaseInsensitive multiSearchAllPositionsUTF8 multiSearchFirstIndexCaseInsensitive
    multiSearchFirstIndexUTF8 multiSearchFirstPositionCaseInsensitive multiSearchFirstPositionUTF8 roundAge
    roundDown roundDuration roundToExp2 toModifiedJulianDayOrNull tupleDivide tupleDivideByNumber tupleMinus
    tupleMultiply tupleMultiplyByNumber tupleNegate tuplePlus
  `),
);

test("each function that a query may call is known to fail on values, or not to", () => {
  const unknown = [...new Set([...sqlFunctions.values()].map(({ name }) => name))].filter(
    (name) => !harmless.has(name) && !failing.some((call) => call.includes(`${name}(`)),
  );
  expect(unknown).toEqual([]);
});

/** Conditions that fail where a call does. One of each: the parser takes three times as long to read two. */
const conditions = failing.map((call) => `cityHash64(${call}) != 7`);

/** Statements with a condition on a table's column `v`. */
const places: ((condition: string, table: string) => string)[] = [
  (c, t) => `select count() from ${t} where ${c}`,
  (c, t) => `select ${c} as x, count() from ${t} where x group by x`,
  (c, t) => `select v, ${c} as x from ${t} where x order by x limit 1`,
  (c, t) => `select count() from ${t} where v in (select v from ${t} where ${c})`,
  (c, t) => `select max(x) from (select ${c} as x, v from ${t}) where x`,
  (c, t) => `select v, bad from ${t} group by v, bad having ${c}`,
  (c, t) => `select v from ${t} where ${c} limit 1 by v`,
  (c, t) => `select sum(1) over (order by ${c}) from ${t}`,
  (c, t) => `select uniqIf(1, ${c}) from ${t}`,
  (c, t) => `select count() from ${t} a join (select ${c} as x, v from ${t}) b on a.v = b.v and b.x`,
  (c, t) => `select count() from ${t} prewhere ${c}`,
  (c, t) => `with q as (select * from ${t} where ${c}) select count() from q`,
  (c, t) => `select x from ${t} array join [${c}] as x where x`,
  (c, t) => `select v from ${t} where ${c} union all select v from ${t}`,
];

/** A column's text `v`, and `bad`: whether the row is another project's, computed with the column's value. */
const marked = (table: string, column: string): string =>
  `(select ifNull(toString(${column}), '') as v, concat(toString(team_id), '/', v) not like '1/%' as bad from ${table})`;

const tables = new Map(Object.entries(sqlTables).map(([name, table]): [SqlTable, string] => [table, name]));

/** The parser's bound is of CPU time, which busy neighbours of a core lengthen: such a refusal is asked again. */
async function askRead(text: string) {
  for (let tries = 0; ; tries++) {
    const answer = await ask(text);
    if (tries === 9 || !String(answer.body["detail"]).includes("takes too long to be read")) return answer;
  }
}

let computed = 0;

for (const [{ columns }, table] of tables) {
  test(`no condition on ${table} is computed for another project's rows`, async () => {
    const theirs = `select countIf(bad), count() from ${marked(table, "team_id")}`;
    const [[foreign, all] = []] = (await ask(theirs, other)).body["results"] as number[][];
    expect([foreign, all! > 0]).toEqual([all, true]);
    // Each column in plain sight and in each place; each of the calls over some tables.
    const names = Object.keys(columns);
    for (let i = 0; i < Math.max(names.length, places.length); i++) {
      const column = names[i % names.length]!;
      const condition = () => conditions[computed++ % conditions.length]!;
      // By a word of the other project alone: a condition on the project beside it would be checked first.
      const plain = condition().replaceAll(/\bbad\b/g, `toString(${column}) like '%theirs%'`);
      const texts = [
        ...(i < names.length ? [`select count() from ${table} where ${plain}`] : []),
        places[i % places.length]!(condition(), marked(table, column)),
      ];
      for (const text of texts) {
        const { status, body } = await askRead(text);
        expect([text, status, body["detail"]]).toEqual([text, 200, undefined]);
      }
    }
  }, 1_800_000);
}

test("each of the calls fails on such a row, and on no other", async () => {
  const over = (bad: number, call: string) =>
    ask(`select count() from (select number = ${bad} as bad from numbers(1)) where cityHash64(${call}) != 7`);
  for (const call of failing) {
    const statuses = [(await over(1, call)).status, (await over(0, call)).status];
    expect([call, ...statuses]).toEqual([call, 200, 400]);
  }
}, 1_800_000);
