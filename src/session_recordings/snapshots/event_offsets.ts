// Where the rrweb events of a piece lie, and of each what replaying asks for: its time, and whether its recorder
// compressed it. The bytes are never parsed: they go to the player as they came.

import { bytesOf } from "../../core/bytes.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { JsonSkipper, pastGap } from "../../core/json/json_skipper.ts";
import { limits } from "../../core/limits.ts";
import { snapshotLimits } from "./limits.ts";
import { type ByteRange, MemberWalker } from "./member_walk.ts";

export interface EventPlace extends ByteRange {
  /** Milliseconds by the client's clock; 0 where it is no number. */
  timestamp: number;
  /** Of an event that posthog-js compressed; undefined for any other. */
  packed: PackedPlace | undefined;
}

export interface PackedPlace {
  /** The member that says so, with the comma that goes with it. */
  cv: ByteRange;
  data: ByteRange;
}

export interface PiecePlaces {
  events: EventPlace[];
  /** Bytes of the events behind the last of these, which are left out. */
  bytesLeftOut: number;
}

const names = { timestamp: bytesOf("timestamp"), data: bytesOf("data"), cv: bytesOf("cv") };
const packedForm = bytesOf('"2024-10"');

/**
 * The first `eventsMax` events of a piece's JSON text: an event or an array of them; items that are no objects are left
 * out. Other requests get their turn between slices.
 */
export async function findEvents(bytes: Uint8Array, eventsMax: number): Promise<PiecePlaces> {
  const events: EventPlace[] = [];
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
  readonly #passing = new JsonSkipper();
  #within: "event" | "other" | undefined;
  #open: OpenEvent = new OpenEvent(0);

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The next events, at most `eventsMax`, to about `goal`. */
  next(goal: number, eventsMax: number): EventPlace[] {
    const found: EventPlace[] = [];
    const bytes = this.#bytes;
    while (this.at < goal && !this.through) {
      if (this.#within === undefined && !this.#begin(goal, found.length < eventsMax)) break;
      if (this.#within === "other") {
        const passed = this.#passing.go(goal);
        this.at = this.#passing.at;
        if (passed || this.at >= bytes.length) this.#within = undefined;
      } else if (this.#within === "event" && this.#readMembers(goal)) {
        found.push(this.#open.close(bytes, this.at));
        this.#within = undefined;
      }
    }
    return found;
  }

  /** An item begins; false when there is none before the goal, or no more of them are wanted. */
  #begin(goal: number, wanted: boolean): boolean {
    const bytes = this.#bytes;
    // An opening bracket of the array around them is behind nothing.
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
      this.#passing.begin(bytes, this.at);
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

/** An event while its members go by. */
class OpenEvent {
  readonly #from: number;
  readonly #timestamp: ByteRange = { from: 0, to: 0 };
  readonly #data: ByteRange = { from: 0, to: 0 };
  readonly #cv: ByteRange = { from: 0, to: 0 };
  readonly #cvValue: ByteRange = { from: 0, to: 0 };
  #datas = 0;
  #cvs = 0;
  /** Behind the last member's value. */
  #behind = 0;
  /** The cv member was the last one so far. */
  #afterCv = false;

  constructor(from: number) {
    this.#from = from;
  }

  note(members: MemberWalker): void {
    const { key, value } = members;
    if (this.#afterCv) {
      // The comma behind it goes with it.
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

  close(bytes: Uint8Array, to: number): EventPlace {
    // As the last member, it takes the comma before it along.
    if (this.#afterCv && this.#behind > 0) this.#cv.from = this.#behind;
    const known = this.#cvs === 1 && this.#datas === 1 && isSame(bytes, this.#cvValue, packedForm);
    const packed = known ? { cv: this.#cv, data: this.#data } : undefined;
    return { from: this.#from, to, timestamp: numberAt(bytes, this.#timestamp), packed };
  }
}

function put(range: ByteRange, from: number, to: number): void {
  range.from = from;
  range.to = to;
}

function isSame(bytes: Uint8Array, { from, to }: ByteRange, text: Uint8Array): boolean {
  if (to - from !== text.length) return false;
  for (let i = 0; i < text.length; i++) if (bytes[from + i] !== text[i]) return false;
  return true;
}

function numberAt(bytes: Uint8Array, { from, to }: ByteRange): number {
  const first = bytes[from] ?? 0;
  const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
  if (to === 0 || !isNumber || to - from > limits.snapshotNumberBytesMax) return 0;
  return Number(String.fromCharCode(...bytes.subarray(from, to)));
}
