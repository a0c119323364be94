// What was recorded, read back as a player takes it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { findEvents } from "../../../src/session_recordings/snapshots/event_offsets.ts";
import { expandEvent } from "../../../src/session_recordings/snapshots/expand.ts";
import { ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { bodyOf, compressed, event, type Piece } from "../../support/recordings.ts";
import { get, post, rested, type Server, startServer, storesOf, until } from "../../support/server.ts";

afterAll(cleanUp);

const at = Date.parse("2026-03-04T10:00:00Z");
const base = "/api/environments/1/session_recordings";
let server: Server;

/** Letters that no compression makes shorter. */
function noise(size: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(65_536)))
    .toString("hex")
    .repeat(Math.ceil(size / 131_072));
}

const pieces: Piece[] = [
  { session: "s", events: [event.page(at, "https://shop.example/"), event.whole(at + 5)] },
  { session: "s", events: [event.click(at + 4000)] },
  { session: "s", window: "w2", events: [event.page(at + 3000, "https://shop.example/b")] },
  { session: "s", events: [event.move(at + 2000)] },
];

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "20" });
  await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  const send = async (piece: Piece) =>
    (await (await post(server, "/s/", bodyOf(piece))).text()) === '{"status":"Ok"}';
  await until(() => send({ session: "probe", events: [event.click(at)] }));
  for (const piece of pieces) await send(piece);
  for (let n = 0; n < 7; n++) {
    const whole = { type: 5, data: { tag: "big", payload: noise(700_000) }, timestamp: at + n };
    await send({ session: "big", events: [whole] });
  }
  await rested(server);
});

const inflated = {
  type: 2,
  data: { node: { id: 1, type: 0, childNodes: [] }, initialOffset: { left: 0, top: 0 } },
  timestamp: at + 5,
};

test("one answer has a short recording's events by window, in order, ready for a player", async () => {
  const { status, body } = await ask(server, "GET", `${base}/s/snapshots/`);
  expect(status).toBe(200);
  expect(body as object).toEqual({
    sources: [
      {
        source: "blob_v2",
        start_timestamp: "2026-03-04T10:00:00.000000Z",
        end_timestamp: "2026-03-04T10:00:04.000000Z",
        blob_key: "0",
      },
    ],
    snapshot_data_by_window_id: {
      w1: [event.page(at, "https://shop.example/"), inflated, event.move(at + 2000), event.click(at + 4000)],
      w2: [event.page(at + 3000, "https://shop.example/b")],
    },
    next: null,
  });
});

async function linesOf(path: string): Promise<[string, Record<string, unknown>][]> {
  const reply = await get(server, path);
  expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "application/jsonl"]);
  const text = await reply.text();
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as [string, Record<string, unknown>]);
}

test("blobs are JSON lines, each a window and an event", async () => {
  const lines = await linesOf(`${base}/s/snapshots?source=blob_v2&blob_key=0`);
  expect(lines).toHaveLength(5);
  expect(lines.slice(0, 2)).toEqual([
    ["w1", event.page(at, "https://shop.example/")],
    ["w1", inflated],
  ]);
});

test("a long recording comes in pages, and in blobs by their keys", async () => {
  const times: unknown[] = [];
  let pages = 0;
  for (let path: string | null = `${base}/big/snapshots/`; path !== null; pages++) {
    const { body } = await ask(server, "GET", path);
    expect(body["sources"]).toHaveLength(7);
    const { w1 = [] } = body["snapshot_data_by_window_id"] as Record<string, { timestamp: number }[]>;
    times.push(...w1.map(({ timestamp }) => timestamp - at));
    path = body["next"] === null ? null : String(body["next"]).replace(server.url, "");
  }
  expect([times, pages]).toEqual([[0, 1, 2, 3, 4, 5, 6], 2]);
  const two = await linesOf(`${base}/big/snapshots/?source=blob_v2&start_blob_key=2&end_blob_key=3`);
  expect(two.map(([, { timestamp }]) => Number(timestamp) - at)).toEqual([2, 3]);
  expect(await linesOf(`${base}/big/snapshots/?source=blob_v2`)).toHaveLength(7);
  expect(await linesOf(`${base}/big/snapshots/?source=blob_v2&blob_key=99`)).toEqual([]);
});

test("sources and keys that make no sense are refused", async () => {
  for (const query of ["source=realtime", "source=blob_v2&blob_key=-1", "blob_key=x"])
    expect((await ask(server, "GET", `${base}/s/snapshots/?${query}`)).status).toBe(400);
  for (const other of ["start_blob_key", "end_blob_key"]) {
    const { status, body } = await ask(server, "GET", `${base}/s/snapshots/?blob_key=0&${other}=0`);
    expect([status, body["attr"]]).toEqual([400, other]);
  }
});

test("what rests in ClickHouse is compressed", async () => {
  const { clickhouse } = await storesOf(server);
  const [row] = await clickhouse.query<{ codec: string }>(
    `SELECT compression_codec AS codec FROM system.columns
     WHERE database = currentDatabase() AND table = 'snapshot_chunks' AND name = 'data'`,
  );
  expect(row?.codec).toBe("CODEC(ZSTD(3))");
});

async function expanded(text: string): Promise<unknown[]> {
  const bytes = new TextEncoder().encode(text);
  const budget = { left: 1_000_000 };
  const { events } = await findEvents(bytes, 1000);
  const texts: string[] = [];
  for (const one of events) texts.push(Buffer.concat(await expandEvent(bytes, one, budget)).toString());
  return texts.map((one) => JSON.parse(one) as unknown);
}

test("parts of incremental events are inflated; what cannot be is handed on as it is", async () => {
  const adds = [{ parentId: 1, node: { id: 2 } }];
  const event = {
    type: 3,
    cv: "2024-10",
    timestamp: 1,
    data: { source: 0, adds: compressed(adds), texts: "" },
  };
  const whole = { ...event, data: { source: 0, adds: compressed(adds), texts: compressed([]) } };
  const broken = { type: 2, cv: "2024-10", data: "no gzip", timestamp: 2 };
  const unknown = { type: 2, cv: "2039-01", data: "x", timestamp: 3 };
  expect(await expanded(JSON.stringify([event, whole, broken, unknown, "noise"]))).toEqual([
    event,
    { type: 3, timestamp: 1, data: { source: 0, adds, texts: [] } },
    broken,
    unknown,
  ]);
});
