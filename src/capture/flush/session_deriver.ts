// Behind the flush: writes the names of a stored segment's events, and derives its sessions, for which its blocks are
// folded when nobody waits, and the days of its events, for which their first columns are sent, of several segments at
// once. A segment's file stays in the journal until that is done: a process that dies does it at its next start.

import { reasonOf } from "../../core/log.ts";
import { ClickHouseError } from "../../storage/clickhouse/clickhouse.ts";
import { isTooBig } from "../../storage/clickhouse/error.ts";
import type { Uses } from "../../storage/services.ts";
import { retryUntilDone } from "../../work/retry.ts";
import { Wakeup } from "../../work/wakeup.ts";
import type { CaptureJournal } from "../capture_journal.ts";
import type { DefinitionBook } from "../definitions/definition_book.ts";
import type { LaneKind } from "../journal/lane_kind.ts";
import type { Segment } from "../journal/segments/segment.ts";
import { captureLimits } from "../limits.ts";
import { type BatchPart, deriveStored } from "../store.ts";
import type { BatchSender } from "./batch_sender.ts";
import { flushLimits } from "./limits.ts";
import type { SessionBacklog } from "./session_backlog_store.ts";
import type { SessionSender } from "./session_sender.ts";

interface SessionDeriverOptions extends Uses<"clickhouse" | "clock" | "log"> {
  journal: Pick<CaptureJournal, "finish" | "retain" | "isBusy" | "tight">;
  /** Derives the sessions of a segment's blocks. */
  sender: Pick<SessionSender, "send" | "releaseIdle" | "abandon">;
  /** Sends the first columns of blocks, of which days are derived; not shared. */
  days: Pick<BatchSender, "sendFirstColumns" | "releaseIdle" | "abandon">;
  /** The names of events, which are written first. */
  definitions: Pick<DefinitionBook, "recover" | "settle">;
  /** Where batches wait that cannot be derived; without it they are tried until they can. */
  backlog?: SessionBacklog | undefined;
  stopping: AbortSignal;
}

interface Stored {
  segment: Segment;
  /** The numbers under which its rows are stored. */
  batches: bigint[];
  /** When it was stored, in ms of Clock.elapsed(). */
  at: number;
}

/** "refused": tried often enough; undefined: stopped. */
type Tried<T> = T | "refused" | undefined;

/** Rows of stored batches. */
interface StoredRows extends BatchPart {
  batches: bigint[];
}

export class SessionDeriver {
  readonly #options: SessionDeriverOptions;
  readonly #waiting: Stored[] = [];
  /** Segments whose sessions are derived, and whose days are not. */
  #dayless: Stored[] = [];
  readonly #wakeup = new Wakeup();
  /** Bytes of the segments of which anything is to be derived, and of those that wait for their sessions. */
  #bytes = 0;
  #waitingBytes = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  #draining = false;
  /** Events whose sessions were left out. */
  #leftOut = 0;
  /** Whether the last segment's sessions were refused: then the next one's are tried once only. */
  #isRefused = false;
  /** Batches in the backlog, as it was read last, and when it is read again, in ms of Clock.elapsed(). */
  #backlogCount = 0;
  #backlogAt = 0;

  constructor(options: SessionDeriverOptions) {
    this.#options = options;
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
    const { sessionsBehindBytesMax: most } = flushLimits;
    return (name === "live" || name === "historical") && this.#bytes >= most[name];
  }

  /** Batches whose sessions wait in the backlog, of all servers. */
  get backlogCount(): number {
    return this.#backlogCount;
  }

  /** Lets run() derive what waits, and end. */
  drain(): void {
    this.#draining = true;
    this.#wakeup.wake();
  }

