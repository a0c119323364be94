// The functions that a query may call, and the kinds of their arguments: PostHog's, except those that read more than
// their arguments, or run long on few of them. Those of another name or shape than the engine's are in
// `function_shapes.ts`, aggregates in `aggregates.ts`.

import type { SqlType } from "../value.ts";
import { checkKinds } from "./kinds.ts";

interface Traits {
  /** Properties among the arguments are read as numbers. */
  isNumeric?: boolean;
  /** A day among its arguments is read as a moment. */
  needsMoment?: boolean;
  /** Its result is a text of a moment. */
  isOfMoments?: boolean;
  /** The engine refuses null for these arguments: a null text is read as an empty one. */
  noNulls?: boolean;
  /** The result may be null although no argument is. */
  givesNull?: boolean;
  /** The result is never null. */
  neverNull?: boolean;
}

export interface SqlFunction extends Traits {
  /** The engine's spelling. */
  name: string;
  /** The kind of each argument, as `arguments.ts` reads it. */
  args: string;
  type: SqlType;
}

/**
 * The functions of a list, by their names in small letters: case does not matter. A line has the result's type, the
 * kinds of arguments, and traits; then names, `known=name` where the engine has another one.
 */
export function functionsIn<More>(list: string): Map<string, SqlFunction & More> {
  const functions = new Map<string, SqlFunction & More>();
  for (const line of list.split("\n")) {
    const [head = "", names] = line.split(": ");
    if (names === undefined || head.startsWith("#")) continue;
    const [type, args = "", ...traitTexts] = head.split(" ");
    const traits = traitTexts.map((trait) => trait.split("-")).map(([name, value]) => [name, value ?? true]);
    const shape = { ...(Object.fromEntries(traits) as More), args: checkKinds(args), type: type as SqlType };
    for (const text of names.split(" ")) {
      const [alias = "", name = alias] = text.split("=");
      functions.set(alias.toLowerCase(), { ...shape, name });
    }
  }
  return functions;
}

