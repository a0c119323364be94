// Replies with a recording's events: a page of them by window with the address of the next, or blobs of JSON lines.

import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { parameter, type QueryValues } from "../../http/fields/query.ts";
import { LongReply } from "../../http/pages/long_reply.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { type Blob, blobsOf, pageEnd, sourceOf } from "./blobs.ts";
import { snapshotLimits } from "./limits.ts";
import { type ExpandedEvent, type ExpandedPieces, expandPieces, type PieceReading } from "./pieces.ts";
import type { ReadingBudget } from "./reading_budget.ts";
import { type Parts, sendParts, slicesOf } from "./slice_stream.ts";
import { listPieces, type RecordedSession } from "./store.ts";

interface SnapshotOptions {
  clickhouse: ClickHouse;
  budget: ReadingBudget;
}

/** One blob, or the blobs from one key to another, both included; without a source, a page. */
export const snapshotQuery = {
  source: parameter("blob_v2 for JSON lines.", readSource),
  blob_key: parameter("One blob of the sources.", readKey),
  start_blob_key: parameter("The first of several blobs.", readKey),
  end_blob_key: parameter("The last of them.", readKey),
};

/** @throws Fault unavailable when too many recordings are being read. */
export async function answerSnapshots(
  { clickhouse, budget }: SnapshotOptions,
  session: RecordedSession,
  query: QueryValues<typeof snapshotQuery>,
  { url, request: { signal } }: { url: URL; request: Request },
): Promise<Response> {
  const reading = { clickhouse, budget, session, gone: signal };
  const blobs = await budget.within(signal, async () => blobsOf(await listPieces(clickhouse, session)));
  const { blob_key, start_blob_key, end_blob_key } = query;
  const from = blob_key ?? start_blob_key ?? 0;
  const to = (blob_key ?? end_blob_key ?? blobs.length - 1) + 1;
  if (query.source !== undefined) return await sendLines(reading, blobs.slice(from, to));
  return await sendPage(reading, blobs, from, url);
}

function readSource(query: URLSearchParams, name: string): string | undefined {
  const source = query.get(name) ?? undefined;
  if (source === undefined || source === "blob_v2" || source === "blob") return source;
  const shown = source.slice(0, limits.valueShownCharsMax);
  throw new Fault("invalid_choice", `"${shown}" is not a valid choice.`, { attr: name });
}

function readKey(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (name !== "blob_key" && query.has("blob_key")) {
    const detail = "Must provide a single blob key or start and end blob keys, not both";
    throw new Fault("invalid_input", detail, { attr: name });
  }
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Fault("invalid_input", "A valid integer is required.", { attr: name });
}

async function sendPage(reading: PieceReading, blobs: Blob[], from: number, url: URL): Promise<Response> {
  const to = pageEnd(blobs, from);
  const { pieces, reservation } = await expandPieces(reading, blobs.slice(from, to));
  const next = to < blobs.length ? nextOf(url, to) : null;
  const parts = pageParts(blobs, byWindow(pieces), next);
  return sendParts(parts, "application/json", () => reservation.release());
}

/** Events by window, sorted by timestamp: a retried request may store an earlier piece after a later one. */
function byWindow(pieces: ExpandedPieces["pieces"]): Map<string, ExpandedEvent[]> {
  const windows = new Map<string, ExpandedEvent[]>();
  for (const [window_id, own] of Map.groupBy(pieces, (piece) => piece.window_id)) {
    const events = own.flatMap((piece) => piece.events);
    if (!isInOrder(events)) events.sort((a, b) => a.timestamp - b.timestamp);
    windows.set(window_id, events);
  }
  return windows;
}

function isInOrder(events: readonly ExpandedEvent[]): boolean {
  return events.every(({ timestamp }, i) => i === 0 || events[i - 1]!.timestamp <= timestamp);
}

function* pageParts(
  blobs: readonly Blob[],
  windows: Map<string, ExpandedEvent[]>,
  next: string | null,
): Parts {
  let comma = "";
  yield '{"sources":[';
  for (const [place, blob] of blobs.entries()) {
    yield `${comma}${JSON.stringify(sourceOf(blob, place))}`;
    comma = ",";
  }
  yield '],"snapshot_data_by_window_id":{';
  comma = "";
  for (const [window_id, events] of windows) {
    yield `${comma}${JSON.stringify(window_id)}:[`;
    comma = ",";
    for (const [i, { parts }] of events.entries()) {
      if (i > 0) yield ",";
      yield* parts;
    }
    yield "]";
  }
  yield `},"next":${JSON.stringify(next)}}`;
}

function nextOf(url: URL, blob: number): string {
  const next = new URL(url);
  next.searchParams.set("start_blob_key", String(blob));
  return next.href;
}

/** JSON lines, one event each: `[window_id, event]`. A blob is read when the client has read the one before it. */
async function sendLines(reading: PieceReading, blobs: readonly Blob[]): Promise<Response> {
  const { budget, session, gone } = reading;
  const count = blobs.reduce((sum, blob) => sum + blob.count, 0);
  const listed = await budget.reserve(session.project_id, count * pieceRowBytes, gone);
  let onBlob = () => {};
  const slices = blobSlices(reading, blobs, () => onBlob());
  const release = (): void => {
    listed.release();
    // A blob that is being read now is released once it was read.
    void slices.return(undefined);
  };
  // The first blob is read before the status is sent, so that a refusal has its own status.
  let first = await slices.next().catch((thrown: unknown) => {
    listed.release();
    throw thrown;
  });
  const next = async (renew: () => void): Promise<Uint8Array | undefined> => {
    onBlob = renew;
    const { value } = first.done ? await slices.next() : first;
    first = { done: true, value: undefined };
    return value ?? undefined;
  };
  const headers = { "content-type": "application/jsonl", "cache-control": "no-store" };
  return new LongReply({ next, release, msMax: snapshotLimits.snapshotSendMsMax }, { headers });
}

/** `onBlob` is called when a blob was read. */
async function* blobSlices(
  reading: PieceReading,
  blobs: readonly Blob[],
  onBlob: () => void,
): AsyncGenerator<Uint8Array, undefined> {
  for (const blob of blobs) {
    const { pieces, reservation } = await expandPieces(reading, [blob]);
    try {
      yield* slicesOf(lineParts(pieces));
    } finally {
      reservation.release();
    }
    onBlob();
  }
}

/** Bytes of one piece in a list. */
const pieceRowBytes = 400;

function* lineParts(pieces: ExpandedPieces["pieces"]): Parts {
  for (const { window_id, events } of pieces) {
    const head = Buffer.from(`[${JSON.stringify(window_id)},`);
    for (const { parts } of events) {
      yield head;
      yield* parts;
      yield lineEnd;
    }
  }
}

const lineEnd = Buffer.from("]\n");