  /** Works until it is drained or stopped. */
  async run(): Promise<void> {
    const { stopping, sender, days } = this.#options;
    while (!stopping.aborted) {
      const isDue = this.#isDue();
      if (this.#dayless.length === flushLimits.daysSegmentsMax) await this.#deriveDays();
      else if (isDue) await this.#step();
      else if (this.#dayless.length > 0) await this.#deriveDays();
      else if (this.#draining) break;
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
    if (this.#draining || journal.tight || this.#waitingBytes >= flushLimits.sessionsWaitingBytesMax)
      return true;
    if (now - oldest.at >= flushLimits.sessionsLateMs) return true;
    // What waited during the last step is the rest of it.
    return (
      !journal.isBusy && (oldest.at <= this.#lastAt || now - this.#lastAt >= flushLimits.sessionsEveryMs)
    );
  }

  /** Derives the sessions of the oldest segment, which then waits for its days. */
  async #step(): Promise<void> {
    const [oldest] = this.#waiting as [Stored];
    const derived = await this.#deriveSegment(oldest);
    if (derived === undefined) return;
    this.#waiting.shift();
    this.#waitingBytes -= oldest.segment.bytes;
    this.#lastAt = this.#options.clock.elapsed();
    if (derived === "sessions") this.#dayless.push(oldest);
    else await this.#finish([oldest], derived);
  }

  /** "sessions": its blocks were folded; true: its rows were read back, for its days as well. */
  async #deriveSegment({ segment, batches }: Stored): Promise<Tried<true | "sessions">> {
    const { sender } = this.#options;
    const named = await this.#tried(() => this.#writeNames(segment.recovered, batches));
    if (named !== true) return named;
    // Some rows of a halved batch may be in quarantine.
    if (!segment.batches.every(({ id }) => batches.includes(id))) return await this.#deriveStored(batches);
    const sent = await this.#sent(() => sender.send(segment));
    if (sent === undefined) return undefined;
    return sent === true ? "sessions" : await this.#deriveStored(batches);
  }

  /** Derives the days of all segments that wait for them. */
  async #deriveDays(): Promise<void> {
    const all = this.#dayless;
    const segments = all.map(({ segment }) => segment);
    const sent = await this.#sent(() => this.#options.days.sendFirstColumns(segments, lastDayColumn));
    if (sent === undefined) return;
    const derived = sent === true ? sent : await this.#deriveStored(all.flatMap(({ batches }) => batches));
    if (derived === undefined) return;
    this.#dayless = [];
    await this.#finish(all, derived);
  }

  /** Removes segments of which all is derived, or that are left to the backlog. */
  async #finish(all: readonly Stored[], derived: true | "refused"): Promise<void> {
    const { journal, clock, backlog, log } = this.#options;
    if (derived === "refused" && backlog) {
      const batches = all.flatMap((stored) => stored.batches);
      if (!this.#isRefused)
        log.error("sessions cannot be derived; they wait in the backlog", { batches: batches.length });
      const add = async () => (await backlog.add(batches), true);
      if (!(await retryUntilDone(add, this.#retrying))) return;
      this.#backlogCount += batches.length;
      this.#backlogAt = clock.elapsed() + flushLimits.backlogAgainMs;
    }
    this.#isRefused = derived === "refused";
    for (const { segment } of all) {
      this.#bytes -= segment.bytes;
      await retryUntilDone(() => journal.finish(segment), this.#retrying);
    }
  }

  /** Writes the names of events; those of an earlier process's segments are read of the stored rows. */
  async #writeNames(areStored: boolean, batches: bigint[]): Promise<true> {
    const { definitions } = this.#options;
    if (areStored) await definitions.recover(batches);
    await definitions.settle();
    return true;
  }

  /** Derives the oldest batches of the backlog; refused ones wait for their next time. */
  async #catchUp(): Promise<void> {
    const { backlog, clock, log } = this.#options;
    this.#backlogAt = clock.elapsed() + flushLimits.backlogAgainMs;
    const wasRefused = this.#isRefused;
    try {
      const { oldest, count } = (await backlog?.read()) ?? { oldest: [], count: 0 };
      this.#backlogCount = count;
      if (oldest.length === 0) return;
      // The backlog is tried once; a further refusal means nothing for new segments.
      this.#isRefused = true;
      await this.#writeNames(true, oldest);
      const derived = await this.#deriveStored(oldest);
      this.#isRefused = wasRefused && derived !== true;
      if (derived !== true) return;
      await backlog?.remove(oldest);
      this.#backlogCount -= oldest.length;
      log.info("derived sessions that had waited", { batches: oldest.length, left: this.#backlogCount });
      this.#backlogAt = clock.elapsed();
    } catch (thrown) {
      this.#isRefused = wasRefused;
      log.debug("the backlog of sessions could not be read", { reason: reasonOf(thrown) });
    }
  }

  /**
   * Tries a step until it succeeds, at most flushLimits.sessionTriesMax times while the engine can be reached; once
   * where the step before was refused.
   */
  async #tried<T>(step: () => Promise<T>): Promise<Tried<T>> {
    let failed = this.#isRefused ? flushLimits.sessionTriesMax - 1 : 0;
    return await retryUntilDone<T | "refused">(async () => {
      try {
        return await step();
      } catch (thrown) {
        const isAway = thrown instanceof ClickHouseError && thrown.type === "NETWORK";
        if (!this.#options.backlog || isAway || ++failed < flushLimits.sessionTriesMax) throw thrown;
        this.#options.log.debug("deriving sessions of the backlog failed", { reason: reasonOf(thrown) });
        return "refused";
      }
    }, this.#retrying);
  }

  /**
   * Sends what is derived from blocks. False when a file cannot be read, or the engine does not accept it at once: then
   * the rows are read back.
   */
  async #sent(send: () => Promise<void>): Promise<Tried<boolean>> {
    return await this.#tried(async () => {
      try {
        await send();
        return true;
      } catch (thrown) {
        if (thrown instanceof ClickHouseError && thrown.kind === "transient" && !isTooBig(thrown))
          throw thrown;
        this.#options.log.info("deriving sessions failed; reading the events back", {
          reason: reasonOf(thrown),
        });
        return false;
      }
    });
  }

  async #deriveStored(batches: bigint[]): Promise<Tried<true>> {
    const most = flushLimits.sessionsStepBatchesMax;
    for (let at = 0; at < batches.length; at += most) {
      const derived = await this.#derive({ ...wholeBatches, batches: batches.slice(at, at + most) });
      if (derived !== true) return derived;
    }
    return true;
  }

  /**
   * Derives them, by halves where they are too much for the engine at once, down to the one row that it refuses
   * permanently: that one is left out, as it must not hold up the watermark for everybody.
   */
  async #derive(rows: StoredRows): Promise<Tried<true>> {
    const { clickhouse, stopping, log } = this.#options;
    const step = async (): Promise<StoredRows[]> => {
      try {
        await deriveStored(clickhouse, rows.batches, rows, stopping);
        return [];
      } catch (thrown) {
        const error = thrown instanceof ClickHouseError ? thrown : undefined;
        const about = { reason: reasonOf(thrown) };
        // Half of the rows helps where it was too much, or where a row is at fault.
        const isOfRows = !error || error.kind === "refused" || error.type === "TIMEOUT" || isTooBig(error);
        const halves = isOfRows && !stopping.aborted ? halvesOf(rows) : undefined;
        const isOdd = error?.kind === "refused" && this.#leftOut < flushLimits.sessionsLeftOutMax;
        if (!halves && !isOdd) throw thrown;
        if (halves) log.warn("deriving sessions failed; retrying in halves", about);
        else {
          this.#leftOut++;
          const batch = rows.batches[0]?.toString(16).padStart(16, "0");
          const row = { batch, row: rows.part };
          log.error("ClickHouse refuses to derive the session of an event", { ...row, ...about });
        }
        return halves ?? [];
      }
    };
    const halves = await this.#tried(step);
    if (halves === undefined || halves === "refused") return halves;
    for (const half of halves) {
      const derived = await this.#derive(half);
      if (derived !== true) return derived;
    }
    return true;
  }

  get #retrying() {
    const { stopping, log } = this.#options;
    return { stopping, log, saying: "deriving sessions failed; retrying" };
  }
}

/** Of the columns of which days are derived, the one that comes last in a block. */
const lastDayColumn = "timestamp";

/** How often the deriver checks whether events wait to be stored, in ms. */
const pollMs = 100;

const wholeBatches = { parts: 1, part: 0 };

/** The rows in two halves: of the batches, or of the only one's rows; undefined when they cannot be more than one. */
function halvesOf({ batches, parts, part }: StoredRows): [StoredRows, StoredRows] | undefined {
  const middle = batches.length >> 1;
  if (middle > 0) {
    return [
      { ...wholeBatches, batches: batches.slice(0, middle) },
      { ...wholeBatches, batches: batches.slice(middle) },
    ];
  }
  if (parts > captureLimits.batchRowsMax) return undefined;
  return [
    { batches, parts: parts * 2, part },
    { batches, parts: parts * 2, part: part + parts },
  ];
}
