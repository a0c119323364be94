// Who may read how much of ClickHouse at once: places, each with its memory, so that all reads together stay within one
// bound.

import { clickhouseLimits } from "./limits.ts";
import { limits } from "../../core/limits.ts";
import { Semaphore } from "../../work/semaphore.ts";

/** Whose a read is: each kind begins in places of its own, so that none waits behind another. */
export type ReadKind = "page" | "export" | "flush";

export interface Allowance {
  places: Semaphore;
  /** Memory of one read, in bytes. */
  bytes: number;
}

/** What a read of each kind is tried with, in that order: the next one when the engine says it takes more. */
export type Allowances = Readonly<Record<ReadKind, readonly Allowance[]>>;

export function openAllowances(): Allowances {
  const allow = (places: number, bytes: number): Allowance => ({
    places: new Semaphore(places, clickhouseLimits.readsWaitingMax, limits.workingShare),
    bytes,
  });
  const large = allow(clickhouseLimits.readLargePlaces, clickhouseLimits.readLargeBytesMax);
  return {
    page: [allow(clickhouseLimits.readSmallPlaces, limits.readSmallBytesMax), large],
    export: [allow(clickhouseLimits.readExportPlaces, clickhouseLimits.readExportBytesMax), large],
    flush: [allow(clickhouseLimits.readFlushPlaces, clickhouseLimits.readFlushBytesMax), large],
  };
}

/** What holds a read to its memory, to the size of its answer, and to being stopped when nobody waits for it. */
export function boundsOf(bytes: number): Record<string, string | number> {
  const spill = Math.floor(bytes * clickhouseLimits.readSpillShare);
  return {
    max_memory_usage: bytes,
    max_bytes_before_external_group_by: spill,
    max_bytes_before_external_sort: spill,
    max_result_bytes: clickhouseLimits.readResultBytesMax,
    result_overflow_mode: "throw",
    max_block_size: clickhouseLimits.readBlockRowsMax,
    cancel_http_readonly_queries_on_client_close: 1,
  };
}
