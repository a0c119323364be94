// The configuration file of the embedded ClickHouse, with its memory limits.

import { writeFileSync } from "node:fs";
import { embeddedLimits } from "./limits.ts";

/** @param memoryBytes the memory of the machine or container. */
export function engineBounds(memoryBytes: number) {
  const fraction = memoryBytes * embeddedLimits.engineMemoryFraction;
  const most = memoryBytes * embeddedLimits.engineMemoryFractionMax;
  const serverBytes = Math.floor(Math.min(Math.max(fraction, embeddedLimits.engineMemoryBytesMin), most));
  const cacheBytes = Math.floor(
    Math.min(serverBytes * embeddedLimits.engineCacheFraction, embeddedLimits.engineCacheBytesMax),
  );
  return {
    /** The limit of everything: statements, inserts with their views, merges, caches. */
    serverBytes,
    /** The limit of all merges; beyond it no further one starts. */
    mergesBytes: Math.floor(serverBytes * embeddedLimits.engineMergesFraction),
    /** The limit of the mark cache, and of the primary key cache. */
    cacheBytes,
  };
}

/** Writes the file at each start, so that a change of the machine's memory takes effect. */
export function writeEngineConfig(path: string, bounds: ReturnType<typeof engineBounds>): void {
  const { serverBytes, mergesBytes, cacheBytes } = bounds;
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
  const tables = "  <merge_tree><auto_statistics_types></auto_statistics_types></merge_tree>\n";
  writeFileSync(path, `<clickhouse>\n${lines.join("")}${tables}</clickhouse>\n`, { mode: 0o600 });
}
