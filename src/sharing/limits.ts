// Limits of sharing links, which show a thing to whoever has the token.

import { assertRising, limits, memoryShares } from "../core/limits.ts";

const computeMsMax = 30_000;
const insightMsMax = 60_000;

export const sharingLimits = {
  /** Age of results at which they are computed again, in ms, however many open a link. */
  resultAgeMsMax: 900_000,
  /** Time for the insights of one dashboard, in ms; later ones show an error until the next computation. */
  computeMsMax,
  /** How long one insight may wait for a permit and run, in ms. */
  insightMsMax,
  /** How long one process may take to compute, in ms; after a failure, no other process tries earlier. */
  claimMs: 150_000,
  /** How often results of another process are polled, in ms, and for how long. */
  computedPollMs: 500,
  computedWaitMsMax: computeMsMax + 10_000,
  /** How long a found token and what it opens are cached, in ms: a revoked link ends within five seconds. */
  foundAgeMsMax: 1000,
  /** Tokens cached, and links whose results are in memory. */
  foundMax: 1000,
  /** Tokens looked up in one statement; one runs at a time, so that guesses do not load Postgres. */
  lookedUpMax: 1000,
  /** Requests of one link in a minute: some three hundred open pages, each asking every three seconds. */
  requestsPerMinuteMax: 300 * (60 / 3),
  /** Passwords of a link: an attempt is compared with each. */
  passwordsMax: 5,
  /** Properties that a link may show, and characters of a name. */
  propertiesMax: 100,
  propertyCharsMax: 400,
  /** Bytes of one link's results as JSON; insights that do not fit show an error. */
  resultBytesMax: memoryShares.sharedResults / 4,
  /** Bytes of all results in memory, as JSON. */
  memoryBytesMax: memoryShares.sharedResults,
};

// The last insight begins within computeMsMax: no other process must begin meanwhile.
const computedMs = computeMsMax + insightMsMax + 30_000;
assertRising("a link's results are computed once", computedMs, sharingLimits.claimMs);
assertRising("a revoked link ends in time", sharingLimits.foundAgeMsMax, limits.revokedMsMax);
