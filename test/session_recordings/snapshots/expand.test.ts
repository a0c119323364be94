// What others may send as a recording, and how little of it its readers pay for.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { sessionRecordingLimits } from "../../../src/session_recordings/limits.ts";
import { findEvents } from "../../../src/session_recordings/snapshots/event_offsets.ts";
import { expandEvent } from "../../../src/session_recordings/snapshots/expand.ts";
import { snapshotLimits } from "../../../src/session_recordings/snapshots/limits.ts";
import { ask, problemOf } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { bodyOf, compressed, event, type Piece } from "../../support/recordings.ts";
import { post, projectKey, rested, type Server, startServer, until } from "../../support/server.ts";

afterAll(cleanUp);

const base = "/api/environments/1/session_recordings";
const at = Date.parse("2026-03-04T10:00:00Z");
let server: Server;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "20" });
  await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  await until(() => send({ session: "probe", events: [event.click(at)] }));
});

async function send(piece: Piece): Promise<boolean> {
  return (await (await post(server, "/s/", bodyOf(piece))).text()) === '{"status":"Ok"}';
}

interface Expanded {
  events: Record<string, unknown>[];
  /** Bytes of the budget that were used. */
  used: number;
}

/** The events of a piece's text as a page shows them, with this budget for what is inflated. */
async function expanded(text: string, left = 1_000_000): Promise<Expanded> {
  const bytes = new TextEncoder().encode(text);
  const budget = { left };
  const { events } = await findEvents(bytes, 1000);
  const shown: Record<string, unknown>[] = [];
  for (const one of events) {
    const joined = Buffer.concat(await expandEvent(bytes, one, budget)).toString();
    shown.push(JSON.parse(joined) as Record<string, unknown>);
  }
  return { events: shown, used: left - budget.left };
}

function packed(data: unknown, more: object = {}): Record<string, unknown> {
  return { type: 2, cv: "2024-10", data, timestamp: at, ...more };
}

/** As the recorder would write what becomes these bytes. */
function packedBytes(text: string): string {
  return gzipSync(text).toString("latin1");
}

test("what would become more than the budget is handed on as it came, before anything is inflated", async () => {
  const bomb = packed(packedBytes(`[${"[],".repeat(400_000)}1]`));
  const small = packed(compressed([1, 2]));
  const text = JSON.stringify([bomb, small]);
  const { events, used } = await expanded(text);
  expect(events[0]).toEqual(bomb as Record<string, unknown>);
  expect(events[1]).toEqual({ type: 2, data: [1, 2], timestamp: at });
  expect(used).toBe(snapshotLimits.snapshotInflateCostMin);
});

test("a compressed text that becomes other than it says ends the inflating of a page", async () => {
  const sound = packed(compressed([1]));
  for (const size of [100_000, 5_000_000]) {
    for (const said of [0, 1000, size + 1]) {
      const lying = gzipSync("x".repeat(size));
      lying.writeUInt32LE(said, lying.length - 4);
      const one = packed(lying.toString("latin1"));
      const { events, used } = await expanded(JSON.stringify([sound, one, sound]), 10_000_000);
      expect(events).toEqual([{ type: 2, data: [1], timestamp: at }, one, sound]);
      expect(used).toBe(10_000_000);
    }
  }
});

test("parts without end cost the smallest part's price each, until the budget is used up", async () => {
  const part = compressed([]);
  const one = { type: 3, cv: "2024-10", data: { texts: part, adds: part }, timestamp: at };
  const { events, used } = await expanded(
    JSON.stringify([one, one, one]),
    4 * snapshotLimits.snapshotInflateCostMin,
  );
  const inflated = { type: 3, data: { texts: [], adds: [] }, timestamp: at };
  expect(events).toEqual([inflated, inflated, one]);
  expect(used).toBe(4 * snapshotLimits.snapshotInflateCostMin);
});

test("what is inflated goes into a reply only when it is JSON in UTF-8 of bounded depth", async () => {
  const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  const odd = [
    "",
    "[1,",
    "[1] [2]",
    '{"a":1}}',
    '","evil":"',
    deep(snapshotLimits.snapshotDepthMax + 1),
    "nul",
  ];
  for (const text of odd) {
    const one = packed(packedBytes(text));
    expect((await expanded(JSON.stringify(one))).events).toEqual([one as Record<string, unknown>]);
  }
  const latin = packed(gzipSync(Buffer.from([0x22, 0xe9, 0x22])).toString("latin1"));
  expect((await expanded(JSON.stringify(latin))).events).toEqual([latin as Record<string, unknown>]);
  const sound = packed(packedBytes(deep(snapshotLimits.snapshotDepthMax)));
  expect(Object.keys((await expanded(JSON.stringify(sound))).events[0] ?? {})).not.toContain("cv");
});

