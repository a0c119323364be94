// The last results of queries, so that the same query within some minutes is answered at once. In memory; the least
// recently read are dropped first. While persons of a project are being deleted, none of its results is cached.

import { bytesOf } from "../../core/bytes.ts";
import { bytesIn } from "../../core/chunks.ts";
import type { Clock } from "../../core/clock.ts";
import { partsWithin, WrittenJson } from "../../http/pages/json_parts.ts";
import { Tally } from "../../work/maps.ts";
import { queryLimits } from "../limits.ts";
import type { QueryResult } from "../store.ts";
import { exactJson } from "./table_rows.ts";

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

class WrittenRows extends WrittenJson implements Iterable<unknown> {
  /** Each row is followed by a comma. */
  readonly parts: readonly Uint8Array[];

  private constructor(parts: readonly Uint8Array[]) {
    super();
    this.parts = parts;
  }

  /** Undefined when they have more than `bytesMax`. The event loop gets turns in between. */
  static async of(rows: Iterable<unknown>, bytesMax: number): Promise<WrittenRows | undefined> {
    if (rows instanceof WrittenRows) return rows;
    const parts = await partsWithin(rowTexts(rows), bytesMax, queryLimits.sqlSliceBytes);
    return parts && new WrittenRows(parts);
  }

  /** The rows as a JSON list. */
  *jsonChunks(): Generator<string | Uint8Array, undefined> {
    yield "[";
    yield* this.parts.slice(0, -1);
    const last = this.parts.at(-1);
    if (last) yield last.subarray(0, -1);
    yield "]";
  }

  /** For JSON.stringify() of what contains it. */
  toJSON(): unknown[] {
    return [...this];
  }

  *[Symbol.iterator](): Generator<unknown, undefined> {
    for (const part of this.parts)
      yield* exactJson(`[${Buffer.from(part).toString("utf8", 0, part.length - 1)}]`) as unknown[];
  }
}

function* rowTexts(rows: Iterable<unknown>): Generator<string, undefined> {
  for (const row of rows) yield `${JSON.stringify(row)},`;
}
