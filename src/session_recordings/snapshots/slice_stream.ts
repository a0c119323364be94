// Joins the many small parts of a recording to slices of a reply.

import { limits } from "../../core/limits.ts";
import { snapshotLimits } from "./limits.ts";

/** Texts and bytes of a reply, in order. */
export type Parts = Generator<string | Uint8Array, undefined>;

/** Joins parts into slices of at most `limits.replySliceBytes`, from at most `snapshotPartsMax` parts each. */
export function* cutSlices(parts: Parts): Generator<Uint8Array, undefined> {
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
