// The content of a delivery, before it becomes an email or a message: sections of figures, a chart and a table.

export interface Figure {
  label: string;
  value: number;
  /** % for shares of a hundred. */
  unit: "" | "%";
  /** The value in the last delivery; of a query that compares, that of the time before. */
  before: number | null;
  /** The start of a comparison: `since the time before, until 18:43`. */
  since?: string;
}

/** Lines over `labels`, or one bar for each label. */
export interface Chart {
  kind: "line" | "bar";
  labels: string[];
  series: { label: string; values: number[] }[];
  unit: "" | "%";
}

export type Cell = string | number | null;

export interface Table {
  columns: string[];
  rows: Cell[][];
  /** How many rows are left out. */
  more: number;
}

export interface Section {
  insight: number;
  name: string;
  /** The date range in words; empty when it has none. */
  span: string;
  /** Why there are no figures. */
  error: string | null;
  figures: Figure[];
  chart: Chart | null;
  table: Table | null;
}

export interface Report {
  title: string;
  /** The name of the insight or the dashboard. */
  subject: string;
  /** The schedule in words. */
  summary: string;
  /** The day it was due, in words. */
  day: string;
  invite: string | null;
  sections: Section[];
  /** How many insights of the dashboard are left out. */
  more: number;
}
