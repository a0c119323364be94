// Sends bodies to a server until it has answered for every row. A body can be sent twice, since its rows have
// uuids. Every row is counted.

import { UserError } from "../../core/fault.ts";
import { toCode, toReason } from "../../core/log.ts";
import type { Body } from "./body.ts";
import { addCounts, type ImportCounts, noCounts } from "./counts.ts";
import { importLimits } from "./limits.ts";
import type { ImportOptions, ImportParts } from "./options.ts";
import type { Reporter } from "./progress.ts";
import { jsonObject } from "./reading/raw_fields.ts";

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
        const { file, line } = body.findOrigin(from + index);
        reporter.ignore(files[file]!, line, reason);
      }
      return verdict.counts;
    }
    if (to - from === 1) {
      const { file, line } = body.findOrigin(from);
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
      return judgeReply(
        { status: response.status, headers: response.headers, body: await response.text() },
        rows,
      );
    } catch (thrown) {
      const reason = describeFailure(thrown);
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

function describeFailure(thrown: unknown): string {
  if ((thrown as Error).name === "TimeoutError") return `no answer in ${importLimits.requestMsMax / 1000} s`;
  return failures[toCode(thrown)] ?? toReason(thrown);
}

/** Whether no server listens there. Before the first answer this is not retried: the address is likely wrong. */
function isUnreachable(thrown: unknown): boolean {
  const code = toCode(thrown);
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "ERR_INVALID_URL";
}

export type ReplyVerdict =
  | { is: "taken"; counts: ImportCounts; ignored: IgnoredRow[] }
  /** Must be sent again, after `waitMs` at the earliest. */
  | { is: "later"; reason: string; waitMs: number }
  | { is: "too large"; reason: string }
  /** Sent again, the bytes would be refused again. */
  | { is: "refused"; reason: string };

interface IgnoredRow {
  /** Its index among the rows that were sent. */
  index: number;
  reason: string;
}

type ServerReply = Pick<Response, "status" | "headers"> & { body: string };

/** `rows`: how many rows the body had. */
export function judgeReply(answer: ServerReply, rows: number): ReplyVerdict {
  const { status } = answer;
  if (status === 200) return judgeAccepted(answer, rows);
  const reason = `${status}${readDetail(answer)}`;
  if (status === 413) return { is: "too large", reason };
  if (status === 408 || status === 429 || status >= 500) {
    return { is: "later", reason, waitMs: retryAfterMs(answer.headers.get("retry-after")) };
  }
  return { is: "refused", reason };
}

function judgeAccepted(answer: ServerReply, rows: number): ReplyVerdict {
  const reply = jsonObject(answer.body);
  if (reply === undefined || !(reply["status"] === 1 || /^ok$/i.test(String(reply["status"])))) {
    return {
      is: "refused",
      reason: "200, but not with the reply of a capture server; is this the right address?",
    };
  }
  const counts = noCounts();
  counts.sent = rows;
  const accepted = reply["accepted"];
  const counted =
    typeof accepted === "number" && Number.isInteger(accepted) && accepted >= 0 && accepted <= rows;
  // A server that returns no count has accepted the whole body.
  counts.accepted = counted ? accepted : rows;
  counts.warned = readCounts(reply["warnings_by_reason"]);
  let uncounted = rows - counts.accepted;
  const byReason = { ...readCounts(reply["ignored_by_reason"]), unlisted: uncounted };
  for (const [reason, count] of Object.entries(byReason)) {
    const added = Math.min(count, uncounted);
    if (added > 0) counts.ignored[reason] = added;
    uncounted -= added;
  }
  const listed = (Array.isArray(reply["ignored"]) ? (reply["ignored"] as unknown[]) : [])
    .slice(0, importLimits.linesShownMax)
    .map((entry) => (entry ?? {}) as IgnoredRow)
    .filter(({ index }) => Number.isInteger(index) && index >= 0 && index < rows)
    .map(({ index, reason }) => ({ index, reason: String(reason).slice(0, importLimits.reasonCharsMax) }));
  return { is: "taken", counts, ignored: listed };
}

/** Counts by reason as a server sends them; what is none is left out. */
function readCounts(value: unknown): Record<string, number> {
  const isCount = ([, count]: [string, unknown]) => Number.isSafeInteger(count) && Number(count) > 0;
  return Object.fromEntries(
    Object.entries((value ?? {}) as Record<string, number>)
      .filter(isCount)
      .slice(0, importLimits.reasonsMax)
      .map(([reason, count]) => [reason.slice(0, importLimits.reasonCharsMax), count]),
  );
}

/** `: ` and the server's detail on one line, or the target of a redirect. */
function readDetail(answer: ServerReply): string {
  const target = answer.headers.get("location");
  if (answer.status >= 300 && answer.status < 400 && target)
    return `: it points to ${target}; use that as --host`;
  const detail = jsonObject(answer.body)?.["detail"];
  const text = typeof detail === "string" ? detail : answer.body.startsWith("<") ? "" : answer.body;
  const line = text.replace(/\s+/g, " ").trim().slice(0, 300);
  return line === "" ? "" : `: ${line}`;
}

/** Retry-After in ms. Dates are not read, since clocks differ. */
function retryAfterMs(header: string | null): number {
  const seconds = header === null || !/^\d+$/.test(header.trim()) ? 0 : Number(header);
  return Math.min(seconds * 1000, importLimits.retryAfterMsMax);
}
