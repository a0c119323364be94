// Limits of statements on a cluster, with their units and reasons.

import { assertRising, limits } from "../../core/limits.ts";

export const clusterLimits = {
  /**
   * Values in one deletion, in bytes of its text: replicas get it through the keeper, whose entries hold 1 MiB of the
   * text escaped once more, and parse it by `max_query_size`, 256 KiB by default.
   */
  listedBytesMax: 200_000,
  /** Values read at once, of 200 characters at most each; each reading scans the table. */
  listedRowsMax: 50_000,
  /** Portions queued before one is awaited: with 500 in a table, the engine delays further ones. */
  queuedDeletionsMax: 50,
  /** Between two looks whether the engine has carried out a deletion, in ms. */
  deletionPollMs: 500,
  /** How long a check of all servers may take, in ms. */
  checkMsMax: 1500,
  /** How long each connection of that check may take to open, in ms. */
  checkConnectMsMax: 500,
  /** Unavailable servers that readiness names. */
  awayNamedMax: 5,
};

const { checkConnectMsMax, checkMsMax } = clusterLimits;
assertRising("a check ends before readiness times out", checkConnectMsMax, checkMsMax, limits.healthMsMax);
