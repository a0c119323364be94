// The types of queries after check.ts.

import type { PropertyFilter } from "../storage/events/property_filter.ts";
import type { Column } from "./events/columns.ts";
import type {
  EventsNode,
  EventsQuery,
  FunnelsQuery,
  Interval,
  Math,
  RetentionQuery,
  TrendsQuery,
} from "./model.ts";

/** The events of a name, or of any name, with certain properties. */
export interface Entity {
  /** undefined: any. */
  event: string | undefined;
  name: string;
  custom_name: string | null;
  filters: PropertyFilter[];
}

export interface Series extends Entity {
  node: EventsNode;
  math: Math;
}

interface Checked {
  /** The name of the query in a fault. */
  attr: string;
  /** Apply to every event of the query. */
  filters: PropertyFilter[];
}

export interface CheckedTrends extends Checked {
  kind: "TrendsQuery";
  query: TrendsQuery;
  interval: Interval;
  series: Series[];
  breakdown: { property: string; limit: number | undefined; other: boolean } | undefined;
}

export interface CheckedFunnels extends Checked {
  kind: "FunnelsQuery";
  query: FunnelsQuery;
  series: Series[];
}

export interface CheckedRetention extends Checked {
  kind: "RetentionQuery";
  query: RetentionQuery;
  target: Entity;
  returning: Entity;
}

export interface CheckedEvents extends Checked {
  kind: "EventsQuery";
  query: EventsQuery;
  columns: Column[];
  newestFirst: boolean;
}

export type CheckedQuery = CheckedTrends | CheckedFunnels | CheckedRetention | CheckedEvents;

const totals = new Set(["BoldNumber", "ActionsPie", "ActionsBarValue", "ActionsTable", "WorldMap"]);

/** Whether a display shows one number for each line, and not one for each interval. */
export function isTotal(display: string | null | undefined): boolean {
  return totals.has(display ?? "");
}
