// The result of a query.

import type { ResultType } from "../result.ts";
import type { QueryAnswer } from "../store.ts";

export interface QueryResult extends Pick<QueryAnswer, "results" | "table"> {
  kind: string;
  /** How `results` are drawn. */
  type: ResultType;
  interval: string | null;
  /** ISO 8601 in the project's time zone; the end is inclusive. Null for a query without a definite time range. */
  date_from: string | null;
  date_to: string | null;
  timezone: string;
  /** When it was computed, ISO 8601. */
  computed_at: string;
}
