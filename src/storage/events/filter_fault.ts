// The fault of filters that the engine refuses.

import { Fault } from "../../core/fault.ts";
import { ClickHouseError, describeExcess, isTooHeavy } from "../clickhouse/clickhouse.ts";

/**
 * A fault for an error of the engine that the client's filters caused; any other error as it is.
 * @param attr the parameter with the filters.
 * @param narrower names what makes the query smaller.
 */
export function filterFault(thrown: unknown, attr: string, narrower: string): unknown {
  if (!(thrown instanceof ClickHouseError)) return thrown;
  if (thrown.type === "CANNOT_COMPILE_REGEXP") {
    const detail = "A regular expression in the filters is not valid (RE2 syntax).";
    return new Fault("invalid_input", detail, { attr });
  }
  if (!isTooHeavy(thrown)) return thrown;
  const detail = `The request with these filters ${describeExcess(thrown)}. Narrow it with ${narrower}.`;
  return new Fault("invalid_input", detail, { attr });
}
