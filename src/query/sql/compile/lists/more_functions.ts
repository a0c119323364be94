// More functions that a query may call: of moments, arrays, tuples, maps, addresses and windows.

import { allow, type SqlFunction, sqlFunctions, type Traits } from "./functions.ts";

export { sqlFunctions };

const any = 500;
const numeric: Traits = { isNumeric: true };
const noNulls: Traits = { noNulls: true };
const ofMoments: Traits = { isOfMoments: true };
const neverNull: Traits = { neverNull: true };
const givesNull: Traits = { givesNull: true };

// Moments.
allow(
  "number",
  1,
  1,
  "toYear toQuarter toMonth toDayOfYear toDayOfMonth toHour toMinute toSecond toISOYear toISOWeek",
);
allow("number", 1, 1, "toYYYYMM toYYYYMMDD toYYYYMMDDhhmmss timeZoneOffset toMillisecond");
allow(
  "number",
  1,
  1,
  "year=toYear quarter=toQuarter month=toMonth day=toDayOfMonth hour=toHour minute=toMinute",
);
allow("number", 1, 1, "second=toSecond DAYOFWEEK=toDayOfWeek DAYOFMONTH=toDayOfMonth DAYOFYEAR=toDayOfYear");
allow(
  "number",
  1,
  1,
  "toRelativeYearNum toRelativeMonthNum toRelativeWeekNum toRelativeDayNum toRelativeHourNum",
);
allow("number", 1, 3, "toDayOfWeek toWeek toYearWeek");
allow("number", 1, 2, "toUnixTimestamp");
allow("number", 1, 1, "toUnixTimestamp64Milli toUnixTimestamp64Micro");
allow(
  "date",
  1,
  1,
  "toStartOfYear toStartOfISOYear toStartOfQuarter toStartOfMonth toLastDayOfMonth toMonday",
);
allow("date", 1, 2, "toStartOfWeek toLastDayOfWeek LAST_DAY=toLastDayOfMonth");
allow(
  "datetime",
  1,
  1,
  "toStartOfDay toStartOfHour toStartOfMinute toStartOfSecond toStartOfFiveMinutes timeSlot",
);
allow("datetime", 1, 1, "toStartOfTenMinutes toStartOfFifteenMinutes toTime");
allow("datetime", 2, 3, "toStartOfInterval");
allow("number", 3, 4, "dateDiff date_diff=dateDiff age");
allow("datetime", 2, 3, "dateTrunc date_trunc=dateTrunc");
allow("string", 2, 3, "formatDateTime to_char=formatDateTime dateName date_format=formatDateTime", ofMoments);
allow("string", 1, 1, "monthName timeZoneOf", ofMoments);
allow("datetime", 2, 2, "addYears addQuarters addMonths addWeeks addDays addHours addMinutes addSeconds");
allow(
  "datetime",
  2,
  2,
  "subtractYears subtractQuarters subtractMonths subtractWeeks subtractDays subtractHours",
);
allow("datetime", 2, 2, "subtractMinutes subtractSeconds date_add=plus date_subtract=minus");
allow(
  "interval",
  1,
  1,
  "toIntervalSecond toIntervalMinute toIntervalHour toIntervalDay toIntervalWeek",
  numeric,
);
allow("interval", 1, 1, "toIntervalMonth toIntervalQuarter toIntervalYear", numeric);
allow("date", 3, 3, "makeDate make_date=makeDate", numeric);
// Arrays, tuples and maps.
allow("array", 0, any, "array");
allow("unknown", 0, any, "tuple map");
allow("array", 1, 3, "range", numeric);
allow(
  "array",
  2,
  any,
  "arrayConcat arrayMap arrayFilter arrayFill arrayReverseFill arraySplit arrayReverseSplit arrayZip",
);
allow("array", 1, any, "arraySort arrayReverseSort arrayEnumerateUniq arrayIntersect arrayCumSum");
allow("array", 1, any, "arrayCumSumNonNegative arrayEnumerateDense arrayEnumerate arrayPartialSort");
allow(
  "array",
  1,
  1,
  "arrayPopBack arrayPopFront arrayDistinct arrayDifference arrayReverse arrayFlatten arrayCompact",
);
allow("array", 2, 2, "arrayPushBack arrayPushFront arrayWithConstant arrayRotateLeft arrayRotateRight");
allow("array", 2, 3, "arraySlice arrayResize");
allow("unknown", 1, 1, "arrayJoin");
allow(
  "unknown",
  2,
  any,
  "arrayFirst arrayLast arrayFirstOrNull arrayLastOrNull arrayElement arrayElementOrNull",
);
allow("boolean", 2, 2, "has hasAll hasAny hasSubstr", neverNull);
allow("number", 2, 2, "indexOf countEqual");
allow("number", 1, any, "arrayCount arrayUniq arrayFirstIndex arrayLastIndex arraySum arrayAvg arrayProduct");
allow("boolean", 1, any, "arrayExists arrayAll");
allow("unknown", 1, any, "arrayMin arrayMax");
allow("string", 1, 2, "arrayStringConcat", noNulls);
allow("number", 2, 2, "arrayAUC dotProduct L2Distance cosineDistance");
allow("unknown", 2, 3, "tupleElement");
allow("unknown", 1, any, "mapFromArrays mapContains mapFilter mapApply mapAdd mapSubtract mapUpdate");
allow("array", 1, 1, "mapKeys mapValues");
allow("unknown", 3, 4, "transform");
allow("unknown", 1, 1, "untuple finalizeAggregation");
// Addresses.
allow("string", 1, 1, "IPv4NumToString IPv6NumToString IPv4StringToNumOrNull IPv4StringToNum");
allow("boolean", 1, 2, "isIPv4String isIPv6String isIPAddressInRange");
// Windows only.
allow(
  "number",
  0,
  1,
  "row_number rank dense_rank denseRank=dense_rank percent_rank ntile cume_dist",
  neverNull,
);
allow("unknown", 1, 3, "lag=lagInFrame lead=leadInFrame lagInFrame leadInFrame", givesNull);
allow("unknown", 1, 2, "first_value last_value nth_value", givesNull);
allow("number", 0, any, "grouping");

/** The function of a name, whatever its case. */
export const sqlFunction = (name: string): SqlFunction | undefined => sqlFunctions.get(name.toLowerCase());

export const functionNames = (): string[] => [...sqlFunctions.values()].map((one) => one.name);
