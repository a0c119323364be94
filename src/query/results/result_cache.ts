// The last results of queries, so that the same query within some minutes is answered at once. In memory; the least
// recently read are dropped first. While persons of a project are being deleted, none of its results is cached.

import { toBytes } from "../../core/bytes.ts";
import { bytesIn } from "../../core/chunks.ts";
import type { Clock } from "../../core/clock.ts";
import { partsWithin, WrittenJson } from "../../http/pages/json_parts.ts";
import { SizedCache } from "../../work/maps.ts";
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

export class ResultCache {
  readonly #clock: Clock;
  readonly #results = new SizedCache<number, WrittenResult & { at: number }>(
    queryLimits.resultsBytesMax,
    queryLimits.resultsOfProjectBytesMax,
  );

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  find(key: string): CachedResult | undefined {
    const found = this.#results.find(key);
    if (!found) return undefined;
    const { head, rows, at } = found;
    if (this.#clock.elapsed() - at > queryLimits.resultKeptMs) return void this.drop(key);
    return { ...(JSON.parse(Buffer.from(head).toString()) as CachedResult), results: rows };
  }

  /** Returns whether it is cached: one that is longer than a project's bound is not. */
  retain(key: string, project_id: number, result: WrittenResult | undefined): boolean {
    if (!result) return false;
    // A text may take two bytes a character.
    const bytes = 2 * key.length + result.head.length + bytesIn(result.rows.parts);
    if (bytes > queryLimits.resultsOfProjectBytesMax) return false;
    this.#results.put(project_id, key, { ...result, at: this.#clock.elapsed() }, bytes);
    return true;
  }

  clear(): void {
    this.#results.clear();
  }

  drop(key: string): void {
    this.#results.drop(key);
  }
}

/** The result in its cached form; undefined when it is too long for that. The event loop gets turns in between. */
export async function writtenResult({ results, ...rest }: QueryResult | CachedResult) {
  const head = toBytes(JSON.stringify(rest));
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

  *jsonChunks(): Generator<string | Uint8Array, undefined> {
    yield "[";
    yield* this.parts.slice(0, -1);
    const last = this.parts.at(-1);
    if (last) yield last.subarray(0, -1);
    yield "]";
  }

  /** Serves JSON.stringify() of what contains it. */
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
