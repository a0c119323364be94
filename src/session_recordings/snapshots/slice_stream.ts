// A long reply, joined and sent a slice at a time as its reader takes it. What it holds is released when all of it is
// taken, when its reader is gone, and when its reader takes too long.

import { yieldToEventLoop } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import { snapshotLimits } from "./limits.ts";

/** Texts and bytes that follow each other. */
export type Parts = Generator<string | Uint8Array, undefined>;

/** Sends the parts; `release` is called once. A reply of one slice is sent whole. */
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
  return new Response(streamOf(next, release), { headers });
}

/**
 * A stream of what `next` gives until it gives nothing; `release` is called once, at the latest `msMax` milliseconds
 * after the start or after `next` called `renew`.
 */
export function streamOf(
  next: (renew: () => void) => Uint8Array | undefined | Promise<Uint8Array | undefined>,
  release: () => void,
  msMax: number = snapshotLimits.snapshotSendMsMax,
): ReadableStream<Uint8Array> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  const end = (): void => {
    if (ended) return;
    ended = true;
    clearTimeout(timer);
    release();
  };
  const renewFor = (controller: ReadableStreamDefaultController) => (): void => {
    clearTimeout(timer);
    if (ended) return;
    timer = setTimeout(() => {
      end();
      controller.error(new Error("the reader takes too long"));
    }, msMax);
  };
  return new ReadableStream<Uint8Array>({
    start: (controller) => renewFor(controller)(),
    pull: async (controller) => {
      try {
        const slice = ended ? undefined : await next(renewFor(controller));
        if (ended) return;
        if (slice) controller.enqueue(slice);
        else {
          end();
          controller.close();
        }
      } catch (thrown) {
        end();
        controller.error(thrown);
      }
      await yieldToEventLoop();
    },
    cancel: end,
  });
}

/** Slices of at most `limits.replySliceBytes` and of at most `snapshotLimits.snapshotPartsMax` parts. */
export function* slicesOf(parts: Parts): Generator<Uint8Array, undefined> {
  let slice = Buffer.allocUnsafe(limits.replySliceBytes);
  let length = 0;
  let joined = 0;
  for (const part of parts) {
    if (++joined > snapshotLimits.snapshotPartsMax && length > 0) {
      yield slice.subarray(0, length);
      slice = Buffer.allocUnsafe(limits.replySliceBytes);
      length = 0;
      joined = 0;
    }
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    for (let at = 0; at < bytes.length;) {
      const some = bytes.subarray(at, at + slice.length - length);
      slice.set(some, length);
      at += some.length;
      length += some.length;
      if (length < slice.length) continue;
      yield slice;
      slice = Buffer.allocUnsafe(limits.replySliceBytes);
      length = 0;
    }
  }
  if (length > 0) yield slice.subarray(0, length);
}
