// The functions that a query may call: PostHog's, except those that read more than their arguments, or run long on few
// of them. Those of another name or shape than the engine's are in `function_shapes.ts`, aggregates in `aggregates.ts`.

import type { SqlType } from "../value.ts";

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
  argsMin: number;
  argsMax: number;
  type: SqlType;
}

/**
 * The functions of a list, by their names in small letters: case does not matter. A line has the result's type, the
 * number of arguments (* is any) and traits; then names, `known=name` where the engine has another one.
 */
export function functionsIn<More>(list: string, any: number): Map<string, SqlFunction & More> {
  const functions = new Map<string, SqlFunction & More>();
  for (const line of list.split("\n")) {
    const [head = "", names] = line.split(": ");
    if (names === undefined || head.startsWith("#")) continue;
    const [type, args = "", ...traitTexts] = head.split(" ");
    const [min, max = min] = args.split("-");
    const traits = traitTexts
      .map((trait) => trait.split("-"))
      .map(([name, value]) => [name, value ? Number(value) : true]);
    const shape = { argsMin: Number(min), argsMax: max === "*" ? any : Number(max), type: type as SqlType };
    for (const one of names.split(" ")) {
      const [alias = "", name = alias] = one.split("=");
      functions.set(alias.toLowerCase(), { ...(Object.fromEntries(traits) as More), ...shape, name });
    }
  }
  return functions;
}

