// The events of a window that can be played, and what of it cannot, in words.

import { fieldsOf, numberOf } from "../values.ts";
import type { RecordedEvent } from "./snapshots.ts";
import { drawWireframes, hasWireframes } from "./wireframes.ts";

const [fullSnapshot, customEvent] = [2, 5];

export function readPlayable(recorded: readonly RecordedEvent[]): {
  events: RecordedEvent[];
  notices: string[];
} {
  const notices: string[] = [];
  const isApp = recorded.some(hasWireframes);
  const drawn = isApp ? drawWireframes(recorded) : recorded;
  let [bytesLeftOut, compressed] = [0, 0];
  const events = drawn.filter((event) => {
    const { tag, payload, node } = fieldsOf(event.data);
    if (event.type === customEvent && tag === "left_out")
      bytesLeftOut += numberOf(fieldsOf(payload)["bytes"]) ?? 0;
    // The server sends as they came those that inflate past its bound, and those that are damaged.
    const isCompressed = "cv" in event && event.cv !== undefined;
    if (isCompressed) compressed++;
    return !isCompressed && (event.type !== fullSnapshot || typeof node === "object");
  });
  if (isApp) notices.push("Recorded by an app: its screens are drawn from wireframes or screenshots.");
  if (bytesLeftOut > 0)
    notices.push(
      `${(bytesLeftOut / 1e6).toFixed(1)} MB are left out: a part of it is too large to be played.`,
    );
  if (compressed > 0) notices.push(`${compressed} of its events are left out: too large or damaged.`);
  if (recorded.length > 1 && !events.some(({ type }) => type === fullSnapshot))
    notices.push("The page itself was not recorded, or is left out: nothing of it can be shown.");
  return { events, notices };
}