export const sqlFunctions = functionsIn<object>(
  `
# Numbers.
number v isNumeric: abs negate sign sqrt cbrt exp exp2 exp10 log ln=log log2 log10 sin cos tan asin acos atan sinh
number v isNumeric: cosh tanh asinh acosh atanh log1p degrees radians factorial erf erfc lgamma tgamma bitNot bitCount
number v isNumeric: intExp2 intExp10 roundToExp2 roundDuration roundAge
boolean v isNumeric: isFinite isInfinite isNaN
number v?v isNumeric: round floor ceil ceiling=ceil trunc truncate=trunc roundBankers
number vv isNumeric: plus minus multiply divide intDiv intDivOrZero modulo moduloOrZero positiveModulo pow power=pow
number vv isNumeric: atan2 hypot gcd lcm bitAnd bitOr bitXor max2 min2 bitTest bitRotateLeft bitRotateRight
number vv isNumeric: bitHammingDistance
number vv* isNumeric: bitTestAll bitTestAny
number vv: roundDown
number vv?i isNumeric: multiplyDecimal divideDecimal
number vvvv isNumeric: greatCircleDistance geoDistance greatCircleAngle
number vn isNumeric: bitShiftLeft bitShiftRight
number vv?v isNumeric: ifNotFinite
number vvvv isNumeric: widthBucket width_bucket=widthBucket
number - neverNull: pi e rand rand32 rand64 randCanonical
# Texts.
string v: lower lcase=lower upper ucase=upper lowerUTF8 upperUTF8 reverse reverseUTF8 toValidUTF8 initcap
string v: initcapUTF8 hex unhex base64Encode base64Decode tryBase64Decode
string v: encodeXMLComponent decodeXMLComponent extractTextFromHTML encodeURLComponent decodeURLComponent
string v: encodeURLFormComponent decodeURLFormComponent normalizeQuery normalizedQueryHash regexpQuoteMeta
string s: base58Encode tryBase58Decode soundex
number v: length char_length=lengthUTF8 lengthUTF8 ascii
boolean v: empty isEmpty=empty notEmpty isNotEmpty=notEmpty isValidUTF8
string vv: left=leftUTF8 right=rightUTF8 leftUTF8 rightUTF8 appendTrailingCharIfAbsent
string vn: repeat
string mv*: format
string vvvi isNumeric: bar
string v isNumeric: formatReadableSize formatReadableDecimalSize formatReadableQuantity
string v?v: formatReadableTimeDelta
string vr: extract
string vv?v: substring substr=substring substringUTF8 mid=substring
string vn?v: leftPad rightPad lpad=leftPad rpad=rightPad leftPadUTF8 rightPadUTF8
string vr?v: regexpExtract
string vvv: substringIndex
string vv*: concatWithSeparator concat_ws=concatWithSeparator
string v?v: trim=trimBoth btrim=trimBoth trimBoth ltrim=trimLeft trimLeft rtrim=trimRight trimRight
boolean vv: startsWith endsWith startsWithUTF8 endsWithUTF8 hasToken hasTokenCaseInsensitive hasSubsequence
boolean vv: hasSubsequenceCaseInsensitive
boolean vk: multiSearchAny multiSearchAnyCaseInsensitive multiSearchAnyUTF8 multiSearchAnyCaseInsensitiveUTF8
boolean vr: match
number vv?v: position positionCaseInsensitive positionUTF8 positionCaseInsensitiveUTF8 locate countSubstrings
number vv?v: countSubstringsCaseInsensitive countSubstringsCaseInsensitiveUTF8
number vk: multiSearchFirstPosition multiSearchFirstPositionUTF8 multiSearchFirstPositionCaseInsensitive
number vk: multiSearchFirstIndex multiSearchFirstIndexUTF8 multiSearchFirstIndexCaseInsensitive
array vk noNulls: multiSearchAllPositions multiSearchAllPositionsUTF8 multiSearchAllPositionsCaseInsensitive
number vr: countMatches countMatchesCaseInsensitive
number vv: ngramDistance ngramDistanceCaseInsensitive ngramSearch ngramSearchCaseInsensitive
number ss: jaroSimilarity
# Edit distances are left out: one of two long texts takes seconds, in which the engine looks at no bound.
string vvv: replace=replaceAll replaceAll replaceOne translate translateUTF8
string vrv: replaceRegexpAll replaceRegexpOne regexp_replace=replaceRegexpAll
array vr noNulls: extractAll extractAllGroups extractAllGroupsHorizontal extractAllGroupsVertical extractGroups
array vi noNulls: ngrams
array vv?v noNulls: splitByChar splitByString
array rv?v noNulls: splitByRegexp
array v?v noNulls: splitByWhitespace splitByNonAlpha alphaTokens
array v noNulls: tokens
# URLs.
string v: protocol domain domainWithoutWWW topLevelDomain firstSignificantSubdomain cutToFirstSignificantSubdomain
string v: cutToFirstSignificantSubdomainWithWWW path pathFull queryString fragment queryStringAndFragment cutWWW
string v: cutQueryString cutFragment cutQueryStringAndFragment netloc
number v?v: port
array v noNulls: extractURLParameters extractURLParameterNames URLHierarchy URLPathHierarchy
string vv: extractURLParameter cutURLParameter
# JSON.
string j?v*: JSONExtractString JSONExtractRaw JSONType
string jp: JSON_VALUE JSON_QUERY
number j?v*: JSONExtractInt JSONExtractUInt JSONExtractFloat JSONLength
number j?v* givesNull: JSONArrayLength
boolean j?v*: JSONExtractBool JSONHas
boolean jp: JSON_EXISTS
boolean j: isValidJSON
array j?v* noNulls: JSONExtractArrayRaw JSONExtractKeys JSONExtractKeysAndValuesRaw
array jt|jv*t noNulls: JSONExtractKeysAndValues
string v: toJSONString
# Conversions.
string v?z: toString
string vi: toFixedString
number v: toIntOrZero=toInt64OrZero toFloatOrZero=toFloat64OrZero
number v?v isNumeric: toFloatOrDefault=toFloat64OrDefault toIntOrDefault=toInt64OrDefault
unknown v: toNullable toLowCardinality materialize
string v neverNull: toTypeName
unknown vv: toUUIDOrDefault
uuid -: generateUUIDv4
datetime v?z: UUIDv7ToDateTime
# Nulls.
boolean v neverNull: isNull isNotNull
unknown v neverNull: assumeNotNull
# Hashes, which read their arguments only.
number v*: cityHash64 sipHash64 xxHash64 xxHash32 farmHash64 murmurHash2_64 murmurHash3_64 javaHash
string v: MD5 SHA1 SHA224 SHA256 SHA384 SHA512
# Moments.
number v: toYear toQuarter toMonth toDayOfYear toDayOfMonth toHour toMinute toSecond toISOYear toISOWeek toYYYYMM
number v: toYYYYMMDD toYYYYMMDDhhmmss timeZoneOffset toMillisecond year=toYear quarter=toQuarter month=toMonth
number v: day=toDayOfMonth hour=toHour minute=toMinute second=toSecond DAYOFWEEK=toDayOfWeek DAYOFMONTH=toDayOfMonth
number v: DAYOFYEAR=toDayOfYear toRelativeYearNum toRelativeMonthNum toRelativeWeekNum toRelativeDayNum
number v: toRelativeHourNum toUnixTimestamp64Milli toUnixTimestamp64Micro
number v?iz: toDayOfWeek toWeek toYearWeek
number v?z: toUnixTimestamp
number v givesNull: toModifiedJulianDay=toModifiedJulianDayOrNull
string v isNumeric givesNull: fromModifiedJulianDay=fromModifiedJulianDayOrNull
date v: toStartOfYear toStartOfISOYear toStartOfQuarter toStartOfMonth toLastDayOfMonth toMonday
date v?z: LAST_DAY=toLastDayOfMonth
date v?i: toStartOfWeek toLastDayOfWeek
datetime v needsMoment: toStartOfDay toStartOfHour toStartOfMinute toStartOfSecond toStartOfFiveMinutes timeSlot
datetime v needsMoment: toStartOfTenMinutes toStartOfFifteenMinutes toTime
datetime vv?o needsMoment: toStartOfInterval
datetime uv?z needsMoment: dateTrunc date_trunc=dateTrunc
number uvv?z: dateDiff date_diff=dateDiff age
string vf?z isOfMoments: formatDateTime to_char=formatDateTime date_format=formatDateTime
string uv?z isOfMoments: dateName
string v isOfMoments: monthName timeZoneOf
datetime vv: addYears addQuarters addMonths addWeeks addDays subtractYears subtractQuarters subtractMonths
datetime vv: subtractWeeks subtractDays
datetime vv needsMoment: addHours addMinutes addSeconds subtractHours subtractMinutes subtractSeconds
datetime vv: date_add=plus date_subtract=minus
interval v isNumeric: toIntervalSecond toIntervalMinute toIntervalHour toIntervalDay toIntervalWeek toIntervalMonth
interval v isNumeric: toIntervalQuarter toIntervalYear
date vvv isNumeric: makeDate make_date=makeDate
# Arrays, tuples and maps.
array ?v*: array
unknown ?v*: tuple map
array g?gg isNumeric: range
array -: emptyArrayString emptyArrayInt64 emptyArrayFloat64 emptyArrayDate emptyArrayDateTime emptyArrayUInt8
array vv*: arrayConcat arrayMap arrayFilter arrayFill arrayReverseFill arraySplit arrayReverseSplit arrayZip
array v*: arraySort arrayReverseSort arrayEnumerateUniq arrayIntersect arrayCumSum arrayCumSumNonNegative
array v*: arrayEnumerateDense arrayEnumerate arrayPartialSort
array v: arrayPopBack arrayPopFront arrayDistinct arrayDifference arrayReverse arrayFlatten arrayCompact mapKeys
array v: mapValues bitmapToArray
array vv: arrayPushBack arrayPushFront arrayRotateLeft arrayRotateRight
array nv: arrayWithConstant
array vv?v: arraySlice
array vn?v: arrayResize
unknown v: arrayJoin untuple finalizeAggregation
unknown vv*: arrayFirst arrayLast arrayFirstOrNull arrayLastOrNull arrayElement arrayElementOrNull
boolean vv neverNull: has hasSubstr
number vv: indexOf countEqual arrayAUC dotProduct L1Distance L2Distance LinfDistance cosineDistance
number v: L1Norm L2Norm LinfNorm bitmapCardinality bitmapMin bitmapMax
unknown v: tupleNegate L1Normalize L2Normalize LinfNormalize bitmapBuild
unknown vv: tuplePlus tupleMinus tupleMultiply tupleDivide tupleMultiplyByNumber tupleDivideByNumber
unknown vv: bitmapAnd bitmapOr bitmapXor bitmapAndnot
boolean vv: bitmapContains bitmapHasAny bitmapHasAll
number vv: bitmapAndCardinality bitmapOrCardinality bitmapXorCardinality bitmapAndnotCardinality
number v*: arrayCount arrayUniq arrayFirstIndex arrayLastIndex arraySum arrayAvg arrayProduct
boolean v*: arrayExists arrayAll
unknown v*: arrayMin arrayMax mapFromArrays mapContains mapFilter mapApply mapAdd mapSubtract mapUpdate
string v?v noNulls: arrayStringConcat
unknown vv?v: tupleElement
unknown vvv?v: transform
# Addresses.
string v: IPv4NumToString IPv6NumToString IPv4StringToNumOrNull IPv4StringToNum
boolean v?v: isIPv4String isIPv6String isIPAddressInRange
# Windows only.
number ?v neverNull: row_number rank dense_rank denseRank=dense_rank percent_rank ntile cume_dist
unknown v?vv givesNull: lag=lagInFrame lead=leadInFrame lagInFrame leadInFrame
unknown v?v givesNull: nth_value
number ?v*: grouping
`,
);

/** The function of a name, whatever its case. */
export const sqlFunction = (name: string): SqlFunction | undefined => sqlFunctions.get(name.toLowerCase());

/** As they are called, in the engine's spelling where that has the same letters. */
export const functionNames = (): string[] =>
  [...sqlFunctions].map(([known, { name }]) => (name.toLowerCase() === known ? name : known));
