// Derives sessions of rows that are in ClickHouse, where it cannot be done of their blocks.

import { reasonOf } from "../../core/log.ts";
import { ClickHouseError } from "../../storage/clickhouse/clickhouse.ts";
import { isTooBig } from "../../storage/clickhouse/error.ts";
import type { Uses } from "../../storage/services.ts";
import { captureLimits } from "../limits.ts";
import { type BatchPart, deriveStored } from "../store.ts";
import { flushLimits } from "./limits.ts";
import type { SessionTries, TryResult } from "./session_tries.ts";

/** Rows of stored batches. */
interface StoredRows extends BatchPart {
  batches: bigint[];
}

type StoredSessionsOptions = Uses<"clickhouse" | "log"> & { stopping: AbortSignal };

export class StoredSessions {
  readonly #options: StoredSessionsOptions;
  readonly #tries: SessionTries;
  /** Events whose sessions were left out. */
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
        const about = { reason: reasonOf(thrown) };
        // Half of the rows helps where it was too much, or where a row is at fault.
        const isOfRows = !error || error.kind === "refused" || error.type === "TIMEOUT" || isTooBig(error);
        const halves = isOfRows && !stopping.aborted ? halvesOf(rows) : undefined;
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
