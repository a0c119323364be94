// The content of a delivery, before it becomes an email or a message: sections of figures, a chart and a table.

import Type, { type Static } from "typebox";

/** A number above the chart, and its value in the last delivery. */
export const figureModel = Type.Object({
  label: Type.String(),
  value: Type.Number(),
  unit: Type.Enum(["", "%"], { type: "string", description: "% for shares of a hundred." }),
  before: Type.Union([Type.Number(), Type.Null()], { description: "The value in the last delivery." }),
});

export type Figure = Omit<Static<typeof figureModel>, "unit"> & { unit: "" | "%" };

export interface ChartSeries {
  label: string;
  values: number[];
}

/** Lines over `labels`, or one bar for each label. */
export interface Chart {
  kind: "line" | "bar";
  labels: string[];
  series: ChartSeries[];
  unit: "" | "%";
}

export type Cell = string | number | null;

export interface Table {
  columns: string[];
  rows: Cell[][];
  /** How many rows are left out. */
  more: number;
}

/** One insight. */
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
