// What a delivery says, before it is an email or a message: sections of figures, a chart and a table. Never holds
// markup.

import Type, { type Static } from "typebox";

/** One number worth a glance, and what it was when this was last delivered. */
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

/** Lines over `labels`, or one bar each. */
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
  /** Rows left out. */
  more: number;
}

/** One insight. */
export interface Section {
  insight: number;
  name: string;
  /** The time it covers, in words; empty when it does not say. */
  span: string;
  /** Why there are no figures. */
  error: string | null;
  figures: Figure[];
  chart: Chart | null;
  table: Table | null;
}

export interface Report {
  title: string;
  /** What it is about, under the title: the insight's or the dashboard's name. */
  subject: string;
  /** The schedule in words. */
  summary: string;
  /** The day it was due, in words. */
  day: string;
  invite: string | null;
  sections: Section[];
  /** Insights of the dashboard that are left out. */
  more: number;
}
