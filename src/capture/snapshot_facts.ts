// What the rrweb events of a snapshot tell: when, how much was clicked and typed, what the console said. Builds no
// objects: the bytes were checked by the scan, and most of them are only passed over.

import { bytesOf } from "../core/bytes.ts";
import { limits } from "../core/limits.ts";
import { Walk } from "./walk.ts";

export interface SnapshotFacts {
  events: number;
  /** Milliseconds since 1970 by the client's clock; NaN when no event has a time that makes sense. */
  first: number;
  last: number;
  clicks: number;
  keypresses: number;
  mouseActivities: number;
  consoleLogs: number;
  consoleWarns: number;
  consoleErrors: number;
  /** Seconds since 1970 in which somebody did something, each once. */
  active: Set<number>;
  startUrl: string;
}

/** rrweb's event types. */
const incremental = 3;
const meta = 4;
const plugin = 6;
/** rrweb's sources of incremental events. */
const mouseMove = 1;
const mouseInteraction = 2;
const scroll = 3;
const viewportResize = 4;
const input = 5;
const touchMove = 6;
const mediaInteraction = 7;
const drag = 12;
const mouseSources = new Set([mouseMove, mouseInteraction, scroll, touchMove]);
const activeSources = new Set([...mouseSources, viewportResize, input, mediaInteraction, drag]);
/** rrweb's mouse interactions that are clicks: click, context menu, double click, and a finger lifted. */
const clickTypes = new Set([2, 3, 4, 9]);

const key = {
  type: bytesOf("type"),
  timestamp: bytesOf("timestamp"),
  data: bytesOf("data"),
  source: bytesOf("source"),
  href: bytesOf("href"),
  plugin: bytesOf("plugin"),
  payload: bytesOf("payload"),
  level: bytesOf("level"),
};

/**
 * Reads the events at `from`: an array of them, or one alone. Anything else, and items that are no objects, are no
 * events.
 * @param latest the latest moment that makes sense, in milliseconds since 1970.
 */
export function readFacts(bytes: Uint8Array, from: number, latest: number): SnapshotFacts {
  const facts: SnapshotFacts = {
    events: 0,
    first: Number.NaN,
    last: Number.NaN,
    clicks: 0,
    keypresses: 0,
    mouseActivities: 0,
    consoleLogs: 0,
    consoleWarns: 0,
    consoleErrors: 0,
    active: new Set(),
    startUrl: "",
  };
  const reader = new Reader(bytes, latest, facts);
  if (bytes[from] === 0x7b) reader.event(from);
  else if (bytes[from] === 0x5b) reader.events(from);
  return facts;
}

class Reader {
  readonly #latest: number;
  readonly #facts: SnapshotFacts;
  readonly #items: Walk;
  readonly #event: Members;
  readonly #data: Members;
  readonly #payload: Members;
  #startUrlAt = Number.POSITIVE_INFINITY;

  constructor(bytes: Uint8Array, latest: number, facts: SnapshotFacts) {
    this.#latest = latest;
    this.#facts = facts;
    this.#items = new Walk(bytes);
    this.#event = new Members(bytes);
    this.#data = new Members(bytes);
    this.#payload = new Members(bytes);
  }

  events(from: number): void {
    const items = this.#items;
    items.at = from + 1;
    if (items.peek() === 0x5d) return;
    do {
      if (items.peek() === 0x7b) items.at = this.event(items.at);
      else items.skip(0);
    } while (items.more(0x5d));
  }

  /** Returns where it ends. */
  event(from: number): number {
    const member = this.#event;
    let [type, at, data] = [Number.NaN, Number.NaN, -1];
    member.open(from);
    while (member.next()) {
      if (member.is(key.type)) type = member.number();
      else if (member.is(key.timestamp)) at = member.number();
      else if (member.is(key.data) && member.isObject) data = member.from;
    }
    const facts = this.#facts;
    facts.events++;
    const sound = at >= earliestMillis && at <= this.#latest;
    if (sound) {
      if (!(at >= facts.first)) facts.first = at;
      if (!(at <= facts.last)) facts.last = at;
    }
    if (data >= 0 && type === incremental) this.#happening(data, sound ? at : Number.NaN);
    else if (data >= 0 && type === meta) this.#page(data, sound ? at : this.#latest);
    else if (data >= 0 && type === plugin) this.#console(data);
    return member.end;
  }

