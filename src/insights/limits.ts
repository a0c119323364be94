// Bounds of insights, with their units and reasons.

export const insightLimits = {
  /** Insights of one project, without deleted ones; PostHog's largest teams have a few thousand. */
  insightsPerProjectMax: 10_000,
  /** Dashboards that show one insight. */
  dashboardsOfInsightMax: 100,
  /** How long a dashboard's insights may be run for one reply, in seconds; the rest is said to be late. */
  dashboardSecondsMax: 30,
};
