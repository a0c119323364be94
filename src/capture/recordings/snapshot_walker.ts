// Walks through a snapshot's properties in slices: one pass that finds the session, the recording's events and facts
// about them. It builds no objects. The scan has checked the bytes, and most of them are skipped.

import { bytesOf, isTextAt } from "../../core/bytes.ts";
import { JsonSkipper, pastGap } from "../../core/json/json_skipper.ts";
import { FactsCollector, type ValueRange, type SnapshotFacts, numberAt } from "./snapshot_facts.ts";

/** Levels: the snapshot's properties, the array of events, an event, its data, the data's payload. */
const inPiece = 0;
const inItems = 1;
const inEvent = 2;
const inData = 3;
const inPayload = 4;

/** States: before a member, an item or a closing bracket; within a key; before a value; within a value. */
const atNext = 0;
const inKey = 1;
const atValue = 2;
const inValue = 3;

/** Keys of the members that are read, by level; an item of an array has no key. */
const known = [
  ["$session_id", "$window_id", "$snapshot_data", "$snapshot_items", "$snapshot_source"],
  [],
  ["type", "timestamp", "data"],
  ["source", "type", "href", "plugin", "payload"],
  ["level"],
].map((names) => names.map((name) => ({ name, bytes: bytesOf(name) })));

export class SnapshotWalker {
  readonly sessionId: ValueRange = { from: 0, to: 0 };
  readonly windowId: ValueRange = { from: 0, to: 0 };
  readonly source: ValueRange = { from: 0, to: 0 };
  /** The recording's events as sent; of several such members the last counts. */
  readonly data: ValueRange = { from: 0, to: 0 };
  readonly #skipper = new JsonSkipper();
  readonly #collector = new FactsCollector();
  #bytes: Uint8Array = new Uint8Array(0);
  #latest = 0;
  #at = 0;
  #level: number = inPiece;
  #next: number = atNext;
  /** The current member; empty for one that is not read. */
  #key = "";
  #from = 0;
  /** Whether the data is one event, without an array around it. */
  #single = false;

  /** Starts with the object at `from`; `latest`: the latest plausible time, in milliseconds since 1970. */
  open(bytes: Uint8Array, from: number, latest: number): void {
    this.#bytes = bytes;
    this.#latest = latest;
    this.#collector.clear(bytes, latest);
    this.sessionId.to = 0;
    this.windowId.to = 0;
    this.source.to = 0;
    this.data.to = 0;
    this.#at = from + 1;
    this.#level = inPiece;
    this.#next = atNext;
  }

  get facts(): SnapshotFacts {
    return this.#collector.facts;
  }

  /** Reads about `bytesMax` further bytes; returns true at the end of the object. */
  advance(bytesMax: number): boolean {
    const goal = this.#at + bytesMax;
    for (;;) {
      if (this.#next === atNext || this.#next === atValue) {
        this.#at = pastGap(this.#bytes, this.#at, goal);
        if (this.#at >= goal) return false;
        if (this.#next === atValue) this.#open();
        else if (this.#isClosing()) {
          if (this.#close()) return true;
        } else if (this.#level === inItems) this.#open();
        else this.#begin(inKey);
        continue;
      }
      if (!this.#skipper.go(goal)) {
        this.#at = this.#skipper.at;
        return false;
      }
      this.#at = this.#skipper.at;
      if (this.#next === inKey) {
        this.#key = this.#keyNamed(this.#from + 1, this.#at - 1);
        this.#next = atValue;
      } else {
        this.#note(this.#from, this.#at);
        this.#next = atNext;
      }
    }
  }

  #begin(what: number): void {
    this.#from = this.#at;
    this.#skipper.begin(this.#bytes, this.#at);
    this.#next = what;
  }

  #isClosing(): boolean {
    return (this.#bytes[this.#at]! | 0x20) === 0x7d;
  }

  #keyNamed(from: number, to: number): string {
    for (const { name, bytes } of known[this.#level]!)
      if (isTextAt(this.#bytes, from, to, bytes)) return name;
    return "";
  }

  /** Starts a value: enters it, or skips it. */
  #open(): void {
    const first = this.#bytes[this.#at];
    const inside = this.#inside(first);
    if (inside === inPiece) {
      this.#begin(inValue);
      return;
    }
    this.#level = inside;
    this.#next = atNext;
    this.#at++;
  }

  /** The level inside the value with this first byte; inPiece when the value is skipped. */
  #inside(first: number | undefined): number {
    const isObject = first === 0x7b;
    if (this.#level === inItems) {
      this.#key = "";
      if (!isObject) return inPiece;
      this.#collector.open();
      return inEvent;
    }
    if (this.#key === "$snapshot_data" || this.#key === "$snapshot_items")
      return this.#insideData(isObject, first === 0x5b);
    if (!isObject) return inPiece;
    if (this.#key === "data") {
      this.#collector.openData();
      return inData;
    }
    if (this.#key !== "payload") return inPiece;
    this.#collector.event.level.to = 0;
    return inPayload;
  }

  #insideData(isObject: boolean, isArray: boolean): number {
    this.#collector.clear(this.#bytes, this.#latest);
    this.data.from = this.#at;
    this.#single = isObject;
    if (isObject) this.#collector.open();
    return isObject ? inEvent : isArray ? inItems : inPiece;
  }

  /** Leaves a level at its closing bracket; returns true when it was the outermost. */
  #close(): boolean {
    this.#at++;
    const level = this.#level;
    if (level === inPiece) return true;
    if (level === inEvent) this.#collector.close();
    const ended = level === inItems || (level === inEvent && this.#single);
    if (ended) this.data.to = this.#at;
    this.#level = ended ? inPiece : level - 1;
    return false;
  }

  /** Notes the value that was skipped. */
  #note(from: number, to: number): void {
    if (this.#key === "") return;
    const { event } = this.#collector;
    switch (this.#key) {
      case "$session_id":
        return put(this.sessionId, from, to);
      case "$window_id":
        return put(this.windowId, from, to);
      case "$snapshot_source":
        return put(this.source, from, to);
      case "$snapshot_data":
      case "$snapshot_items":
        return put(this.data, from, to);
      case "type":
        if (this.#level === inEvent) event.type = numberAt(this.#bytes, from, to);
        else event.dataType = numberAt(this.#bytes, from, to);
        return;
      case "timestamp":
        event.timestamp = numberAt(this.#bytes, from, to);
        return;
      case "source":
        event.source = numberAt(this.#bytes, from, to);
        return;
      case "href":
        return put(event.href, from, to);
      case "plugin":
        return put(event.plugin, from, to);
      case "level":
        return put(event.level, from, to);
    }
  }
}

function put(range: ValueRange, from: number, to: number): void {
  range.from = from;
  range.to = to;
}
