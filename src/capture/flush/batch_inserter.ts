// Inserts the batches of sealed segments into ClickHouse, each exactly once: after an uncertain outcome it checks
// whether a batch's rows are stored. Has one INSERT under way at a time.

import { ClickHouseError } from "../../storage/clickhouse/clickhouse.ts";
import type { Uses } from "../../storage/services.ts";
import { retryUntilDone } from "../../work/retry.ts";
import { rebatch } from "../columns/block.ts";
import type { JournalIo } from "../journal/journal_io.ts";
import type { LaneKind } from "../journal/lane_kind.ts";
import type { Quarantine } from "../journal/quarantine.ts";
import { type Batch, batchId, type Segment } from "../journal/segments/segment.ts";
import { deriveAgain, storedBatches } from "../store.ts";
import type { BatchSender } from "./batch_sender.ts";
import { FlushState } from "./flush_state.ts";
import { cutBatch, type LoadedBatch, planInserts, readBatches } from "./insert_plan.ts";
import { flushLimits } from "./limits.ts";

export interface BatchInserterOptions extends Uses<"clickhouse" | "clock" | "log"> {
  io: JournalIo;
  quarantine: Quarantine;
  sender: BatchSender;
  /** A segment id that was not used before and will not be again. */
  nextId(): Promise<bigint>;
  counts: {
    stored(lane: LaneKind, rows: number): void;
    quarantined(lane: LaneKind, rows: number): void;
    seconds(value: number): void;
  };
  /** Called after each attempt with whether ClickHouse has stored the batches. */
  onAttempt?: (isStored: boolean) => void;
  stopping: AbortSignal;
}

type Origin = Pick<Segment, "lane" | "oldest">;

export class BatchInserter {
  readonly #options: BatchInserterOptions;
  readonly state: FlushState;
  #stored: bigint[] = [];

  constructor(options: BatchInserterOptions) {
    this.#options = options;
    this.state = new FlushState(options.clock);
  }

  /**
   * Inserts all of a segment, however long it takes; rows that ClickHouse refuses permanently go to quarantine.
   * Resolves to the numbers under which its rows are stored; to undefined when it was stopped before that.
   */
  async insert(segment: Segment): Promise<bigint[] | undefined> {
    const { clock, counts } = this.#options;
    this.#stored = [];
    await segment.closed;
    for (const batches of planInserts(segment)) {
      const started = clock.elapsed();
      const send = (missing: Batch[]) => this.#insertFrom(segment, missing);
      const stored = await this.#deliver(segment, batches, segment.isRecovered, send);
      if (stored === undefined) return undefined;
      counts.stored(segment.lane, stored);
      counts.seconds((clock.elapsed() - started) / 1000);
    }
    return this.#stored;
  }

  /**
   * Sends batches until each row is stored or in quarantine. Resolves to the number of rows stored; undefined when it
   * was stopped before that.
   */
  #deliver<B extends Batch | LoadedBatch>(
    { lane }: Origin,
    batches: B[],
    isUncertain: boolean,
    send: (missing: B[]) => Promise<number>,
  ): Promise<number | undefined> {
    const { clickhouse, onAttempt, stopping, log } = this.#options;
    const { state } = this;
    const { name, table } = lane;
    let mayBeStored = isUncertain;
    const sendMissing = async (): Promise<number> => {
      state.begin();
      const present = mayBeStored ? await storedBatches(clickhouse, table, batches) : new Set<bigint>();
      state.answered();
      // The engine may have died after storing a batch and before running its views.
      if (present.size > 0) await deriveAgain(clickhouse, table, [...present]);
      const missing = batches.filter(({ id }) => !present.has(id));
      // After a failure from here on, the batches may be stored all the same.
      mayBeStored = true;
      state.begin();
      this.#stored.push(...present);
      const rowsStored = missing.length > 0 ? await send(missing) : 0;
      return sumRows(batches) - sumRows(missing) + rowsStored;
    };
    const attempt = async (): Promise<number> => {
      try {
        const stored = await sendMissing();
        state.stored();
        onAttempt?.(true);
        return stored;
      } catch (thrown) {
        state.failed(thrown);
        onAttempt?.(false);
        throw thrown;
      }
    };
    const failure = "flush failed; retrying";
    return retryUntilDone(attempt, { stopping, log, failure, about: { lane: name } });
  }

  /** One INSERT; if ClickHouse refuses it permanently, its halves, down to the rows at fault. */
  async #insertFrom(segment: Segment, batches: Batch[]): Promise<number> {
    try {
      await this.#options.sender.send(segment, batches);
      this.#stored.push(...batches.map(({ id }) => id));
      return sumRows(batches);
    } catch (thrown) {
      const refusal = this.#refusal(thrown);
      if (batches.length === 1) {
        const [batch] = await readBatches(this.#options.io, segment.path, batches);
        return await this.#split(segment, batch!, refusal);
      }
      // Some batches may have been stored before the engine refused another.
      return await this.#inHalves(halve(batches), (half) =>
        this.#deliver(segment, half, true, (missing) => this.#insertFrom(segment, missing)),
      );
    }
  }

  async #insertRows(origin: Origin, batch: LoadedBatch): Promise<number> {
    try {
      await this.#options.sender.sendLoaded(origin.lane, [batch]);
      this.#stored.push(batch.id);
      return batch.rows;
    } catch (thrown) {
      return await this.#split(origin, batch, this.#refusal(thrown));
    }
  }

  /** @throws unless ClickHouse refused permanently, and the quarantine has space. */
  #refusal(thrown: unknown): ClickHouseError {
    if (!(thrown instanceof ClickHouseError && thrown.kind === "refused")) throw thrown;
    // Its halves are sent as batches of their own.
    this.state.stored();
    if (this.#options.quarantine.count >= flushLimits.quarantineRowsMax) {
      throw new Error(`quarantine is full, and ClickHouse refuses a batch: ${thrown.message}`);
    }
    return thrown;
  }

  async #split(origin: Origin, batch: LoadedBatch, refusal: ClickHouseError): Promise<number> {
    if (batch.rows === 1) return await this.#setAside(origin, batch, refusal);
    const middle = Math.ceil(batch.rows / 2);
    // Each half gets a batch number of its own: a look-up of one must not find the other.
    const [firstId, secondId] = [await this.#options.nextId(), await this.#options.nextId()];
    const halves = [
      cutBatch(batch, 0, middle, batchId(firstId, 0)),
      cutBatch(batch, middle, batch.rows, batchId(secondId, 0)),
    ];
    return await this.#inHalves(halves, (half) =>
      this.#deliver(origin, [half], false, () => this.#insertRows(origin, half)),
    );
  }

  async #inHalves<Half>(halves: Half[], send: (half: Half) => Promise<number | undefined>): Promise<number> {
    let stored = 0;
    for (const half of halves) {
      const rows = await send(half);
      if (rows === undefined) throw new Error("stopped before both halves were stored");
      stored += rows;
    }
    return stored;
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

function sumRows(batches: { rows: number }[]): number {
  return batches.reduce((sum, { rows }) => sum + rows, 0);
}

function halve<Item>(all: Item[]): [Item[], Item[]] {
  const middle = Math.ceil(all.length / 2);
  return [all.slice(0, middle), all.slice(middle)];
}
