// The rows of an export as tables of HogQL, over which expressions of a native_query are computed as they are read, and
// the functions that it may call.

import { wordsIn } from "../../core/words.ts";
import { sqlColumns, type SqlTable } from "../../query/sql/compile/lists/table.ts";

export const exportModels = ["events", "persons"] as const;
export type ExportModel = (typeof exportModels)[number];

/** Moments in UTC, as they are stored. */
const moments = (names: string): SqlTable["columns"] =>
  Object.fromEntries(wordsIn(names).map((name) => [name, { sql: name, type: "datetime" }]));

export const exportTables: Readonly<Record<ExportModel, SqlTable>> = {
  events: {
    source: "events",
    columns: {
      ...sqlColumns("uuid", "uuid person_id"),
      ...sqlColumns(
        "string",
        "event distinct_id elements_chain=JSONExtractString(properties,'$elements_chain')",
      ),
      ...sqlColumns("json", "properties"),
      ...sqlColumns("number", "team_id=project_id"),
      ...moments("timestamp created_at"),
      _inserted_at: { sql: "created_at", type: "datetime" },
      ...sqlColumns("boolean", "historical_migration"),
    },
    star: wordsIn("uuid event distinct_id person_id properties timestamp created_at"),
  },
  persons: {
    source: "exported_persons",
    columns: {
      ...sqlColumns("uuid", "person_id id=person_id"),
      ...sqlColumns("string", "distinct_id"),
      ...sqlColumns("json", "properties"),
      ...sqlColumns("number", "person_version person_distinct_id_version team_id=project_id"),
      ...moments("created_at _inserted_at"),
      ...sqlColumns("boolean", "is_deleted"),
    },
    star: wordsIn("distinct_id person_id properties created_at"),
  },
};

const names = (list: string) => new Set(wordsIn<string>(list.toLowerCase()));

/** Those that may make a text several times longer. */
export const growingFunctions = names(
  "replaceAll replaceRegexpAll hex base64Encode encodeURLComponent toJSONString",
);

/** The functions that a native_query may call, in small letters: each makes one value of those of one row. */
export const queryFunctions: ReadonlySet<string> = new Set([
  ...growingFunctions,
  ...names(`
    lower upper lowerUTF8 upperUTF8 length lengthUTF8 reverse reverseUTF8 empty notEmpty
    trimLeft trimRight trimBoth trim substring substringUTF8 left right leftUTF8 rightUTF8 startsWith endsWith
    extract match position positionUTF8 positionCaseInsensitive positionCaseInsensitiveUTF8 concat
    replaceOne replaceRegexpOne decodeURLComponent unhex tryBase64Decode
    protocol domain domainWithoutWWW topLevelDomain path pathFull queryString fragment
    cutQueryString cutFragment cutQueryStringAndFragment cutWWW extractURLParameter cutURLParameter
    JSONExtractString JSONExtractInt JSONExtractUInt JSONExtractFloat JSONExtractBool
    JSONExtractRaw JSONHas JSONLength JSONType
    toString toInt toFloat toBool toUUID toDate toDateTime
    toUnixTimestamp toUnixTimestamp64Milli toUnixTimestamp64Micro
    toYear toQuarter toMonth toDayOfYear toDayOfMonth toDayOfWeek toHour toMinute toSecond
    toStartOfYear toStartOfQuarter toStartOfMonth toMonday toStartOfDay toStartOfHour
    toStartOfMinute toStartOfFiveMinutes toStartOfFifteenMinutes toStartOfWeek toYYYYMM toYYYYMMDD
    toTimeZone formatDateTime addSeconds addMinutes addHours addDays addWeeks addMonths addYears
    subtractSeconds subtractMinutes subtractHours subtractDays subtractWeeks subtractMonths dateDiff dateTrunc
    coalesce ifNull nullIf isNull isNotNull if multiIf
    equals notEquals less lessOrEquals greater greaterOrEquals
    abs sign sqrt exp log log2 log10 isFinite isNaN round floor ceil trunc
    plus minus multiply divide intDivOrZero moduloOrZero pow least greatest
    cityHash64 sipHash64 xxHash64 MD5 SHA1 SHA256 SHA512`),
]);
