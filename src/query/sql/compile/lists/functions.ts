// The functions that a query may call: PostHog's, less what reads anything but its arguments, or works long on few of
// them. Those of another name or shape than the engine's are in `function_shapes.ts`, aggregates in `aggregates.ts`.

import type { SqlType } from "../value.ts";

export interface SqlFunction {
  /** The engine's spelling. */
  name: string;
  argsMin: number;
  argsMax: number;
  type: SqlType;
  /** Properties among the arguments are read as numbers. */
  isNumeric?: boolean;
  /** It gives a text of a moment. */
  isOfMoments?: boolean;
  /** The engine refuses null for these arguments: a null text is read as an empty one. */
  noNulls?: boolean;
  /** The result may be null although no argument is. */
  givesNull?: boolean;
  /** The result is never null. */
  neverNull?: boolean;
}

export type Traits = Omit<SqlFunction, "name" | "argsMin" | "argsMax" | "type">;

/** By their names in small letters: case does not matter. */
export const sqlFunctions = new Map<string, SqlFunction>();

/** Adds functions to the list: `known=name` where the engine has another name. */
export function allow(
  type: SqlType,
  argsMin: number,
  argsMax: number,
  names: string,
  traits: Traits = {},
): void {
  for (const one of names.split(" ")) {
    const [known = "", name = known] = one.split("=");
    sqlFunctions.set(known.toLowerCase(), { name, argsMin, argsMax, type, ...traits });
  }
}

const any = 500;
const numeric: Traits = { isNumeric: true };
const noNulls: Traits = { noNulls: true };
const neverNull: Traits = { neverNull: true };
const givesNull: Traits = { givesNull: true };

