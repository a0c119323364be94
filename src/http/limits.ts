// Limits of HTTP requests and replies.

import { assertRising, limits, memoryShares } from "../core/limits.ts";
import { clickhouseLimits } from "../storage/clickhouse/limits.ts";

const heldReplyBytesMax = 2 * clickhouseLimits.readResultBytesMax;

export const httpLimits = {
  /** IDLE_TIMEOUT_SECONDS by default: longer than the 60 s of AWS's balancers and of nginx. */
  idleSecondsUsual: 65,
  /** The runtime closes an idle connection up to this many seconds early. */
  idleEarlySeconds: 5,
  /** Bytes of a request's line and headers: cookies of a whole domain, or events in a pixel's query. */
  headBytesMax: 65_536,
  /** A search for a connection is followed by none for as many times as long as it took: 5 % of the time. */
  connectionSearchRest: 20,
  /** Segments of a path: the longest route has 9, and files of posthog-js are no deeper. */
  pathSegmentsMax: 16,
  /** Things whose tags one request may change, as at PostHog. */
  taggedMax: 500,
  /** Rows of a page; pageBytesMax bounds their bytes. */
  pageMax: 10_000,
  /** Rows before a page: more than any list has, and exact in every store's numbers. */
  pageOffsetMax: 1_000_000_000_000,
  /** How long an answer of `/_stored` is shared, in ms: journals report once a second. */
  storedAgainMs: 200,
  /** Values of one label of a metric; further values are counted as "other". */
  labelValuesMax: 200,
  /** Bytes of the body of a management request: parsing a longer one would delay capture. */
  managementBodyBytesMax: limits.keyBodyBytesMax,
  /** White space around a text that is trimmed before its length counts; a text with more is refused. */
  blanksAroundMax: 1000,
  /** Age of the readiness that `/metrics` shows, in ms. */
  readinessAgeMsMax: 1000,
  /** How long `/metrics` waits for readiness, in ms: a part that hangs must not delay monitoring. */
  readinessWaitMs: 250,
  /** Bytes of properties in one block of a page; a block is in memory in the engine and in this process. */
  pageBlockBytes: 4_194_304,
  /** Bytes of properties on one page; a longer page is refused with 400 and a limit that fits. */
  pageBytesMax: heldReplyBytesMax,
  /**
   * Bytes of a reply that is sent whole. The system buffers as many for a client that does not read; longer replies
   * stay in this process and are counted.
   */
  replyWholeBytesMax: 16_384,
  /** How long a long reply may take to be read, in ms: the largest page at 110 kB/s. */
  longReplyMsMax: 600_000,
  /** Unread bytes of long replies in memory, total. */
  heldRepliesBytesMax: memoryShares.replies,
  /** The bytes of one owner, and of one reply: twice what a read of ClickHouse returns, as JSON. */
  heldReplyBytesMax,
  /** Younger replies are never ended for others, in ms. */
  heldReplyAgeMsMin: 2000,
  /** Seconds after which a request whose reply found no memory may be sent again. */
  heldRetrySeconds: 5,
  /** Different properties of the rows of a CSV page, each a column: what a spreadsheet shows. */
  csvPropertiesMax: 2000,
  /** How often a CSV page is read anew when rows got properties that its header lacks. */
  csvTriesMax: 3,
  /** How long a start waits for a port that workers of the previous process may still hold, in ms. */
  portMsMax: 2000,
};

const { pageBlockBytes, replyWholeBytesMax, readinessWaitMs, readinessAgeMsMax } = httpLimits;
assertRising(
  "pages fit a reply",
  pageBlockBytes,
  limits.pageWholeBytesMax,
  heldReplyBytesMax,
  memoryShares.replies,
);
assertRising("a reply that is sent whole is short", replyWholeBytesMax, limits.replySliceBytes);
assertRising("metrics do not wait for readiness", readinessWaitMs, readinessAgeMsMax, limits.healthMsMax);
