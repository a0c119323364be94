// An event that posthog-js compressed, as the parts of its text with the content inflated. What cannot be inflated, or
// would take more than the page's budget, is handed on as it came: PostHog's own player inflates it itself.

import { bytesOf } from "../../core/bytes.ts";
import { snapshotLimits } from "./limits.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import type { EventPlace } from "./event_places.ts";
import { type ByteRange, MemberWalker } from "./member_walk.ts";
import { type InflateBudget, inflateText } from "./packed_text.ts";

interface Splice extends ByteRange {
  /** What takes the place of the bytes [from, to); nothing for a member that goes. */
  by: Uint8Array;
}

const nothing = new Uint8Array(0);
/** What is compressed by itself in incremental events. */
const packedMembers = ["texts", "attributes", "removes", "adds"].map(bytesOf);

/** The event's JSON text in parts, to be joined. `bytes`: the piece it is in. */
export async function expandEvent(
  bytes: Uint8Array,
  event: EventPlace,
  budget: InflateBudget,
): Promise<Uint8Array[]> {
  const asItCame = [bytes.subarray(event.from, event.to)];
  if (!event.packed) return asItCame;
  const { cv, data } = event.packed;
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
  // Of thousands of short events, the parts would take more than their bytes.
  return bytesJoined <= joinedBytesMax ? [Buffer.concat(parts, bytesJoined)] : parts;
}

const joinedBytesMax = 16 * 1024;

/** posthog-js compresses full snapshots whole, and the long members of incremental ones each by itself. */
async function inflateData(
  bytes: Uint8Array,
  data: ByteRange,
  budget: InflateBudget,
): Promise<Splice[] | undefined> {
  const first = bytes[data.from];
  if (first === 0x22) {
    const by = await inflateText(bytes, data, budget);
    return by && [{ ...data, by }];
  }
  if (first !== 0x7b) return undefined;
  const texts = await packedTexts(bytes, data);
  if (!texts) return undefined;
  const splices: Splice[] = [];
  for (const range of texts) {
    const by = await inflateText(bytes, range, budget);
    if (!by) return undefined;
    splices.push({ ...range, by });
  }
  return splices;
}

/** The members of `data` that are compressed texts; undefined when there are more than any recorder writes. */
async function packedTexts(bytes: Uint8Array, data: ByteRange): Promise<ByteRange[] | undefined> {
  const ranges: ByteRange[] = [];
  const members = new MemberWalker();
  members.open(bytes, data.from);
  for (;;) {
    const goal = members.at + snapshotLimits.snapshotWalkBytesMax;
    while (members.next(goal)) {
      if (members.through) return ranges;
      const isPacked =
        bytes[members.value.from] === 0x22 && packedMembers.some((name) => members.isNamed(name));
      if (isPacked && ranges.push({ ...members.value }) > packedMembers.length) return undefined;
    }
    if (members.at >= data.to) return ranges;
    await yieldToEventLoop();
  }
}
