// Bounds of dashboards, with their units and reasons.

export const dashboardLimits = {
  /** Dashboards of one project, without deleted ones. */
  dashboardsPerProjectMax: 2000,
};