// Numbers.
allow(
  "number",
  1,
  1,
  "abs negate sign sqrt cbrt exp exp2 exp10 log ln=log log2 log10 sin cos tan asin acos",
  numeric,
);
allow(
  "number",
  1,
  1,
  "atan sinh cosh tanh asinh acosh atanh log1p degrees radians factorial erf erfc",
  numeric,
);
allow("number", 1, 1, "lgamma tgamma bitNot bitCount", numeric);
allow("boolean", 1, 1, "isFinite isInfinite isNaN", numeric);
allow("number", 1, 2, "round floor ceil ceiling=ceil trunc truncate=trunc roundBankers", numeric);
allow(
  "number",
  2,
  2,
  "plus minus multiply divide intDiv intDivOrZero modulo moduloOrZero positiveModulo",
  numeric,
);
allow(
  "number",
  2,
  2,
  "pow power=pow atan2 hypot gcd lcm bitAnd bitOr bitXor bitShiftLeft bitShiftRight",
  numeric,
);
allow("number", 2, 3, "ifNotFinite", numeric);
allow("number", 4, 4, "widthBucket width_bucket=widthBucket", numeric);
allow("number", 0, 0, "pi e rand rand32 rand64 randCanonical", neverNull);
allow("boolean", 1, any, "xor");
// Texts.
allow(
  "string",
  1,
  1,
  "lower lcase=lower upper ucase=upper lowerUTF8 upperUTF8 reverse reverseUTF8 toValidUTF8",
);
allow("string", 1, 1, "initcap initcapUTF8 hex unhex base58Encode base64Encode base64Decode tryBase64Decode");
allow("string", 1, 1, "tryBase58Decode encodeXMLComponent decodeXMLComponent extractTextFromHTML soundex");
allow("string", 1, 1, "encodeURLComponent decodeURLComponent encodeURLFormComponent decodeURLFormComponent");
allow("string", 1, 1, "normalizeQuery normalizedQueryHash regexpQuoteMeta punycodeEncode idnaEncode");
allow("number", 1, 1, "length char_length=lengthUTF8 lengthUTF8 ascii");
allow("boolean", 1, 1, "empty isEmpty=empty notEmpty isNotEmpty=notEmpty isValidUTF8 isValidJSON");
allow("string", 2, 2, "left=leftUTF8 right=rightUTF8 repeat appendTrailingCharIfAbsent format");
allow(
  "string",
  2,
  3,
  "leftPad rightPad lpad=leftPad rpad=rightPad leftPadUTF8 rightPadUTF8 substring substr=substring",
);
allow("string", 2, 3, "substringUTF8 mid=substring");
allow("string", 4, 4, "substringIndex");
allow("string", 2, any, "concatWithSeparator concat_ws=concatWithSeparator");
allow(
  "string",
  1,
  2,
  "trim=trimBoth btrim=trimBoth trimBoth ltrim=trimLeft trimLeft rtrim=trimRight trimRight",
);
allow("boolean", 2, 2, "startsWith endsWith startsWithUTF8 endsWithUTF8 hasToken hasTokenCaseInsensitive");
allow("boolean", 2, 2, "hasSubsequence hasSubsequenceCaseInsensitive");
allow("number", 2, 3, "position positionCaseInsensitive positionUTF8 positionCaseInsensitiveUTF8 locate");
allow("number", 2, 3, "countSubstrings countSubstringsCaseInsensitive countSubstringsCaseInsensitiveUTF8");
allow(
  "number",
  2,
  2,
  "multiSearchFirstPosition multiSearchFirstIndex countMatches countMatchesCaseInsensitive",
);
allow("boolean", 2, 2, "multiSearchAny multiSearchAnyCaseInsensitive multiSearchAnyUTF8");
allow("boolean", 2, 2, "multiSearchAnyCaseInsensitiveUTF8");
allow("number", 2, 2, "ngramDistance ngramDistanceCaseInsensitive ngramSearch ngramSearchCaseInsensitive");
// Edit distances are left out: one of two long texts takes seconds, in which the engine looks at no bound.
allow("number", 2, 2, "jaroSimilarity");
allow("boolean", 2, 2, "match");
allow("string", 2, 2, "extract");
allow("string", 2, 3, "regexpExtract");
allow("string", 3, 3, "replace=replaceAll replaceAll replaceOne replaceRegexpAll replaceRegexpOne translate");
allow("string", 3, 3, "regexp_replace=replaceRegexpAll translateUTF8");
allow(
  "array",
  2,
  2,
  "extractAll extractAllGroups extractAllGroupsHorizontal extractAllGroupsVertical",
  noNulls,
);
allow("array", 2, 2, "extractGroups ngrams", noNulls);
allow("array", 2, 3, "splitByChar splitByString splitByRegexp", noNulls);
allow("array", 1, 2, "splitByWhitespace splitByNonAlpha alphaTokens tokens", noNulls);
// URLs.
allow("string", 1, 1, "protocol domain domainWithoutWWW topLevelDomain firstSignificantSubdomain");
allow("string", 1, 1, "cutToFirstSignificantSubdomain cutToFirstSignificantSubdomainWithWWW path pathFull");
allow("string", 1, 1, "queryString fragment queryStringAndFragment cutWWW cutQueryString cutFragment");
allow("string", 1, 1, "cutQueryStringAndFragment netloc");
allow("number", 1, 2, "port");
allow("array", 1, 1, "extractURLParameters extractURLParameterNames URLHierarchy URLPathHierarchy", noNulls);
allow("string", 2, 2, "extractURLParameter cutURLParameter");
// JSON.
allow("string", 1, any, "JSONExtractString JSONExtractRaw JSON_VALUE JSON_QUERY");
allow("number", 1, any, "JSONExtractInt JSONExtractUInt JSONExtractFloat JSONLength");
allow("number", 1, any, "JSONArrayLength", givesNull);
allow("boolean", 1, any, "JSONExtractBool JSONHas JSON_EXISTS");
allow("string", 1, any, "JSONType JSONExtractKey");
allow("array", 1, any, "JSONExtractArrayRaw JSONExtractKeys JSONExtractKeysAndValuesRaw", noNulls);
allow("string", 1, 1, "toJSONString");
// Conversions.
allow("string", 1, 2, "toString");
allow("string", 1, 2, "toFixedString");
allow("number", 1, 1, "toIntOrZero=toInt64OrZero toFloatOrZero=toFloat64OrZero");
allow("number", 1, 2, "toFloatOrDefault=toFloat64OrDefault toIntOrDefault=toInt64OrDefault", numeric);
allow("unknown", 1, 1, "toNullable toLowCardinality materialize");
allow("string", 1, 1, "toTypeName", neverNull);
allow("unknown", 2, 2, "toUUIDOrDefault");
allow("uuid", 0, 0, "generateUUIDv4");
allow("datetime", 1, 2, "UUIDv7ToDateTime");
// Nulls.
allow("boolean", 1, 1, "isNull isNotNull", neverNull);
allow("unknown", 1, 1, "assumeNotNull", neverNull);
// Hashes, which read their arguments only.
allow(
  "number",
  1,
  any,
  "cityHash64 sipHash64 xxHash64 xxHash32 farmHash64 murmurHash2_64 murmurHash3_64 javaHash",
);
allow("string", 1, 1, "MD5 SHA1 SHA224 SHA256 SHA384 SHA512");
