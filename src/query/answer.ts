// What the code of each kind of query receives and returns.

import type { CheckedQuery } from "./checked.ts";
import type { DateSpan } from "./date_range.ts";
import type { QueryRunner, QueryScope } from "./store.ts";

export interface QueryContext extends QueryScope {
  run: QueryRunner;
  /** The time of the project's first event, in ms since 1970; undefined when there is none. */
  firstEventMs(): Promise<number | undefined>;
}

export interface QueryAnswer {
  kind: CheckedQuery["kind"];
  interval: string | undefined;
  span: DateSpan;
  /** In PostHog's format for this kind of query. */
  results: unknown[];
  /** The following are there for a list of events only. */
  columns?: string[];
  types?: string[];
  hasMore?: boolean;
  limit?: number;
  offset?: number;
}
