// Bounds of reports, with their units and reasons.

export const reportLimits = {
  /** Insights of a dashboard in one delivery: more would be cut by mail clients. */
  reportInsightsMax: 10,
  /** Lines of one chart; more cannot be told apart. */
  reportSeriesMax: 8,
  /** Bars of one chart. */
  reportBarsMax: 12,
  /** Figures above one chart. */
  reportFiguresMax: 4,
  /** Rows and columns of one table in a delivery. */
  reportRowsMax: 31,
  reportColumnsMax: 6,
  /** Rows of each table where a delivery has several insights. */
  dashboardRowsMax: 8,
  /** Characters of one label or cell in a delivery. */
  reportCellCharsMax: 120,
  /** How long drawing one chart may take, in ms; usual is 20. */
  pictureMsMax: 10_000,
  /** Drawn charts kept for who is sent the same, about 40 kB each. */
  picturesKeptMax: 64,
};
