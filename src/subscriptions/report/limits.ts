// Bounds of reports, with their units and reasons.

export const reportLimits = {
  /** Insights of a dashboard in one delivery: mail clients cut longer emails. */
  reportInsightsMax: 10,
  /** Lines of one chart: more colours cannot be told apart. */
  reportSeriesMax: 8,
  /** Bars of one chart. */
  reportBarsMax: 12,
  /** Figures above one chart. */
  reportFiguresMax: 4,
  /** Rows and columns of one table in a delivery. */
  reportRowsMax: 31,
  reportColumnsMax: 6,
  /** Rows of each table when a delivery has several insights. */
  dashboardRowsMax: 8,
  /** Characters of one label or cell in a delivery. */
  reportCellCharsMax: 120,
  /** How long drawing one chart may take, in ms; usually it takes 20. */
  pictureMsMax: 10_000,
  /** Cached PNGs of charts, about 40 kB each. */
  picturesKeptMax: 64,
};
