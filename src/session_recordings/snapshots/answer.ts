// A recording's events as an answer: a page of them by window with where to find the rest, or blobs of JSON lines.
// Never holds more than a page in memory, and lets other requests have their turn between two pieces.

import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { requestUrl } from "../../http/page.ts";
import type { ClickHouse } from "../../storage/clickhouse.ts";
import { type RrwebEvent, expandChunk } from "./expand.ts";
import { type Chunk, type RecordedSession, listChunks, readChunks } from "./store.ts";

/** Pieces that follow each other, about a megabyte; its key is its place. */
export interface Stretch {
  chunks: Chunk[];
  bytes: number;
}

export async function answerSnapshots(
  clickhouse: ClickHouse,
  session: RecordedSession,
  request: Request,
): Promise<Response> {
  const url = requestUrl(request);
  const blobs = blobsOf(await listChunks(clickhouse, session));
  const [from, to] = rangeOf(url.searchParams, blobs.length);
  if (url.searchParams.has("source")) return lines(clickhouse, session, blobs.slice(from, to));
  return await page(clickhouse, session, blobs, from, url);
}

/** Grouped in their order: what comes later never moves a piece from one blob to another. */
export function blobsOf(chunks: readonly Chunk[]): Stretch[] {
  const blobs: Stretch[] = [];
  let open: Stretch | undefined;
  for (const chunk of chunks) {
    if (!open || open.bytes + chunk.size > limits.snapshotBlobBytesMax) {
      open = { chunks: [], bytes: 0 };
      blobs.push(open);
    }
    open.chunks.push(chunk);
    open.bytes += chunk.size;
  }
  return blobs;
}

/** [from, to) of the blobs asked for. @throws Fault for a source or a key that makes no sense. */
function rangeOf(query: URLSearchParams, count: number): [number, number] {
  const source = query.get("source");
  if (source !== null && source !== "blob_v2" && source !== "blob") {
    throw new Fault(
      "invalid_choice",
      `"${source.slice(0, limits.valueShownCharsMax)}" is not a valid choice.`,
      {
        attr: "source",
      },
    );
  }
  const key = readKey(query, "blob_key");
  const from = key ?? readKey(query, "start_blob_key") ?? 0;
  const to = key ?? readKey(query, "end_blob_key") ?? count - 1;
  return [from, to + 1];
}

function readKey(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,9}$/.test(text))
    throw new Fault("invalid_input", "A valid integer is required.", { attr: name });
  return Number(text);
}

/** One line an event: `[window_id, event]`. */
function lines(clickhouse: ClickHouse, session: RecordedSession, blobs: Stretch[]): Response {
  const encoder = new TextEncoder();
  const pieces = eventsOf(clickhouse, session, blobs);
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { value, done } = await pieces.next();
      if (done) return controller.close();
      const [window_id, events] = value;
      const text = events.map((event) => `${JSON.stringify([window_id, event])}\n`).join("");
      controller.enqueue(encoder.encode(text));
    },
    cancel: async () => void (await pieces.return()),
  });
  return new Response(stream, {
    headers: { "content-type": "application/jsonl", "cache-control": "no-store" },
  });
}

async function page(
  clickhouse: ClickHouse,
  session: RecordedSession,
  blobs: Stretch[],
  from: number,
  url: URL,
): Promise<Response> {
  let to = from;
  let bytes = 0;
  while (to < blobs.length && (to === from || bytes + blobs[to]!.bytes <= limits.snapshotPageBytesMax)) {
    bytes += blobs[to++]!.bytes;
  }
  const windows = new Map<string, RrwebEvent[]>();
  for await (const [window_id, events] of eventsOf(clickhouse, session, blobs.slice(from, to))) {
    const known = windows.get(window_id) ?? [];
    for (const event of events) known.push(event);
    windows.set(window_id, known);
  }
  // A retry may have brought an earlier piece late; players want their events in order.
  for (const events of windows.values()) events.sort((a, b) => timeOf(a) - timeOf(b));
  return Response.json(
    {
      sources: blobs.map(sourceOf),
      snapshot_data_by_window_id: Object.fromEntries(windows),
      next: to < blobs.length ? nextOf(url, to) : null,
    },
    { headers: { "cache-control": "no-store" } },
  );
}

function timeOf({ timestamp }: RrwebEvent): number {
  return typeof timestamp === "number" ? timestamp : 0;
}

function nextOf(url: URL, blob: number): string {
  const next = new URL(url);
  next.searchParams.set("start_blob_key", String(blob));
  return next.href;
}

function sourceOf({ chunks }: Stretch, place: number) {
  const firsts = chunks.map(({ first_at }) => first_at).toSorted();
  const lasts = chunks.map(({ last_at }) => last_at).toSorted();
  return {
    source: "blob_v2",
    start_timestamp: isoOf(firsts[0] ?? ""),
    end_timestamp: isoOf(lasts.at(-1) ?? ""),
    blob_key: String(place),
  };
}

function isoOf(moment: string): string {
  return `${moment.replace(" ", "T")}Z`;
}

/** The events of each piece with its window, a blob read at a time. */
async function* eventsOf(
  clickhouse: ClickHouse,
  session: RecordedSession,
  blobs: readonly Stretch[],
): AsyncGenerator<[string, RrwebEvent[]], void, undefined> {
  for (const { chunks } of blobs) {
    const data = await readChunks(
      clickhouse,
      session,
      chunks.map(({ uuid }) => uuid),
    );
    for (const { uuid, window_id } of chunks) {
      // Deleted while it was read.
      const text = data.get(uuid);
      if (text === undefined) continue;
      yield [window_id, await expandChunk(text)];
      await new Promise((turn) => setImmediate(turn));
    }
  }
}
