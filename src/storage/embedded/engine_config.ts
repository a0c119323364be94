// How much memory the embedded ClickHouse may take as a whole, as a configuration file it reads when it opens.

import { writeFileSync } from "node:fs";
import { embeddedLimits } from "./limits.ts";

export interface EngineBounds {
  /** All of it: statements, inserts with their views, merges, caches. */
  serverBytes: number;
  /** Merges together; past it no further one begins. */
  mergesBytes: number;
  /** Marks, and primary keys, each. */
  cacheBytes: number;
}

/** @param memoryBytes what the machine, or the container, has. */
export function engineBounds(memoryBytes: number): EngineBounds {
  const share = memoryBytes * embeddedLimits.engineMemoryShare;
  const most = memoryBytes * embeddedLimits.engineMemoryShareMax;
  const serverBytes = Math.floor(Math.min(Math.max(share, embeddedLimits.engineMemoryBytesMin), most));
  const cacheBytes = Math.floor(
    Math.min(serverBytes * embeddedLimits.engineCacheShare, embeddedLimits.engineCacheBytesMax),
  );
  return { serverBytes, mergesBytes: Math.floor(serverBytes * embeddedLimits.engineMergesShare), cacheBytes };
}

/** Writes the file anew, so that a machine that has grown is known at the next start. */
export function writeEngineConfig(
  path: string,
  { serverBytes, mergesBytes, cacheBytes }: EngineBounds,
): void {
  const settings = {
    max_server_memory_usage: serverBytes,
    merges_mutations_memory_usage_soft_limit: mergesBytes,
    mark_cache_size: cacheBytes,
    primary_index_cache_size: cacheBytes,
    index_mark_cache_size: cacheBytes,
    vector_similarity_index_cache_size: 0,
    query_condition_cache_size: cacheBytes,
  };
  const lines = Object.entries(settings).map(([name, value]) => `  <${name}>${value}</${name}>\n`);
  writeFileSync(path, `<clickhouse>\n${lines.join("")}</clickhouse>\n`, { mode: 0o600 });
}
