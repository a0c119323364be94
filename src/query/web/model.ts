// The schemas of a WebOverviewQuery and a WebStatsTableQuery.

import { type Static } from "typebox";
import { choice, flag, integer, strictModel } from "../../http/fields/field.ts";
import { propertyText } from "../../storage/events/property_filter.ts";
import { sessionExpressions } from "../../storage/events/session_property.ts";
import { queryLimits } from "../limits.ts";
import {
  anything,
  compareFilter,
  dateRange,
  drawing,
  maybe,
  ofEveryQuery,
  unanswered,
  unreadFields,
} from "../parts/model.ts";

const ofEvent = (property: string) => ({ event: propertyText(`'${property}'`) });
const ofSession = (property: string) => ({ session: sessionExpressions[property]! });

const shared = {
  dateRange,
  properties: anything(),
  filterTestAccounts: maybe(flag()),
  compare: maybe(flag()),
  compareFilter,
  conversionGoal: unanswered("A goal of conversion"),
  doPathCleaning: unanswered("Cleaning paths"),
  includeRevenue: unanswered("Revenue"),
  sampling: unanswered("Sampling"),
  samplingFactor: unanswered("Sampling", [1]),
  aggregation_group_type_index: unanswered("Counting groups"),
  interval: unanswered("An interval"),
  ...unreadFields("Chooses between two ways of computing the same in PostHog.", "useSessionsTable"),
  ...unreadFields(drawing, "dataColorTheme orderBy"),
  ...ofEveryQuery,
};

export const webOverviewModel = strictModel("WebOverviewQuery", {
  kind: choice(["WebOverviewQuery"]),
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
  Timezone: ofEvent("$timezone"),
  Language: ofEvent("$browser_language"),
  Viewport: {
    event: `concat(${["width", "height"].map((side) => propertyText(`'$viewport_${side}'`)).join(", 'x', ")})`,
  },
  InitialPage: ofSession("$entry_pathname"),
  ExitPage: ofSession("$end_pathname"),
  InitialChannelType: ofSession("$channel_type"),
  InitialReferringDomain: ofSession("$entry_referring_domain"),
  InitialUTMSource: ofSession("$entry_utm_source"),
  InitialUTMCampaign: ofSession("$entry_utm_campaign"),
  InitialUTMMedium: ofSession("$entry_utm_medium"),
  InitialUTMTerm: ofSession("$entry_utm_term"),
  InitialUTMContent: ofSession("$entry_utm_content"),
} as const;

export type WebBreakdown = keyof typeof webBreakdowns;

export const webStatsTableModel = strictModel("WebStatsTableQuery", {
  kind: choice(["WebStatsTableQuery"]),
  breakdownBy: choice(Object.keys(webBreakdowns) as WebBreakdown[]),
  includeBounceRate: maybe(flag()),
  includeScrollDepth: unanswered("The depth of scrolling"),
  includeAvgTimeOnPage: unanswered("The time on a page"),
  includeHost: unanswered("The host of a page"),
  limit: maybe(integer({ minimum: 1, maximum: queryLimits.webRowsMax })),
  offset: maybe(integer({ minimum: 0 })),
  ...shared,
});

export type WebOverviewQuery = Static<typeof webOverviewModel>;
export type WebStatsTableQuery = Static<typeof webStatsTableModel>;
