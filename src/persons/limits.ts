// Limits of persons and their deletion.

import { accessLimits } from "../access/limits.ts";
import { limits } from "../core/limits.ts";

export const personLimits = {
  /** Age at which the cached group types are read again, in ms. */
  groupTypesAgeMsMax: 10_000,
  /** Merged ids copied to ClickHouse in one insert. */
  mirrorRowsMax: 20_000,
  /** Bytes of a person's properties in a reply, the latest changed first; PostHog stores as much. */
  personBytesMax: 655_360,
  /** Keys read of a person with many ids, the latest changed first. */
  personKeysMax: 10_000,
  /** Distinct ids of a person in a reply; the others are listed page by page. */
  distinctIdsShownMax: 1000,
  /** How long the reading of a person with many ids may wait for its permit, in ms. */
  largePersonWaitMs: 30_000,
  /** Merged ids read for one page of persons, about 3 MB. Beyond them, ClickHouse selects the changes that count. */
  mergedIdsReadMax: 20_000,
  /** Timeout of one statement of a deletion, in ms: it may touch all parts of a large table. */
  deletionMsMax: 600_000,
  /** Sessions of deleted events in one statement, which holds their ids in memory: up to 400 bytes each. */
  sessionsAtOnce: 200_000,
  /** How often pending deletions are searched for, in ms, and how many are claimed at once. */
  deletionPollMs: 2000,
  deletionsAtOnce: 1000,
  /** Distinct ids of an order that are read for the archive at once: a few MB at most. */
  archivedIdsAtOnce: 10_000,
  /** Moments of orders that reads filter by while persons are hidden; with more, requests wait for the deletion. */
  hiddenOrdersMax: 100,
  /** How often each process reads which persons are hidden by orders of others, in ms. */
  hiddenPollMs: 1000,
  /** A process whose journal was seen within so many seconds may answer reads: journals report once a second. */
  processSeenSeconds: limits.serverSilentSecondsMax,
  /** Ids in one request to delete persons; PostHog's number. */
  deletedAtOnceMax: 1000,
  /** Persons that one request reads by their ids; PostHog's number. */
  readAtOnceMax: 200,
  /** Days after which an unseen journal no longer delays a deletion. */
  journalGoneDays: 30,
  /** Seconds for which a deleted project's key may still work in some process, and its events be on their way. */
  goneKeySeconds: (2 * accessLimits.keysAgeMsMax) / 1000,
  /** Properties that one request may set, their names in bytes, and all in bytes: what one event may change. */
  keysChangedMax: 1000,
  keyBytesMax: 400,
  changeBytesMax: 524_288,
  /** How long an answer waits until a change can be read, in ms. The change is already durable. */
  changeShownMsMax: 5000,
  /** The newest changes of persons that are listed of a project; deletions are kept apart. */
  activityRowsMax: 10_000,
  /** Distinct ids that one request may name to be split off; without a list all but the main id are. */
  splitAtOnceMax: 1000,
  /** Changes folded between turns of the event loop: a few ms. */
  changesFoldedMax: 2000,
};
