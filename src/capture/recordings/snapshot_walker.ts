// Walks through a snapshot's properties in slices: one pass that finds the session, the recording's events and facts
// about them. It builds no objects. The scan has checked the bytes, and most of them are skipped.

import { isTextAt, toBytes } from "../../core/bytes.ts";
import { JsonCursor } from "../../core/json/json_cursor.ts";
import { FactsCollector } from "./snapshot_facts.ts";
import { numberAt, readInflatedBytes, type ValueRange } from "./snapshot_values.ts";

/** Levels: the snapshot's properties, the array of events, an event, its data, the data's payload. */
const inPiece = 0;
const inItems = 1;
const inEvent = 2;
const inData = 3;
const inPayload = 4;

/** Keys of the members that are read, by level; an item of an array has no key. */
const known = [
  ["$session_id", "$window_id", "$snapshot_data", "$snapshot_items", "$snapshot_source"],
  [],
  ["type", "timestamp", "data", "cv"],
  ["source", "type", "href", "plugin", "payload", "texts", "attributes", "removes", "adds"],
  ["level"],
].map((names) => names.map((name) => ({ name, bytes: toBytes(name) })));

export class SnapshotWalker {
  readonly sessionId: ValueRange = { from: 0, to: 0 };
  readonly windowId: ValueRange = { from: 0, to: 0 };
  readonly source: ValueRange = { from: 0, to: 0 };
  /** The recording's events as sent; of several such members the last counts. */
  readonly data: ValueRange = { from: 0, to: 0 };
  readonly #cursor = new JsonCursor();
  readonly collector = new FactsCollector();
  /** The members that are recorded as ranges. */
  readonly #ranges: Readonly<Record<string, ValueRange>> = {
    $session_id: this.sessionId,
    $window_id: this.windowId,
    $snapshot_source: this.source,
    $snapshot_data: this.data,
    $snapshot_items: this.data,
    href: this.collector.event.href,
    plugin: this.collector.event.plugin,
    level: this.collector.event.level,
    cv: this.collector.event.cv,
  };
  #bytes: Uint8Array = new Uint8Array(0);
  #latest = 0;
  #level: number = inPiece;
  /** The current member; empty for one that is not read. */
  #key = "";
  /** Whether its value is being skipped. */
  #isSkipping = false;
  /** Whether the data is one event, without an array around it. */
  #single = false;
  /** Start of the open event. */
  #eventFrom = 0;

  /** Starts with the object at `from`; `latest`: the latest plausible time, in milliseconds since 1970. */
  open(bytes: Uint8Array, from: number, latest: number): void {
    this.#bytes = bytes;
    this.#latest = latest;
    this.collector.clear(bytes, latest);
    for (const range of [this.sessionId, this.windowId, this.source, this.data]) range.to = 0;
    this.#cursor.open(bytes, from);
    this.#level = inPiece;
    this.#isSkipping = false;
  }

  /** Reads about `bytesMax` further bytes; returns true at the end of the object. */
  advance(bytesMax: number): boolean {
    const cursor = this.#cursor;
    const goal = cursor.at + bytesMax;
    for (;;) {
      if (!this.#isSkipping) {
        if (!cursor.seek(goal)) {
          if (!cursor.ended) return false;
          if (this.#close()) return true;
          continue;
        }
        if (this.#enters()) continue;
        this.#isSkipping = true;
      }
      if (!cursor.skip(goal)) return false;
      this.#isSkipping = false;
      this.#record(cursor.value, cursor.end);
    }
  }

  #keyNamed(from: number, to: number): string {
    for (const { name, bytes } of known[this.#level]!)
      if (isTextAt(this.#bytes, from, to, bytes)) return name;
    return "";
  }

  /** Whether what the value has inside is read; it is entered then. */
  #enters(): boolean {
    const { key, keyEnd, value } = this.#cursor;
    this.#key = this.#level === inItems ? "" : this.#keyNamed(key, keyEnd);
    const inside = this.#inside(this.#bytes[value]);
    if (inside === inPiece) return false;
    this.#level = inside;
    this.#cursor.enter();
    return true;
  }

  /** The level inside the value with this first byte; inPiece when the value is skipped. */
  #inside(first: number | undefined): number {
    const isObject = first === 0x7b;
    if (this.#level === inItems) return isObject ? this.#insideEvent() : inPiece;
    if (this.#key === "$snapshot_data" || this.#key === "$snapshot_items")
      return this.#insideData(isObject, first === 0x5b);
    if (!isObject) return inPiece;
    if (this.#key === "data") {
      this.collector.openData();
      return inData;
    }
    if (this.#key !== "payload") return inPiece;
    this.collector.event.level.to = 0;
    return inPayload;
  }

  #insideData(isObject: boolean, isArray: boolean): number {
    this.collector.clear(this.#bytes, this.#latest);
    this.data.from = this.#cursor.value;
    this.#single = isObject;
    if (isObject) return this.#insideEvent();
    return isArray ? inItems : inPiece;
  }

  #insideEvent(): number {
    this.#eventFrom = this.#cursor.value;
    this.collector.open();
    return inEvent;
  }

  /** Leaves a level at its closing bracket; returns true when it was the outermost. */
  #close(): boolean {
    const level = this.#level;
    if (level === inPiece) return true;
    if (level === inEvent) this.collector.close(this.#cursor.at - this.#eventFrom);
    const ended = level === inItems || (level === inEvent && this.#single);
    if (ended) this.data.to = this.#cursor.at;
    this.#level = ended ? inPiece : level - 1;
    this.#cursor.leave(this.#level === inItems);
    return false;
  }

  /** Records the value that was skipped. */
  #record(from: number, to: number): void {
    if (this.#key === "") return;
    const range = this.#ranges[this.#key];
    if (range) {
      range.from = from;
      range.to = to;
      return;
    }
    const { event } = this.collector;
    const value = numberAt(this.#bytes, from, to);
    if (this.#key === "timestamp") event.timestamp = value;
    else if (this.#key === "source") event.source = value;
    else if (this.#key !== "type") event.inflatedBytes += readInflatedBytes(this.#bytes, from, to);
    else if (this.#level === inEvent) event.type = value;
    else event.dataType = value;
  }
}
