// The flush: which sealed segment goes to ClickHouse when, and the end of its file behind it. Never forgets a
// segment before ClickHouse has all of it.

import { mkdirSync, rmSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import type { Log } from "../core/log.ts";
import type { ClickHouse } from "../storage/clickhouse.ts";
import { stubbornly } from "../work/stubborn.ts";
import type { Journal } from "./journal.ts";
import type { Quarantine } from "./quarantine.ts";
import { type LaneName, type Segment, flushedLanes, flushesAtOnce, isNative } from "./segment.ts";
import { Shipper, type ShipperOptions } from "./shipper.ts";

export type FlushCounts = ShipperOptions["counts"];

export interface FlushOptions {
  journal: Journal;
  clickhouse: ClickHouse;
  quarantine: Quarantine;
  /** A folder of ours, emptied at start: batches wait here for an embedded engine to read them by name. */
  folder: string;
  counts: FlushCounts;
  clock: Clock;
  log: Log;
}

export class Flush {
  readonly #options: FlushOptions;
  readonly #stopping = new AbortController();
  /** Segments somebody is at work on. */
  readonly #taken = new Set<Segment>();
  #draining = false;
  #loops: Promise<void>[] = [];

  constructor(options: FlushOptions) {
    this.#options = options;
  }

  /** Loops of each lane's own, so that an import never makes a live event wait. */
  start(): void {
    const { folder } = this.#options;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#options.journal.room.isStoreAway = false;
    this.#loops = flushedLanes.flatMap((lane) =>
      Array.from({ length: flushesAtOnce[lane] }, (_, place) => this.#run(lane, this.#shipper(lane, place))),
    );
  }

  /** Flushes what is sealed, at most `ms` long; what is left is found again at the next start. */
  async drain(ms: number): Promise<void> {
    this.#draining = true;
    this.#options.journal.nudge();
    const timer = setTimeout(() => this.#stopping.abort(), ms);
    await Promise.all(this.#loops);
    clearTimeout(timer);
  }

  #shipper(lane: LaneName, place: number): Shipper {
    const { journal, clickhouse, quarantine, folder, counts, clock, log } = this.#options;
    const spoolStem = `${folder}/${lane}-${place}`;
    const nextId = () => journal.nextId();
    const stopping = this.#stopping.signal;
    const options = { clickhouse, quarantine, spoolStem, nextId, counts, stopping, clock, log };
    const answered = (isWell: boolean): void => void (journal.room.isStoreAway = !isWell);
    return new Shipper(isNative(lane) ? { ...options, answered } : options);
  }

  async #run(lane: LaneName, shipper: Shipper): Promise<void> {
    const { journal } = this.#options;
    while (!this.#stopping.signal.aborted) {
      const segment = journal.nextSealed(lane, this.#taken);
      if (segment) await this.#segment(segment, shipper);
      else if (this.#draining) break;
      else {
        shipper.rest();
        // A recording may be deleted for good: nothing of it may rest here until another comes. Nor may anything that
        // takes room where there is little.
        if (lane === "recordings" || journal.tight) await shipper.abandon();
        journal.takeReturned();
        // Told to drain meanwhile, it would wait for nothing.
        if (!this.#draining) await journal.sealedSoon(limits.returnedLookMs);
      }
    }
    await shipper.abandon();
  }

  async #segment(segment: Segment, shipper: Shipper): Promise<void> {
    const { journal, clock, log } = this.#options;
    this.#taken.add(segment);
    try {
      const started = clock.elapsed();
      if (!(await shipper.ship(segment))) return;
      const changes = segment.batches.reduce((sum, batch) => sum + (batch.changes ?? 0), 0);
      journal.room.noteDerived(changes, clock.elapsed() - started);
      await stubbornly(() => journal.finish(segment), {
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
