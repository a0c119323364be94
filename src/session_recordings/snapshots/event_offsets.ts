// Finds the rrweb events of a piece as byte ranges, with the timestamp of each and whether its recorder compressed it.
// Events are not parsed: the player gets their bytes as they came.

import { bytesOf, isTextAt } from "../../core/bytes.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { JsonSkipper, pastGap } from "../../core/json/json_skipper.ts";
import { limits } from "../../core/limits.ts";
import { snapshotLimits } from "./limits.ts";
import { type ValueOffsets, MemberWalker } from "./member_walker.ts";

export interface EventOffsets extends ValueOffsets {
  /** Milliseconds of the client's clock; 0 when it is not a number. */
  timestamp: number;
  /** Set for an event that posthog-js compressed. */
  compressed: CompressedOffsets | undefined;
}

export interface CompressedOffsets {
  /** The `cv` member, which marks a compressed event, with one of its commas. */
  cv: ValueOffsets;
  data: ValueOffsets;
}

export interface PieceEvents {
  events: EventOffsets[];
  /** Bytes of the events past `eventsMax`. */
  bytesLeftOut: number;
}

const names = { timestamp: bytesOf("timestamp"), data: bytesOf("data"), cv: bytesOf("cv") };
const compressedForm = bytesOf('"2024-10"');

/**
 * The first `eventsMax` events of a piece: JSON text of one event or an array of them. Items that are not objects are
 * skipped. Yields to the event loop between slices.
 */
export async function findEvents(bytes: Uint8Array, eventsMax: number): Promise<PieceEvents> {
  const events: EventOffsets[] = [];
  const walk = new EventWalker(bytes);
  for (;;) {
    const found = walk.next(walk.at + snapshotLimits.snapshotWalkBytesMax, eventsMax - events.length);
    for (const event of found) events.push(event);
    if (walk.through || walk.at >= bytes.length) return { events, bytesLeftOut: 0 };
    if (events.length === eventsMax) return { events, bytesLeftOut: bytes.length - walk.at };
    await yieldToEventLoop();
  }
}

class EventWalker {
  at = 0;
  through = false;
  readonly #bytes: Uint8Array;
  readonly #members = new MemberWalker();
  readonly #skipper = new JsonSkipper();
  #within: "event" | "other" | undefined;
  #open: OpenEvent = new OpenEvent(0);

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The next events up to about `goal`, at most `eventsMax`. */
  next(goal: number, eventsMax: number): EventOffsets[] {
    const found: EventOffsets[] = [];
    const bytes = this.#bytes;
    while (this.at < goal && !this.through) {
      if (this.#within === undefined && !this.#begin(goal, found.length < eventsMax)) break;
      if (this.#within === "other") {
        const passed = this.#skipper.go(goal);
        this.at = this.#skipper.at;
        if (passed || this.at >= bytes.length) this.#within = undefined;
      } else if (this.#within === "event" && this.#readMembers(goal)) {
        found.push(this.#open.close(bytes, this.at));
        this.#within = undefined;
      }
    }
    return found;
  }

  /** Starts the next item; false when there is none before `goal`, or `wanted` is false and it is an event. */
  #begin(goal: number, wanted: boolean): boolean {
    const bytes = this.#bytes;
    // At the very start, an opening bracket is that of the array of events.
    this.at = pastGap(bytes, this.at === 0 && bytes[0] === 0x5b ? 1 : this.at, goal);
    if (this.at >= bytes.length || bytes[this.at] === 0x5d) {
      this.through = true;
      return false;
    }
    if (this.at >= goal) return false;
    if (bytes[this.at] === 0x7b) {
      if (!wanted) return false;
      this.#members.open(bytes, this.at);
      this.#open = new OpenEvent(this.at);
      this.#within = "event";
    } else {
      this.#skipper.begin(bytes, this.at);
      this.#within = "other";
    }
    return true;
  }

  #readMembers(goal: number): boolean {
    const members = this.#members;
    while (members.next(goal)) {
      this.at = members.at;
      if (members.through) return true;
      this.#open.note(members);
    }
    this.at = members.at;
    return false;
  }
}

/** Collects what is needed of an event while its members are walked. */
class OpenEvent {
  readonly #from: number;
  readonly #timestamp: ValueOffsets = { from: 0, to: 0 };
  readonly #data: ValueOffsets = { from: 0, to: 0 };
  readonly #cv: ValueOffsets = { from: 0, to: 0 };
  readonly #cvValue: ValueOffsets = { from: 0, to: 0 };
  #datas = 0;
  #cvs = 0;
  /** End of the last member's value, `cv` excepted. */
  #behind = 0;
  /** Whether the last member was `cv`. */
  #afterCv = false;

  constructor(from: number) {
    this.#from = from;
  }

  note(members: MemberWalker): void {
    const { key, value } = members;
    if (this.#afterCv) {
      // The comma after `cv` is removed with it.
      this.#cv.to = key.from;
      this.#afterCv = false;
    }
    if (members.isNamed(names.timestamp)) put(this.#timestamp, value.from, value.to);
    else if (members.isNamed(names.data)) {
      put(this.#data, value.from, value.to);
      this.#datas++;
    } else if (members.isNamed(names.cv)) {
      put(this.#cv, key.from, value.to);
      put(this.#cvValue, value.from, value.to);
      this.#cvs++;
      this.#afterCv = true;
    }
    if (!this.#afterCv) this.#behind = value.to;
  }

  close(bytes: Uint8Array, to: number): EventOffsets {
    // `cv` is the last member: the comma before it is removed with it.
    if (this.#afterCv && this.#behind > 0) this.#cv.from = this.#behind;
    const known =
      this.#cvs === 1 &&
      this.#datas === 1 &&
      isTextAt(bytes, this.#cvValue.from, this.#cvValue.to, compressedForm);
    const compressed = known ? { cv: this.#cv, data: this.#data } : undefined;
    return { from: this.#from, to, timestamp: numberAt(bytes, this.#timestamp), compressed };
  }
}

function put(range: ValueOffsets, from: number, to: number): void {
  range.from = from;
  range.to = to;
}

function numberAt(bytes: Uint8Array, { from, to }: ValueOffsets): number {
  const first = bytes[from] ?? 0;
  const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
  if (to === 0 || !isNumber || to - from > limits.snapshotNumberBytesMax) return 0;
  return Number(String.fromCharCode(...bytes.subarray(from, to)));
}
