// Limits of insights.

import { limits } from "../core/limits.ts";
import { sharingLimits } from "../sharing/limits.ts";

export const insightLimits = {
  /** Seconds for running the insights of one dashboard in a reply; later ones show their last result, or an error. */
  dashboardSecondsMax: sharingLimits.computeMsMax / 1000,
  /** Seconds for the insights of one page of the list: programs that read whole lists often wait ten. */
  listSecondsMax: 8,
  /** Users or dashboards in one parameter of the list. */
  filterItemsMax: 100,
  /** Insights on a page with results, as many as a dashboard shows. */
  refreshedRowsMax: limits.insightsPerDashboardMax,
  /** Short ids tried for a new insight. Of 2 × 10^14 few are in use, so a second one is free. */
  shortIdTriesMax: 5,
};
