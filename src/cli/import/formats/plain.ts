// Records that are batch items already. Their bytes go as they lie; only a uuid is put in front, and only
// what would make the server stamp an event with its own time is mended. Never touches `properties`.

import { isUuid } from "../../../core/id.ts";
import { type Members, readMembers, writeMembers } from "../reading/members.ts";
import { type RecordFate, type Mappable, rejected } from "./record.ts";
import { parseMoment, rfc3339Ms } from "./timestamp.ts";

const nilUuid = "00000000-0000-0000-0000-000000000000";

/** How far ahead of the clock a timestamp may lie before the server would replace it, in ms. */
const aheadMsMax = 23 * 3_600_000;
/** Before it, the engine holds no time. */
const earliestMs = Date.UTC(1900, 0, 1);

/** Why the server would replace a time that can be read; undefined when it would not. */
export function timeFlaw(ms: number, nowMs: number): string | undefined {
  if (ms > nowMs + aheadMsMax) return "the timestamp lies in the future";
  return ms < earliestMs ? "the timestamp lies before 1900" : undefined;
}

/** `nowMs`: when the import began, in every run of it. */
export function mapPlain(record: Mappable, nowMs: number): RecordFate {
  const { value } = record;
  const ms = typeof value["timestamp"] === "string" ? rfc3339Ms(value["timestamp"]) : Number.NaN;
  const whole = value["uuid"] === undefined || usableUuid(value["uuid"]) === value["uuid"];
  if (Number.isNaN(ms) || !whole || value["offset"] !== undefined) return mend(record, nowMs);
  const flaw = timeFlaw(ms, nowMs);
  if (flaw !== undefined) return rejected(flaw);
  return { is: "kept", uuid: value["uuid"] === undefined ? record.ownUuid() : undefined };
}

/** Takes the row apart and puts it together again with what it needs; every other member stays as written. */
function mend(record: Mappable, nowMs: number): RecordFate {
  const moment = parseMoment(record.value["timestamp"]);
  if (moment === undefined) return rejected(noTime(record.value["timestamp"]));
  const flaw = timeFlaw(moment.ms, nowMs);
  if (flaw !== undefined) return rejected(flaw);
  const row = readMembers(record.text);
  // The server would count an offset back from its own clock.
  for (const name of ["uuid", "timestamp", "offset"]) row.delete(name);
  const uuid = usableUuid(record.value["uuid"]) ?? record.ownUuid();
  const head: Members = new Map([
    ["uuid", JSON.stringify(uuid)],
    ["timestamp", JSON.stringify(moment.text)],
  ]);
  return { is: "made", text: writeMembers(new Map([...head, ...row])) };
}

/** A uuid that tells events apart, in its usual spelling. */
export function usableUuid(value: unknown): string | undefined {
  if (typeof value !== "string" || value === nilUuid) return undefined;
  if (isUuid(value)) return value;
  if (!/^[0-9a-f]{32}$/i.test(value)) return undefined;
  const dashed = value.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  return dashed === nilUuid ? undefined : dashed;
}

export function noTime(value: unknown): string {
  if (value === undefined || value === null || value === "") return "no timestamp";
  const shown = JSON.stringify(value);
  return `cannot read the timestamp ${shown.length > 60 ? `${shown.slice(0, 60)}…` : shown}`;
}
