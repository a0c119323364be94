// The flush: sends sealed segments to ClickHouse, and removes each once ClickHouse has all of it (J-6).

import { type DerivedInsert, statementsUntil } from "../../storage/clickhouse/clickhouse.ts";
import { isUnanswered } from "../../storage/clickhouse/error.ts";
import { type FlushTrouble, worstTrouble } from "../../storage/engine_watch.ts";
import { eventDaysOfBlocks } from "../../storage/events/event_days.ts";
import { sessionsOfBlocks, sessionsOfFolds } from "../../storage/events/sessions.ts";
import { retryUntilDone } from "../../work/retry.ts";
import type { CaptureJournal } from "../capture_journal.ts";
import type { DefinitionBook } from "../definitions/definition_book.ts";
import type { LaneKind } from "../journal/lane_kind.ts";
import type { Segment } from "../journal/segments/segment.ts";
import { deriveBlocks, type SessionBacklog } from "../store.ts";
import type { StrayEvent } from "../wasm/unread_events.ts";
import { BatchInserter, type BatchInserterOptions } from "./batch_inserter.ts";
import { BatchSender } from "./batch_sender.ts";
import { FlushState, stopAfter } from "./flush_state.ts";
import { flushLimits } from "./limits.ts";
import { SessionDeriver } from "./session_deriver.ts";
import { SessionSender } from "./session_sender.ts";

export type FlushCounts = BatchInserterOptions["counts"];

interface FlushOptions extends Omit<
  BatchInserterOptions,
  "io" | "sender" | "nextId" | "onAttempt" | "stopping"
> {
  journal: CaptureJournal;
  definitions: Pick<DefinitionBook, "recover" | "settle">;
  /** A folder for files that an embedded engine reads by name; emptied at the start. */
  folder: string;
  backlog?: SessionBacklog;
  /** Receives examples of events that lie outside of their sessions. */
  onStrays?: (strays: readonly StrayEvent[]) => void;
  /** Aborted when the flush no longer waits for ClickHouse. */
  leaving?: AbortController;
}

export class Flush {
  readonly #options: FlushOptions;
  readonly #stopping: AbortController;
  readonly #inserting = new Set<Segment>();
  readonly #states: FlushState[] = [];
  #isDraining = false;
  #loops: Promise<void>[] = [];
  #sessionsLoop: Promise<void> | undefined;
  readonly #sessions: SessionDeriver;

  constructor(options: FlushOptions) {
    this.#stopping = options.leaving ?? new AbortController();
    const stopping = this.#stopping.signal;
    // The next start finds whether an INSERT that is left was stored.
    const clickhouse = statementsUntil(options.clickhouse, stopping);
    this.#options = { ...options, clickhouse };
    const { journal, backlog, definitions, clock, log } = options;
    const openSender = (insert: DerivedInsert, spool: string) => {
      const state = new FlushState(clock);
      this.#states.push(state);
      return new BatchSender(journal.io, clickhouse, `${options.folder}/${spool}`, async (_lane, body) => {
        state.begin();
        try {
          await deriveBlocks(clickhouse, insert, body);
          state.stored();
        } catch (thrown) {
          // A refused insert waits in the backlog.
          if (!isUnanswered(thrown)) state.stored();
          throw thrown;
        }
      });
    };
    const [folded, unread] = [
      openSender(sessionsOfFolds, "sessions"),
      openSender(sessionsOfBlocks, "unread"),
    ];
    const { io } = journal;
    const sender = new SessionSender({ io, clock, folded, unread, onStrays: options.onStrays });
    const days = openSender(eventDaysOfBlocks, "days");
    const parts = { journal, clickhouse, backlog, definitions, stopping, clock, log };
    this.#sessions = new SessionDeriver({ ...parts, sender, days });
  }

  /** Batches whose sessions could not be derived yet, of all servers. */
  get sessionBacklog(): number {
    return this.#sessions.backlogCount;
  }

