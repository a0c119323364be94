// Derives sessions of rows that are in ClickHouse, where it cannot be done of their blocks.

import { type Log, toReason } from "../../core/log.ts";
import { ClickHouseError } from "../../storage/clickhouse/clickhouse.ts";
import { isTooBig } from "../../storage/clickhouse/error.ts";
import type { Uses } from "../../storage/services.ts";
import { retryUntilDone } from "../../work/retry.ts";
import { captureLimits } from "../limits.ts";
import { type BatchPart, deriveStored } from "../store.ts";
import { flushLimits } from "./limits.ts";

type StoredRows = BatchPart & { batches: bigint[] };

type StoredSessionsOptions = Uses<"clickhouse" | "log"> & { stopping: AbortSignal };

export class StoredSessions {
  readonly #options: StoredSessionsOptions;
  readonly #tries: SessionTries;
  #leftOut = 0;

  constructor(options: StoredSessionsOptions, tries: SessionTries) {
    this.#options = options;
    this.#tries = tries;
  }

  /** Derives the sessions of stored batches, and the days of their events. */
  async derive(batches: bigint[]): Promise<TryResult<true>> {
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
  async #derive(rows: StoredRows): Promise<TryResult<true>> {
    const { clickhouse, stopping, log } = this.#options;
    const step = async (): Promise<StoredRows[]> => {
      try {
        await deriveStored(clickhouse, rows.batches, rows);
        return [];
      } catch (thrown) {
        const error = thrown instanceof ClickHouseError ? thrown : undefined;
        const about = { reason: toReason(thrown) };
        // Half of the rows helps where it was too much, or where a row is at fault.
        const isOfRows = !error || error.kind === "refused" || error.type === "TIMEOUT" || isTooBig(error);
        const halves = isOfRows && !stopping.aborted ? halve(rows) : undefined;
        const isLeftOut = error?.kind === "refused" && this.#leftOut < flushLimits.sessionsLeftOutMax;
        if (!halves && !isLeftOut) throw thrown;
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
    const halves = await this.#tries.run(step);
    if (halves === undefined || halves === "refused") return halves;
    for (const half of halves) {
      const derived = await this.#derive(half);
      if (derived !== true) return derived;
    }
    return true;
  }
}

const wholeBatches = { parts: 1, part: 0 };

/** The rows in two halves: of the batches, or of the only one's rows; undefined when they cannot be more than one. */
function halve({ batches, parts, part }: StoredRows): [StoredRows, StoredRows] | undefined {
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

/** "refused" after the last try; undefined when it was stopped. */
export type TryResult<T> = T | "refused" | undefined;

export class SessionTries {
  /** Whether the last segment's sessions were refused: then the next one's are tried once only. */
  isRefused = false;
  readonly #options: { stopping: AbortSignal; log: Log };
  readonly #isBounded: boolean;

  constructor(options: { stopping: AbortSignal; log: Log }, isBounded: boolean) {
    this.#options = options;
    this.#isBounded = isBounded;
  }

  /**
   * Tries a step until it succeeds, at most flushLimits.sessionTriesMax times while the engine can be reached; once
   * where the step before was refused.
   */
  async run<T>(step: () => Promise<T>): Promise<TryResult<T>> {
    let failed = this.isRefused ? flushLimits.sessionTriesMax - 1 : 0;
    return await retryUntilDone<T | "refused">(async () => {
      try {
        return await step();
      } catch (thrown) {
        const isUnreachable = thrown instanceof ClickHouseError && thrown.type === "NETWORK";
        if (!this.#isBounded || isUnreachable || ++failed < flushLimits.sessionTriesMax) throw thrown;
        this.#options.log.debug("deriving sessions of the backlog failed", { reason: toReason(thrown) });
        return "refused";
      }
    }, this.retrying);
  }

  /**
   * Sends what is derived from blocks. False when a file cannot be read, or the engine does not accept it at once: then
   * the rows are read back.
   */
  async send(send: () => Promise<void>): Promise<TryResult<boolean>> {
    return await this.run(async () => {
      try {
        await send();
        return true;
      } catch (thrown) {
        if (thrown instanceof ClickHouseError && thrown.kind === "transient" && !isTooBig(thrown))
          throw thrown;
        this.#options.log.info("deriving sessions failed; reading the events back", {
          reason: toReason(thrown),
        });
        return false;
      }
    });
  }

  get retrying() {
    const { stopping, log } = this.#options;
    return { stopping, log, failure: "deriving sessions failed; retrying" };
  }
}
