// The schemas of a WebOverviewQuery and a WebStatsTableQuery.

import Type, { type Static } from "typebox";
import { choice, flag, integer, strictModel, text } from "../../http/fields/field.ts";
import { eventPropertyText, propertyText } from "../../storage/events/property_filter.ts";
import { sessionExpressions } from "../../storage/events/session_property.ts";
import { queryLimits } from "../limits.ts";
import * as part from "../parts/model.ts";

const ofEvent = (property: string) => ({ event: eventPropertyText(property, `'${property}'`) });
/** Null for a side of nothing. */
const viewportSide = (side: string) => `nullIf(${propertyText(`'$viewport_${side}'`)}, '0')`;
const ofSession = (property: string) => ({ session: `nullIf(${sessionExpressions[property]!}, '')` });

const shared = {
  ...part.insightFields,
  compare: part.maybe(flag()),
  compareFilter: part.compareFilter,
  conversionGoal: part.maybe(
    strictModel("ConversionGoal", {
      customEventName: part.maybe(text({ maxLength: 1000 })),
      actionId: part.unanswered("An action"),
    }),
  ),
  doPathCleaning: part.unanswered("Cleaning paths"),
  includeRevenue: part.unanswered("Revenue"),
  sampling: part.unanswered("Sampling"),
  interval: part.unanswered("An interval"),
  ...part.unreadFields("Chooses between two ways of computing the same in PostHog.", "useSessionsTable"),
};

export const webOverviewModel = strictModel("WebOverviewQuery", {
  kind: choice(["WebOverviewQuery"]),
  ...part.unreadFields(part.drawing, "orderBy"),
  ...shared,
});

/** The breakdowns of a table, as expressions over events or sessions. */
export const webBreakdowns = {
  Page: ofEvent("$pathname"),
  ScreenName: ofEvent("$screen_name"),
  Browser: ofEvent("$browser"),
  OS: ofEvent("$os"),
  DeviceType: ofEvent("$device_type"),
  Country: ofEvent("$geoip_country_code"),
  /** Hours east of UTC, as at PostHog. */
  Timezone: { event: `0 - toFloat64OrNull(${propertyText("'$timezone_offset'")}) / 60` },
  TimezoneName: ofEvent("$timezone"),
  Language: ofEvent("$browser_language"),
  Viewport: {
    event: `concat(${["width", "height"].map(viewportSide).join(", 'x', ")})`,
  },
  InitialPage: ofSession("$entry_pathname"),
  ExitPage: ofSession("$end_pathname"),
  InitialChannelType: ofSession("$channel_type"),
  InitialReferringDomain: ofSession("$entry_referring_domain"),
  InitialReferringURL: { session: "nullIf(cutQueryStringAndFragment(entry_referrer), '')" },
  InitialUTMSource: ofSession("$entry_utm_source"),
  InitialUTMCampaign: ofSession("$entry_utm_campaign"),
  InitialUTMMedium: ofSession("$entry_utm_medium"),
  InitialUTMTerm: ofSession("$entry_utm_term"),
  InitialUTMContent: ofSession("$entry_utm_content"),
  /** Without a source the referrer counts, as at PostHog. */
  InitialUTMSourceMediumCampaign: {
    session: `concat(
      coalesce(nullIf(entry_utm_source, ''), nullIf(entry_referring_domain, ''), '(none)'), ' / ',
      if(entry_utm_medium = '', '(none)', entry_utm_medium), ' / ',
      if(entry_utm_campaign = '', '(none)', entry_utm_campaign))`,
  },
} as const;

export type WebBreakdown = keyof typeof webBreakdowns;

export const webStatsTableModel = strictModel("WebStatsTableQuery", {
  kind: choice(["WebStatsTableQuery"]),
  breakdownBy: choice(Object.keys(webBreakdowns) as WebBreakdown[]),
  includeBounceRate: part.maybe(flag()),
  includeScrollDepth: part.unanswered("The depth of scrolling"),
  includeAvgTimeOnPage: part.unanswered("The time on a page"),
  includeHost: part.unanswered("The host of a page"),
  /** A column and its direction. */
  orderBy: part.maybe(
    Type.Array(choice(["Visitors", "Views", "BounceRate", "ASC", "DESC"]), { minItems: 2, maxItems: 2 }),
  ),
  limit: part.maybe(integer({ minimum: 1, maximum: queryLimits.webRowsMax })),
  offset: part.maybe(integer({ minimum: 0 })),
  ...shared,
});

export type WebOverviewQuery = Static<typeof webOverviewModel>;
export type WebStatsTableQuery = Static<typeof webStatsTableModel>;
