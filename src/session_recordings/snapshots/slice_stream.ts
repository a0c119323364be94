// Sends a long reply in slices as the client reads it. Its memory is released when the client has read it all,
// disconnects, or takes too long.

import { limits } from "../../core/limits.ts";
import { LongReply } from "../../http/pages/long_reply.ts";
import { snapshotLimits } from "./limits.ts";

/** Texts and bytes of a reply, in order. */
export type Parts = Generator<string | Uint8Array, undefined>;

/** Responds with the parts joined. A reply of one slice is sent whole; `release` is called once. */
export function sendParts(parts: Parts, type: string, release: () => void): Response {
  const headers = { "content-type": type, "cache-control": "no-store" };
  const slices = slicesOf(parts);
  const first = slices.next();
  const second = slices.next();
  if (second.done) {
    release();
    return new Response(first.value ?? "", { headers });
  }
  const ready = [first.value!, second.value];
  const next = (): Uint8Array | undefined => ready.shift() ?? slices.next().value;
  return new LongReply({ next, release, msMax: snapshotLimits.snapshotSendMsMax }, { headers });
}

/** Joins parts into slices of at most `limits.replySliceBytes`, from at most `snapshotPartsMax` parts each. */
export function* slicesOf(parts: Parts): Generator<Uint8Array, undefined> {
  let slice = Buffer.allocUnsafe(limits.replySliceBytes);
  let [length, joined] = [0, 0];
  const taken = (): Uint8Array => {
    const whole = slice.subarray(0, length);
    slice = Buffer.allocUnsafe(limits.replySliceBytes);
    [length, joined] = [0, 0];
    return whole;
  };
  for (const part of parts) {
    if (++joined > snapshotLimits.snapshotPartsMax && length > 0) yield taken();
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    for (let at = 0; at < bytes.length;) {
      const some = bytes.subarray(at, at + slice.length - length);
      slice.set(some, length);
      at += some.length;
      length += some.length;
      if (length === slice.length) yield taken();
    }
  }
  if (length > 0) yield slice.subarray(0, length);
}
