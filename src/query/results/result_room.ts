// The last results of queries, so that who asks the same again within some minutes is answered at once. In memory, the
// least lately read go first. Nothing is kept of a project while persons of it are being deleted.

import { type Clock, yieldToEventLoop } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import { queryLimits } from "../limits.ts";

interface KeptResult<Result> {
  project_id: number;
  result: Result;
  bytes: number;
  /** Of clock.elapsed(). */
  at: number;
}

export class ResultRoom<Result> {
  readonly #clock: Clock;
  /** The least lately read first. */
  readonly #kept = new Map<string, KeptResult<Result>>();
  readonly #bytesOf = new Map<number, number>();
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  find(key: string): Result | undefined {
    const kept = this.#kept.get(key);
    if (!kept) return undefined;
    this.#kept.delete(key);
    if (this.#clock.elapsed() - kept.at > queryLimits.resultKeptMs) {
      this.#count(kept.project_id, -kept.bytes);
      return undefined;
    }
    this.#kept.set(key, kept);
    return kept.result;
  }

  /** Whether it is kept: one that is longer than all of a project may be is not. @param resultBytes as JSON. */
  keep(key: string, project_id: number, result: Result, resultBytes: number): boolean {
    const bytes = key.length + resultBytes;
    if (bytes > queryLimits.resultsOfProjectBytesMax) return false;
    this.drop(key);
    for (const [other, one] of this.#kept) {
      if ((this.#bytesOf.get(project_id) ?? 0) + bytes <= queryLimits.resultsOfProjectBytesMax) break;
      if (one.project_id === project_id) this.drop(other);
    }
    for (const other of this.#kept.keys()) {
      if (this.#bytes + bytes <= queryLimits.resultsBytesMax) break;
      this.drop(other);
    }
    this.#kept.set(key, { project_id, result, bytes, at: this.#clock.elapsed() });
    this.#count(project_id, bytes);
    return true;
  }

  clear(): void {
    this.#kept.clear();
    this.#bytesOf.clear();
    this.#bytes = 0;
  }

  drop(key: string): void {
    const kept = this.#kept.get(key);
    if (!kept) return;
    this.#kept.delete(key);
    this.#count(kept.project_id, -kept.bytes);
  }

  #count(project_id: number, bytes: number): void {
    this.#bytes += bytes;
    const its = (this.#bytesOf.get(project_id) ?? 0) + bytes;
    if (its > 0) this.#bytesOf.set(project_id, its);
    else this.#bytesOf.delete(project_id);
  }
}

/** The bytes of a result as JSON, those beyond `most` not counted. It yields to other requests in between. */
export async function resultBytes(result: { results: readonly unknown[] }, most: number): Promise<number> {
  let bytes = JSON.stringify({ ...result, results: [] }).length;
  let slice = 0;
  for (const row of result.results) {
    const length = JSON.stringify(row).length + 1;
    bytes += length;
    slice += length;
    if (bytes > most) break;
    if (slice < limits.replySliceBytes) continue;
    slice = 0;
    await yieldToEventLoop();
  }
  return bytes;
}
