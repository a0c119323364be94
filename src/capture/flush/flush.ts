// The flush: sends sealed segments to ClickHouse, and removes each once ClickHouse has all of it.

import { mkdirSync, rmSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import { flushLimits } from "./limits.ts";
import type { Log } from "../../core/log.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { retryUntilDone } from "../../work/retry.ts";
import type { Journal } from "../journal/journal.ts";
import type { Quarantine } from "../journal/quarantine.ts";
import {
  type LaneName,
  type Segment,
  flushedLanes,
  flushesAtOnce,
  isNative,
} from "../journal/segments/segment.ts";
import { BatchInserter, type BatchInserterOptions } from "./batch_inserter.ts";

export type FlushCounts = BatchInserterOptions["counts"];

export interface FlushOptions {
  journal: Journal;
  clickhouse: ClickHouse;
  quarantine: Quarantine;
  /** A folder for files that an embedded engine reads by name; emptied at the start. */
  folder: string;
  counts: FlushCounts;
  clock: Clock;
  log: Log;
}

export class Flush {
  readonly #options: FlushOptions;
  readonly #stopping = new AbortController();
  /** Segments being flushed. */
  readonly #taken = new Set<Segment>();
  #draining = false;
  #loops: Promise<void>[] = [];

  constructor(options: FlushOptions) {
    this.#options = options;
  }

  /** Starts loops for each lane, so that an import never makes a live event wait. */
  start(): void {
    const { folder } = this.#options;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#options.journal.room.isStoreAway = false;
    this.#loops = flushedLanes.flatMap((lane) =>
      Array.from({ length: flushesAtOnce[lane] }, (_, place) => this.#run(lane, this.#inserter(lane, place))),
    );
  }

  /** Flushes what is sealed, for at most `ms`; the next start finds the rest. */
  async drain(ms: number): Promise<void> {
    this.#draining = true;
    this.#options.journal.nudge();
    const timer = setTimeout(() => this.#stopping.abort(), ms);
    await Promise.all(this.#loops);
    clearTimeout(timer);
  }

  #inserter(lane: LaneName, place: number): BatchInserter {
    const { journal, clickhouse, quarantine, folder, counts, clock, log } = this.#options;
    const spoolStem = `${folder}/${lane}-${place}`;
    const nextId = () => journal.nextId();
    const stopping = this.#stopping.signal;
    const options = { clickhouse, quarantine, spoolStem, nextId, counts, stopping, clock, log };
    const answered = (isWell: boolean): void => void (journal.room.isStoreAway = !isWell);
    return new BatchInserter(isNative(lane) ? { ...options, answered } : options);
  }

  async #run(lane: LaneName, inserter: BatchInserter): Promise<void> {
    const { journal } = this.#options;
    while (!this.#stopping.signal.aborted) {
      const segment = journal.nextSealed(lane, this.#taken);
      if (segment) await this.#segment(segment, inserter);
      else if (this.#draining) break;
      else {
        inserter.rest();
        // Deleted recordings must not stay in a file here; and on a full disk, nothing must.
        if (lane === "recordings" || journal.tight) await inserter.abandon();
        journal.takeReturned();
        // drain() may have been called meanwhile, and its nudge be over.
        if (!this.#draining) await journal.sealedSoon(flushLimits.returnedLookMs);
      }
    }
    await inserter.abandon();
  }

  async #segment(segment: Segment, inserter: BatchInserter): Promise<void> {
    const { journal, clock, log } = this.#options;
    this.#taken.add(segment);
    try {
      const started = clock.elapsed();
      if (!(await inserter.ship(segment))) return;
      const changes = segment.batches.reduce((sum, batch) => sum + (batch.changes ?? 0), 0);
      journal.room.noteDerived(changes, clock.elapsed() - started);
      await retryUntilDone(() => journal.finish(segment), {
        stopping: this.#stopping.signal,
        log,
        saying: "flush failed, trying again",
        about: { lane: segment.lane },
      });
    } finally {
      this.#taken.delete(segment);
    }
  }
}
