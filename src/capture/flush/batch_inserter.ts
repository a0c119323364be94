// Inserts the batches of sealed segments into ClickHouse, each exactly once: after an uncertain outcome it asks whether
// a batch's rows are there. Has one INSERT under way at a time.

import type { Clock } from "../../core/clock.ts";
import { flushLimits } from "./limits.ts";
import type { Log } from "../../core/log.ts";
import { type ClickHouse, ClickHouseError } from "../../storage/clickhouse/clickhouse.ts";
import { retryUntilDone } from "../../work/retry.ts";
import { rebatch } from "../columns/block.ts";
import type { Quarantine } from "../journal/quarantine.ts";
import { type Batch, type LaneName, type Segment, batchId, laneTable } from "../journal/segments/segment.ts";
import {
  type LoadedBatch,
  areWholeFile,
  cutBatch,
  readBatches,
  planInserts,
  fileRangesOf,
} from "./insert_plan.ts";
import { Spool } from "./spool.ts";
import { deriveAgain, insertBatches, storedBatches } from "../store.ts";

export interface BatchInserterOptions {
  clickhouse: ClickHouse;
  quarantine: Quarantine;
  /** The path, without its ending, of files from which an embedded engine reads batches. */
  spoolStem: string;
  /** A segment id that was not used before. */
  nextId(): bigint;
  counts: {
    stored(lane: LaneName, rows: number): void;
    quarantined(lane: LaneName, rows: number): void;
    seconds(value: number): void;
  };
  /** Called after each attempt: whether ClickHouse took the insert. */
  answered?: (isWell: boolean) => void;
  /** Ends retries. */
  stopping: AbortSignal;
  clock: Clock;
  log: Log;
}

/** Where rows come from. */
type Origin = Pick<Segment, "lane" | "oldest">;

export class BatchInserter {
  readonly #options: BatchInserterOptions;
  readonly #spool: Spool;

  constructor(options: BatchInserterOptions) {
    this.#options = options;
    this.#spool = new Spool(options.spoolStem);
  }

  /** Frees memory, when nothing waits. */
  rest(): void {
    this.#spool.rest();
  }

  /** Deletes its file. */
  async abandon(): Promise<void> {
    await this.#spool.abandon();
  }

  /**
   * Inserts all of a segment, however long it takes; rows that ClickHouse refuses for good go to quarantine. Resolves
   * to false when it was stopped before that.
   */
  async ship(segment: Segment): Promise<boolean> {
    const { clock, counts } = this.#options;
    for (const batches of planInserts(segment)) {
      const started = clock.elapsed();
      const send = (missing: Batch[]) => this.#insertFrom(segment, missing);
      const stored = await this.#deliver(segment, batches, segment.recovered, send);
      if (stored === undefined) return false;
      counts.stored(segment.lane, stored);
      counts.seconds((clock.elapsed() - started) / 1000);
    }
    return true;
  }

