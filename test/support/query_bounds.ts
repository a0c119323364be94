// What a question may cost in tests that are not about it.

import type { QueryBounds, QueryStore } from "../../src/query/bounds.ts";

/** A store of two cores without events. */
export const emptyStore: QueryStore = {
  countCores: async () => 2,
  countRows: async () => 0,
  countRead: async () => 0,
};

export function usualBounds(more: Partial<QueryBounds> = {}): QueryBounds {
  return {
    work: { secondsMax: 60, seconds: 0 },
    seconds: 120,
    threads: () => 1,
    check: async () => {},
    ...more,
  };
}
