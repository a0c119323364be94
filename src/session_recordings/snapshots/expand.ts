// Inflates events that posthog-js compressed. An event that cannot be inflated, or exceeds the page's budget, is passed
// on unchanged: PostHog's player inflates it itself.

import { bytesOf, isTextAt } from "../../core/bytes.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { JsonCursor } from "../../core/json/json_cursor.ts";
import { type InflateBudget, inflateText } from "./compressed_text.ts";
import type { EventOffsets, ValueOffsets } from "./event_offsets.ts";
import { snapshotLimits } from "./limits.ts";

interface Splice extends ValueOffsets {
  /** Replaces the bytes [from, to); empty to remove a member. */
  by: Uint8Array;
}

const nothing = new Uint8Array(0);
/** Members of incremental events that posthog-js compresses separately. */
const compressedMembers = ["texts", "attributes", "removes", "adds"].map(bytesOf);

/** The event's JSON text in parts, to be joined. `bytes` is the piece that holds it. */
export async function expandEvent(
  bytes: Uint8Array,
  event: EventOffsets,
  budget: InflateBudget,
): Promise<Uint8Array[]> {
  const asItCame = [bytes.subarray(event.from, event.to)];
  if (!event.compressed) return asItCame;
  const { cv, data } = event.compressed;
  const inflated = await inflateData(bytes, data, budget);
  if (!inflated) return asItCame;
  const parts: Uint8Array[] = [];
  let bytesJoined = 0;
  let at = event.from;
  for (const { from, to, by } of [...inflated, { ...cv, by: nothing }].sort((a, b) => a.from - b.from)) {
    parts.push(bytes.subarray(at, from), by);
    bytesJoined += from - at + by.length;
    at = to;
  }
  parts.push(bytes.subarray(at, event.to));
  bytesJoined += event.to - at;
  // Short events are joined: the objects of thousands of parts would take more memory than their bytes.
  return bytesJoined <= joinedBytesMax ? [Buffer.concat(parts, bytesJoined)] : parts;
}

const joinedBytesMax = 16 * 1024;

/** posthog-js compresses `data` of full snapshots whole, and the long members of incremental ones separately. */
async function inflateData(
  bytes: Uint8Array,
  data: ValueOffsets,
  budget: InflateBudget,
): Promise<Splice[] | undefined> {
  const first = bytes[data.from];
  if (first === 0x22) {
    const by = await inflateText(bytes, data, budget);
    return by && [{ ...data, by }];
  }
  if (first !== 0x7b) return undefined;
  const texts = await compressedTexts(bytes, data);
  if (!texts) return undefined;
  const splices: Splice[] = [];
  for (const range of texts) {
    const by = await inflateText(bytes, range, budget);
    if (!by) return undefined;
    splices.push({ ...range, by });
  }
  return splices;
}

/** Ranges of the compressed members of `data`; undefined when there are more than any recorder writes. */
async function compressedTexts(bytes: Uint8Array, data: ValueOffsets): Promise<ValueOffsets[] | undefined> {
  const ranges: ValueOffsets[] = [];
  const members = new JsonCursor(bytes, data.from);
  for (;;) {
    const goal = members.at + snapshotLimits.snapshotWalkBytesMax;
    while (members.next(goal)) {
      const { key, keyEnd, value: from, end: to } = members;
      const isCompressed =
        bytes[from] === 0x22 && compressedMembers.some((name) => isTextAt(bytes, key, keyEnd, name));
      if (isCompressed && ranges.push({ from, to }) > compressedMembers.length) return undefined;
    }
    if (members.ended || members.at >= data.to) return ranges;
    await yieldToEventLoop();
  }
}
