// Limits of insights.

export const insightLimits = {
  /** Insights of one project, without deleted ones. PostHog's largest teams have a few thousand. */
  insightsPerProjectMax: 10_000,
  /** Dashboards that show one insight. */
  dashboardsOfInsightMax: 100,
  /** Seconds for running the insights of one dashboard in a reply; later ones show an error. */
  dashboardSecondsMax: 30,
};
