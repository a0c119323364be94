// Parameters of a query that a request must have.

import { fieldFault } from "./field_fault.ts";
import { refuseUnstorable } from "./field_rule.ts";
import type { Parameter } from "./query.ts";

/** A text that a request must have. */
export function requiredTextParameter(description: string): Parameter<string> {
  return { description: `Required: ${description}`, schema: { type: "string" }, read: readRequiredText };
}

/** @throws Fault required */
export function readRequiredText(query: URLSearchParams, name: string): string {
  const text = query.get(name);
  if (!text) throw fieldFault("required", "This query parameter is required.", [name]);
  refuseUnstorable(text, [name]);
  return text;
}
