// Limits of receiving request bodies and of the memory they take, with their units and reasons.

import { memoryShares } from "../../core/limits.ts";

/** An announced body of fewer bytes is short: only the whole budget bounds it, no share. */
const shortBytesMax = 16 * 1024;

export const uploadLimits = {
  /**
   * Bytes of all request bodies in memory: received, inflated, decoded and indexed, of all workers together. With the
   * arenas kept for the next body, the server grows by less than 600 MB.
   */
  memoryBytes: memoryShares.bodies,
  /** The least of memoryBytes that a worker has, in bodies of the largest size: one, and some space more. */
  memoryLargestMin: 1.25,
  /** The part of memoryBytes for the bodies of one owner, and for those whose owner is not known yet. */
  memoryFraction: 5 / 8,
  /** The part for bodies longer than wholeBodyBytesMax: an import leaves memory for live events. */
  memoryLongFraction: 13 / 16,
  /** The part for all but short bodies, which carry most live events. */
  memoryUsualFraction: 15 / 16,
  /** How long a long body may wait for memory, in ms: for an importer waiting is cheaper than a retry. */
  memoryWaitMsMax: 10_000,
  /** Bodies of one owner that may wait so: claimBytesMin of each have arrived. */
  memoryWaitingMax: 64,
  /** Retry-After for a client that found no memory, in seconds: a long body is stored in less. */
  memoryRetrySeconds: 2,
  shortBytesMax,
  /** Bytes of a lease of a short body without a share: the body, its layers, the state of its connection. */
  shortLeaseBytesMax: 4 * shortBytesMax,
  /** State of a body that is received chunk by chunk, in bytes: stream, reader, promises, connection. */
  openUploadBytes: 8 * 1024,
  /**
   * Bytes of short bodies, and of longer ones, that may be received whole at once, by their announced lengths.
   * The runtime shows nothing of such a body until all of it is here. Further ones are received chunk by chunk, which
   * costs 7 to 20 µs of CPU more.
   */
  unseenBytesMax: memoryShares.bodies / 16,
  /** Younger bodies are never ended to free memory, in ms. */
  endedAgeMsMin: 2000,
  /** Milliseconds for which the order in which slow bodies are ended is used: making it costs 1 ms for 8,000 bodies. */
  slowOrderMs: 100,
  /** Bytes of a long body to receive before memory for the rest of it is claimed. */
  claimBytesMin: 256 * 1024,
  /** The rate at which a claim is honoured, in bytes a second; a body below it for endedAgeMsMin has what arrived. */
  claimBytesPerSecondMin: 1_048_576,
  /** How long an upload may send nothing, in ms: enough for a phone in a tunnel; a dead client gets 408. */
  stallMsMax: 20_000,
  /** How often stalled bodies are searched for, in ms: they may be refused so much later than the message states. */
  pollMs: 50,
  /** Late bodies that are refused in one tick: thousands that began together would delay others by seconds. */
  lateAtOnceMax: 25,
  /** How long a whole upload may take, in ms: enough for 20 MB over a bad line. */
  wholeMsMax: 600_000,
  /**
   * The least rate of a body that is received whole, beyond the silence allowed, in bytes a second: a phone on a
   * bad line. Nothing shows whether such a body still arrives; a connection that is silent for a minute is closed.
   */
  wholeBodyBytesPerSecondMin: 4096,
  /**
   * Bytes of one long body received in one turn of the event loop: 20 MB at once delay other requests by over 20 ms.
   * With a tenth of this an import costs 1 to 2 CPU-seconds per GB more, in the runtime's buffers.
   */
  receiveBytesMax: 2 * 1024 * 1024,
  /** The least of it when many bodies arrive at once, in bytes: together they receive what two would. */
  receiveBytesMin: 256 * 1024,
  /**
   * Bytes that must have arrived before the owner of a body is searched for: the search costs as much as opening it.
   */
  ownerBytesMin: 512,
  /** Bytes in which the owner of a body is searched for. */
  firstChunkBytes: 256 * 1024,
  /** How many times as much must have arrived before the owner is searched for again. */
  firstChunkGrowth: 4,
  /** Long bodies inflated at once, each in a thread, two of one owner; how many may wait, at most half of one owner. */
  inflatesAtOnceMax: 3,
  inflatesWaitingMax: 256,
};
