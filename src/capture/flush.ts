// The flush: sealed segments into ClickHouse, each batch exactly once. Never trusts a lost answer: it asks
// for the rows.

import { open, stat } from "node:fs/promises";
import { mkdirSync, rmSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import { type Log, reasonOf } from "../core/log.ts";
import {
  type ClickHouse,
  ClickHouseError,
  type NativeBody,
  type QueryOptions,
} from "../storage/clickhouse.ts";
import { rebatch } from "./block.ts";
import type { Journal } from "./journal.ts";
import type { Quarantine } from "./quarantine.ts";
import {
  type Batch,
  type LaneName,
  type Segment,
  batchId,
  flushedLanes,
  isNative,
  laneTable,
} from "./segment.ts";
import { Spool } from "./spool.ts";
import { batchIsStored, deriveAgain, deriveSpansAgain } from "./store.ts";

export interface FlushCounts {
  stored(lane: LaneName, rows: number): void;
  quarantined(lane: LaneName, rows: number): void;
  seconds(value: number): void;
}

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

/** Native blocks of one month on their way to one INSERT. */
interface Load {
  id: bigint;
  lane: LaneName;
  month: number;
  oldest: number;
  blocks: { native: Uint8Array; rows: number }[];
  rows: number;
  /** The segment whose whole file it is: then the blocks are read only when they are needed. */
  whole?: Segment;
}

export class Flush {
  readonly #options: FlushOptions;
  readonly #stopping = new AbortController();
  #draining = false;
  #loops: Promise<void>[] = [];
  readonly #spools: Record<LaneName, Spool>;

  constructor(options: FlushOptions) {
    this.#options = options;
    const spools = flushedLanes.map((lane) => [lane, new Spool(`${options.folder}/${lane}`)] as const);
    this.#spools = Object.fromEntries(spools) as Record<LaneName, Spool>;
  }

  /** One loop a lane, so that an import never makes a live event wait. */
  start(): void {
    rmSync(this.#options.folder, { recursive: true, force: true });
    mkdirSync(this.#options.folder, { recursive: true, mode: 0o700 });
    this.#loops = flushedLanes.map((lane) => this.#run(lane));
  }

  /** Flushes what is sealed, at most `ms` long; what is left is found again at the next start. */
  async drain(ms: number): Promise<void> {
    this.#draining = true;
    this.#options.journal.nudge();
    const timer = setTimeout(() => this.#stopping.abort(), ms);
    await Promise.all(this.#loops);
    clearTimeout(timer);
    for (const lane of flushedLanes) await this.#spools[lane].abandon();
  }

  get #stopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #run(lane: LaneName): Promise<void> {
    const { journal } = this.#options;
    while (!this.#stopped) {
      const segment = journal.nextSealed(lane);
      if (segment) await this.#segment(segment);
      else if (this.#draining) return;
      else {
        this.#spools[lane].rest();
        // A recording may be deleted for good: nothing of it may rest here until another comes.
        if (lane === "recordings") await this.#spools[lane].abandon();
        journal.takeReturned();
        await journal.sealedSoon(limits.returnedLookMs);
      }
    }
  }

  async #segment(segment: Segment): Promise<void> {
    for (const batch of segment.batches) {
      const load = async () => (await this.#whole(segment, batch)) ?? (await this.#load(segment, batch));
      const started = this.#options.clock.elapsed();
      const stored = await this.#deliver({ ...batch, lane: segment.lane }, segment.recovered, load);
      if (stored === undefined) return;
      this.#options.counts.stored(segment.lane, stored);
      this.#options.counts.seconds((this.#options.clock.elapsed() - started) / 1000);
    }
    await this.#stubbornly(segment.lane, () => this.#options.journal.finish(segment));
  }

  /**
   * Brings one batch into ClickHouse, however long it takes. Resolves to the rows stored, the rest being in
   * quarantine;
   * undefined when the flush was told to stop first.
   */
  #deliver(
    batch: { id: bigint; rows: number; lane: LaneName },
    doubtful: boolean,
    load: () => Promise<Load>,
  ): Promise<number | undefined> {
    let doubt = doubtful;
    return this.#stubbornly(batch.lane, async () => {
      const table = laneTable[batch.lane];
      if (doubt && (await batchIsStored(this.#options.clickhouse, table, batch.id))) {
        if (table === "event_rows") await deriveAgain(this.#options.clickhouse, batch.id);
        if (batch.lane === "recordings") await deriveSpansAgain(this.#options.clickhouse, batch.id);
        return batch.rows;
      }
      // From here on a failure leaves the same doubt as a restart: was it inserted all the same?
      doubt = true;
      return await this.#insert(await load());
    });
  }

  /** Runs `step` until it succeeds: acknowledged events are never given up, only waited for. */
  async #stubbornly<T>(lane: LaneName, step: () => Promise<T>): Promise<T | undefined> {
    for (let attempt = 0; !this.#stopped; attempt++) {
      try {
        return await step();
      } catch (thrown) {
        const level = attempt === 0 || attempt % 20 === 19 ? "warn" : "debug";
        this.#options.log[level]("flush failed, trying again", { lane, attempt, reason: reasonOf(thrown) });
        await this.#pause(attempt);
      }
    }
    return undefined;
  }

  async #pause(attempt: number): Promise<void> {
    const ms = Math.min(limits.retryMsMax, limits.retryMsMin * 2 ** Math.min(attempt, 20));
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    const timer = setTimeout(wake, ms / 2 + (Math.random() * ms) / 2);
    this.#stopping.signal.addEventListener("abort", wake);
    await promise;
    this.#stopping.signal.removeEventListener("abort", wake);
    clearTimeout(timer);
  }

  /**
   * A remote engine may still be sent the last batch when its answer is given up: only an embedded one's room
   * is reused.
   */
  #roomFor(lane: LaneName, size: number): Uint8Array {
    return this.#options.clickhouse.embedded ? this.#spools[lane].room(size) : new Uint8Array(size);
  }

  /** A segment of one batch is a file that an embedded engine can read as it is. */
  async #whole(segment: Segment, batch: Batch): Promise<Load | undefined> {
    if (!this.#options.clickhouse.embedded || !isNative(segment.lane)) return undefined;
    if (batch.bytes !== segment.bytes || (await stat(segment.path)).size !== segment.bytes) return undefined;
    const { id, month, rows } = batch;
    return { id, month, rows, blocks: [], lane: segment.lane, oldest: segment.oldest, whole: segment };
  }

  async #load(segment: Segment, batch: Batch): Promise<Load> {
    const file = await open(segment.path, "r");
    const bytes = this.#roomFor(segment.lane, batch.bytes);
    const blocks: Load["blocks"] = [];
    let at = 0;
    try {
      for (const frame of batch.frames) {
        for (let done = 0; done < frame.length;) {
          const { bytesRead } = await file.read(bytes, at + done, frame.length - done, frame.offset + done);
          if (bytesRead === 0) throw new Error(`segment ${segment.path} ends early`);
          done += bytesRead;
        }
        blocks.push({ native: bytes.subarray(at, at + frame.length), rows: frame.rows });
        at += frame.length;
      }
    } finally {
      await file.close();
    }
    const { id, month, rows } = batch;
    return { id, month, rows, blocks, lane: segment.lane, oldest: segment.oldest };
  }

  /** One INSERT; when ClickHouse refuses it for good, its halves, down to the rows that are at fault. */
  async #insert(load: Load): Promise<number> {
    try {
      await this.#send(load);
      return load.rows;
    } catch (thrown) {
      if (!(thrown instanceof ClickHouseError && thrown.kind === "refused")) throw thrown;
      if (this.#options.quarantine.count >= limits.quarantineRowsMax) {
        throw new Error(`quarantine is full, and ClickHouse refuses a batch: ${thrown.message}`);
      }
      const { whole } = load;
      const read = whole ? await this.#load(whole, whole.batches[0]!) : load;
      return read.rows === 1 ? await this.#setAside(read, thrown) : await this.#halve(read);
    }
  }

  async #send(load: Load): Promise<void> {
    const { clickhouse } = this.#options;
    const options = { timeoutMs: limits.insertMsMax };
    const bytes = load.blocks.map((block) => block.native);
    const table = laneTable[load.lane];
    if (load.whole) return await this.#sendWhole(load.whole, table, options);
    if (!clickhouse.embedded) return await clickhouse.insertNative(table, { bytes }, options);
    const spool = this.#spools[load.lane];
    try {
      const path = await spool.put(bytes);
      await clickhouse.insertNative(table, { path } satisfies NativeBody, options);
    } catch (thrown) {
      await spool.abandon();
      throw thrown;
    }
  }

  async #sendWhole(segment: Segment, table: string, options: QueryOptions): Promise<void> {
    try {
      await this.#options.clickhouse.insertNative(table, { path: segment.path }, options);
    } catch (thrown) {
      // Given up or not, somebody may still read it.
      segment.lent = true;
      throw thrown;
    }
  }

  async #halve(load: Load): Promise<number> {
    const middle = Math.ceil(load.rows / 2);
    let stored = 0;
    for (const [from, to] of [
      [0, middle],
      [middle, load.rows],
    ] as const) {
      // Halves have numbers of their own: asking for one must not find the other.
      const half = cutLoad(load, from, to, batchId(this.#options.journal.nextId(), 0));
      const done = await this.#deliver(half, false, () => Promise.resolve(half));
      if (done === undefined) throw new Error("stopped before both halves were stored");
      stored += done;
    }
    return stored;
  }

  async #setAside(load: Load, error: ClickHouseError): Promise<number> {
    const { quarantine, counts, log, clock } = this.#options;
    const native = load.blocks[0]?.native;
    if (!native) throw new Error("a batch of one row without a block");
    const { id: batch, lane, month, oldest } = load;
    await quarantine.add(
      { batch, lane, month, oldest, native: rebatch(native, 0, 1, batch, 0), reason: error.message },
      new Date(clock.now()),
    );
    counts.quarantined(lane, 1);
    log.error("ClickHouse refuses an event; it is in quarantine (sluice journal list)", {
      id: batch.toString(16).padStart(16, "0"),
      reason: error.message,
    });
    return 0;
  }
}

/** Rows `from` to `to` of a load, as a load of its own under another number. */
function cutLoad(load: Load, from: number, to: number, id: bigint): Load {
  const blocks: Load["blocks"] = [];
  let before = 0;
  let rows = 0;
  for (const block of load.blocks) {
    const first = Math.max(from - before, 0);
    const last = Math.min(to - before, block.rows);
    if (first < last) {
      blocks.push({ native: rebatch(block.native, first, last, id, rows), rows: last - first });
      rows += last - first;
    }
    before += block.rows;
  }
  return { ...load, id, blocks, rows };
}
