// Facts about the rrweb events of a snapshot: times, clicks, keypresses, console messages. The walker
// (snapshot_walker.ts) passes the few members that matter.

import { readIdMoment } from "../../core/id.ts";
import { limits } from "../../core/limits.ts";
import { sessionMicros } from "../../storage/events/sessions.ts";
import { captureLimits } from "../limits.ts";
import { aheadMicrosMax } from "../scan/timestamp.ts";
import { textAt } from "./snapshot_values.ts";

export type SnapshotFacts = typeof noFacts & {
  /** Seconds since 1970 in which the visitor did something. */
  active: Set<number>;
};

/** rrweb's event types. */
const fullSnapshot = 2;
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
/** rrweb's mouse interactions that count as clicks: click, context menu, double click, and touch end. */
const clickTypes = new Set([2, 3, 4, 9]);

/** Earlier times are invalid, since rrweb did not exist, unless the client's clock is as wrong. */
const earliestMillis = Date.UTC(2015, 0, 1);

const [slackMillis, dayMillis] = [sessionMicros.SLACK / 1000, sessionMicros.DAY / 1000];

const noFacts = {
  events: 0,
  /**
   * Times of the first and last event by the client's clock, in milliseconds since 1970; NaN when none is plausible.
   */
  first: Number.NaN,
  last: Number.NaN,
  clicks: 0,
  keypresses: 0,
  mouseActivities: 0,
  consoleLogs: 0,
  consoleWarns: 0,
  consoleErrors: 0,
  startUrl: "",
  fullSnapshots: 0,
  /** Bytes that the compressed events inflate to. */
  inflatedBytes: 0,
  /** Events that are too large for players. */
  leftOut: 0,
};

export class FactsCollector {
  readonly facts: SnapshotFacts = { ...noFacts, active: new Set() };
  /** The open event: its type and time, and the members of its data that matter. */
  readonly event = {
    type: Number.NaN,
    timestamp: Number.NaN,
    hasData: false,
    source: Number.NaN,
    dataType: Number.NaN,
    href: { from: 0, to: 0 },
    plugin: { from: 0, to: 0 },
    level: { from: 0, to: 0 },
    cv: { from: 0, to: 0 },
    /** The sum of its compressed members. */
    inflatedBytes: 0,
  };
  #bytes: Uint8Array = new Uint8Array(0);
  #latest = 0;
  /** When the piece was sent, by the client's clock. */
  #sentAt = 0;
  /** Whether first and last are of events near the time when the piece was sent: then others are strays. */
  #areNear = false;
  #startUrlAt = Number.POSITIVE_INFINITY;

  /** Starts again. `latest`: the latest plausible time by the client's clock, in milliseconds since 1970. */
  clear(bytes: Uint8Array, latest: number): void {
    this.#bytes = bytes;
    this.#latest = latest;
    this.#sentAt = latest - aheadMicrosMax / 1000;
    this.#areNear = false;
    this.#startUrlAt = Number.POSITIVE_INFINITY;
    Object.assign(this.facts, noFacts);
    this.facts.active.clear();
  }

  open(): void {
    this.event.type = Number.NaN;
    this.event.timestamp = Number.NaN;
    this.event.hasData = false;
    this.event.cv.to = 0;
    this.event.inflatedBytes = 0;
  }

  /** Starts its data; of two, the last counts. */
  openData(): void {
    const { event } = this;
    event.hasData = true;
    event.source = Number.NaN;
    event.dataType = Number.NaN;
    event.href.to = 0;
    event.plugin.to = 0;
    event.level.to = 0;
  }

  /** @param bytes the event's length. */
  close(bytes: number): void {
    const { facts, event } = this;
    const at = event.timestamp;
    facts.events++;
    if (event.type === fullSnapshot) facts.fullSnapshots++;
    const inflatedBytes = event.cv.to > 0 ? event.inflatedBytes : 0;
    facts.inflatedBytes += inflatedBytes;
    const { snapshotShownBytesMax, snapshotInflatedBytesMax } = limits;
    if (bytes > snapshotShownBytesMax || inflatedBytes > snapshotInflatedBytesMax) facts.leftOut++;
    const sound = at >= Math.min(earliestMillis, this.#sentAt - dayMillis) && at <= this.#latest;
    if (sound) this.#recordTime(at);
    if (!event.hasData) return;
    if (event.type === incremental) this.#interaction(sound ? at : Number.NaN);
    else if (event.type === meta) this.#page(sound ? at : this.#latest);
    else if (event.type === plugin) this.#console();
  }

  #recordTime(at: number): void {
    const { facts } = this;
    const isNear = at >= this.#sentAt - dayMillis && at <= this.#sentAt + slackMillis;
    if (isNear !== this.#areNear) {
      if (!isNear) return;
      this.#areNear = true;
      facts.first = Number.NaN;
      facts.last = Number.NaN;
    }
    if (!(at >= facts.first)) facts.first = at;
    if (!(at <= facts.last)) facts.last = at;
  }

  /**
   * Moves the first and last time into those of a session whose id is a UUIDv7 of the client's clock; without a time in
   * them or near to when the piece was sent, none is known.
   */
  boundTimes(session_id: string): void {
    const { facts } = this;
    const begins = readIdMoment(session_id);
    if (begins === undefined || Number.isNaN(facts.first)) return;
    const [earliest, latest] = [begins - slackMillis, begins + dayMillis];
    const isOutside = facts.last < earliest || facts.first > latest;
    // If the id's moment is none of the piece's, somebody else made the id, or the clock was set.
    if (isOutside && this.#areNear) return;
    if (isOutside) facts.first = facts.last = Number.NaN;
    if (facts.first < earliest) facts.first = begins;
    if (facts.last > latest) facts.last = facts.first;
  }

  #interaction(at: number): void {
    const { facts } = this;
    const { source, dataType } = this.event;
    if (source === input) facts.keypresses++;
    if (source === mouseInteraction && clickTypes.has(dataType)) facts.clicks++;
    if (mouseSources.has(source)) facts.mouseActivities++;
    if (Number.isNaN(at) || !activeSources.has(source)) return;
    if (facts.active.size < captureLimits.snapshotActiveSecondsMax) facts.active.add(Math.floor(at / 1000));
  }

  #page(at: number): void {
    const { href } = this.event;
    if (href.to === 0 || at >= this.#startUrlAt) return;
    const url = textAt(this.#bytes, href);
    if (!url) return;
    this.#startUrlAt = at;
    this.facts.startUrl = url.slice(0, captureLimits.startUrlCharsMax);
  }

  #console(): void {
    const { facts, event } = this;
    const level = event.level.to === 0 ? "" : textAt(this.#bytes, event.level);
    if (level === "" || event.plugin.to === 0) return;
    if (!textAt(this.#bytes, event.plugin).startsWith("rrweb/console@")) return;
    if (level === "error" || level === "assert") facts.consoleErrors++;
    else if (level === "warn") facts.consoleWarns++;
    else facts.consoleLogs++;
  }
}
