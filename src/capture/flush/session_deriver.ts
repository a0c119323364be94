// Derives what follows a segment's INSERT, when nobody waits: the names of its events are written, its sessions are
// derived by folding its blocks, and the days of its events by sending their first columns, of several segments at
// once. A segment's file stays in the journal until then, so that after a crash the next start does it.

import { toReason } from "../../core/log.ts";
import type { Uses } from "../../storage/services.ts";
import { retryUntilDone } from "../../work/retry.ts";
import { Wakeup } from "../../work/wakeup.ts";
import type { CaptureJournal } from "../capture_journal.ts";
import type { DefinitionBook } from "../definitions/definition_book.ts";
import type { LaneKind } from "../journal/lane_kind.ts";
import type { Segment } from "../journal/segments/segment.ts";
import type { SessionBacklog } from "../store.ts";
import type { BatchSender } from "./batch_sender.ts";
import { flushLimits } from "./limits.ts";
import type { SessionSender } from "./session_sender.ts";
import { SessionTries, StoredSessions, type TryResult } from "./stored_sessions.ts";

interface SessionDeriverOptions extends Uses<"clickhouse" | "clock" | "log"> {
  journal: Pick<CaptureJournal, "finish" | "retain" | "isBusy" | "isTight">;
  sender: Pick<SessionSender, "send" | "releaseIdle" | "abandon">;
  /** Sends the first columns of blocks, of which days are derived; not shared. */
  days: Pick<BatchSender, "sendFirstColumns" | "releaseIdle" | "abandon">;
  /** The names of events, which are written first. */
  definitions: Pick<DefinitionBook, "recover" | "settle">;
  /** Keeps batches that cannot be derived; without it they are tried until they can. */
  backlog?: SessionBacklog | undefined;
  stopping: AbortSignal;
}

interface StoredSegment {
  segment: Segment;
  batches: bigint[];
  /** When it was stored, in ms of Clock.elapsed(). */
  at: number;
}

export class SessionDeriver {
  readonly #options: SessionDeriverOptions;
  readonly #waiting: StoredSegment[] = [];
  /** Segments whose sessions are derived, and whose days are not. */
  #withoutDays: StoredSegment[] = [];
  readonly #wakeup = new Wakeup();
  readonly #tries: SessionTries;
  readonly #stored: StoredSessions;
  /** Bytes of all segments that are added and not finished, and of those among them that wait for their sessions. */
  #bytes = 0;
  #waitingBytes = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  #isDraining = false;
  /** Batches in the backlog of all servers, as of its last read. */
  backlogCount = 0;
  /** When the backlog is read again, in ms of Clock.elapsed(). */
  #backlogAt = 0;

  constructor(options: SessionDeriverOptions) {
    this.#options = options;
    this.#tries = new SessionTries(options, options.backlog !== undefined);
    this.#stored = new StoredSessions(options, this.#tries);
  }

  /** Adds a segment whose rows are in ClickHouse; its file is removed once their sessions are derived. */
  add(segment: Segment, batches: bigint[]): void {
    const { journal, clock } = this.#options;
    journal.retain(segment);
    this.#waiting.push({ segment, batches, at: clock.elapsed() });
    this.#bytes += segment.bytes;
    this.#waitingBytes += segment.bytes;
    this.#wakeup.wake();
  }

  /** Whether so much waits that no more of this lane should be stored until some is derived. */
  isBehind({ name }: LaneKind): boolean {
    const { sessionsBehindBytesMax } = flushLimits;
    return (name === "live" || name === "historical") && this.#bytes >= sessionsBehindBytesMax[name];
  }

  /** Lets run() derive what waits, and end. */
  drain(): void {
    this.#isDraining = true;
    this.#wakeup.wake();
  }

