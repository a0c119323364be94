// The flush: sends sealed segments to ClickHouse, and removes each once ClickHouse has all of it.

import { mkdirSync, rmSync } from "node:fs";
import { flushLimits } from "./limits.ts";
import { retryUntilDone } from "../../work/retry.ts";
import type { CaptureJournal } from "../capture_journal.ts";
import { type LaneName, type Segment, flushedLanes, laneKinds } from "../journal/segments/segment.ts";
import type { SessionBacklog } from "./session_backlog_store.ts";
import type { DefinitionBook } from "../definitions/definition_book.ts";
import { SessionDeriver } from "./session_deriver.ts";
import { BatchInserter, type BatchInserterOptions } from "./batch_inserter.ts";
import { BatchSender } from "./batch_sender.ts";
import type { NativeBody } from "../../storage/clickhouse/clickhouse.ts";
import { deriveBlocks } from "../store.ts";

export type FlushCounts = BatchInserterOptions["counts"];

interface FlushOptions extends Omit<BatchInserterOptions, "sender" | "nextId" | "answered" | "stopping"> {
  journal: CaptureJournal;
  definitions: Pick<DefinitionBook, "recover" | "settle">;
  /** A folder for files that an embedded engine reads by name; emptied at the start. */
  folder: string;
  backlog?: SessionBacklog;
}

export class Flush {
  readonly #options: FlushOptions;
  readonly #stopping = new AbortController();
  readonly #taken = new Set<Segment>();
  #draining = false;
  #loops: Promise<void>[] = [];
  #deriving: Promise<void> | undefined;
  readonly #sessions: SessionDeriver;

  constructor(options: FlushOptions) {
    this.#options = options;
    const { journal, clickhouse, backlog, definitions, clock, log } = options;
    const stopping = this.#stopping.signal;
    const derive = (_lane: LaneName, body: NativeBody) => deriveBlocks(clickhouse, body, stopping);
    const sender = new BatchSender(clickhouse, `${options.folder}/sessions`, derive);
    this.#sessions = new SessionDeriver({
      journal,
      clickhouse,
      sender,
      backlog,
      definitions,
      stopping,
      clock,
      log,
    });
  }

  /** Batches whose sessions could not be derived yet, of all servers. */
  get sessionBacklog(): number {
    return this.#sessions.backlogCount;
  }

  /** Starts loops for each lane, so that an import never makes a live event wait. */
  start(): void {
    const { clickhouse, folder } = this.#options;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#options.journal.room.isStoreAway = false;
    this.#deriving = this.#sessions.run();
    this.#loops = flushedLanes.flatMap((lane) =>
      Array.from({ length: laneKinds[lane].flushesAtOnce }, (_, place) =>
        this.#run(lane, new BatchSender(clickhouse, `${folder}/${lane}-${place}`)),
      ),
    );
  }

  /** Flushes what is sealed, for at most `ms`; the next start finds the rest. */
  async drain(ms: number): Promise<void> {
    this.#draining = true;
    this.#options.journal.nudge();
    const timer = setTimeout(() => this.#stopping.abort(), ms);
    await Promise.all(this.#loops);
    this.#sessions.drain();
    await this.#deriving;
    clearTimeout(timer);
  }

  #inserter(lane: LaneName, sender: BatchSender): BatchInserter {
    const { journal } = this.#options;
    const nextId = () => journal.lastingId();
    const options = { ...this.#options, sender, nextId, stopping: this.#stopping.signal };
    const answered = (isWell: boolean): void => void (journal.room.isStoreAway = !isWell);
    return new BatchInserter(laneKinds[lane].isNative ? { ...options, answered } : options);
  }

  async #run(lane: LaneName, sender: BatchSender): Promise<void> {
    const inserter = this.#inserter(lane, sender);
    const stopping = this.#stopping.signal;
    // A folder may be unreadable for a while, as where a process has too many files open.
    const how = { stopping, log: this.#options.log, saying: "flush failed, trying again", about: { lane } };
    while (await retryUntilDone(() => this.#step(lane, inserter, sender), how));
    await sender.abandon();
  }

  /** Stores the oldest segment of the lane, or waits for one; false when all is drained. */
  async #step(lane: LaneName, inserter: BatchInserter, sender: BatchSender): Promise<boolean> {
    const { journal } = this.#options;
    if (this.#sessions.isBehind(lane) && !this.#draining) {
      await journal.sealedSoon(flushLimits.returnedLookMs);
      return true;
    }
    const segment = journal.nextSealed(lane, this.#taken);
    if (segment) await this.#segment(segment, inserter);
    else if (this.#draining) return false;
    else {
      sender.rest();
      // Deleted recordings must not stay in a file here; and on a full disk, nothing must.
      if (lane === "recordings" || journal.tight) await sender.abandon();
      journal.takeReturned();
      // drain() may have been called meanwhile; its nudge would be missed.
      if (!this.#draining) await journal.sealedSoon(flushLimits.returnedLookMs);
    }
    return true;
  }

  async #segment(segment: Segment, inserter: BatchInserter): Promise<void> {
    const { journal, clock, log } = this.#options;
    this.#taken.add(segment);
    try {
      const started = clock.elapsed();
      const batches = await inserter.ship(segment);
      if (!batches) return;
      const changes = segment.batches.reduce((sum, batch) => sum + (batch.changes ?? 0), 0);
      journal.room.noteDerived(changes, clock.elapsed() - started);
      const [stopping, about] = [this.#stopping.signal, { lane: segment.lane }];
      const saying = "flush failed, trying again";
      if (laneKinds[segment.lane].isNative) return this.#sessions.add(segment, batches);
      await retryUntilDone(() => journal.finish(segment), { stopping, log, saying, about });
    } finally {
      this.#taken.delete(segment);
    }
  }
}
