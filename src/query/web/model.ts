// The schemas of a WebOverviewQuery and a WebStatsTableQuery.

import { type Static } from "typebox";
import { choice, flag, integer, strictModel } from "../../http/fields/field.ts";
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

/** What the rows of a table can be, as expressions of SQL over events. */
export const webBreakdowns = {
  Page: "properties.$pathname",
  ScreenName: "properties.$screen_name",
  Browser: "properties.$browser",
  OS: "properties.$os",
  DeviceType: "properties.$device_type",
  Country: "properties.$geoip_country_code",
  Timezone: "properties.$timezone",
  Language: "properties.$browser_language",
  Viewport: "concat(toString(properties.$viewport_width), 'x', toString(properties.$viewport_height))",
  InitialPage: "session.$entry_pathname",
  ExitPage: "session.$end_pathname",
  InitialChannelType: "session.$channel_type",
  InitialReferringDomain: "session.$entry_referring_domain",
  InitialUTMSource: "session.$entry_utm_source",
  InitialUTMCampaign: "session.$entry_utm_campaign",
  InitialUTMMedium: "session.$entry_utm_medium",
  InitialUTMTerm: "session.$entry_utm_term",
  InitialUTMContent: "session.$entry_utm_content",
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
