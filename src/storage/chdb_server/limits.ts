// Limits of the embedded ClickHouse's server, with their units and reasons.

import { limits } from "../../core/limits.ts";

export const chdbServerLimits = {
  /** A parameter, in bytes, as in a ClickHouse server. */
  paramBytesMax: 131_072,
  /** How long running statements may take when the server ends, in ms: less than its owner waits before killing it. */
  endMsMax: limits.childStopMsMax - 2000,
  /** How often failed writes of merges are searched for, in ms: replaced parts are kept for 45 s at least. */
  diskCheckMs: 10_000,
  /** Free space below which no table is changed, in bytes: far more than other programs write in those few ms. */
  definitionRoomBytes: 8 * 1024 * 1024,
  /** Statements that may wait for a permit; no sound client sends more at once. */
  waitingMax: 256,
  /** A statement's text, in bytes. */
  statementBytesMax: 16 * 1024 * 1024,
  /** Steps of nice by which the engine ranks below the server: with 5, live captures still waited now and then. */
  stepsBehind: 10,
  /** An INSERT that takes longer, in ms, lacks cores: the largest takes a quarter of that at rest. */
  insertLateMs: 2000,
  /** As insertLateMs, while reads run: they keep the cores busy themselves, but an import beside them continues. */
  insertLateBesideReadsMs: 10_000,
  /**
   * A read is late after each so many ms, if the engine had less than so many cores meanwhile, and lifts it by so many
   * steps. Beside two busy programs on two cores it has 0.2 at the lowest rank, 0.5 halfway, 1 at the server's.
   */
  readLateMs: 500,
  readStarvedCores: 0.4,
  readLiftSteps: 5,
  /**
   * How long the engine then has the server's rank, in ms: a busy machine stays busy, and INSERTs of an import follow.
   */
  frontMs: 10_000,
};
