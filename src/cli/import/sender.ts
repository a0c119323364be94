// Sends bodies to a server until it has answered for every row. A body can be sent twice, since its rows have
// uuids. Every row is counted.

import { UserError } from "../../core/fault.ts";
import { codeOf, reasonOf } from "../../core/log.ts";
import type { Body } from "./body.ts";
import { addCounts, type ImportCounts, noCounts } from "./counts.ts";
import { importLimits } from "./limits.ts";
import type { ImportOptions, ImportParts } from "./options.ts";
import type { Reporter } from "./progress.ts";
import { type ReplyVerdict, verdictOf } from "./reply.ts";

/** Thrown when the import is stopped before a body is accepted. */
export class Stopped extends Error {}

export class Sender {
  readonly #options: ImportOptions;
  readonly #parts: Pick<ImportParts, "pause" | "random">;
  readonly #reporter: Reporter;
  readonly #stop: AbortSignal;
  #reached = false;

  /** `stop` ends the wait between attempts; a request in flight is completed. */
  constructor(
    options: ImportOptions,
    parts: Pick<ImportParts, "pause" | "random">,
    reporter: Reporter,
    stop: AbortSignal,
  ) {
    this.#options = options;
    this.#parts = parts;
    this.#reporter = reporter;
    this.#stop = stop;
  }

  /**
   * Sends one body, in halves when the server answers that it is too large.
   * @throws UserError when the server refuses it, or does not accept it in attemptsMax attempts; Stopped.
   */
  async send(body: Body): Promise<ImportCounts> {
    return await this.#sendRows(body, 0, body.rows);
  }

  async #sendRows(body: Body, from: number, to: number): Promise<ImportCounts> {
    const verdict = await this.#attempts(body, from, to);
    if (verdict.is === "taken") {
      for (const { index, reason } of verdict.ignored) {
        const { file, line } = body.originOf(from + index);
        this.#reporter.ignore(this.#options.files[file]!, line, reason);
      }
      return verdict.counts;
    }
    const counts = noCounts();
    if (to - from === 1) {
      const { file, line } = body.originOf(from);
      this.#reporter.reject(this.#options.files[file]!, line, `the server answered ${verdict.reason}`);
      counts.rejected = 1;
      return counts;
    }
    const middle = from + Math.ceil((to - from) / 2);
    addCounts(counts, await this.#sendRows(body, from, middle));
    addCounts(counts, await this.#sendRows(body, middle, to));
    return counts;
  }

  async #attempts(
    body: Body,
    from: number,
    to: number,
  ): Promise<Exclude<ReplyVerdict, { is: "later" | "refused" }>> {
    const { host } = this.#options;
    const stop = this.#stop;
    for (let attempt = 1; ; attempt++) {
      if (stop.aborted) throw new Stopped();
      const verdict = await this.#post(body.bytes(from, to), to - from);
      if (verdict.is === "refused") throw new UserError(`${host} answered ${verdict.reason}`);
      if (verdict.is !== "later") return verdict;
      if (attempt >= importLimits.attemptsMax) {
        throw new UserError(
          `${host} did not take a batch in ${attempt} attempts; the last: ${verdict.reason}`,
        );
      }
      if (stop.aborted) throw new Stopped();
      const backoffMs =
        Math.min(importLimits.waitMsMax, 500 * 2 ** (attempt - 1)) * (0.5 + this.#parts.random() / 2);
      const waitMs = Math.max(backoffMs, verdict.waitMs);
      this.#reporter.wait(verdict.reason, waitMs, attempt);
      await this.#parts.pause(waitMs, stop);
    }
  }

  async #post(bytes: Uint8Array<ArrayBuffer>, rows: number): Promise<ReplyVerdict> {
    try {
      const response = await fetch(`${this.#options.host}/batch/?verbose=1`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: bytes,
        redirect: "manual",
        signal: AbortSignal.timeout(importLimits.requestMsMax),
      });
      this.#reached = true;
      return verdictOf(
        { status: response.status, headers: response.headers, body: await response.text() },
        rows,
      );
    } catch (thrown) {
      const reason = this.#reasonOf(thrown);
      if (this.#reached || !isUnreachable(thrown)) return { is: "later", reason, waitMs: 0 };
      throw new UserError(`no server answers at ${this.#options.host} (${reason}); start it, or set --host`);
    }
  }

  #reasonOf(thrown: unknown): string {
    const code = codeOf(thrown);
    if (code === "ECONNREFUSED") return "connection refused";
    if (code === "ENOTFOUND") return "no such host";
    if (code === "ECONNRESET") return "the connection was closed";
    if ((thrown as Error).name === "TimeoutError")
      return `no answer in ${importLimits.requestMsMax / 1000} s`;
    return reasonOf(thrown);
  }
}

/** Whether no server listens there. Before the first answer this is not retried: the address is likely wrong. */
function isUnreachable(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "ERR_INVALID_URL";
}
