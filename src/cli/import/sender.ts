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

interface SenderParts extends Pick<ImportOptions, "files" | "host">, Pick<ImportParts, "pause" | "random"> {
  reporter: Reporter;
  /** Ends the wait between attempts; a request in flight is completed. */
  stop: AbortSignal;
}

export class Sender {
  readonly #parts: SenderParts;
  #reached = false;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /**
   * Sends the rows [from, to) of a body, in halves when the server answers that they are too large.
   * @throws UserError when the server refuses them, or does not accept them in attemptsMax attempts; Stopped.
   */
  async send(body: Body, from = 0, to = body.rows): Promise<ImportCounts> {
    const { files, reporter } = this.#parts;
    const verdict = await this.#attempts(body, from, to);
    if (verdict.is === "taken") {
      for (const { index, reason } of verdict.ignored) {
        const { file, line } = body.originOf(from + index);
        reporter.ignore(files[file]!, line, reason);
      }
      return verdict.counts;
    }
    if (to - from === 1) {
      const { file, line } = body.originOf(from);
      reporter.reject(files[file]!, line, `the server answered ${verdict.reason}`);
      return { ...noCounts(), rejected: 1 };
    }
    const middle = from + Math.ceil((to - from) / 2);
    const counts = await this.send(body, from, middle);
    addCounts(counts, await this.send(body, middle, to));
    return counts;
  }

  async #attempts(body: Body, from: number, to: number) {
    const { host, stop, pause, random, reporter } = this.#parts;
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
      const backoffMs = Math.min(importLimits.waitMsMax, 500 * 2 ** (attempt - 1)) * (0.5 + random() / 2);
      const waitMs = Math.max(backoffMs, verdict.waitMs);
      reporter.wait(verdict.reason, waitMs, attempt);
      await pause(waitMs, stop);
    }
  }

  async #post(bytes: Uint8Array<ArrayBuffer>, rows: number): Promise<ReplyVerdict> {
    const { host } = this.#parts;
    try {
      const response = await fetch(`${host}/batch/?verbose=1`, {
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
      const reason = failureOf(thrown);
      if (this.#reached || !isUnreachable(thrown)) return { is: "later", reason, waitMs: 0 };
      throw new UserError(`no server answers at ${host} (${reason}); start it, or set --host`);
    }
  }
}

const failures: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "no such host",
  ECONNRESET: "the connection was closed",
};

function failureOf(thrown: unknown): string {
  if ((thrown as Error).name === "TimeoutError") return `no answer in ${importLimits.requestMsMax / 1000} s`;
  return failures[codeOf(thrown)] ?? reasonOf(thrown);
}

/** Whether no server listens there. Before the first answer this is not retried: the address is likely wrong. */
function isUnreachable(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "ERR_INVALID_URL";
}
