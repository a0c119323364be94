// Whether an expression is of one row or of many.

import { sqlAggregate } from "../sql/compile/lists/aggregates.ts";

/** Whether it contains an aggregate, other than in its subqueries and windows. */
export function isAggregated(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(isAggregated);
  if (typeof node !== "object" || node === null) return false;
  const { node: kind, name } = node as { node?: string; name?: string };
  if (kind === "SelectQuery" || kind === "SelectSetQuery" || kind === "WindowFunction") return false;
  if (kind === "Call" && name !== undefined && sqlAggregate(name)) return true;
  return Object.values(node).some((member) => typeof member === "object" && isAggregated(member));
}
