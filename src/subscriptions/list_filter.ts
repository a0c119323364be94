// Which subscriptions a list's query string asks for. A number that makes no sense is refused.

import { Fault } from "../core/fault.ts";

/** `deleted`: the deleted ones instead; an id that is not given does not filter. */
export interface ListFilter {
  deleted: boolean;
  insight: number | undefined;
  dashboard: number | undefined;
}

/** @throws Fault invalid_input for an id that is no whole number. */
export function readListFilter(query: URLSearchParams): ListFilter {
  return {
    deleted: /^(true|t|yes|y|on|1)$/i.test(query.get("deleted") ?? ""),
    insight: numberIn(query, "insight"),
    dashboard: numberIn(query, "dashboard"),
  };
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (number <= 2_147_483_647) return number;
  throw new Fault("invalid_input", "A valid integer is required.", { attr: name });
}
