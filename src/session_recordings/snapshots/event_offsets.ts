// Finds the rrweb events of a piece as byte ranges, with the timestamp of each and whether its recorder compressed it.
// Events are not parsed: the player gets their bytes as they were sent.

import { isTextAt, toBytes } from "../../core/bytes.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { JsonCursor } from "../../core/json/json_cursor.ts";
import { limits } from "../../core/limits.ts";
import { snapshotLimits } from "./limits.ts";

/** Bytes [from, to). */
export interface ValueOffsets {
  from: number;
  to: number;
}

export interface EventOffsets extends ValueOffsets {
  /** Milliseconds of the client's clock; 0 when it is not a number. */
  timestamp: number;
  /** Set for an event that posthog-js compressed: its `cv` member, which marks it, with one of its commas. */
  compressed: { cv: ValueOffsets; data: ValueOffsets } | undefined;
}

const names = { timestamp: toBytes("timestamp"), data: toBytes("data"), cv: toBytes("cv") };
const compressedForm = toBytes('"2024-10"');

/**
 * The first `eventsMax` events of a piece, and the bytes of those past them. A piece is JSON text of one event or an
 * array of them; items that are not objects are skipped. Yields to the event loop between slices.
 */
export async function findEvents(bytes: Uint8Array, eventsMax: number) {
  const events: EventOffsets[] = [];
  // At the very start, an opening bracket is that of the array of events.
  const items = new JsonCursor().openItems(bytes, bytes[0] === 0x5b ? 1 : 0);
  const members = new JsonCursor();
  let goal = 0;
  /** Whether there are more bytes, after a turn of the event loop. */
  const hasMore = async ({ at }: JsonCursor): Promise<boolean> => {
    if (goal > 0) await yieldToEventLoop();
    goal = at + snapshotLimits.snapshotWalkBytesMax;
    return at < bytes.length;
  };
  const all = { events, bytesLeftOut: 0 };
  for (;;) {
    if (!items.seek(goal)) {
      if (items.ended || !(await hasMore(items))) return all;
    } else if (bytes[items.value] !== 0x7b) {
      while (!items.skip(goal)) if (!(await hasMore(items))) return all;
    } else {
      if (events.length === eventsMax) return { events, bytesLeftOut: bytes.length - items.value };
      const event = new OpenEvent(items.value);
      for (members.open(bytes, items.value); !members.ended;) {
        if (members.next(goal)) event.record(bytes, members);
        else if (!members.ended && !(await hasMore(members))) return all;
      }
      items.jump(members.at);
      events.push(event.close(bytes, members.at));
    }
  }
}

/** Collects what is needed of an event while its members are walked. */
class OpenEvent {
  readonly #from: number;
  #timestamp: ValueOffsets | undefined;
  readonly #datas: ValueOffsets[] = [];
  readonly #cvs: (ValueOffsets & { value: ValueOffsets })[] = [];
  /** End of the last member's value, `cv` excepted. */
  #behind = 0;
  /** Whether the last member was `cv`. */
  #afterCv = false;

  constructor(from: number) {
    this.#from = from;
  }

  record(bytes: Uint8Array, { key, keyEnd, value: from, end: to }: JsonCursor): void {
    // The comma after `cv` is removed with it.
    if (this.#afterCv) this.#cvs.at(-1)!.to = key - 1;
    const value = { from, to };
    this.#afterCv = isTextAt(bytes, key, keyEnd, names.cv);
    if (this.#afterCv) this.#cvs.push({ from: key - 1, to, value });
    else this.#behind = to;
    if (isTextAt(bytes, key, keyEnd, names.timestamp)) this.#timestamp = value;
    else if (isTextAt(bytes, key, keyEnd, names.data)) this.#datas.push(value);
  }

  close(bytes: Uint8Array, to: number): EventOffsets {
    const [[cv, ...cvs], [data, ...datas]] = [this.#cvs, this.#datas];
    // `cv` is the last member: the comma before it is removed with it.
    if (cv && this.#afterCv && this.#behind > 0) cv.from = this.#behind;
    const isOne = cvs.length === 0 && datas.length === 0;
    const isCompressed = cv && data && isOne && isTextAt(bytes, cv.value.from, cv.value.to, compressedForm);
    const timestamp = this.#timestamp ? numberAt(bytes, this.#timestamp) : 0;
    return { from: this.#from, to, timestamp, compressed: isCompressed ? { cv, data } : undefined };
  }
}

function numberAt(bytes: Uint8Array, { from, to }: ValueOffsets): number {
  const first = bytes[from] ?? 0;
  const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
  if (!isNumber || to - from > limits.snapshotNumberBytesMax) return 0;
  return Number(String.fromCharCode(...bytes.subarray(from, to)));
}