  #happening(data: number, at: number): void {
    const facts = this.#facts;
    let [source, type] = [Number.NaN, Number.NaN];
    this.#data.open(data);
    while (this.#data.next()) {
      if (this.#data.is(key.source)) source = this.#data.number();
      else if (this.#data.is(key.type)) type = this.#data.number();
      // A mutation can be megabytes long, and its source comes first.
      if (!Number.isNaN(source) && source !== mouseInteraction) break;
    }
    if (source === input) facts.keypresses++;
    if (source === mouseInteraction && clickTypes.has(type)) facts.clicks++;
    if (mouseSources.has(source)) facts.mouseActivities++;
    if (activeSources.has(source) && facts.active.size < limits.snapshotActiveSecondsMax) {
      if (!Number.isNaN(at)) facts.active.add(Math.floor(at / 1000));
    }
  }

  #page(data: number, at: number): void {
    this.#data.open(data);
    while (this.#data.next()) {
      if (!this.#data.is(key.href) || at >= this.#startUrlAt) continue;
      const url = this.#data.text();
      if (!url) continue;
      this.#startUrlAt = at;
      this.#facts.startUrl = url.slice(0, limits.startUrlCharsMax);
    }
  }

  #console(data: number): void {
    let isConsole = false;
    let level = "";
    this.#data.open(data);
    while (this.#data.next()) {
      if (this.#data.is(key.plugin)) isConsole = this.#data.text().startsWith("rrweb/console@");
      else if (this.#data.is(key.payload) && this.#data.isObject) level = this.#level(this.#data.from);
    }
    if (!isConsole || level === "") return;
    if (level === "error" || level === "assert") this.#facts.consoleErrors++;
    else if (level === "warn") this.#facts.consoleWarns++;
    else this.#facts.consoleLogs++;
  }

  #level(payload: number): string {
    this.#payload.open(payload);
    while (this.#payload.next()) if (this.#payload.is(key.level)) return this.#payload.text();
    return "";
  }
}

/** rrweb did not exist before. */
const earliestMillis = Date.UTC(2015, 0, 1);

/** Goes over an object's members, one after the other. */
export class Members {
  /** Where the member's value begins and ends. */
  from = 0;
  to = 0;
  readonly #walk: Walk;
  #first = true;

  constructor(bytes: Uint8Array) {
    this.#walk = new Walk(bytes);
  }

  /** Begins with the object whose bracket is at `at`. */
  open(at: number): void {
    this.#walk.at = at + 1;
    this.#first = true;
  }

  next(): boolean {
    const walk = this.#walk;
    if (this.#first) {
      this.#first = false;
      if (walk.peek() === 0x7d) {
        walk.at++;
        return false;
      }
    } else if (!walk.more(0x7d)) return false;
    walk.key();
    walk.peek();
    this.from = walk.at;
    walk.skip(0);
    this.to = walk.at;
    return true;
  }

  /** Where the object ends, once next() said that it has no more. */
  get end(): number {
    return this.#walk.at;
  }

  is(name: Uint8Array): boolean {
    const { bytes, keyFrom, keyTo } = this.#walk;
    if (keyTo - keyFrom !== name.length) return false;
    for (let i = 0; i < name.length; i++) if (bytes[keyFrom + i] !== name[i]) return false;
    return true;
  }

  get isObject(): boolean {
    return this.#walk.bytes[this.from] === 0x7b;
  }

  /** The value as a number; NaN when it is none. */
  number(): number {
    const { bytes } = this.#walk;
    let value = 0;
    for (let at = this.from; at < this.to; at++) {
      const digit = bytes[at]! - 0x30;
      if (digit < 0 || digit > 9) return this.#oddNumber();
      value = value * 10 + digit;
    }
    return value;
  }

  #oddNumber(): number {
    const text = decoder.decode(this.#walk.bytes.subarray(this.from, this.to));
    return /^[-\d]/.test(text) ? Number(text) : Number.NaN;
  }

  /** The value as a text; empty when it is none, or longer than any that is looked for. */
  text(): string {
    const { bytes } = this.#walk;
    if (bytes[this.from] !== 0x22 || this.to - this.from > limits.snapshotTextBytesMax) return "";
    return JSON.parse(decoder.decode(bytes.subarray(this.from, this.to))) as string;
  }
}

const decoder = new TextDecoder();
