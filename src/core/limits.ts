// Every bound in the program, with its unit and its reason. What an operator may change is in config.ts.

import { accessLimits } from "./access_limits.ts";
import { cookielessLimits } from "./cookieless_limits.ts";
import { deliveryLimits } from "./delivery_limits.ts";
import { importLimits } from "./import_limits.ts";
import { diskLimits } from "./disk_limits.ts";
import { exportLimits } from "./export_limits.ts";
import { memoryLimits } from "./memory_limits.ts";
import { precedenceLimits } from "./precedence_limits.ts";
import { queryLimits } from "./query_limits.ts";
import { readLimits } from "./read_limits.ts";
import { recordingLimits } from "./recording_limits.ts";
import { retentionLimits } from "./retention_limits.ts";
import { shareLimits } from "./share_limits.ts";
import { workerLimits } from "./worker_limits.ts";

export const limits = {
  ...accessLimits,
  ...cookielessLimits,
  ...deliveryLimits,
  ...diskLimits,
  ...importLimits,
  ...exportLimits,
  ...memoryLimits,
  ...precedenceLimits,
  ...queryLimits,
  ...readLimits,
  ...recordingLimits,
  ...retentionLimits,
  ...shareLimits,
  ...workerLimits,
  /** distinct_id, in characters: PostHog cuts there too. */
  distinctIdCharsMax: 200,
  /** A project key, in bytes: longer ones were never issued by anybody. */
  projectKeyBytesMax: 64,
  /** One event's raw JSON, in bytes (PostHog's message limit); bigger ones are ignored one by one. */
  eventBytesMax: 1_000_000,
  /** JSON nesting: deep enough for any real event, shallow enough for any parser downstream. */
  jsonDepthMax: 128,
  /** A body after inflating, in bytes: five times the default wire limit, as PostHog's. */
  inflatedBytesMax: 104_857_600,
  /** Rows of one INSERT: the engine makes one part a partition of it with certainty, at a memory cost it can bear. */
  batchRowsMax: 200_000,
  /** Native bytes of one INSERT, well under the engine's 256 MiB block squashing bound. */
  batchBytesMax: 96 * 1024 * 1024,
  /** Partitions in one INSERT, each of which becomes a part: what the engine takes by default. */
  insertPartitionsMax: 100,
  /** Batches (partitions, or pieces of them) in one segment: the low bits of a batch number. */
  segmentBatchesMax: 2048,
  /** Bytes after which a live segment is sealed: about 50,000 events, a second at full load. */
  liveSegmentBytesMax: 32 * 1024 * 1024,
  /** The same for imports: bigger, so that each year gets a decent part; a part costs 5 ms, however small. */
  historicalSegmentBytesMax: 256 * 1024 * 1024,
  /** Memory through which a flush copies frames for an embedded engine to read, in bytes. */
  spoolRoomBytes: 4 * 1024 * 1024,
  /** Segments of imports on their way into ClickHouse at once: an INSERT keeps one core busy, and some 300 MB. */
  historicalFlushesMax: 2,
  /**
   * Bytes and rows that may wait in open blocks of one lane before its writers wait for the disk: a commit's
   * worth.
   */
  groupBytesMax: 4 * 1024 * 1024,
  groupRowsMax: 50_000,
  /** What a row weighs in memory beside its properties, in bytes: only to decide when a group is full. */
  rowBytesGuess: 100,
  /** Emptied blocks a lane keeps for reuse: as many as there are years since 1900, about. */
  spareBlocksMax: 120,
  /** Blocks of one group made into frames before other requests get their turn: about 2 ms, if they are small. */
  framesAtOnceMax: 64,
  /** Files of finished segments that a lane keeps to write over; with those of an import, 864 MiB of disk. */
  sparesEachMax: 3,
  /** They take no more than this part of JOURNAL_BYTES_MAX, and smaller ones (in bytes) are not worth it. */
  sparesShare: 4,
  spareBytesMin: 1024 * 1024,
  /** How many flush intervals a growing historical segment may take, so that years fill up. */
  historicalPatience: 10,
  /** Rows in quarantine: past it, refused batches wait for an operator instead of being taken apart. */
  quarantineRowsMax: 10_000,
  /** One insert, in ms: an engine that takes longer is treated as lost and asked again. */
  insertMsMax: 120_000,
  /** The pause after a failed insert, in ms: doubles from the first to the last, with jitter, for ever. */
  retryMsMin: 100,
  retryMsMax: 15_000,
  /** How often an idle flush looks for rows handed back from quarantine, in ms. */
  returnedLookMs: 1000,
  /** Ignored events listed one by one in a verbose reply; the rest is only counted. */
  ignoredListMax: 100_000,
  /**
   * Events of one request of the v1 protocol, since each has its own answer: 50,000 make one of 6 MB. Below
   * ignoredListMax, so that every ignored one is listed. SDKs send 100 to 1,000.
   */
  v1EventsMax: 50_000,
  /** The same request after inflating, in bytes, as PostHog's: it is in memory twice for a moment. */
  v1InflatedBytesMax: 52_428_800,
  /** PostHog-Sdk-Info, in characters, which goes into every event of the request; real ones have 20. */
  sdkInfoCharsMax: 200,
  /** Years of one slice whose rows are laid in columns before other requests get their turn. */
  yearsAtOnceMax: 64,
  /** Bytes scanned, and rows laid in columns, before other requests get their turn: about 2 ms of work. */
  sliceBytesMax: 1024 * 1024,
  sliceRowsMax: 4096,
  /** The same where they go the slow way. */
  slowSliceBytesMax: 256 * 1024,
  slowSliceRowsMax: 500,
  /** Bodies from this many bytes on have a slab of their own; shorter ones share one, and are laid in one turn. */
  slabBodyBytesMin: 16 * 1024,
  /** Bytes copied between other requests' turns: about a millisecond, into memory that nothing has touched. */
  copyBytesMax: 1024 * 1024,
  /** Long bodies in slabs at once, each 20 to 50 MB; further ones are received and scanned the slow way. */
  slabsMax: 5,
  /** Slabs nobody wanted for so long are let go, in ms. */
  slabIdleMs: 30_000,
  /** How long lies between two that go, in ms: requests have their turns between them. */
  slabGapMs: 250,
  /**
   * The index of a body's events, in bytes, memory only as far as used: for 190,000 of them, or 100 MB of 550 bytes
   * each. A body with more is looked at twice: laid in parts, when all of it is known to be sound.
   */
  indexBytesMax: 32 * 1024 * 1024,
  /** Less difference than this between a client's clock and ours is transit, not skew, in µs: left alone. */
  skewMicrosMin: 10_000_000,
  /** How many body limits' worth of a refused upload is read and dropped, so that its connection can go on. */
  drainFactor: 4,
  /** How often a journal says how far it has come, in ms. */
  watermarkMs: 1000,
  /**
   * How long a start watches whether the journal it has a copy of is told by another process, in ms: a living one tells
   * every watermarkMs.
   */
  journalAliveMs: 3000,
  /** Tries to claim a journal while others claim it as well. */
  journalClaimsMax: 5,
  /** How long a start that found its stores away waits between tries to migrate them, in ms. */
  prepareAgainMs: 2000,
  /** How long a connection may stay silent, in seconds: slow uploads live, dead clients go. */
  idleSecondsMax: 60,
  /** Journal numbers handed out before they repeat: the middle bits of a batch number. */
  journalsCountMax: 4096,
  /** Projects whose configuration is kept compressed with posthog-js, 120 kB each; others are compressed each time. */
  scriptBundlesMax: 64,
  /** Segments of a path: the longest address has 9, and files of posthog-js lie no deeper. */
  pathSegmentsMax: 16,
  /** A management page unless asked; PostHog's default. */
  pageDefault: 100,
  /** The longest page anybody gets, in rows; how many bytes they may take together, see pageBytesMax. */
  pageMax: 10_000,
  /** Rows before a page: more than any list has, and exact in every store's numbers. */
  pageOffsetMax: 1_000_000_000_000,
  /** Rows of a page that are shown before other requests get their turn: about a millisecond. */
  rowsShownAtOnceMax: 250,
  /** Bytes of a reply that are read, written or sent before other requests get their turn: a millisecond or two. */
  replySliceBytes: 256 * 1024,
  /** Postgres connections of one process: management is light, capture uses none. */
  postgresConnectionsMax: 8,
  /** How long one part may take to say that it is well, in ms: balancers ask every few seconds. */
  healthMsMax: 2000,
  /** How long an answer about what is stored is used, in ms: journals tell once a second. */
  storedAgainMs: 200,
  /** How long one management query may run in ClickHouse, in seconds. */
  querySecondsMax: 10,
  /** Values one label of a metric may take; further ones are counted as "other". */
  labelValuesMax: 200,
  /** How long a command waits for a starting server to say where its stores are, in ms. */
  attachMsMax: 15_000,
  /**
   * How long one statement of a migration may take, and how long one waits for another process to migrate, in
   * ms: some copy all events, about 10 million a minute.
   */
  migrateMsMax: 14_400_000,
  /** How long connecting to a store may take, in ms. */
  connectMsMax: 5000,
  /**
   * After how many idle seconds a Postgres connection is closed: long enough to stay warm between requests.
   */
  postgresIdleSecondsMax: 120,
  /** Connections to ClickHouse at once: flushes, reads and exports side by side. */
  clickhouseConnectionsMax: 24,
  /** The longest query of a URL, in characters: parameters beyond it travel in the body, as proxies cut longer ones. */
  clickhouseUrlCharsMax: 4096,
  /** A parameter of a statement, in bytes: ClickHouse refuses more than 131,072 (see storage/short_params.ts). */
  clickhouseParamBytesMax: 120_000,
  /** The same in the embedded ClickHouse, which refuses what a server would. */
  frontParamBytesMax: 131_072,
  /** How long a ClickHouse statement may take unless its caller says otherwise, in ms. */
  statementMsMax: 30_000,
  /** How long any statement may stay silent, in ms: a day, the longest export. */
  statementMsLongest: 86_400_000,
  /** How long it lets statements finish when it ends, in ms: less than its owner waits before killing it. */
  frontEndMsMax: 15_000,
  /** How long the embedded engine keeps memory it has no use for, in ms: from one insert to the next. */
  frontFreeMemoryMs: 10_000,
  /** Statements the embedded engine runs at once; exports may hold several for minutes. */
  frontStatementsMax: 16,
  /** Statements that may wait for one of those places; more at once is a client gone wild. */
  frontWaitingMax: 256,
  /** A statement's text in the embedded ClickHouse, in bytes. */
  frontStatementBytesMax: 16 * 1024 * 1024,
  /** A request's body in the embedded ClickHouse, in bytes; it rests on disk. */
  frontBodyBytesMax: 4 * 1024 * 1024 * 1024,
  /** How long a graceful stop waits for requests in flight, in ms. */
  stopMsMax: 30_000,
  /** How long an upload may send nothing, in ms: a phone in a tunnel lives, a dead client gets 408. */
  uploadStallMsMax: 20_000,
  /** How often somebody looks for short bodies that stall, in ms: so much later than told one may be refused. */
  uploadLookMs: 50,
  /** How long a whole upload may take, in ms: 20 MB over a bad line, not a byte now and then for ever. */
  uploadMsMax: 600_000,
  /** Announced bodies up to this many bytes are received in one piece, longer ones chunk by chunk. */
  wholeBodyBytesMax: 1_048_576,
  /**
   * The least such a body may bring in a second, beside the silence allowed, in bytes: the largest still has
   * its answer before its idle connection is closed.
   */
  wholeBodyBytesPerSecondMin: 32_768,
  /** Bytes of a wrapped body worked off between other requests' turns: about a millisecond. */
  decodeBytesMax: 256 * 1024,
  /** A piece of what is inflated, in bytes. */
  inflatePieceBytes: 256 * 1024,
  /** Letters at a text's beginning that tell base64 from anything else, in bytes. */
  base64LookBytes: 128,
  /** White space before a wrapped body that is looked past, in bytes; nobody sends any. */
  blanksLookBytes: 4096,
  /** Wrappings of one body taken off (form, base64, gzip, …): clients were seen doubling them, never more. */
  bodyLayersMax: 6,
  /** Letters that are tried as lz-string though nothing says so, in bytes: browsers' bodies were short. */
  unhintedLzBytesMax: 65_536,
  /** Ignored or altered events listed one by one, per type, project and minute; the rest is one row. */
  warningsPerMinuteMax: 100,
  /** Kinds of warnings times projects counted within one minute; more are in the metrics only. */
  warningTalliesMax: 20_000,
  /** Characters of a client's value that a warning quotes. */
  warningValueCharsMax: 200,
  /** Bytes of one event that are looked at to say more of it in a warning; usual ones have fewer. */
  warningLookBytesMax: 64 * 1024,
  /** Characters of an SDK's own warning: it names the page it comes from. */
  clientMessageCharsMax: 1000,
  /** Bytes after which a segment of warnings is sealed: they are few and small. */
  warningSegmentBytesMax: 8 * 1024 * 1024,
  /** A group's key, in characters: PostHog refuses longer ones too. */
  groupKeyCharsMax: 400,
  /** Types of groups in one project; PostHog's number. */
  groupTypesMax: 5,
  /** Members of one event's $groups that are read: far more than types can be kept. */
  groupMembersMax: 64,
  /** How old the table of known types may get before it is read again, in ms. */
  groupTypesAgeMsMax: 10_000,
  /** Bytes after which a segment of merges is sealed: some 30,000, a second's transaction. */
  mergeSegmentBytesMax: 2 * 1024 * 1024,
  /** Merges read, decided or written in one turn of the loop and one statement: one to three ms. */
  mergesAtOnceMax: 1000,
  /** Merges decided at once, of one transaction's: more ids make the collector of garbage hold the loop up. */
  mergesDecidedMax: 16_384,
  /** Merged ids mirrored to ClickHouse in one insert. */
  mirrorRowsMax: 20_000,
  /** A person's properties in a reply, in bytes, as PostHog keeps; the latest changed come first. */
  personBytesMax: 655_360,
  /** Keys of a person of many ids that are looked at, the latest changed: more than anybody reads. */
  personKeysMax: 10_000,
  /** A person's distinct ids in a reply; the others are listed page by page. */
  distinctIdsShownMax: 1000,
  /** Readings of such persons at once, each on two threads of the engine; how many may wait, and how long, in ms. */
  largePersonReadsMax: 2,
  largePersonReadsWaitingMax: 64,
  largePersonWaitMs: 30_000,
  /** Merged ids of one page of persons that are read one by one, some 3 MB; of more the engine picks what counts. */
  mergedIdsReadMax: 20_000,
  /** One statement of a deletion, in ms: all parts of a large table may be touched. */
  deletionMsMax: 600_000,
  /** How often ordered deletions are looked at, in ms, and how many at once. */
  deletionLookMs: 2000,
  deletionsAtOnce: 100,
  /** After how many days a journal that was never seen again holds no deletion up. */
  journalGoneDays: 30,
  /** How long a deleted project's key may still work in some process, in seconds, with time to arrive. */
  goneKeySeconds: 60,
  /** Person and group properties one event may change: far more than anybody sends by hand. */
  changesMax: 1000,
  /** The longest key among them, in bytes, quotes aside: keys live in dictionaries. */
  changeKeyBytesMax: 400,
  /** All of them together, in bytes: PostHog trims a person to as much. */
  changesBytesMax: 524_288,
  /** A spike is a minute above this many times the mean of the trailing minutes, and above so many events. */
  spikeFactor: 10,
  spikeEventsMin: 1000,
  /** The trailing minutes; also how long a spike may last before it is what is usual. */
  spikeMinutes: 60,
  /** Projects watched for spikes at once, about 600 bytes each; those idle for an hour are forgotten. */
  spikeProjectsMax: 10_000,
  /** How often minutes that have passed are looked at (warnings counted, spikes ended), in ms. */
  minuteLookMs: 1000,
  /** A management request's body, in bytes: parsing more would hold up a capture beside it. */
  managementBodyBytesMax: 1_048_576,
  /** How deep its JSON may be nested: twice what any field takes, whose own refusal says more. */
  managementDepthMax: 256,
  /**
   * Members, objects and arrays in it, elements in its arrays, and fields of a form: a megabyte of them takes 50 ms to
   * parse and ten times that to check, so many less than 10 and 50.
   */
  managementPartsMax: 20_000,
  /** How long such a body may take, in ms: a megabyte over a bad line, not a byte now and then for ever. */
  managementBodyMsMax: 20_000,
  /** Characters of a wrong value that a refusal repeats. */
  valueShownCharsMax: 200,
  /** Filters on properties in one query; each reads every event's properties once more. */
  propertyFiltersMax: 50,
  /** Values of one filter: a pasted list of ids, not a table. */
  propertyValuesMax: 1000,
  /** Groups of filters within groups: the deepest an editor makes, and one more. */
  propertyGroupsDeepMax: 4,
  /** A property's name in a filter, in UTF-16 units; longer ones exist by mistake only. */
  propertyKeyCharsMax: 400,
  /** A value in a filter, in UTF-16 units. */
  propertyValueCharsMax: 10_000,
  /** Queries that run at once; each may hold a core for querySecondsMax. */
  queriesRunningMax: 4,
  /** Queries that wait for one of those places, half of them of one project; more are told to come back. */
  queriesWaitingMax: 128,
  /** How long one waits, in ms, before it is told to come back: less than clients and proxies wait. */
  queriesWaitMsMax: 25_000,
  /** How long the system's resolver may take over a user's host name, in ms. */
  resolveMsMax: 3000,
} as const;
