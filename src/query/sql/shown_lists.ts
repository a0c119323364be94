// Functions and columns that a link may show of a query in SQL, by its name in small letters.

import { wordsIn } from "../../core/words.ts";

const listed = (text: string): ReadonlySet<string> => new Set(wordsIn(text));

/** Aggregates that show nothing of their arguments' values. */
export const counts = listed(
  "count uniq uniqexact uniqhll12 uniqtheta uniqcombined uniqcombined64 countdistinct approx_distinct",
);
/** Aggregates of numbers: of figures, measures, and properties that were confirmed. */
export const figures = listed(`
  sum avg min max median medianexact quantile quantileexact quantiletdigest quantiletiming quantiles quantilesexact
  stddevpop stddevsamp stddev varpop varsamp variance
`);
/** Functions of a moment, by which it is rounded. */
export const moments = listed(`
  todate tostartofminute tostartoffiveminutes tostartoftenminutes tostartoffifteenminutes tostartofhour tostartofday
  tostartofweek tomonday tostartofmonth tostartofquarter tostartofyear tostartofisoyear tostartofinterval datetrunc
  date_trunc toyear toquarter tomonth toweek toisoweek toyearweek toyyyymm toyyyymmdd todayofyear todayofmonth
  todayofweek tohour year quarter month day hour dayofweek dayofmonth dayofyear monthname
`);
export const nows = listed("now today yesterday");
/** Functions that leave a moment what it is. */
export const sameMoment = listed("totimezone todatetime");
/** Functions whose first argument is a unit of time, and the units that are coarse enough for a key. */
export const byUnit = listed("datetrunc date_trunc");
export const coarseUnits = listed("minute hour day week month quarter year");
export const intervals = listed(`
  tointervalminute tointervalhour tointervalday tointervalweek tointervalmonth tointervalquarter tointervalyear
`);
/** Functions of their arguments alone, of which each must be shown. */
export const functions = listed(`
  round floor ceil ceiling abs intdiv divide multiply plus minus modulo greatest least if multiif ifnull coalesce nullif
  isnull isnotnull toint tofloat tointorzero tofloatorzero todecimal totimezone todatetime equals notequals less greater
  lessorequals greaterorequals and or not lower upper trim concat substring tostring domain domainwithoutwww path
  cutquerystring empty notempty formatdatetime
`);

/** Columns with a moment, of events and of sessions. */
export const times = listed("timestamp created_at $start_timestamp $end_timestamp");
/** Numbers of a session, which are shown within an aggregate. */
export const sessionMeasures = listed(`
  $session_duration duration $pageview_count $autocapture_count $screen_count $event_count $is_bounce $vitals_lcp
`);
/** Texts of a session, which are confirmed as properties are. */
export const sessionTexts = listed(`
  $channel_type $entry_current_url $entry_pathname $entry_hostname $end_current_url $end_pathname $end_hostname
  $exit_current_url $exit_pathname $entry_referring_domain $entry_utm_source $entry_utm_campaign $entry_utm_medium
  $entry_utm_term $entry_utm_content
`);

const idWords = listed(`
  alias aliases distinct guid tel telephone mobile ip ipaddress password secret ssn iban username login
`);
/** Ends and parts of such words, without the plural. */
const idStem = /(?:id|mail|token)$|email|phone|uuid/;
const otherWords = listed(`
  paid unpaid prepaid postpaid repaid valid invalid grid android bid rebid outbid overbid underbid kid mid void avoid
  rapid solid fluid liquid hybrid plaid raid aid acid arid humid timid did said rigid vivid covid lid maid madrid squid
  skid pyramid asteroid forbid splendid stupid morbid lucid tabloid orchid
  iphone smartphone headphone earphone microphone
`);

/** Properties of events with persons' own, and with the texts and attributes of what was clicked. */
const hiddenParts = /^\$(?:set(?:_once)?$|elements)/;

/** Whether a word of a property's name says that its values stand for a person, a session or the like. */
export function isCalledLikeId(path: readonly string[]): boolean {
  if (hiddenParts.test(path[0] ?? "")) return true;
  const words = path.join(" ").replaceAll(/([a-z\d])(?=[A-Z])/g, "$1 ");
  return words.split(/\P{L}+/u).some((text) => {
    const word = text.toLowerCase();
    const stem = word.replace(/s$/, "");
    return idWords.has(word) || idWords.has(stem) || (idStem.test(stem) && !otherWords.has(stem));
  });
}
