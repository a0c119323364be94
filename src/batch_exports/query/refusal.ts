// Refusals of a native_query.

import { Fault } from "../../core/fault.ts";
import { SqlProblem } from "../../query/sql/compile/compile.ts";

/** @throws Fault invalid_input with the query's field. */
export function refuseQuery(detail: string): never {
  throw new Fault("invalid_input", detail, { attr: "native_query" });
}

/** Refuses HogQL with its problem and position. */
export function refuseProblem(what: string, thrown: unknown): never {
  if (!(thrown instanceof SqlProblem)) throw thrown;
  const { message, start } = thrown;
  return refuseQuery(`${what}: ${message}${start === undefined ? "" : ` (Character ${start + 1}.)`}`);
}

export function refuseUnsupported(detail: string): never {
  return refuseQuery(`Unsupported HogQL query: ${detail}`);
}
