// Limits of dashboards.

import { limits } from "../core/limits.ts";

const textTilesMax = 100;

export const dashboardLimits = {
  /** Dashboards of one project, without deleted ones. */
  dashboardsPerProjectMax: 2000,
  /** Characters of a text tile, as at PostHog. */
  textCharsMax: 4000,
  /** Text tiles of one dashboard: with the characters of each, 1.6 MB at most in UTF-8. */
  textTilesMax,
  /** Tiles of one dashboard, and of one request that changes them. */
  tilesMax: limits.insightsPerDashboardMax + textTilesMax,
  /** Users in one parameter of the list. */
  filterItemsMax: 100,
};
