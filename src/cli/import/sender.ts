// Sends bodies to a server until it has answered for every row. Sending a body twice does no harm: its rows
// carry their uuids. Never drops a row without counting it.

import { UserError } from "../../core/fault.ts";
import { importLimits } from "./limits.ts";
import { reasonOf } from "../../core/log.ts";
import type { Body } from "./body.ts";
import { judgeReply, type ReplyVerdict } from "./reply.ts";
import { addCounts, noCounts, type ImportCounts } from "./tally.ts";

export interface SenderOptions {
  /** Without a slash at its end. */
  host: string;
  /** Ends the waiting between attempts; a request on its way is still awaited. */
  stop: AbortSignal;
  /** Resolves after `ms`, or as soon as the signal fires. */
  pause(ms: number, stop: AbortSignal): Promise<void>;
  /** A number from 0 to 1 that spreads the attempts of many bodies. */
  random(): number;
  /** Hears of every attempt that has to be repeated. */
  onWait(reason: string, waitMs: number, attempt: number): void;
  /** Hears of a row that no body is small enough for. */
  onRejected(file: number, line: number, reason: string): void;
  /** Hears of rows the server made no event of, as far as it lists them. */
  onIgnored(file: number, line: number, reason: string): void;
}

/** Thrown when the import was told to stop before a body was taken. */
export class Stopped extends Error {}

export class Sender {
  readonly #options: SenderOptions;
  #reached = false;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /**
   * Sends one body, in halves where the server finds it too large.
   * @throws UserError when the server refuses it for good, or for too long; Stopped.
   */
  async send(body: Body): Promise<ImportCounts> {
    return await this.#sendRows(body, 0, body.rows);
  }

  async #sendRows(body: Body, from: number, to: number): Promise<ImportCounts> {
    const verdict = await this.#attempts(body, from, to);
    if (verdict.is === "taken") {
      for (const { index, reason } of verdict.ignored) {
        const { file, line } = body.placeOf(from + index);
        this.#options.onIgnored(file, line, reason);
      }
      return verdict.counts;
    }
    const counts = noCounts();
    if (to - from === 1) {
      const { file, line } = body.placeOf(from);
      this.#options.onRejected(file, line, `the server answered ${verdict.reason}`);
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
    const { host, stop, pause, random, onWait } = this.#options;
    for (let attempt = 1; ; attempt++) {
      if (stop.aborted) throw new Stopped();
      const verdict = await this.#post(body.bytes(from, to), to - from);
      if (verdict.is === "refused") throw new UserError(`${host} answered ${verdict.reason}`);
      if (verdict.is !== "later") return verdict;
      if (attempt >= importLimits.importAttemptsMax) {
        throw new UserError(
          `${host} did not take a batch in ${attempt} attempts; the last: ${verdict.reason}`,
        );
      }
      if (stop.aborted) throw new Stopped();
      const backoffMs =
        Math.min(importLimits.importWaitMsMax, 500 * 2 ** (attempt - 1)) * (0.5 + random() / 2);
      const waitMs = Math.max(backoffMs, verdict.waitMs);
      onWait(verdict.reason, waitMs, attempt);
      await pause(waitMs, stop);
    }
  }

  async #post(bytes: Uint8Array<ArrayBuffer>, rows: number): Promise<ReplyVerdict> {
    try {
      const response = await fetch(`${this.#options.host}/batch/?verbose=1`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: bytes,
        redirect: "manual",
        signal: AbortSignal.timeout(importLimits.importRequestMsMax),
      });
      this.#reached = true;
      return judgeReply(
        { status: response.status, headers: response.headers, body: await response.text() },
        rows,
      );
    } catch (thrown) {
      const reason = this.#reasonOf(thrown);
      if (this.#reached || !isAbsence(thrown)) return { is: "later", reason, waitMs: 0 };
      throw new UserError(`no server answers at ${this.#options.host} (${reason}); start it, or give --host`);
    }
  }

  #reasonOf(thrown: unknown): string {
    const code = (thrown as { code?: unknown }).code;
    if (code === "ECONNREFUSED") return "connection refused";
    if (code === "ENOTFOUND") return "no such host";
    if (code === "ECONNRESET") return "the connection was closed";
    if ((thrown as Error).name === "TimeoutError")
      return `no answer in ${importLimits.importRequestMsMax / 1000} s`;
    return reasonOf(thrown);
  }
}

/**
 * Nobody there at all, rather than somebody in trouble: not worth waiting for when it was never there
 * before.
 */
function isAbsence(thrown: unknown): boolean {
  const code = (thrown as { code?: unknown }).code;
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "ERR_INVALID_URL";
}
