// Limits of dashboards.

export const dashboardLimits = {
  /** Dashboards of one project, without deleted ones. */
  dashboardsPerProjectMax: 2000,
};