export const sqlFunctions = functionsIn<object>(
  `
# Numbers.
number 1 isNumeric: abs negate sign sqrt cbrt exp exp2 exp10 log ln=log log2 log10 sin cos tan asin acos atan sinh
number 1 isNumeric: cosh tanh asinh acosh atanh log1p degrees radians factorial erf erfc lgamma tgamma bitNot
number 1 isNumeric: bitCount
boolean 1 isNumeric: isFinite isInfinite isNaN
number 1-2 isNumeric: round floor ceil ceiling=ceil trunc truncate=trunc roundBankers
number 2 isNumeric: plus minus multiply divide intDiv intDivOrZero modulo moduloOrZero positiveModulo pow power=pow
number 2 isNumeric: atan2 hypot gcd lcm bitAnd bitOr bitXor bitShiftLeft bitShiftRight
number 2-3 isNumeric: ifNotFinite
number 4 isNumeric: widthBucket width_bucket=widthBucket
number 0 neverNull: pi e rand rand32 rand64 randCanonical
boolean 1-*: xor
# Texts.
string 1: lower lcase=lower upper ucase=upper lowerUTF8 upperUTF8 reverse reverseUTF8 toValidUTF8 initcap
string 1: initcapUTF8 hex unhex base58Encode base64Encode base64Decode tryBase64Decode tryBase58Decode
string 1: encodeXMLComponent decodeXMLComponent extractTextFromHTML soundex encodeURLComponent decodeURLComponent
string 1: encodeURLFormComponent decodeURLFormComponent normalizeQuery normalizedQueryHash regexpQuoteMeta
string 1: punycodeEncode idnaEncode
number 1: length char_length=lengthUTF8 lengthUTF8 ascii
boolean 1: empty isEmpty=empty notEmpty isNotEmpty=notEmpty isValidUTF8 isValidJSON
string 2: left=leftUTF8 right=rightUTF8 leftUTF8 rightUTF8 repeat appendTrailingCharIfAbsent format extract
string 2-3: leftPad rightPad lpad=leftPad rpad=rightPad leftPadUTF8 rightPadUTF8 substring substr=substring
string 2-3: substringUTF8 mid=substring regexpExtract
string 4: substringIndex
string 2-*: concatWithSeparator concat_ws=concatWithSeparator
string 1-2: trim=trimBoth btrim=trimBoth trimBoth ltrim=trimLeft trimLeft rtrim=trimRight trimRight
boolean 2: startsWith endsWith startsWithUTF8 endsWithUTF8 hasToken hasTokenCaseInsensitive hasSubsequence
boolean 2: hasSubsequenceCaseInsensitive multiSearchAny multiSearchAnyCaseInsensitive multiSearchAnyUTF8
boolean 2: multiSearchAnyCaseInsensitiveUTF8 match
number 2-3: position positionCaseInsensitive positionUTF8 positionCaseInsensitiveUTF8 locate countSubstrings
number 2-3: countSubstringsCaseInsensitive countSubstringsCaseInsensitiveUTF8
number 2: multiSearchFirstPosition multiSearchFirstIndex countMatches countMatchesCaseInsensitive ngramDistance
number 2: ngramDistanceCaseInsensitive ngramSearch ngramSearchCaseInsensitive jaroSimilarity
# Edit distances are left out: one of two long texts takes seconds, in which the engine looks at no bound.
string 3: replace=replaceAll replaceAll replaceOne replaceRegexpAll replaceRegexpOne translate
string 3: regexp_replace=replaceRegexpAll translateUTF8
array 2 noNulls: extractAll extractAllGroups extractAllGroupsHorizontal extractAllGroupsVertical extractGroups
array 2 noNulls: ngrams
array 2-3 noNulls: splitByChar splitByString splitByRegexp
array 1-2 noNulls: splitByWhitespace splitByNonAlpha alphaTokens tokens
# URLs.
string 1: protocol domain domainWithoutWWW topLevelDomain firstSignificantSubdomain cutToFirstSignificantSubdomain
string 1: cutToFirstSignificantSubdomainWithWWW path pathFull queryString fragment queryStringAndFragment cutWWW
string 1: cutQueryString cutFragment cutQueryStringAndFragment netloc
number 1-2: port
array 1 noNulls: extractURLParameters extractURLParameterNames URLHierarchy URLPathHierarchy
string 2: extractURLParameter cutURLParameter
# JSON.
string 1-*: JSONExtractString JSONExtractRaw JSON_VALUE JSON_QUERY JSONType JSONExtractKey
number 1-*: JSONExtractInt JSONExtractUInt JSONExtractFloat JSONLength
number 1-* givesNull: JSONArrayLength
boolean 1-*: JSONExtractBool JSONHas JSON_EXISTS
array 1-* noNulls: JSONExtractArrayRaw JSONExtractKeys JSONExtractKeysAndValuesRaw
string 1: toJSONString
# Conversions.
string 1-2: toString toFixedString
number 1: toIntOrZero=toInt64OrZero toFloatOrZero=toFloat64OrZero
number 1-2 isNumeric: toFloatOrDefault=toFloat64OrDefault toIntOrDefault=toInt64OrDefault
unknown 1: toNullable toLowCardinality materialize
string 1 neverNull: toTypeName
unknown 2: toUUIDOrDefault
uuid 0: generateUUIDv4
datetime 1-2: UUIDv7ToDateTime
# Nulls.
boolean 1 neverNull: isNull isNotNull
unknown 1 neverNull: assumeNotNull
# Hashes, which read their arguments only.
number 1-*: cityHash64 sipHash64 xxHash64 xxHash32 farmHash64 murmurHash2_64 murmurHash3_64 javaHash
string 1: MD5 SHA1 SHA224 SHA256 SHA384 SHA512
# Moments.
number 1: toYear toQuarter toMonth toDayOfYear toDayOfMonth toHour toMinute toSecond toISOYear toISOWeek toYYYYMM
number 1: toYYYYMMDD toYYYYMMDDhhmmss timeZoneOffset toMillisecond year=toYear quarter=toQuarter month=toMonth
number 1: day=toDayOfMonth hour=toHour minute=toMinute second=toSecond DAYOFWEEK=toDayOfWeek DAYOFMONTH=toDayOfMonth
number 1: DAYOFYEAR=toDayOfYear toRelativeYearNum toRelativeMonthNum toRelativeWeekNum toRelativeDayNum
number 1: toRelativeHourNum toUnixTimestamp64Milli toUnixTimestamp64Micro
number 1-3: toDayOfWeek toWeek toYearWeek
number 1-2: toUnixTimestamp
date 1: toStartOfYear toStartOfISOYear toStartOfQuarter toStartOfMonth toLastDayOfMonth toMonday
date 1-2: toStartOfWeek toLastDayOfWeek LAST_DAY=toLastDayOfMonth
datetime 1 needsMoment: toStartOfDay toStartOfHour toStartOfMinute toStartOfSecond toStartOfFiveMinutes timeSlot
datetime 1 needsMoment: toStartOfTenMinutes toStartOfFifteenMinutes toTime
datetime 2-3 needsMoment: toStartOfInterval dateTrunc date_trunc=dateTrunc
number 3-4: dateDiff date_diff=dateDiff age
string 2-3 isOfMoments: formatDateTime to_char=formatDateTime dateName date_format=formatDateTime
string 1 isOfMoments: monthName timeZoneOf
datetime 2: addYears addQuarters addMonths addWeeks addDays subtractYears subtractQuarters subtractMonths
datetime 2: subtractWeeks subtractDays
datetime 2 needsMoment: addHours addMinutes addSeconds subtractHours subtractMinutes subtractSeconds
datetime 2: date_add=plus date_subtract=minus
interval 1 isNumeric: toIntervalSecond toIntervalMinute toIntervalHour toIntervalDay toIntervalWeek toIntervalMonth
interval 1 isNumeric: toIntervalQuarter toIntervalYear
date 3 isNumeric: makeDate make_date=makeDate
# Arrays, tuples and maps.
array 0-*: array
unknown 0-*: tuple map
array 1-3 isNumeric: range
array 2-*: arrayConcat arrayMap arrayFilter arrayFill arrayReverseFill arraySplit arrayReverseSplit arrayZip
array 1-*: arraySort arrayReverseSort arrayEnumerateUniq arrayIntersect arrayCumSum arrayCumSumNonNegative
array 1-*: arrayEnumerateDense arrayEnumerate arrayPartialSort
array 1: arrayPopBack arrayPopFront arrayDistinct arrayDifference arrayReverse arrayFlatten arrayCompact mapKeys
array 1: mapValues
array 2: arrayPushBack arrayPushFront arrayWithConstant arrayRotateLeft arrayRotateRight
array 2-3: arraySlice arrayResize
unknown 1: arrayJoin untuple finalizeAggregation
unknown 2-*: arrayFirst arrayLast arrayFirstOrNull arrayLastOrNull arrayElement arrayElementOrNull
boolean 2 neverNull: has hasAll hasAny hasSubstr
number 2: indexOf countEqual arrayAUC dotProduct L2Distance cosineDistance
number 1-*: arrayCount arrayUniq arrayFirstIndex arrayLastIndex arraySum arrayAvg arrayProduct
boolean 1-*: arrayExists arrayAll
unknown 1-*: arrayMin arrayMax mapFromArrays mapContains mapFilter mapApply mapAdd mapSubtract mapUpdate
string 1-2 noNulls: arrayStringConcat
unknown 2-3: tupleElement
unknown 3-4: transform
# Addresses.
string 1: IPv4NumToString IPv6NumToString IPv4StringToNumOrNull IPv4StringToNum
boolean 1-2: isIPv4String isIPv6String isIPAddressInRange
# Windows only.
number 0-1 neverNull: row_number rank dense_rank denseRank=dense_rank percent_rank ntile cume_dist
unknown 1-3 givesNull: lag=lagInFrame lead=leadInFrame lagInFrame leadInFrame
unknown 1-2 givesNull: first_value last_value nth_value
number 0-*: grouping
`,
  500,
);

/** The function of a name, whatever its case. */
export const sqlFunction = (name: string): SqlFunction | undefined => sqlFunctions.get(name.toLowerCase());

export const functionNames = (): string[] => [...sqlFunctions.values()].map((one) => one.name);
