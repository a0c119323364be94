// Replies with a recording's events: a page of them by window with the address of the next, or blobs of JSON lines.

import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { requestUrl } from "../../http/pages/page.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { type Blob, blobsOf, pageEnd, sourceOf } from "./blobs.ts";
import { type ExpandedEvent, type ExpandedPieces, type PieceReading, expandPieces } from "./pieces.ts";
import type { ReadingBudget } from "./reading_budget.ts";
import { type Parts, sendParts, slicesOf, streamOf } from "./slice_stream.ts";
import { type RecordedSession, listPieces } from "./store.ts";

export interface SnapshotOptions {
  clickhouse: ClickHouse;
  budget: ReadingBudget;
}

/**
 * Answers a request for snapshots; see API.md.
 * @throws Fault for an invalid query; unavailable when too many recordings are being read.
 */
export async function answerSnapshots(
  { clickhouse, budget }: SnapshotOptions,
  session: RecordedSession,
  request: Request,
): Promise<Response> {
  const url = requestUrl(request);
  const reading = { clickhouse, budget, session, gone: request.signal };
  const wanted = readWanted(url.searchParams);
  const blobs = await budget.within(request.signal, async () =>
    blobsOf(await listPieces(clickhouse, session)),
  );
  const from = wanted.from ?? 0;
  const to = (wanted.to ?? blobs.length - 1) + 1;
  if (wanted.lines) return await sendLines(reading, blobs.slice(from, to));
  return await sendPage(reading, blobs, from, url);
}

interface Wanted {
  lines: boolean;
  /** Blob keys, both inclusive. */
  from: number | undefined;
  to: number | undefined;
}

/** @throws Fault for an invalid source or key. */
function readWanted(query: URLSearchParams): Wanted {
  const source = query.get("source");
  if (source !== null && source !== "blob_v2" && source !== "blob") {
    const shown = source.slice(0, limits.valueShownCharsMax);
    throw new Fault("invalid_choice", `"${shown}" is not a valid choice.`, { attr: "source" });
  }
  const key = readKey(query, "blob_key");
  return {
    lines: source !== null,
    from: key ?? readKey(query, "start_blob_key"),
    to: key ?? readKey(query, "end_blob_key"),
  };
}

function readKey(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,9}$/.test(text))
    throw new Fault("invalid_input", "A valid integer is required.", { attr: name });
  return Number(text);
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
  for (const { window_id, events } of pieces) {
    const known = windows.get(window_id);
    if (known) for (const event of events) known.push(event);
    else windows.set(window_id, events);
  }
  for (const events of windows.values()) {
    if (!isInOrder(events)) events.sort((a, b) => a.timestamp - b.timestamp);
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

/** JSON lines, one event each: `[window_id, event]`. A blob is read when the client has taken the one before it. */
async function sendLines(reading: PieceReading, blobs: readonly Blob[]): Promise<Response> {
  const { budget, session, gone } = reading;
  let count = 0;
  for (const blob of blobs) count += blob.count;
  const listed = await budget.reserve(session.project_id, count * pieceRowBytes, gone);
  let place = 0;
  let open: { slices: Generator<Uint8Array, undefined>; release: () => void } | undefined;
  const openNext = async (): Promise<void> => {
    const blob = blobs[place++];
    if (!blob) return;
    const { pieces, reservation } = await expandPieces(reading, [blob]);
    open = { slices: slicesOf(lineParts(pieces)), release: () => reservation.release() };
  };
  const release = (): void => {
    open?.release();
    open = undefined;
    listed.release();
  };
  const next = async (renew: () => void): Promise<Uint8Array | undefined> => {
    for (; open; await openNext()) {
      const slice = open.slices.next().value;
      if (slice) return slice;
      open.release();
      open = undefined;
      renew();
    }
    return undefined;
  };
  try {
    // The first blob is read before the status is sent, so that a refusal has its own status.
    await openNext();
  } catch (thrown) {
    release();
    throw thrown;
  }
  return new Response(streamOf(next, release), {
    headers: { "content-type": "application/jsonl", "cache-control": "no-store" },
  });
}

/** Bytes that one piece takes in a list. */
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
