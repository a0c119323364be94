// Replies with a recording's events: a page of them by window with the address of the next, or blobs of JSON lines.

import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { checkFlag } from "../../http/fields/field_rule.ts";
import { flagParameter, parameter, type QueryValues } from "../../http/fields/query.ts";
import { heldReplies, type HeldReply } from "../../http/pages/held_replies.ts";
import { LongReply } from "../../http/pages/long_reply.ts";
import { heldSlices, slicedReply } from "../../http/pages/sliced.ts";
import { readsUntil } from "../../storage/clickhouse/clickhouse.ts";
import { primed } from "../../work/slices.ts";
import { type Blob, groupBlobs, pageEnd, toSource } from "./blobs.ts";
import { snapshotLimits } from "./limits.ts";
import {
  type ExpandedEvent,
  type ExpandedPiece,
  type Parts,
  type PieceReading,
  readSlices,
} from "./pieces.ts";
import { listPieces, type RecordedSession } from "./store.ts";

/** One blob, or those from one key to another, inclusive; without a source, a page. */
export const snapshotQuery = {
  blob_v2: flagParameter("Accepted: all recordings are in blobs of this kind."),
  decompress: parameter("Only true: blobs are always sent as text.", readDecompress),
  source: parameter("blob_v2 for JSON lines.", readSource),
  blob_key: parameter("One blob of the sources.", readKey),
  start_blob_key: parameter("The first of several blobs.", readKey),
  end_blob_key: parameter("The last of them.", readKey),
};

/** @throws Fault unavailable when too many recordings are being read. */
export async function answerSnapshots(
  { clickhouse: store, readers }: Pick<PieceReading, "clickhouse" | "readers">,
  session: RecordedSession,
  query: QueryValues<typeof snapshotQuery>,
  { url, request: { signal } }: { url: URL; request: Request },
): Promise<Response> {
  const clickhouse = readsUntil(store, signal);
  const reading = { clickhouse, readers, session, gone: signal };
  const list = async () => groupBlobs(await listPieces(clickhouse, session));
  const blobs = await readers.within(session.project_id, signal, list);
  const { blob_key, start_blob_key, end_blob_key } = query;
  const from = blob_key ?? start_blob_key ?? 0;
  const to = (blob_key ?? end_blob_key ?? blobs.length - 1) + 1;
  if (query.source !== undefined) return await sendLines(reading, blobs.slice(from, to));
  return await sendPage(reading, blobs, from, url);
}

function readSource(query: URLSearchParams, name: string): string | undefined {
  const source = query.get(name) ?? undefined;
  if (source === undefined || source === "blob_v2" || source === "blob") return source;
  const shortSource = source.slice(0, limits.valueShownCharsMax);
  const detail =
    source === "realtime" || source === "blob_v2_lts"
      ? `There is no source "${source}": all pieces are in blobs seconds after they arrive. Use source=blob_v2.`
      : `"${shortSource}" is not a valid choice.`;
  throw new Fault("invalid_choice", detail, { attr: name });
}

function readDecompress(query: URLSearchParams, name: string): undefined {
  if (!query.has(name) || checkFlag(query.get(name), [name], false) === true) return undefined;
  const detail = "Blobs are sent as text only: leave decompress out, or send true.";
  throw new Fault("invalid_choice", detail, { attr: name });
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
  const next = to < blobs.length ? buildNext(url, to) : null;
  const buildParts = (pieces: ExpandedPiece[]) => pageParts(blobs, byWindow(pieces), next);
  const slices = await readSlices(reading, blobs.slice(from, to), buildParts);
  return slicedReply(slices, { "content-type": "application/json", "cache-control": "no-store" });
}

/** Events by window, sorted by timestamp: a retried request may store an earlier piece after a later one. */
function byWindow(pieces: ExpandedPiece[]): Map<string, ExpandedEvent[]> {
  const windows = new Map<string, ExpandedEvent[]>();
  for (const [window_id, windowPieces] of Map.groupBy(pieces, (piece) => piece.window_id)) {
    const events = windowPieces.flatMap((piece) => piece.events);
    if (!events.every(({ timestamp }, i) => i === 0 || events[i - 1]!.timestamp <= timestamp))
      events.sort((a, b) => a.timestamp - b.timestamp);
    windows.set(window_id, events);
  }
  return windows;
}

function* pageParts(
  blobs: readonly Blob[],
  windows: Map<string, ExpandedEvent[]>,
  next: string | null,
): Parts {
  let comma = "";
  yield '{"sources":[';
  for (const [index, blob] of blobs.entries()) {
    yield `${comma}${JSON.stringify(toSource(blob, index))}`;
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

function buildNext(url: URL, blob: number): string {
  const next = new URL(url);
  next.searchParams.set("start_blob_key", String(blob));
  return next.href;
}

/** JSON lines, one event each: `[window_id, event]`. A blob is read once the client has read the previous one. */
async function sendLines(reading: PieceReading, blobs: readonly Blob[]): Promise<Response> {
  const count = blobs.reduce((sum, blob) => sum + blob.count, 0);
  const held = heldReplies.open();
  let onBlob = () => {};
  const slices = blobSlices(reading, blobs, held, () => onBlob());
  const close = (): void => held.close();
  const release = (): void => {
    close();
    // The blob that is being read stays in memory until it is read.
    void slices.return().then(close, close);
  };
  let begun: AsyncGenerator<Uint8Array, void>;
  try {
    held.add(count * pieceRowBytes);
    begun = await primed(slices);
  } catch (thrown) {
    held.close();
    throw thrown;
  }
  const next = async (renew: () => void): Promise<Uint8Array | undefined> => {
    onBlob = renew;
    return (await begun.next()).value ?? undefined;
  };
  const headers = { "content-type": "application/jsonl", "cache-control": "no-store" };
  return new LongReply({ next, release, msMax: snapshotLimits.snapshotSendMsMax, held }, { headers });
}

/** `onBlob` is called after each blob. */
async function* blobSlices(
  reading: PieceReading,
  blobs: readonly Blob[],
  held: HeldReply,
  onBlob: () => void,
): AsyncGenerator<Uint8Array, void> {
  for (const blob of blobs) {
    const slices = await readSlices(reading, [blob], lineParts);
    for (const { length } of slices) held.add(length);
    yield* heldSlices(slices, held);
    onBlob();
  }
}

const pieceRowBytes = 400;

function* lineParts(pieces: ExpandedPiece[]): Parts {
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
