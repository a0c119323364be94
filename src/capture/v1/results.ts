// The reply to a v1 batch: one result for each event, by its uuid as it was sent.

import { yieldToEventLoop } from "../../core/clock.ts";
import { captureLimits } from "../limits.ts";
import type { Reason, Warning } from "../event/outcome.ts";
import { uuidChars } from "./translation.ts";

export interface Fates {
  /** The uuids as they were sent, 36 bytes each, in the order of the batch. */
  uuids: Uint8Array;
  /** Reasons of ignored events, by index in the batch. */
  ignored: ReadonlyMap<number, Reason>;
  /** The first warning of each accepted event that has one, by index in the batch. */
  warned: ReadonlyMap<number, Warning>;
}

/**
 * `{"results": {"<uuid>": {"result": "ok", "details"?: "<reason>"}}}` as text; a result is ok, warning or drop. Yields
 * to the event loop between slices. No result asks for a retry: if an event cannot be stored now, the request is
 * refused.
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

/** Bytes of one result at most: names of reasons and warnings have up to 60 characters. */
export const resultBytesMax = 160;
