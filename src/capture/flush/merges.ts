// The flush of merges: segment by segment into Postgres, then mirrored to ClickHouse. Retries until it succeeds or is
// stopped; events do not wait for it.

import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { flushLimits } from "./limits.ts";
import type { Log } from "../../core/log.ts";
import type { SightedType } from "../../persons/group_type_store.ts";
import { type Applied, applyMerges, forgetSegment, mirrorMerges } from "../../persons/store.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { retryUntilDone } from "../../work/retry.ts";
import type { Journal } from "../journal/journal.ts";
import { readMergeRows } from "./merge_row.ts";
import type { Segment } from "../journal/segments/segment.ts";

export interface MergeFlushOptions {
  journal: Journal;
  sql: Postgres;
  clickhouse: ClickHouse;
  /** Called with the merges and types that were refused. */
  refused(applied: Applied): void;
  log: Log;
}

export class MergeFlush {
  readonly #options: MergeFlushOptions;
  readonly #stopping = new AbortController();
  #draining = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: MergeFlushOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Applies what is sealed, for at most `ms`; the next start finds the rest. */
  async drain(ms: number): Promise<void> {
    this.#draining = true;
    this.#options.journal.nudge();
    const timer = setTimeout(() => this.#stopping.abort(), ms);
    await this.#loop;
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    const { journal } = this.#options;
    while (!this.#stopping.signal.aborted) {
      const segment = journal.nextSealed("merges");
      if (segment) await this.#untilDone(() => this.#apply(segment));
      else if (this.#draining) return;
      else await journal.sealedSoon(flushLimits.returnedLookMs);
    }
  }

  /** Each step can be repeated: Postgres notes the segment's name, and ClickHouse's rows have versions. */
  async #apply(segment: Segment): Promise<void> {
    const { journal, sql, clickhouse, refused } = this.#options;
    const name = basename(segment.path);
    const types: SightedType[] = [];
    const bytes = new Uint8Array(await readFile(segment.path));
    const frames = segment.batches.flatMap((batch) => batch.frames);
    const payloads = frames.map(({ offset, length }) => bytes.subarray(offset, offset + length));
    const applied = await applyMerges(sql, name, readMergeRows(payloads, types), types);
    refused(applied);
    await mirrorMerges(sql, clickhouse, applied.version);
    await journal.finish(segment);
    await forgetSegment(sql, name).catch(() => {});
  }

  #untilDone(step: () => Promise<void>): Promise<void> {
    const { log } = this.#options;
    return retryUntilDone(step, {
      stopping: this.#stopping.signal,
      log,
      saying: "merges wait, trying again",
    });
  }
}