  /** Works until it is drained or stopped. */
  async run(): Promise<void> {
    const { stopping, sender, days } = this.#options;
    while (!stopping.aborted) {
      if (this.#withoutDays.length === flushLimits.daysSegmentsMax) await this.#deriveDays();
      else if (this.#isDue()) await this.#step();
      else if (this.#withoutDays.length > 0) await this.#deriveDays();
      else if (this.#isDraining) break;
      else if (this.#options.clock.elapsed() >= this.#backlogAt) await this.#catchUp();
      else {
        sender.releaseIdle();
        days.releaseIdle();
        await this.#wakeup.wait(this.#waiting.length > 0 ? pollMs : flushLimits.sessionsLateMs);
      }
    }
    await sender.abandon();
    await days.abandon();
  }

  #isDue(): boolean {
    const [oldest] = this.#waiting;
    if (!oldest) return false;
    const { journal, clock } = this.#options;
    const now = clock.elapsed();
    if (this.#isDraining || journal.isTight || now - oldest.at >= flushLimits.sessionsLateMs) return true;
    if (this.#waitingBytes >= flushLimits.sessionsWaitingBytesMax) return true;
    // Segments that waited already when the last step ended follow it at once.
    const isFollowing = oldest.at <= this.#lastAt;
    return !journal.isBusy && (isFollowing || now - this.#lastAt >= flushLimits.sessionsEveryMs);
  }

  /** Derives the sessions of the oldest segment, which then waits for its days. */
  async #step(): Promise<void> {
    const [oldest] = this.#waiting as [StoredSegment];
    const derived = await this.#deriveSegment(oldest);
    if (derived === undefined) return;
    this.#waiting.shift();
    this.#waitingBytes -= oldest.segment.bytes;
    this.#lastAt = this.#options.clock.elapsed();
    if (derived === "sessions") this.#withoutDays.push(oldest);
    else await this.#finish([oldest], derived);
  }

  /** "sessions": its blocks were folded; true: its rows were read back, for its days as well. */
  async #deriveSegment({ segment, batches }: StoredSegment): Promise<TryResult<true | "sessions">> {
    const writing = await this.#tries.run(() => this.#writeNames(segment.isRecovered, batches));
    if (writing !== true) return writing;
    // Some rows of a halved batch may be in quarantine.
    if (!segment.batches.every(({ id }) => batches.includes(id))) return await this.#stored.derive(batches);
    const result = await this.#tries.send(() => this.#options.sender.send(segment));
    if (result === undefined) return undefined;
    return result === true ? "sessions" : await this.#stored.derive(batches);
  }

  async #deriveDays(): Promise<void> {
    const all = this.#withoutDays;
    const segments = all.map(({ segment }) => segment);
    const { days, clock } = this.#options;
    const result = await this.#tries.send(() => days.sendFirstColumns(segments, lastDayColumn, clock.now()));
    if (result === undefined) return;
    const derived =
      result === true ? result : await this.#stored.derive(all.flatMap(({ batches }) => batches));
    if (derived === undefined) return;
    this.#withoutDays = [];
    await this.#finish(all, derived);
  }

  /** Removes segments of which all is derived, or that are left to the backlog. */
  async #finish(all: readonly StoredSegment[], derived: true | "refused"): Promise<void> {
    const { journal, clock, backlog, log } = this.#options;
    if (derived === "refused" && backlog) {
      const batches = all.flatMap((stored) => stored.batches);
      if (!this.#tries.isRefused)
        log.error("sessions cannot be derived; they wait in the backlog", { batches: batches.length });
      const add = async () => (await backlog.add(batches), true);
      if (!(await retryUntilDone(add, this.#tries.retrying))) return;
      this.backlogCount += batches.length;
      this.#backlogAt = clock.elapsed() + flushLimits.backlogAgainMs;
    }
    this.#tries.isRefused = derived === "refused";
    for (const { segment } of all) {
      this.#bytes -= segment.bytes;
      await retryUntilDone(() => journal.finish(segment), this.#tries.retrying);
    }
  }

  /** Writes the names of events; those of an earlier process's segments are read from the stored rows. */
  async #writeNames(isRecovered: boolean, batches: bigint[]): Promise<true> {
    const { definitions } = this.#options;
    if (isRecovered) await definitions.recover(batches);
    await definitions.settle();
    return true;
  }

  /** Derives the oldest batches of the backlog; refused ones wait for their next time. */
  async #catchUp(): Promise<void> {
    const { backlog, clock, log } = this.#options;
    this.#backlogAt = clock.elapsed() + flushLimits.backlogAgainMs;
    const wasRefused = this.#tries.isRefused;
    try {
      const { oldest, count } = (await backlog?.read()) ?? { oldest: [], count: 0 };
      this.backlogCount = count;
      if (oldest.length === 0) return;
      // The backlog is tried once, and its refusal must not change how new segments are tried.
      this.#tries.isRefused = true;
      await this.#writeNames(true, oldest);
      const derived = await this.#stored.derive(oldest);
      this.#tries.isRefused = wasRefused && derived !== true;
      if (derived !== true) return;
      await backlog?.remove(oldest);
      this.backlogCount -= oldest.length;
      log.info("derived sessions that had waited", { batches: oldest.length, left: this.backlogCount });
      this.#backlogAt = clock.elapsed();
    } catch (thrown) {
      this.#tries.isRefused = wasRefused;
      log.debug("the backlog of sessions could not be read", { reason: toReason(thrown) });
    }
  }
}

/** The last column, in a block, of those of which days are derived. */
const lastDayColumn = "timestamp";

/** How often the deriver checks whether events wait to be stored, in ms. */
const pollMs = 100;
