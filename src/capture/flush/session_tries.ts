// How often deriving sessions is tried: until it succeeds, or, where there is a backlog, a few times.

import { type Log, reasonOf } from "../../core/log.ts";
import { ClickHouseError } from "../../storage/clickhouse/clickhouse.ts";
import { isTooBig } from "../../storage/clickhouse/error.ts";
import { retryUntilDone } from "../../work/retry.ts";
import { flushLimits } from "./limits.ts";

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
        this.#options.log.debug("deriving sessions of the backlog failed", { reason: reasonOf(thrown) });
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
          reason: reasonOf(thrown),
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
