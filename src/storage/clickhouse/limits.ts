// Limits of statements and reads in ClickHouse, with their units and reasons.

import { assertRising, limits } from "../../core/limits.ts";
import { embeddedLimits } from "../embedded/limits.ts";

/** The memory of all permits for reads but the one for more, in bytes of the engine. */
const readsBytesMax = 1_200_000_000;
/** Permits of small reads, exports and the flush. */
const permits = {
  readSmallPermits: 5,
  readExportBytesMax: 80_000_000,
  readExportPermits: 2,
  readFlushBytesMax: limits.readSmallBytesMax,
  readFlushPermits: 1,
};
const readsButLarge =
  permits.readSmallPermits * limits.readSmallBytesMax +
  permits.readExportPermits * permits.readExportBytesMax +
  permits.readFlushPermits * permits.readFlushBytesMax;
const readLargePermits = 2;

export const clickhouseLimits = {
  /** Connections to ClickHouse: flushes, reads and exports run in parallel. */
  clickhouseConnectionsMax: 24,
  /** The longest URL query, in characters: longer parameters are sent in the body, since proxies cut them. */
  clickhouseUrlCharsMax: 4096,
  /** A parameter of a statement, in bytes: ClickHouse refuses more than 131,072 (see short_params.ts). */
  clickhouseParamBytesMax: 120_000,
  /** How long a statement may take by default, in ms. */
  statementMsMax: 30_000,
  /**
   * Memory of one read, in bytes, and how many such reads run at once. A read starts with the small bound
   * and is repeated with the large one if that does not suffice, so that small reads do not wait behind large ones.
   * Exports and the flush have permits of their own. Large ones have what the others leave.
   */
  ...permits,
  readLargeBytesMax: (readsBytesMax - readsButLarge) / readLargePermits,
  readLargePermits,
  /**
   * A client's query that needs more: at most so many bytes, and this part of the machine's memory. One permit:
   * together with the others it stays below the embedded engine's limit.
   */
  readHugeBytesMax: 1_500_000_000,
  readHugeMemoryFraction: 0.15,
  readHugePermits: 1,
  /** Bytes that one client's query may write to the disk while it sorts and groups. */
  readTemporaryBytesMax: 4_000_000_000,
  readsBytesMax,
  /** Queries remembered to need more than the small bound, and for how long, in ms: their data change. */
  readNeedsMax: 1000,
  readNeedKeptMs: 600_000,
  /** Reads that may wait for one of these permits: dashboards of a busy server send hundreds at once. */
  readsWaitingMax: 1000,
  /**
   * Long pages that are read at once: 16 of one project where no other reads, which finish within the time of their
   * statements; of a second project five more. Each holds a block of httpLimits.pageBlockBytes.
   */
  longReadPermits: 24,
  /** Readings of persons with many ids at once, each on two engine threads; how many may wait. */
  largePersonPermits: 2,
  largePersonsWaitingMax: 64,
  /** The part of its memory from which a large read sorts and groups on disk. */
  readSpillFraction: 0.5,
  /** The answer of one read, in bytes of the engine's columns: it is held in our memory. */
  readResultBytesMax: 33_554_432,
  /** Rows of a block in the engine; between two blocks it checks its time limit and its client. */
  readBlockRowsMax: 16_384,
  /** A time zone's name, in characters: the longest has 32. */
  zoneCharsMax: 64,
  /** Memory of one time zone in the engine, in bytes (4.8 MB resident were measured), and of its limit for all. */
  zoneBytes: 5_000_000,
  zonesMemoryFraction: 0.25,
  /** Zones that one project may add beside its own: it has people in several, and none needs all 446. */
  zonesOfProjectMax: 3,
  /** CPU-seconds of one statement of a page; and how often they are counted of those that run for longer, in ms. */
  pageCpuSecondsMax: 10,
  workPollMs: 1000,
  /** Milliseconds without an answer to that after which an engine is frozen, or cannot be reached. */
  engineSilentMsMax: 20_000,
  /** How often an abandoned statement is killed and searched for, in ms; its permit is held meanwhile. */
  readKillAgainMs: 200,
  /** Time, in ms; then the permit is released even if the user may not kill or list statements. */
  readGoneMsMax: 60_000,
  /** How long one such check may take, in ms. */
  readKillMsMax: 5000,
};

assertRising(
  "reads fit the smallest engine",
  readsBytesMax,
  clickhouseLimits.readHugeBytesMax,
  embeddedLimits.engineMemoryBytesMin,
);
