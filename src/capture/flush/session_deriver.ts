// Derives sessions behind the flush: the blocks of stored segments are sent once more, when nobody waits. A segment's
// file stays in the journal until that is done, so that a process that dies derives them at its next start.

import type { Clock } from "../../core/clock.ts";
import { type Log, reasonOf } from "../../core/log.ts";
import { type ClickHouse, ClickHouseError } from "../../storage/clickhouse/clickhouse.ts";
import { isTooBig } from "../../storage/clickhouse/error.ts";
import { retryUntilDone } from "../../work/retry.ts";
import { Wakeup } from "../../work/wakeup.ts";
import type { Journal } from "../journal/journal.ts";
import type { LaneName, Segment } from "../journal/segments/segment.ts";
import { captureLimits } from "../limits.ts";
import { type BatchPart, deriveSessions } from "../store.ts";
import type { BatchSender } from "./batch_sender.ts";
import { planInserts } from "./insert_plan.ts";
import { flushLimits } from "./limits.ts";

interface SessionDeriverOptions {
  journal: Pick<Journal, "finish" | "hold" | "isBusy" | "tight">;
  clickhouse: ClickHouse;
  /** Sends blocks to be derived from; used by nobody else. */
  sender: Pick<BatchSender, "send" | "rest" | "abandon">;
  stopping: AbortSignal;
  clock: Clock;
  log: Log;
}

interface Stored {
  segment: Segment;
  /** The numbers under which its rows are stored. */
  batches: bigint[];
  /** When it was stored, in ms of Clock.elapsed(). */
  at: number;
}

/** Rows of stored batches. */
interface StoredRows extends BatchPart {
  batches: bigint[];
}

export class SessionDeriver {
  readonly #options: SessionDeriverOptions;
  readonly #waiting: Stored[] = [];
  readonly #wakeup = new Wakeup();
  #bytes = 0;
  #lastAt = Number.NEGATIVE_INFINITY;
  #draining = false;
  /** Events whose sessions were left out. */
  #leftOut = 0;

  constructor(options: SessionDeriverOptions) {
    this.#options = options;
  }

  /** Takes a segment whose rows are in ClickHouse; its file is removed once their sessions are derived. */
  add(segment: Segment, batches: bigint[]): void {
    const { journal, clock } = this.#options;
    journal.hold(segment);
    this.#waiting.push({ segment, batches, at: clock.elapsed() });
    this.#bytes += segment.bytes;
    this.#wakeup.wake();
  }

  /** Whether so much waits that no more of this lane should be stored until some is derived. */
  isBehind(lane: LaneName): boolean {
    const { sessionsBehindBytesMax: most } = flushLimits;
    return (lane === "live" || lane === "historical") && this.#bytes >= most[lane];
  }

  /** Lets run() derive what waits, and end. */
  drain(): void {
    this.#draining = true;
    this.#wakeup.wake();
  }

  /** Works until it is drained or stopped. */
  async run(): Promise<void> {
    const { stopping, sender } = this.#options;
    while (!stopping.aborted) {
      if (this.#isDue()) await this.#step();
      else if (this.#draining) break;
      else {
        sender.rest();
        await this.#wakeup.wait(this.#waiting.length > 0 ? lookMs : flushLimits.sessionsLateMs);
      }
    }
    await sender.abandon();
  }

  #isDue(): boolean {
    const [oldest] = this.#waiting;
    if (!oldest) return false;
    const { journal, clock } = this.#options;
    const now = clock.elapsed();
    if (this.#draining || journal.tight || this.#bytes >= flushLimits.sessionsWaitingBytesMax) return true;
    if (now - oldest.at >= flushLimits.sessionsLateMs) return true;
    // What waited during the last step is the rest of it.
    return (
      !journal.isBusy && (oldest.at <= this.#lastAt || now - this.#lastAt >= flushLimits.sessionsEveryMs)
    );
  }

  /** Derives the sessions of the oldest segment, and removes it. */
  async #step(): Promise<void> {
    const { journal, clock } = this.#options;
    const [{ segment, batches }] = this.#waiting as [Stored];
    // Some rows of a batch that was taken apart may be in quarantine.
    const isWhole = segment.batches.every(({ id }) => batches.includes(id));
    const isSent = isWhole && (await retryUntilDone(() => this.#send(segment), this.#retrying));
    if (isSent === undefined) return;
    if (!isSent && !(await this.#deriveStored(batches))) return;
    this.#waiting.shift();
    this.#lastAt = clock.elapsed();
    this.#bytes -= segment.bytes;
    await retryUntilDone(() => journal.finish(segment), this.#retrying);
  }

  /**
   * Sends its blocks once more. False when the file cannot be read, or the engine does not take so much at once: then
   * its rows are read back. @throws ClickHouseError when it may be taken later.
   */
  async #send(segment: Segment): Promise<boolean> {
    const { sender, log } = this.#options;
    try {
      for (const batches of planInserts(segment)) await sender.send(segment, batches);
      return true;
    } catch (thrown) {
      if (thrown instanceof ClickHouseError && thrown.kind === "transient" && !isTooBig(thrown)) throw thrown;
      log.info("deriving sessions failed, reading the events back", { reason: reasonOf(thrown) });
      return false;
    }
  }

  async #deriveStored(batches: bigint[]): Promise<boolean> {
    const most = flushLimits.sessionsStepBatchesMax;
    for (let at = 0; at < batches.length; at += most) {
      if (!(await this.#derive({ ...wholeBatches, batches: batches.slice(at, at + most) }))) return false;
    }
    return true;
  }

  /**
   * Derives them, by halves where they are too much for the engine at once, down to the one row that it refuses for
   * good: that one is left out, as it must not hold up the watermark for everybody. False when it was stopped.
   */
  async #derive(rows: StoredRows): Promise<boolean> {
    const { clickhouse, stopping, log } = this.#options;
    const step = async (): Promise<StoredRows[]> => {
      try {
        await deriveSessions(clickhouse, rows.batches, rows, stopping);
        return [];
      } catch (thrown) {
        const error = thrown instanceof ClickHouseError ? thrown : undefined;
        const about = { reason: reasonOf(thrown) };
        // An engine that is away takes no half either; and what it does not refuse for good it may take later.
        const halves = stopping.aborted || error?.type === "NETWORK" ? undefined : halvesOf(rows);
        const isOdd = error?.kind === "refused" && this.#leftOut < flushLimits.sessionsLeftOutMax;
        if (!halves && !isOdd) throw thrown;
        if (halves) log.warn("deriving sessions failed, trying halves", about);
        else {
          this.#leftOut++;
          const batch = rows.batches[0]?.toString(16).padStart(16, "0");
          const row = { batch, row: rows.part };
          log.error("ClickHouse refuses to derive the session of an event", { ...row, ...about });
        }
        return halves ?? [];
      }
    };
    const halves = await retryUntilDone(step, this.#retrying);
    if (!halves) return false;
    for (const half of halves) if (!(await this.#derive(half))) return false;
    return true;
  }

  get #retrying() {
    const { stopping, log } = this.#options;
    return { stopping, log, saying: "deriving sessions failed, trying again" };
  }
}

/** How often the deriver checks whether events wait to be stored, in ms. */
const lookMs = 100;

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
