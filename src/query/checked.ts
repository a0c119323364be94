// Queries that were checked, as those who answer them find them. Never checks anything.

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

/** Which events: of one name or of any, and with which properties. */
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
  /** What the query is called in a refusal. */
  attr: string;
  /** That hold for every event of it. */
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

/** Whether a display shows one number a line, not one an interval. */
export function isTotal(display: string | null | undefined): boolean {
  return totals.has(display ?? "");
}
