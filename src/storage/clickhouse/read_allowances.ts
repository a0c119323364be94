// How many reads run in ClickHouse at once, and with how much memory each, so that all together stay within one limit.

import { clickhouseLimits } from "./limits.ts";
import { limits } from "../../core/limits.ts";
import { Semaphore } from "../../work/semaphore.ts";

/** The kind of a read: each starts in places of its own, so that none waits behind another. */
export type ReadKind = "page" | "export" | "flush";

export interface Allowance {
  places: Semaphore;
  /** Memory of one read, in bytes. */
  bytes: number;
}

/** The places for each kind, in the order they are tried: the next one when the memory does not suffice. */
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

/** Settings that limit a read's memory and answer, and end it when its client leaves. */
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
