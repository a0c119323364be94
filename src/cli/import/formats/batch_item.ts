// Records that are /batch items already. Their bytes are sent as they are; a row is rewritten only where the
// server would otherwise replace the event's time or uuid. `properties` is not changed.

import { isUuid, nilUuid, readUuid } from "../../../core/id.ts";
import { parseRawFields, type RawFields, writeRawFields } from "../reading/raw_fields.ts";
import { type JsonRecord, type RecordOutcome, rejected } from "./record.ts";
import { importTimestamp, rfc3339Ms, timeProblem, type TimeRules } from "./timestamp.ts";

export function mapBatchItem(record: JsonRecord, rules: TimeRules): RecordOutcome {
  const { value } = record;
  const ms = typeof value["timestamp"] === "string" ? rfc3339Ms(value["timestamp"]) : Number.NaN;
  const uuidFits = value["uuid"] === undefined || usableUuid(value["uuid"]) === value["uuid"];
  if (Number.isNaN(ms) || !uuidFits || value["offset"] !== undefined) return rewrite(record, rules);
  const problem = timeProblem(ms, rules.nowMs);
  if (problem !== undefined) return rejected(problem);
  return { is: "verbatim", uuid: value["uuid"] === undefined ? record.ownUuid() : undefined };
}

/** Replaces `uuid` and `timestamp` and drops `offset`; every other field stays as written. */
function rewrite(record: JsonRecord, rules: TimeRules): RecordOutcome {
  const time = importTimestamp([record.value["timestamp"]], rules);
  if ("is" in time) return time;
  const row = parseRawFields(record.text);
  // The server would subtract `offset` from its own clock.
  for (const name of ["uuid", "timestamp", "offset"]) row.delete(name);
  const uuid = usableUuid(record.value["uuid"]) ?? record.ownUuid();
  const head: RawFields = new Map([
    ["uuid", JSON.stringify(uuid)],
    ["timestamp", JSON.stringify(time.text)],
  ]);
  return { is: "rewritten", text: writeRawFields(new Map([...head, ...row])) };
}

/** A uuid with dashes, as it is written if it has them; undefined for the nil uuid and for what is none. */
export function usableUuid(value: unknown): string | undefined {
  const uuid = typeof value === "string" ? readUuid(value) : undefined;
  if (uuid === undefined || uuid === nilUuid) return undefined;
  return isUuid(value as string) ? (value as string) : uuid;
}
