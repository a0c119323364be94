// Bounds of queries, with their units and reasons.

import { accessLimits } from "../access/limits.ts";
import { assertRising, limits, memoryShares } from "../core/limits.ts";
import { storageLimits } from "../storage/limits.ts";

const queriesWaitingMax = 128;
const queriesBytesMax = memoryShares.queries / 4;
const { filterExpressionCharsMax: expressionCharsMax } = storageLimits;

export const queryLimits = {
  /**
   * Queries that run at the same time: at most two of one project, so that another's always gets a permit. One that may
   * cost more than two CPU-seconds leaves a permit free.
   */
  queriesRunningMax: 4,
  queriesRunningFreeMultiple: 1,
  lightCpuSecondsMax: 2,
  /**
   * A query is long after five CPU-seconds, or twice its project's usual ones. While others of its project wait, one
   * long query of a project runs; the next begins again when that has ended. A permit is left for short ones.
   */
  longCpuSecondsMin: 5,
  longUsualMultiple: 2,
  queriesLongMax: 3,
  queriesLongFreeMultiple: 0.5,
  /** CPU-seconds of one query by default: half a minute of all cores, and at least a minute. */
  cpuSecondsPerCore: 30,
  cpuSecondsMin: 60,
  /**
   * Seconds that it may take: ten times its CPU-seconds on idle cores, and at least two minutes. It waits for other
   * queries and programs; this ends one that would never finish.
   */
  waitsPerSecond: 10,
  secondsMin: 120,
  /**
   * CPU-seconds of reading a row: of the usual question, and at least, without and with its properties (a million
   * events took 0.03 to 2 and 0.36 to 2).
   */
  rowSecondsUsual: 1.5e-6,
  rowSecondsMin: 0.03e-6,
  propertiesSecondsMin: 0.3e-6,
  /** The age in ms up to which a count of a project's rows is used, of how many projects, and the ms it may take. */
  rowsKeptMs: 60_000,
  rowsKeptMax: 1000,
  estimateMsMax: limits.engineSaysMsMax + 2000,
  /** Retry-After of a query for which the machine was too busy, in seconds. */
  busyRetrySeconds: 15,
  /** Queries that wait to run, at most half of them of one project; more get 503. */
  queriesWaitingMax,
  /**
   * Bytes of queries that wait or run, as JSON, in all and of one project; more get 503. In memory they take up to four
   * times as much.
   */
  queriesBytesMax,
  queriesOfProjectBytesMax: queriesBytesMax / 2,
  /** How long a query waits to run before it gets 503, in ms: longer than what two others may cost on two cores. */
  queriesWaitMsMax: 75_000,
  /** How old a result may be that is returned again, and how long computing it must have taken to be kept, in ms. */
  resultKeptMs: 600_000,
  resultWorthMsMin: 1000,
  /** Bytes of kept results, in all and of one project, as the JSON that is in memory. */
  resultsBytesMax: memoryShares.results,
  resultsOfProjectBytesMax: 5 * 1024 * 1024,
  /** Queries in the background that run or wait, at most half of them of one project: a quarter of all that wait. */
  backgroundRunningMax: queriesWaitingMax / 4,
  /** How long one of them waits to run, in ms: no connection is open meanwhile. */
  backgroundWaitMsMax: 600_000,
  /** How often the keys of those that run are checked, in ms: one that is revoked ends its queries within 5 s. */
  backgroundCheckMs: 1000,
  /** Queries that have ended and are not forgotten yet, in all and of one project; their results count above. */
  backgroundKeptMax: 2_000,
  backgroundKeptOfProjectMax: 100,
  /** Characters of a query's id; PostHog's own have 32 or 36. */
  queryIdCharsMax: 200,
  /** Series of one trend, steps of one funnel; each series is a statement of its own. */
  querySeriesMax: 26,
  /** Different steps of an unordered funnel that one event may be: all sets of them are computed, at most 31. */
  stepsOfOneEventMax: 5,
  /** Bars of a funnel's times, where a query sets their number and where it follows the persons': PostHog's. */
  funnelBinsMax: 90,
  funnelBinsUsualMax: 60,
  /** Formulas of one trend, characters of one, and brackets within brackets. */
  formulasMax: 10,
  formulaCharsMax: 200,
  formulaDepthMax: 20,
  /**
   * Intervals of a query's date range: two years of hours, and all days that can be queried until 2038, so that "all"
   * begins with the first event; a reply of some hundred kB.
   */
  queryBucketsMax: 25_000,
  /** Numbers in the reply of one trend, over all its lines: about 4 MB of JSON. */
  queryNumbersMax: 250_000,
  /** Properties of one breakdown: PostHog's number. */
  breakdownPartsMax: 3,
  /** Values of a breakdown that get a line of their own: the default, and the most that can be requested. */
  breakdownValuesDefault: 25,
  breakdownValuesMax: 200,
  /** Values on a map of the world: one for each country. */
  breakdownMapValues: 300,
  /** Characters of a value that tell it from others: PostHog's number. */
  breakdownValueCharsMax: 400,
  /** A breakdown is read in one pass if the first 100,000 events have at most 500 values. */
  breakdownEventsSeen: 100_000,
  breakdownValuesHeldMax: 500,
  /** Intervals of a retention table; its cells grow with their square. */
  retentionIntervalsMax: 100,
  /** Steps of a path, links between them in a reply, and what is left out of paths or put together as one step. */
  pathStepsMax: 50,
  pathLinksMax: 1000,
  pathNamesMax: 100,
  /** Rules that clean names of steps: in SQL each is within the next, and brackets nest 40 deep. */
  pathRulesMax: 25,
  /** Milliseconds between two events that are no more of one path: PostHog's half hour. */
  pathPauseMs: 1_800_000,
  /** Columns of one list of events. */
  queryColumnsMax: 50,
  /** Characters of one expression in a list of events, of all together, and names of events in one. */
  expressionCharsMax,
  expressionsCharsMax: 4 * expressionCharsMax,
  eventNamesMax: 1000,
  /** Rows of one table of a site's pages, sources and the like. */
  webRowsMax: 1000,
  queryRowsMax: 1000,
  /** Bytes of properties on one page of events: reading them must not delay captures. */
  queryPageBytesMax: 16 * 1024 * 1024,
  /** Parts of a query in SQL, those of a WITH at each use of it: about 10 ms of compiling, and 256 kB of statement. */
  sqlPartsMax: 5_000,
  /** Characters of a statement's part, and of all values in it: a long query has some thousand. */
  sqlStatementCharsMax: 256 * 1024,
  /** Characters of all parts, each with those within it: a thousand operators in a row come to 13 MB. */
  sqlMadeCharsMax: 16 * 1024 * 1024,
  sqlValuesCharsMax: 1024 * 1024,
  /** Rows of an answer in SQL without a LIMIT, and the most with one: PostHog's numbers. */
  sqlRowsDefault: 100,
  sqlRowsMax: 50_000,
  /** Bytes of rows that are read in one turn of the event loop, but for the last of them: 4,000 short rows in 6 ms. */
  sqlSliceBytes: 16 * 1024,
  /** Values of a row beyond a slice, and those in one turn that are moments or beside numbers of over 15 digits. */
  sqlRowValuesMax: 300_000,
  sqlShownValuesMax: 40_000,
  /** Numbers of a series made by numbers() or generateSeries(). */
  sqlSeriesMax: 1_000_000,
};

const checkedMs = queryLimits.backgroundCheckMs + accessLimits.foundAgeMsMax;
assertRising("a revoked key's queries end in time", checkedMs, limits.revokedMsMax);
