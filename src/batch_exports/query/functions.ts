// The functions that a native_query may call. They read their arguments only: no table, file, address or server. Those
// that lengthen a text are marked.

interface QueryFunction {
  /** ClickHouse's spelling. */
  name: string;
  argsMin: number;
  argsMax: number;
  /** Whether it may make its text several times longer. */
  grows: boolean;
  /** The SQL for its arguments, where it is not a plain call. */
  sql?: (args: readonly string[]) => string;
}

/** By their names in small letters; a function that is not here must not be called. */
export const queryFunctions = new Map<string, QueryFunction>();

function allow(argsMin: number, argsMax: number, names: string, grows = false): void {
  for (const name of names.split(" "))
    queryFunctions.set(name.toLowerCase(), { name, argsMin, argsMax, grows });
}

/** A function with a name of our own. */
function rename(name: string, args: number, sql: QueryFunction["sql"] & {}): void {
  queryFunctions.set(name.toLowerCase(), { name, argsMin: args, argsMax: args, grows: false, sql });
}

const any = 100;

// Texts.
allow(1, 1, "lower upper lowerUTF8 upperUTF8 length lengthUTF8 reverse reverseUTF8 empty notEmpty");
allow(1, 1, "trimLeft trimRight trimBoth");
rename("trim", 1, ([text]) => `trimBoth(${text})`);
allow(2, 3, "substring substringUTF8");
allow(2, 2, "left right leftUTF8 rightUTF8 startsWith endsWith extract match");
allow(2, 2, "position positionUTF8 positionCaseInsensitive positionCaseInsensitiveUTF8");
allow(1, any, "concat");
allow(3, 3, "replaceOne replaceRegexpOne");
allow(3, 3, "replaceAll replaceRegexpAll", true);
allow(1, 1, "hex base64Encode encodeURLComponent toJSONString", true);
allow(1, 1, "decodeURLComponent unhex tryBase64Decode");
// URLs.
allow(1, 1, "protocol domain domainWithoutWWW topLevelDomain path pathFull queryString fragment");
allow(1, 1, "cutQueryString cutFragment cutQueryStringAndFragment cutWWW");
allow(2, 2, "extractURLParameter cutURLParameter");
// JSON.
allow(1, any, "JSONExtractString JSONExtractInt JSONExtractUInt JSONExtractFloat JSONExtractBool");
allow(1, any, "JSONExtractRaw JSONHas JSONLength JSONType");
// Conversions; what cannot be converted is null.
rename("toString", 1, ([value]) => `toString(${value})`);
rename("toInt", 1, ([value]) => `accurateCastOrNull(${value}, 'Int64')`);
rename("toFloat", 1, ([value]) => `accurateCastOrNull(${value}, 'Float64')`);
rename("toBool", 1, ([value]) => `accurateCastOrNull(${value}, 'Bool')`);
rename("toUUID", 1, ([value]) => `toUUIDOrNull(toString(${value}))`);
rename("toDate", 1, ([value]) => `toDate(parseDateTimeBestEffortOrNull(toString(${value}), 'UTC'))`);
rename("toDateTime", 1, ([value]) => `parseDateTime64BestEffortOrNull(toString(${value}), 6, 'UTC')`);
rename("toUnixTimestamp", 1, ([value]) => `toUnixTimestamp(${value})`);
allow(1, 1, "toUnixTimestamp64Milli toUnixTimestamp64Micro");
// Moments.
allow(1, 1, "toYear toQuarter toMonth toDayOfYear toDayOfMonth toDayOfWeek toHour toMinute toSecond");
allow(1, 1, "toStartOfYear toStartOfQuarter toStartOfMonth toMonday toStartOfDay toStartOfHour");
allow(1, 1, "toStartOfMinute toStartOfFiveMinutes toStartOfFifteenMinutes toStartOfWeek toYYYYMM toYYYYMMDD");
allow(2, 2, "toTimeZone formatDateTime addSeconds addMinutes addHours addDays addWeeks addMonths addYears");
allow(2, 2, "subtractSeconds subtractMinutes subtractHours subtractDays subtractWeeks subtractMonths");
allow(3, 3, "dateDiff");
allow(2, 3, "dateTrunc");
// Nulls and conditions.
allow(1, any, "coalesce");
allow(2, 2, "ifNull nullIf");
allow(1, 1, "isNull isNotNull");
allow(3, 3, "if");
allow(3, any, "multiIf");
allow(2, 2, "equals notEquals less lessOrEquals greater greaterOrEquals");
// Numbers.
allow(1, 1, "abs sign sqrt exp log log2 log10 isFinite isNaN");
allow(1, 2, "round floor ceil trunc");
allow(2, 2, "plus minus multiply divide intDivOrZero moduloOrZero pow");
allow(1, any, "least greatest");
// Hashes.
allow(1, any, "cityHash64 sipHash64 xxHash64");
allow(1, 1, "MD5 SHA1 SHA256 SHA512");