  get trouble(): FlushTrouble {
    return worstTrouble(this.#states.map((state) => state.read()));
  }

  /** Starts loops for each lane, so that an import never makes a live event wait. */
  start(): void {
    const { journal, clickhouse, folder } = this.#options;
    const { io, lanes } = journal;
    io.remove(folder);
    io.makeFolder(folder);
    journal.quota.isStoreUnavailable = false;
    this.#sessionsLoop = this.#sessions.run();
    const clickhouseLanes = lanes.filter(({ sink }) => sink === "clickhouse");
    this.#loops = clickhouseLanes.flatMap((lane) =>
      Array.from({ length: lane.flushesAtOnce }, (_, number) =>
        this.#run(lane, new BatchSender(io, clickhouse, `${folder}/${lane.name}-${number}`)),
      ),
    );
  }

  /** Flushes what is sealed, for at most `ms`; the next start finds the rest. */
  async drain(ms: number): Promise<void> {
    this.#isDraining = true;
    this.#options.journal.nudge();
    const callOff = stopAfter(this.#stopping, ms, () => this.trouble);
    await Promise.all(this.#loops);
    this.#sessions.drain();
    await this.#sessionsLoop;
    callOff();
  }

  #inserter(lane: LaneKind, sender: BatchSender): BatchInserter {
    const { journal } = this.#options;
    const nextId = () => journal.lastingId();
    const options = { ...this.#options, io: journal.io, sender, nextId, stopping: this.#stopping.signal };
    const onAttempt = (isStored: boolean): void => void (journal.quota.isStoreUnavailable = !isStored);
    const inserter = new BatchInserter(lane.isNative ? { ...options, onAttempt } : options);
    this.#states.push(inserter.state);
    return inserter;
  }

  async #run(lane: LaneKind, sender: BatchSender): Promise<void> {
    const inserter = this.#inserter(lane, sender);
    const stopping = this.#stopping.signal;
    // A folder may be unreadable for a while, as where a process has too many files open.
    const retrying = {
      stopping,
      log: this.#options.log,
      failure: "flush failed; retrying",
      about: { lane: lane.name },
    };
    while (await retryUntilDone(() => this.#step(lane, inserter, sender), retrying));
    await sender.abandon();
  }

  /** Stores the oldest segment of the lane, or waits for one; false when all is drained. */
  async #step(lane: LaneKind, inserter: BatchInserter, sender: BatchSender): Promise<boolean> {
    const { journal } = this.#options;
    if (this.#sessions.isBehind(lane) && !this.#isDraining) {
      await journal.sealedSoon(flushLimits.returnedPollMs);
      return true;
    }
    const segment = journal.nextSealed(lane, this.#inserting);
    if (segment) await this.#store(segment, inserter);
    else if (this.#isDraining) return false;
    else {
      sender.releaseIdle();
      // The spool must not keep deleted recordings, nor use space on a full disk.
      if (!lane.isRecycled || journal.isTight) await sender.abandon();
      journal.adoptReturned();
      // drain() may have been called meanwhile; its nudge would be missed.
      if (!this.#isDraining) await journal.sealedSoon(flushLimits.returnedPollMs);
    }
    return true;
  }

  async #store(segment: Segment, inserter: BatchInserter): Promise<void> {
    const { journal, clock, log } = this.#options;
    this.#inserting.add(segment);
    try {
      const started = clock.elapsed();
      const batches = await inserter.insert(segment);
      if (!batches) return;
      const changes = segment.batches.reduce((sum, batch) => sum + (batch.changes ?? 0), 0);
      journal.quota.recordDerived(changes, clock.elapsed() - started);
      const [stopping, about] = [this.#stopping.signal, { lane: segment.lane.name }];
      const failure = "flush failed; retrying";
      if (segment.lane.isNative) return this.#sessions.add(segment, batches);
      await retryUntilDone(() => journal.finish(segment), { stopping, log, failure, about });
    } finally {
      this.#inserting.delete(segment);
    }
  }
}
