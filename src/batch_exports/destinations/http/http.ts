// An HTTP destination: events in batches of capture. They stream through this process, since ClickHouse would send one
// endless body; one batch at a time is in memory.

import { type ForeignAnswer, isPassing } from "../../../access/post.ts";
import { sleep } from "../../../core/clock.ts";
import { ExportError } from "../../failure.ts";
import { exportLimits } from "../../limits.ts";
import { captureColumns } from "../../source/columns.ts";
import { type ExportWork, rowStream, type Writing } from "../../source/statements.ts";
import { selectionOf } from "../../source/store.ts";
import { destinationKind } from "../destination.ts";
import { events, hostOfUrl, required, type ValuesOf } from "../fields.ts";
import { post, retryAfterMs } from "../post.ts";
import * as rules from "../value.ts";

const fields = {
  url: { ...required, isTarget: true, rule: rules.webAddress(false) },
  token: { ...required, secret: true, rule: rules.ascii },
  ...events,
} as const;

type HttpConfig = ValuesOf<typeof fields>;

export const http = destinationKind({
  fields,
  hostOf: hostOfUrl("url"),
  columns: captureColumns,
  write,
  probe,
});

/** @returns how many events the destination accepted. */
async function write(work: ExportWork, config: HttpConfig): Promise<number> {
  if (work.source.model !== "events") {
    throw new ExportError("HTTP batch exports only support the events model", true);
  }
  const url = new URL(config.url);
  const { start, end } = work.source.interval;
  const { select } = selectionOf(work.source, "lines", work.days);
  let rows = 0;
  let batch = 0;
  for await (const lines of batchesOf(rowStream(work, select, "LineAsString"))) {
    await sendBatch(work, url, config, lines, `${work.tag.split(" ").at(-1)}-${start ?? 0}-${end}-${batch}`);
    rows += lines.length;
    batch++;
  }
  if (rows === work.rows) return rows;
  throw new ExportError(`ClickHouse stopped after ${rows} of ${work.rows} rows`, false);
}

/** Sends one batch until it is accepted or refused permanently, or the tries are used up. */
async function sendBatch(
  work: ExportWork,
  url: URL,
  config: HttpConfig,
  lines: Uint8Array[],
  key: string,
): Promise<void> {
  const body = bodyOf(config.token, lines);
  const headers = { "content-type": "application/json", "idempotency-key": key };
  for (let tried = 1; ; tried++) {
    work.abort.throwIfAborted();
    const reply = await post(url, body, headers, work);
    if (reply.status >= 200 && reply.status < 300) return;
    const again = isPassing(reply);
    if (!again || tried >= exportLimits.postAttemptsMax) throw refusal(url, reply, !again);
    const pauseMs = retryAfterMs(reply) ?? exportLimits.retryMsMin * tried;
    await sleep(Math.min(exportLimits.postMsMax, pauseMs), work.abort);
  }
}

function refusal(url: URL, { status, text }: ForeignAnswer, final: boolean): ExportError {
  return new ExportError(`${url.host} answered ${status}${text && `: ${text.trim()}`}`, final);
}

/**
 * Tests the destination with an empty batch: any answer but a refusal of the key or the address is good.
 * @throws ExportError
 */
async function probe(work: Writing, config: HttpConfig): Promise<void> {
  const url = new URL(config.url);
  const headers = { "content-type": "application/json" };
  const reply = await post(url, bodyOf(config.token, []), headers, work);
  const refused = reply.status === 401 || reply.status === 403 || reply.status === 404 || reply.status >= 500;
  const sentOn = reply.status >= 300 && reply.status < 400;
  if (refused || sentOn) throw refusal(url, reply, true);
}

const encoder = new TextEncoder();
const comma = encoder.encode(",");
const tail = encoder.encode("]}");

/** The body of a batch. It is marked as historical, so that it does not look like a spike. */
function bodyOf(token: string, lines: readonly Uint8Array[]): Uint8Array {
  const head = encoder.encode(`{"api_key":${JSON.stringify(token)},"historical_migration":true,"batch":[`);
  return Buffer.concat([head, ...lines.flatMap((line, i) => (i === 0 ? [line] : [comma, line])), tail]);
}

/** Lines in batches of bounded length; an incomplete last line is dropped, which the count reveals. */
async function* batchesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array[]> {
  let lines: Uint8Array[] = [];
  let bytes = 0;
  for await (const line of linesOf(chunks)) {
    if (
      lines.length >= exportLimits.postRowsMax ||
      (lines.length > 0 && bytes + line.length > exportLimits.postBytesMax)
    ) {
      yield lines;
      lines = [];
      bytes = 0;
    }
    lines.push(line);
    bytes += line.length;
  }
  if (lines.length > 0) yield lines;
}

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      const line = chunk.subarray(from, at);
      yield rest.length > 0 ? Buffer.concat([...rest, line]) : line;
      rest = [];
      from = at + 1;
    }
    if (from < chunk.length) rest.push(chunk.slice(from));
  }
}
