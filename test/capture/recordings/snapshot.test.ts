// Pieces of recordings: what is taken of them, and that they are no events.

import { afterAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { rebatch } from "../../../src/capture/columns/block.ts";
import { toOffset } from "../../../src/capture/fields/event_fields.ts";
import { rangeText } from "../../../src/capture/fields/raw_value.ts";
import { SnapshotReader, type SnapshotRow } from "../../../src/capture/recordings/snapshot.ts";
import { recordingLane } from "../../../src/capture/recordings/snapshot_block.ts";
import { BodyScanner } from "../../../src/capture/scan/body_scanner.ts";
import type { EventIndex } from "../../../src/capture/scan/event_index.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { runAtOnce } from "../../../src/core/clock.ts";
import { ByteColumn } from "../../../src/storage/native/native.ts";
import { key, openDesk } from "../../support/capture.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { lengthOfBlock } from "../../support/native.ts";

afterAll(cleanUp);

const received = Date.UTC(2026, 5, 1, 12) * 1000;
const start = Date.UTC(2026, 5, 1, 11);

const rrweb = [
  { type: 4, data: { href: "https://shop.example/a?b=1", width: 800, height: 600 }, timestamp: start },
  { type: 2, cv: "2024-10", data: "\u001f\u008b\b\u0000", timestamp: start + 5 },
  { timestamp: start + 1000, data: { positions: [{ x: 1, y: 2 }], source: 1 }, type: 3 },
  { type: 3, data: { source: 2, type: 1, id: 3, x: 1, y: 1 }, timestamp: start + 1100 },
  { type: 3, data: { source: 2, type: 2, id: 3, x: 1, y: 1 }, timestamp: start + 1200 },
  { type: 3, data: { id: 3, type: 4, source: 2 }, timestamp: start + 1900 },
  { type: 3, data: { source: 5, text: "a", id: 9 }, timestamp: start + 4000 },
  { type: 3, data: { source: 0, adds: [{ type: 2, source: 5 }], texts: [] }, timestamp: start + 4100 },
  {
    type: 6,
    data: { plugin: "rrweb/console@1", payload: { level: "log", payload: ["x"] } },
    timestamp: start + 5000,
  },
  { type: 6, data: { plugin: "rrweb/console@1", payload: { level: "warn" } }, timestamp: start + 5001 },
  { type: 6, data: { payload: { level: "error" }, plugin: "rrweb/console@1" }, timestamp: start + 5002 },
  { type: 6, data: { plugin: "rrweb/network@1", payload: { level: "error" } }, timestamp: start + 5003 },
  { type: 5, data: { tag: "sessionIdle", payload: {} }, timestamp: start + 9000 },
  { type: 3, data: { source: 3, id: 1, x: 0, y: 9 } },
  "noise",
  {},
];

function scanned(properties: unknown, more: object = {}): EventIndex {
  const event = { event: "$snapshot", distinct_id: "d", properties, ...more };
  const scan = new BodyScanner(toBytes(JSON.stringify(event)));
  scan.advance(1 << 30);
  return scan.index;
}

function read(properties: unknown, more: object = {}): SnapshotRow | string {
  return readEntry(scanned(properties, more));
}

function readEntry(index: EventIndex, sliceBytes = Number.POSITIVE_INFINITY): SnapshotRow | string {
  return runAtOnce(
    new SnapshotReader().read(index, toOffset(0), { project_id: 7, received, skew: 0 }, sliceBytes),
  );
}

/** All that a row tells, copied. */
function shownOf(row: SnapshotRow | string) {
  if (typeof row === "string") throw new Error(row);
  const { data, uuid, distinct_id, facts, ...rest } = row;
  const text = rangeText(data);
  const copied = { ...facts, active: [...facts.active] };
  return {
    ...rest,
    text,
    uuid: Buffer.from(uuid).toString("hex"),
    id: rangeText(distinct_id),
    facts: copied,
  };
}

function taken(properties: unknown, more: object = {}): SnapshotRow {
  const row = read(properties, more);
  if (typeof row === "string") throw new Error(row);
  return row;
}

const sound = { $session_id: "s", $window_id: "w", $snapshot_data: rrweb };

test("clicks, keypresses, movements and the console are counted, and nothing that only looks like them", () => {
  const { facts } = taken(sound);
  expect({ ...facts, active: [...facts.active] }).toEqual({
    events: 15,
    first: start,
    last: start + 9000,
    clicks: 2,
    keypresses: 1,
    mouseActivities: 5,
    consoleLogs: 1,
    consoleWarns: 1,
    consoleErrors: 1,
    active: [start / 1000 + 1, start / 1000 + 4],
    startUrl: "https://shop.example/a?b=1",
    fullSnapshots: 1,
    inflatedBytes: facts.inflatedBytes,
    leftOut: 0,
  });
});

test("the recorder's bytes are kept as they came", () => {
  const { data, session_id, window_id, source } = taken(sound);
  const text = new TextDecoder().decode(data.source.subarray(data.from, data.to));
  expect(text).toBe(JSON.stringify(rrweb));
  expect([session_id, window_id, source]).toEqual(["s", "w", "web"]);
});

test("one event alone, items under their newer name, and a phone's word for itself", () => {
  const row = taken({ $session_id: "s", $snapshot_items: rrweb[0], $snapshot_source: "mobile" });
  expect([row.facts.events, row.source, row.window_id]).toEqual([1, "mobile", ""]);
});

test("moments that make no sense are not the recording's", () => {
  const times = [0, 5, -1, received / 1000 + 8 * 86_400_000, 1e300, "x", null, start];
  const { facts } = taken({ $session_id: "s", $snapshot_data: times.map((timestamp) => ({ timestamp })) });
  expect([facts.first, facts.last, facts.events]).toEqual([start, start, times.length]);
  expect(taken({ $session_id: "s", $snapshot_data: [{}] }).facts.first).toBeNaN();
});

test("what is no piece of a recording is ignored for a reason", () => {
  expect(read({ ...sound, $session_id: undefined })).toBe("missing_session_id");
  expect(read({ ...sound, $session_id: 5 })).toBe("missing_session_id");
  expect(read({ ...sound, $session_id: "x".repeat(201) })).toBe("missing_session_id");
  expect(read({ $session_id: "s" })).toBe("missing_snapshot_data");
  for (const data of [[], "text", null, 5, [1, "a"], {}]) {
    const reason = read({ $session_id: "s", $snapshot_data: data });
    if (Array.isArray(data) || typeof data !== "object" || data === null)
      expect(reason).toBe("missing_snapshot_data");
    else expect(reason).not.toBeString();
  }
  expect(read([])).toBe("malformed_event_properties");
  expect(read({ ...sound, pad: "x".repeat(33 * 1024 * 1024) })).toBe("snapshot_too_large");
});

test("a piece tells the same, however short the stretches are in which it is read", () => {
  const odd = [
    ...rrweb,
    { type: 3, timestamp: `${start}`, data: { source: 2, type: 2 } },
    { type: 4, data: { href: 'https://shop.example/"q\\\\"', a: [[], {}, "]", "}"] }, timestamp: start - 1 },
    { type: 3, timestamp: start + 9, data: [{ source: 5 }] },
    { type: 6, data: { payload: { level: "a\\u0062", level2: 1 }, plugin: "rrweb/console@2" } },
    [{ type: 3 }],
    null,
    -1.5e3,
  ];
  const scan = scanned({ $a: { $session_id: "no" }, ...sound, $snapshot_data: odd, $window_id: "w\\n" });
  const whole = shownOf(readEntry(scan));
  expect(whole.facts).toMatchObject({
    events: 19,
    clicks: 3,
    consoleLogs: 2,
    startUrl: 'https://shop.example/"q\\\\"',
  });
  for (let stretch = 1; stretch < 80; stretch++) {
    expect(shownOf(readEntry(scan, stretch))).toEqual(whole);
  }
});

test("of members that come twice the last counts", () => {
  const twice = `"$session_id":"a","$snapshot_data":[{"type":3,"data":{"source":5}}],"$session_id":"b",
    "$snapshot_data" : [ {"type":3,"type":3,"data":{"source":5},"data":{"source":2,"type":1,"type":2}} , {} ]`;
  const scan = new BodyScanner(toBytes(`{"event":"$snapshot","distinct_id":"d","properties":{${twice}}}`));
  scan.advance(1 << 30);
  const row = readEntry(scan.index);
  if (typeof row === "string") throw new Error(row);
  expect([row.session_id, row.facts.events, row.facts.clicks, row.facts.keypresses]).toEqual(["b", 2, 1, 0]);
});

test("a piece of megabytes is kept as it came, beside short ones, and known by its content", async () => {
  const long = [...rrweb, { type: 2, data: { text: '靴"\\'.repeat(1_000_000) }, timestamp: start }, ...rrweb];
  for (const padded of [0, 1]) {
    const desk = openDesk({ records: true, bodyBytesMax: 20_000_000 });
    const piece = { ...snapshot, properties: { ...sound, $snapshot_data: long } };
    const body = JSON.stringify({
      api_key: key,
      batch: [snapshot, piece, snapshot, piece],
      pad: "x".repeat(padded),
    });
    const told = padded === 1 ? { "content-length": String(Buffer.byteLength(body)) } : {};
    const reply = await desk.send("/s/", body, told);
    expect(reply.status).toBe(200);
    expect((await desk.kept())["recordings"]).toBe(4);
    const { folder } = desk.journal;
    const files = readdirSync(folder).filter((name) => name.startsWith("recordings-"));
    const bytes = files.map((name) => readFileSync(`${folder}/${name}`, "utf8")).join("");
    expect(bytes.split(JSON.stringify(long)).length - 1).toBe(2);
    expect(bytes.split(JSON.stringify(rrweb)).length - 1).toBe(2);
  }
  const named = taken({ ...sound, $snapshot_data: long });
  const uuid = Buffer.from(named.uuid).toString("hex");
  expect(Buffer.from(taken({ ...sound, $snapshot_data: long }).uuid).toString("hex")).toBe(uuid);
  long.push({ type: 3, data: { source: 0, adds: [], texts: [] }, timestamp: start });
  expect(Buffer.from(taken({ ...sound, $snapshot_data: long }).uuid).toString("hex")).not.toBe(uuid);
});

test("a piece is known by its uuid, or else by its content", () => {
  const uuid = "01890000-0000-7000-8000-000000000001";
  const hex = (row: SnapshotRow) => Buffer.from(row.uuid).toString("hex");
  expect(hex(taken(sound, { uuid }))).toBe("00700000000089010100000000000080");
  expect(hex(taken(sound))).toBe(hex(taken(sound, { timestamp: "2026-06-01T00:00:00Z" })));
  expect(hex(taken(sound, { uuid: "no uuid" }))).toBe(hex(taken(sound)));
  expect(hex(taken({ ...sound, $session_id: "t" }))).not.toBe(hex(taken(sound)));
  expect(hex(taken({ ...sound, $window_id: "v" }))).not.toBe(hex(taken(sound)));
});

test("a refused batch of them can be cut by rows", () => {
  const block = recordingLane.openBlock();
  for (const name of ["a", "b", "c"])
    block.append({ ...taken({ ...sound, $session_id: name }), timestamp: received });
  const out = new ByteColumn();
  block.encode(out, 5n, 0);
  const cut = rebatch(out.filled().slice(), 1, 3, 9n, 0);
  expect(lengthOfBlock(cut)).toBe(cut.length);
  const text = Buffer.from(cut).toString("latin1");
  expect(text.split("https://shop.example").length - 1).toBe(4);
});

const snapshot = { event: "$snapshot", distinct_id: "d", properties: sound };

test("pieces go to recordings on any path, beside events, and may be larger than events", async () => {
  const desk = openDesk({ records: true, bodyBytesMax: 10_000_000 });
  const big = { ...snapshot, properties: { ...sound, pad: "x".repeat(2_000_000) } };
  for (const path of ["/s", "/s/", "/e/", "/batch"]) {
    const body = { api_key: key, batch: [snapshot, { event: "e", distinct_id: "d" }, big] };
    const reply = await desk.send(`${path}?verbose=1`, body);
    expect([reply.status, ((await reply.json()) as { accepted: number }).accepted]).toEqual([200, 3]);
  }
  expect(await desk.kept()).toEqual({ live: 4, historical: 0, warnings: 0, recordings: 8 });
  expect(desk.counts).toMatchObject({ received: 12, accepted: 12, ignored: 0 });
});

test("what a recorder compressed stays as it is, NUL and all, in short bodies and in long ones", async () => {
  const whole = {
    type: 2,
    cv: "2024-10",
    data: gzipSync("x".repeat(500)).toString("latin1"),
    timestamp: start,
  };
  const text = JSON.stringify([whole]);
  expect(text).toContain(String.raw`\u0000`);
  for (const pad of [10, 2_000_000]) {
    const desk = openDesk({ records: true, bodyBytesMax: 10_000_000 });
    const piece = { ...snapshot, properties: { ...sound, $snapshot_data: [whole] } };
    const beside = { event: "e", distinct_id: "d", properties: { pad: "x".repeat(pad), nul: "\0" } };
    const body = JSON.stringify({ api_key: key, batch: [beside, piece, beside] });
    const reply = await desk.send("/s/", body, { "content-length": String(Buffer.byteLength(body)) });
    expect(reply.status).toBe(200);
    expect((await desk.kept())["recordings"]).toBe(1);
    const { folder } = desk.journal;
    const files = readdirSync(folder).filter((name) => name.startsWith("recordings-"));
    const bytes = files.map((name) => readFileSync(`${folder}/${name}`, "utf8")).join("");
    expect(bytes).toContain(text);
  }
});

test("what a browser sends, gzipped and without a hint", async () => {
  const desk = openDesk({ records: true });
  const events = [{ event: "$snapshot", properties: { token: key, distinct_id: "d", ...sound }, offset: 3 }];
  const gzipped = new Uint8Array(gzipSync(JSON.stringify(events)));
  const reply = await desk.send("/s/?compression=gzip-js&ip=0&ver=1.2.3", gzipped, {
    "content-type": "text/plain",
  });
  expect([reply.status, await reply.json()]).toEqual([200, { status: "Ok" }]);
  expect((await desk.kept())["recordings"]).toBe(1);
});

test("a project that wants none has them ignored, and its pages told to stop", async () => {
  const desk = openDesk();
  const reply = await desk.send("/s/", { api_key: key, batch: [snapshot, { event: "e", distinct_id: "d" }] });
  expect(await reply.json()).toEqual({ status: "Ok", quota_limited: ["recordings"] });
  expect(await desk.kept()).toEqual({ live: 1, historical: 0, warnings: 1 });
  expect(desk.counts).toMatchObject({ received: 2, accepted: 1, ignored: 1, snapshot: 1 });
});

test("a full half of the journal refuses recordings, not events", async () => {
  const desk = openDesk({ records: true, journalBytesMax: 40_000 });
  const padded = { ...snapshot, properties: { ...sound, $snapshot_data: [{ pad: "x".repeat(15_000) }] } };
  const statuses: number[] = [];
  for (let n = 0; n < 4; n++)
    statuses.push((await desk.send("/s/", { api_key: key, batch: [padded] })).status);
  expect(statuses).toEqual([200, 200, 503, 503]);
  expect((await desk.send("/e/", { api_key: key, event: "e", distinct_id: "d" })).status).toBe(200);
});
