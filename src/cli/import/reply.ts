// The meaning of a server's reply to one body. A 200 that is not a capture reply counts as a refusal.

import { type ImportCounts, noCounts } from "./counts.ts";
import { importLimits } from "./limits.ts";
import { jsonObject } from "./reading/raw_fields.ts";

export type ReplyVerdict =
  | { is: "taken"; counts: ImportCounts; ignored: IgnoredRow[] }
  /** To be sent again, after `waitMs` at the earliest. */
  | { is: "later"; reason: string; waitMs: number }
  | { is: "too large"; reason: string }
  /** Sent again, the bytes would be refused again. */
  | { is: "refused"; reason: string };

interface IgnoredRow {
  /** Its index among the rows that were sent. */
  index: number;
  reason: string;
}

interface ServerReply {
  status: number;
  headers: Headers;
  body: string;
}

/** `rows`: how many rows the body had. */
export function verdictOf(answer: ServerReply, rows: number): ReplyVerdict {
  const { status } = answer;
  if (status === 200) return verdictOfAccepted(answer, rows);
  const reason = `${status}${detailOf(answer)}`;
  if (status === 413) return { is: "too large", reason };
  if (status === 408 || status === 429 || status >= 500) {
    return { is: "later", reason, waitMs: retryAfterMs(answer.headers.get("retry-after")) };
  }
  return { is: "refused", reason };
}

function verdictOfAccepted(answer: ServerReply, rows: number): ReplyVerdict {
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
  let rest = rows - counts.accepted;
  const listed: IgnoredRow[] = [];
  for (const entry of Array.isArray(reply["ignored"]) ? (reply["ignored"] as unknown[]) : []) {
    if (rest === 0) break;
    const { reason, index } = (entry ?? {}) as { reason?: unknown; index?: unknown };
    const name = typeof reason === "string" ? reason.slice(0, 100) : "unknown";
    counts.ignored[name] = (counts.ignored[name] ?? 0) + 1;
    const isRow = typeof index === "number" && Number.isInteger(index) && index >= 0 && index < rows;
    if (isRow && listed.length < importLimits.linesShownMax) listed.push({ index, reason: name });
    rest--;
  }
  if (rest > 0) counts.ignored["unlisted"] = rest;
  return { is: "taken", counts, ignored: listed };
}

/** `: ` and the server's detail on one line, or the target of a redirect. */
function detailOf(answer: ServerReply): string {
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