test("an event keeps all it has but its cv, wherever that stands and however it is written", async () => {
  const data = JSON.stringify(compressed({ a: [1, "é"] }));
  const inside = `"data":${data}`;
  const texts = [
    `{"cv":"2024-10",${inside}}`,
    `{${inside},"cv":"2024-10"}`,
    `{ "type" : 2 , "cv" : "2024-10" , ${inside} , "timestamp" : 5 }`,
    `{"type":2,${inside},"timestamp":5,"cv":"2024-10"\n}`,
    `{"x":{"cv":"2024-10","data":[{}]},"cv":"2024-10",${inside},"y":"}\\"]"}`,
    // Nothing that a recorder writes: as it came.
    `{"cv":"2024-10","cv":"2024-10",${inside}}`,
    `{"cv":"2024-10",${inside},${inside}}`,
    `{"\\u0063v":"2024-10",${inside}}`,
    `{"cv":2024,${inside}}`,
  ];
  for (const [i, text] of texts.entries()) {
    const { cv, data: _, ...rest } = JSON.parse(text) as Record<string, unknown>;
    const whole = i < 5 ? { ...rest, data: { a: [1, "é"] } } : (JSON.parse(text) as Record<string, unknown>);
    expect([text, (await expanded(`[0, ${text} ,"noise",[{}],null]`)).events]).toEqual([text, [whole]]);
    expect((await expanded(text)).events).toEqual([whole]);
    expect(cv).toBeDefined();
  }
});

test("text is read whatever escapes its characters have", async () => {
  const text = compressed({ kept: "a\nb" });
  const escapes = [...text]
    .map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
  const one = `{"cv":"2024-10","data":"${escapes}"}`;
  expect((await expanded(one)).events).toEqual([{ data: { kept: "a\nb" } }]);
  const wide = `{"cv":"2024-10","data":"\\u0100"}`;
  expect((await expanded(wide)).events).toEqual([JSON.parse(wide) as Record<string, unknown>]);
});

test("a recording of bombs is read as it came, and says what it leaves out", async () => {
  const bomb = packed(packedBytes(`[${"[],".repeat(12_000_000)}1]`)) as Record<string, unknown>;
  const many = { type: 5, timestamp: at + 1 };
  await send({ session: "bombs", window: "w1", events: [bomb] });
  await send({ session: "bombs", window: "w2", events: Array.from({ length: 40_000 }, () => many) });
  const large = { type: 5, timestamp: at + 2, data: "x".repeat(snapshotLimits.snapshotShownBytesMax) };
  const near = event.click(at + 3);
  await send({ session: "bombs", window: "w3", events: [large, near] });
  await rested(server);
  const windows = new Map<string, Record<string, unknown>[]>();
  for (let path: string | null = `${base}/bombs/snapshots/`; path !== null;) {
    const { status, body } = await ask(server, "GET", path);
    expect(status).toBe(200);
    for (const [window, events] of Object.entries(body["snapshot_data_by_window_id"] as object)) {
      windows.set(window, events as Record<string, unknown>[]);
    }
    path = body["next"] === null ? null : String(body["next"]).replace(server.url, "");
  }
  expect(windows.get("w1")).toEqual([bomb]);
  const shown = windows.get("w2")!;
  expect(shown).toHaveLength(snapshotLimits.snapshotPageEventsMax + 1);
  const left = (40_000 - snapshotLimits.snapshotPageEventsMax) * (JSON.stringify(many).length + 1);
  expect(shown.at(-1)).toEqual({
    type: 5,
    timestamp: at + 1,
    data: { tag: "left_out", payload: { bytes: left } },
  });
  const bytes = JSON.stringify(large).length;
  expect(windows.get("w3")).toEqual([
    { type: 5, timestamp: at + 2, data: { tag: "left_out", payload: { bytes } } },
    near,
  ]);
});

test("a piece that is sent again with other content is read with the size it was listed with", async () => {
  const uuid = crypto.randomUUID();
  await send({ uuid, session: "twice", events: [event.click(at)] });
  await rested(server);
  await send({ uuid, session: "twice", events: [event.key(at), event.key(at), event.key(at)] });
  await rested(server);
  const { body } = await ask(server, "GET", `${base}/twice/snapshots/`);
  expect(body["snapshot_data_by_window_id"]).toEqual({ w1: [event.click(at)] });
});

test("a page with more properties of persons than it may have is refused, naming a limit that fits", async () => {
  const named = { $set: { about: "x".repeat(500_000) } };
  await post(server, "/capture/", {
    api_key: projectKey,
    event: "named",
    distinct_id: "ann",
    properties: named,
  });
  const one = (n: number) => ({ session: `of ann ${n}`, distinct_id: "ann", events: [event.click(at + n)] });
  await post(server, "/s/", bodyOf(...Array.from({ length: 40 }, (_, n) => one(n))));
  await rested(server);
  const list = async (limit: number) => await ask(server, "GET", `${base}/?distinct_id=ann&limit=${limit}`);
  const refused = await list(40);
  const fits = Math.floor(sessionRecordingLimits.recordingsPageCharsMax / JSON.stringify(named.$set).length);
  const detail = `The page is too large with the properties of its persons. Ask for at most limit=${fits}.`;
  expect(problemOf(refused)).toEqual([400, "validation_error", "max_value", detail, "limit"]);
  const { status, body } = await list(fits);
  expect([status, body["count"], (body["results"] as object[]).length]).toEqual([200, 40, fits]);
});
