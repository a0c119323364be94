// What every kind of query is handed, and what it hands back.

import type { DateSpan } from "./date_range.ts";
import type { CheckedQuery } from "./checked.ts";
import type { QueryAsk } from "./store.ts";

export interface QueryContext {
  ask: QueryAsk;
  project_id: number;
  timezone: string;
  /** In ms since 1970. */
  now: number;
  /** When the project's first event took place, in ms since 1970. */
  first(): Promise<number | undefined>;
}

export interface QueryAnswer {
  kind: CheckedQuery["kind"];
  interval: string | undefined;
  span: DateSpan;
  /** As PostHog shapes them for this kind of query. */
  results: unknown[];
  /** Of a list of events. */
  columns?: string[];
  types?: string[];
  hasMore?: boolean;
  limit?: number;
  offset?: number;
}
