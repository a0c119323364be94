// The last results of queries, so that the same query within some minutes is answered at once. In memory; the least
// recently read are dropped first. While persons of a project are being deleted, none of its results is cached.

import { bytesOf } from "../../core/bytes.ts";
import { bytesIn } from "../../core/chunks.ts";
import type { Clock } from "../../core/clock.ts";
import { Tally } from "../../work/maps.ts";
import { queryLimits } from "../limits.ts";
import type { QueryResult } from "./query_result.ts";
import { WrittenRows } from "./written_rows.ts";

/** A result as JSON: as objects it would take up to 25 times as many bytes. */
export interface WrittenResult {
  /** All of it but the rows. */
  head: Uint8Array;
  rows: WrittenRows;
}

/** A cached result. Its rows are parsed only where they are read one by one. */
export type CachedResult = Omit<QueryResult, "results"> & { results: WrittenRows };

interface CacheEntry {
  project_id: number;
  result: WrittenResult;
  bytes: number;
  /** Of clock.elapsed(). */
  at: number;
}

export class ResultCache {
  readonly #clock: Clock;
  /** The least recently read first. */
  readonly #entries = new Map<string, CacheEntry>();
  #bytesOf = new Tally<number>();
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  find(key: string): CachedResult | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    if (this.#clock.elapsed() - entry.at > queryLimits.resultKeptMs) {
      this.#count(entry.project_id, -entry.bytes);
      return undefined;
    }
    this.#entries.set(key, entry);
    const { head, rows } = entry.result;
    return { ...(JSON.parse(Buffer.from(head).toString()) as CachedResult), results: rows };
  }

  /** Returns whether it is cached: one that is longer than a project's bound is not. */
  retain(key: string, project_id: number, result: WrittenResult | undefined): boolean {
    if (!result) return false;
    // A text may take two bytes a character.
    const bytes = 2 * key.length + result.head.length + bytesIn(result.rows.parts);
    if (bytes > queryLimits.resultsOfProjectBytesMax) return false;
    this.drop(key);
    for (const [otherKey, entry] of this.#entries) {
      if (this.#bytesOf.of(project_id) + bytes <= queryLimits.resultsOfProjectBytesMax) break;
      if (entry.project_id === project_id) this.drop(otherKey);
    }
    for (const oldestKey of this.#entries.keys()) {
      if (this.#bytes + bytes <= queryLimits.resultsBytesMax) break;
      this.drop(oldestKey);
    }
    this.#entries.set(key, { project_id, result, bytes, at: this.#clock.elapsed() });
    this.#count(project_id, bytes);
    return true;
  }

  clear(): void {
    this.#entries.clear();
    this.#bytesOf = new Tally();
    this.#bytes = 0;
  }

  drop(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#count(entry.project_id, -entry.bytes);
  }

  #count(project_id: number, bytes: number): void {
    this.#bytes += bytes;
    this.#bytesOf.add(project_id, bytes);
  }
}

/** The result in its cached form; undefined when it is too long for that. The event loop gets turns in between. */
export async function writtenResult({
  results,
  ...rest
}: QueryResult | CachedResult): Promise<WrittenResult | undefined> {
  const head = bytesOf(JSON.stringify(rest));
  const rows = await WrittenRows.of(results, queryLimits.resultsOfProjectBytesMax - head.length);
  return rows && { head, rows };
}
