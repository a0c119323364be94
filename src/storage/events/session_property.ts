// Properties of sessions as expressions over the view `sessions`, and names that are no properties of anything else.

import { wordsIn } from "../../core/words.ts";

/** The column of `sessions` of each property of type String whose values are read from the project's sessions. */
const columns = {
  $entry_current_url: "entry_url",
  $entry_pathname: "entry_pathname",
  $entry_hostname: "entry_hostname",
  $end_current_url: "exit_url",
  $end_pathname: "exit_pathname",
  $end_hostname: "exit_hostname",
  $last_external_click_url: "last_external_click_url",
  $entry_referrer: "entry_referrer",
  $entry_referring_domain: "entry_referring_domain",
};

/** The names of advertising parameters that a session keeps, in the order in which `entry` holds them. */
export const adNames: readonly string[] = wordsIn(`
  utm_source utm_medium utm_campaign utm_term utm_content gclid gad_source gclsrc dclid gbraid wbraid fbclid
  msclkid twclid li_fat_id mc_cid igshid ttclid _kx irclid
`);

/** Click ids of ads are in one column. */
const adExpression = (name: string) =>
  name.startsWith("utm_") ? `entry_${name}` : `entry_click_ids['${name}']`;

/** An expression over `sessions` for the values of each of these properties. */
export const textExpressions: Readonly<Record<string, string>> = {
  ...columns,
  ...Object.fromEntries(adNames.map((name) => [`$entry_${name}`, adExpression(name)])),
};

/** An expression for every property of a session, by name; a text that is empty is not set. */
export const sessionExpressions: Readonly<Record<string, string>> = {
  ...textExpressions,
  $channel_type: "channel_type",
  $start_timestamp: "toString(start_time)",
  $end_timestamp: "toString(end_time)",
  $pageview_count: "toString(pageview_count)",
  $autocapture_count: "toString(autocapture_count)",
  $screen_count: "toString(screen_count)",
  $session_duration: "toString(duration)",
  $is_bounce: "toString(is_bounce)",
  $vitals_lcp: "if(vitals_lcp > 0, toString(vitals_lcp), '')",
};

/** The refusal of a property that PostHog computes and events and persons do not have here; undefined for others. */
export function findRefusal(name: string): string | undefined {
  if (name === "$session_duration")
    return 'Sessions have "$session_duration": use their filters and breakdowns, and session.$session_duration in SQL.';
  return name.startsWith("$virt_")
    ? `"${name.slice(0, 100)}" is not computed here: nothing has it.`
    : undefined;
}
