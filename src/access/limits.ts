// Limits of keys, accounts and the gate, with their units and reasons.

import { assertRising, limits } from "../core/limits.ts";

const keysReadMsMax = 2000;

export const accessLimits = {
  /** How long the system's resolver may take for a user's host name, in ms. */
  resolveMsMax: 3000,
  /** How old the table of project keys may get before it is read again, in ms. */
  keysAgeMsMax: 30_000,
  /** The least time between two reads for unknown keys, in ms: strangers must not load Postgres. */
  keysReadGapMsMin: 200,
  /** How long such a read may take, in ms: an unknown key is answered well before SDKs stop waiting. */
  keysReadMsMax,
  /** Unknown keys looked up in one read; more at once are an attack or a broken balancer. */
  keysAskedMax: 1000,
  /** How often the last use of a personal key is written, in ms. */
  keyUseRecordMs: 3_600_000,
  /** How long a cached look-up admits reads while no change is reported, in ms. */
  foundAgeMsMax: 3000,
  /** Cached look-ups; about 1 kB each. */
  foundMax: 2000,
  /** The window over which a personal key's requests are counted, in ms: MANAGEMENT_RATE_LIMIT is per minute. */
  rateWindowMs: 60_000,
  /** Recorded changes of an organization, about 300 bytes each; the oldest are removed first. */
  activityRowsMax: 100_000,
  /** How long a recorded change is kept, in ms: a year, as audits require. */
  activityAgeMsMax: 366 * limits.dayMs,
  /** Entries of X-Forwarded-For that are read, from the right: no chain of proxies is longer. */
  forwardedEntriesMax: 32,
};

const { keysReadGapMsMin, keysAgeMsMax, foundAgeMsMax } = accessLimits;
assertRising(
  "a table of keys is read twice before it is too old",
  keysReadGapMsMin,
  2 * keysReadMsMax,
  keysAgeMsMax,
);
assertRising("a revoked key ends in time", foundAgeMsMax, limits.revokedMsMax);
