// Records that are /batch items already. Their bytes are sent as they are; a row is rewritten only where the
// server would otherwise replace the event's time or uuid. `properties` is not changed.

import { dashedUuid, isUuid } from "../../../core/id.ts";
import { parseRawFields, type RawFields, writeRawFields } from "../reading/raw_fields.ts";
import { type JsonRecord, type RecordOutcome, rejected } from "./record.ts";
import { importTimestamp, rfc3339Ms, timeProblem } from "./timestamp.ts";

const nilUuid = "00000000-0000-0000-0000-000000000000";

/** `nowMs`: when the import began, the same in every run of it. */
export function mapBatchItem(record: JsonRecord, nowMs: number): RecordOutcome {
  const { value } = record;
  const ms = typeof value["timestamp"] === "string" ? rfc3339Ms(value["timestamp"]) : Number.NaN;
  const uuidFits = value["uuid"] === undefined || usableUuid(value["uuid"]) === value["uuid"];
  if (Number.isNaN(ms) || !uuidFits || value["offset"] !== undefined) return rewrite(record, nowMs);
  const problem = timeProblem(ms, nowMs);
  if (problem !== undefined) return rejected(problem);
  return { is: "verbatim", uuid: value["uuid"] === undefined ? record.ownUuid() : undefined };
}

/** Replaces `uuid` and `timestamp` and drops `offset`; every other field stays as written. */
function rewrite(record: JsonRecord, nowMs: number): RecordOutcome {
  const time = importTimestamp([record.value["timestamp"]], nowMs);
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

/** A uuid with dashes, from one with or without them; undefined for the nil uuid and for anything else. */
export function usableUuid(value: unknown): string | undefined {
  if (typeof value !== "string" || value === nilUuid) return undefined;
  if (isUuid(value)) return value;
  if (!/^[0-9a-f]{32}$/i.test(value)) return undefined;
  const dashed = dashedUuid(value);
  return dashed === nilUuid ? undefined : dashed;
}
