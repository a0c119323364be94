// Lists whose pages PostHog counts from 1.

import type { Counted } from "../../storage/postgres/rows.ts";
import { fieldFault } from "../fields/field_fault.ts";
import { numberParameter, pageParameters } from "../fields/query.ts";
import { httpLimits } from "../limits.ts";
import { type Page, pageReply } from "./page.ts";

export function numberedPageParameters(rows: string) {
  return {
    ...pageParameters(rows),
    page: numberParameter("Which page, from 1 on; instead of `offset`.", {
      minimum: 1,
      maximum: httpLimits.pageOffsetMax,
      default: 1,
    }),
  };
}

/** @throws Fault when both are set. */
export function numberedPage({ limit, offset, page }: Page & { page: number }): Page {
  if (page > 1 && offset > 0) {
    throw fieldFault("invalid_input", "Give either page or offset, not both.", ["page"]);
  }
  return { limit, offset: Math.max(offset, (page - 1) * limit) };
}

/** The reply, whose links have offsets. */
export function numberedReply<Row>(url: URL, at: Page, counted: Counted<Row>) {
  const link = new URL(url);
  link.searchParams.delete("page");
  return { ...pageReply(link, at, counted), total_count: counted.count };
}