  /**
   * Sends batches until each row is stored or in quarantine. Resolves to the number of rows stored; undefined when it
   * was stopped before that.
   */
  #deliver<B extends Batch | LoadedBatch>(
    { lane }: Origin,
    batches: B[],
    doubtful: boolean,
    send: (missing: B[]) => Promise<number>,
  ): Promise<number | undefined> {
    const { clickhouse, stopping, log } = this.#options;
    const table = laneTable[lane];
    let doubt = doubtful;
    const step = async (): Promise<number> => {
      const ids = batches.map(({ id }) => id);
      const there = doubt ? await storedBatches(clickhouse, table, ids) : new Set<bigint>();
      // The engine may have died after storing a batch and before running its views.
      if (there.size > 0) await deriveAgain(clickhouse, table, [...there]);
      const missing = batches.filter(({ id }) => !there.has(id));
      // After a failure from here on, the batches may have been stored all the same.
      doubt = true;
      return rowsOf(batches) - rowsOf(missing) + (missing.length > 0 ? await send(missing) : 0);
    };
    return retryUntilDone(() => this.#watched(step), {
      stopping,
      log,
      saying: "flush failed, trying again",
      about: { lane },
    });
  }

  async #watched<T>(step: () => Promise<T>): Promise<T> {
    const { answered } = this.#options;
    try {
      const done = await step();
      answered?.(true);
      return done;
    } catch (thrown) {
      answered?.(false);
      throw thrown;
    }
  }

  /** One INSERT; if ClickHouse refuses it for good, its halves, down to the rows at fault. */
  async #insertFrom(segment: Segment, batches: Batch[]): Promise<number> {
    try {
      await this.#send(segment, batches);
      return rowsOf(batches);
    } catch (thrown) {
      const refusal = this.#refusal(thrown);
      if (batches.length === 1) {
        const [batch] = await readBatches(segment.path, batches);
        return await this.#split(segment, batch!, refusal);
      }
      // Some batches may have been stored before the engine refused another.
      return await this.#both(halvesOf(batches), (half) =>
        this.#deliver(segment, half, true, (missing) => this.#insertFrom(segment, missing)),
      );
    }
  }

  async #insertRows(origin: Origin, batch: LoadedBatch): Promise<number> {
    try {
      await this.#sendBlocks(origin, [batch]);
      return batch.rows;
    } catch (thrown) {
      return await this.#split(origin, batch, this.#refusal(thrown));
    }
  }

  /** @throws unless ClickHouse refused for good, and the quarantine has room. */
  #refusal(thrown: unknown): ClickHouseError {
    if (!(thrown instanceof ClickHouseError && thrown.kind === "refused")) throw thrown;
    if (this.#options.quarantine.count >= flushLimits.quarantineRowsMax) {
      throw new Error(`quarantine is full, and ClickHouse refuses a batch: ${thrown.message}`);
    }
    return thrown;
  }

  async #split(origin: Origin, batch: LoadedBatch, refusal: ClickHouseError): Promise<number> {
    if (batch.rows === 1) return await this.#setAside(origin, batch, refusal);
    const middle = Math.ceil(batch.rows / 2);
    // Each half gets its own batch number: asking for one must not find the other.
    const cut = (from: number, to: number) => cutBatch(batch, from, to, batchId(this.#options.nextId(), 0));
    return await this.#both([cut(0, middle), cut(middle, batch.rows)], (half) =>
      this.#deliver(origin, [half], false, () => this.#insertRows(origin, half)),
    );
  }

  async #both<Half>(halves: Half[], deliver: (half: Half) => Promise<number | undefined>): Promise<number> {
    let stored = 0;
    for (const half of halves) {
      const done = await deliver(half);
      if (done === undefined) throw new Error("stopped before both halves were stored");
      stored += done;
    }
    return stored;
  }

  /** An embedded engine reads a file by name: the segment itself, if it holds nothing else. */
  async #send(segment: Segment, batches: Batch[]): Promise<void> {
    const { embedded } = this.#options.clickhouse;
    if (!embedded) await this.#sendBlocks(segment, await readBatches(segment.path, batches));
    else if (await areWholeFile(batches, segment)) await this.#sendFile(segment);
    else await this.#sendSpooled(segment, () => this.#spool.copy(segment.path, fileRangesOf(batches)));
  }

  async #sendBlocks(origin: Origin, batches: LoadedBatch[]): Promise<void> {
    const { clickhouse } = this.#options;
    const bytes = batches.flatMap(({ blocks }) => blocks.map(({ native }) => native));
    if (clickhouse.embedded) await this.#sendSpooled(origin, () => this.#spool.put(bytes));
    else await insertBatches(clickhouse, laneTable[origin.lane], { bytes });
  }

  async #sendSpooled({ lane }: Origin, spool: () => Promise<string>): Promise<void> {
    try {
      await insertBatches(this.#options.clickhouse, laneTable[lane], { path: await spool() });
    } catch (thrown) {
      await this.#spool.abandon();
      throw thrown;
    }
  }

  async #sendFile(segment: Segment): Promise<void> {
    try {
      await insertBatches(this.#options.clickhouse, laneTable[segment.lane], { path: segment.path });
    } catch (thrown) {
      // The engine may still read the file.
      segment.borrowed = true;
      throw thrown;
    }
  }

  async #setAside({ lane, oldest }: Origin, batch: LoadedBatch, error: ClickHouseError): Promise<number> {
    const { quarantine, counts, log, clock } = this.#options;
    const block = batch.blocks[0]?.native;
    if (!block) throw new Error("a batch of one row without a block");
    const { id, partition } = batch;
    const native = rebatch(block, 0, 1, id, 0);
    const refused = { batch: id, lane, partition, oldest, native, reason: error.message };
    await quarantine.add(refused, new Date(clock.now()));
    counts.quarantined(lane, 1);
    log.error("ClickHouse refuses an event; it is in quarantine (bun run sluice journal list)", {
      id: id.toString(16).padStart(16, "0"),
      reason: error.message,
    });
    return 0;
  }
}

function rowsOf(batches: { rows: number }[]): number {
  return batches.reduce((sum, { rows }) => sum + rows, 0);
}

function halvesOf<One>(all: One[]): [One[], One[]] {
  const middle = Math.ceil(all.length / 2);
  return [all.slice(0, middle), all.slice(middle)];
}
