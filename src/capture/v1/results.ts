// What the sender of a v1 batch is answered: one result for each event, under its uuid as it was written.

import { yieldToEventLoop } from "../../core/clock.ts";
import { captureLimits } from "../limits.ts";
import type { Reason, Warning } from "../event/outcome.ts";
import { uuidChars } from "./translation.ts";

export interface Fates {
  /** The uuids as they were written, 36 bytes each, in the order of the batch. */
  uuids: Uint8Array;
  /** Why events were not taken, by their place in the batch. */
  ignored: ReadonlyMap<number, Reason>;
  /** The first thing that is odd about events that were taken. */
  warned: ReadonlyMap<number, Warning>;
}

/**
 * `{"results": {"<uuid>": {"result": "ok" | "warning" | "drop", "details"?: "<reason>"}}}` as text; others get their
 * turn between slices. An event that may be sent again never shows here: where one cannot be kept now, all are refused.
 */
export async function resultsText({ uuids, ignored, warned }: Fates): Promise<string> {
  const source = Buffer.from(uuids.buffer, uuids.byteOffset, uuids.length);
  const slices: string[] = [];
  const count = uuids.length / uuidChars;
  for (let first = 0; first < count; first += captureLimits.sliceRowsMax) {
    if (first > 0) await yieldToEventLoop();
    let text = "";
    for (let i = first; i < Math.min(count, first + captureLimits.sliceRowsMax); i++) {
      const uuid = source.toString("latin1", i * uuidChars, (i + 1) * uuidChars);
      text += `${i > 0 ? "," : ""}"${uuid}":${resultOf(ignored.get(i), warned.get(i))}`;
    }
    slices.push(text);
  }
  return `{"results":{${slices.join("")}}}`;
}

function resultOf(reason: Reason | undefined, warning: Warning | undefined): string {
  if (reason) return `{"result":"drop","details":"${reason}"}`;
  return warning ? `{"result":"warning","details":"${warning}"}` : '{"result":"ok"}';
}

/** What one result takes at the most, in bytes: names of reasons and warnings have 60 characters at the most. */
export const resultBytesMax = 160;
