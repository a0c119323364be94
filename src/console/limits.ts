// Limits of the console, with their units and reasons.

import { accessLimits } from "../access/limits.ts";
import { assertRising, limits } from "../core/limits.ts";

export const consoleLimits = {
  /** How long the sign-in link of a first start is valid, in ms: enough to read the terminal and open a browser. */
  signInMsMax: 3_600_000,
  /** Open streams, one for each page. One project has at most half of them, a second one a quarter. */
  streamsMax: 100,
  /** Streams of one personal key: the tabs of one person. */
  keyStreamsMax: 10,
  /** The pause between two checks whether a stream is still allowed, in ms. */
  readmitMs: 1000,
  /** Time between two messages of a stream, in ms. */
  tickMs: 1000,
  /**
   * Time between two queries for new events, in ms: each reads the newest rows once for all pages with the same filter.
   */
  newestMs: 2000,
  /**
   * How long after its arrival an event may become readable and still be sent to pages, in ms: a flush takes a second,
   * on a busy machine several.
   */
  lateMsMax: 30_000,
  /** The pause after a query for new events, as a multiple of its duration: a busy store is queried less often. */
  newestRestFactor: 4,
  /** Events in one message. */
  newestMax: 30,
  /** Bytes of an event's properties in a message; longer ones are fetched when somebody opens the event. */
  propertiesBytesMax: 8192,
  /** How long a query for the newest events may take, in ms; after that it is tried again later. */
  newestMsMax: 5000,
  /** Bytes that a slow page may leave unread; it gets no further message until it has read them. */
  unreadBytesMax: 262_144,
  /** How long one stream lives, in ms. Its page opens the next. */
  streamMsMax: 600_000,
};

const readmittedMs = consoleLimits.readmitMs + accessLimits.foundAgeMsMax;
assertRising("a revoked key's streams end in time", readmittedMs, limits.revokedMsMax);
