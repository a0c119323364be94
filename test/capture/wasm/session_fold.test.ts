// Sessions folded here against sessions that the engine derives event by event: the same facts, to the last byte.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { Block } from "../../../src/capture/columns/block.ts";
import { emptyRow } from "../../../src/capture/fields/row.ts";
import { SessionFold } from "../../../src/capture/wasm/session_fold.ts";
import { foldRowsMax } from "../../../src/capture/wasm/session_layout.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { silentLog } from "../../../src/core/log.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { sessionsOfBlocks, sessionsOfFolds } from "../../../src/storage/events/sessions.ts";
import { migrate } from "../../../src/storage/migrate.ts";
import { ByteColumn } from "../../../src/storage/native/native.ts";
import { cleanUp } from "../../support/cleanup.ts";
import {
  choices,
  names,
  odd,
  others,
  type SessionEvent,
  sessionEvents,
  sessionFactsOf,
  texts,
  vitals,
} from "../../support/session_events.ts";
import { openTestStores, storesStartMsMax } from "../../support/stores.ts";

afterAll(cleanUp);

let clickhouse: ClickHouse;

beforeAll(async () => {
  const stores = await openTestStores();
  await migrate(stores, { log: silentLog });
  ({ clickhouse } = stores);
}, storesStartMsMax);

function blockOf(project_id: number, events: readonly SessionEvent[]): Uint8Array {
  const block = new Block();
  const range = (text: string) => ({ source: toBytes(text), from: 0, to: toBytes(text).length });
  const row = emptyRow();
  const view = new DataView(row.uuid.buffer);
  for (const { uuid, event, distinct_id, properties, timestamp, created_at } of events) {
    view.setUint32(1, Math.imul(uuid, 0x9e3779b1));
    view.setUint32(10, uuid);
    Object.assign(row, {
      project_id,
      event: range(event),
      distinct_id: range(distinct_id),
      timestamp,
      created_at,
    });
    row.properties = range(properties);
    block.append(row);
  }
  const out = new ByteColumn();
  block.encode(out, 1n, 0);
  return out.filled();
}

/** How many events of these blocks were unread. */
async function sendFolded(blocks: readonly Uint8Array[]): Promise<number> {
  const fold = new SessionFold();
  for (const block of blocks) {
    // Anywhere in the room.
    fold.input.set(block, 13);
    fold.add(13, block.length);
  }
  const folded = fold.drainFolded();
  if (folded.length > 0) await clickhouse.insertDerived(sessionsOfFolds, { bytes: folded });
  const unread = fold.drainUnread();
  if (!unread) return 0;
  await clickhouse.insertDerived(sessionsOfBlocks, { bytes: [unread] });
  const [columns, rows, more] = unread;
  expect(columns).toBe(7);
  return rows! < 128 ? rows! : (rows! & 127) + more! * 128;
}

let projects = 0;

/** Derives the same events both ways, in blocks of their own for each; returns how many were unread. */
async function compare(read: SessionEvent[][], folded: SessionEvent[][]): Promise<number> {
  const [engine, own] = [++projects, ++projects];
  await clickhouse.insertDerived(sessionsOfBlocks, { bytes: read.map((events) => blockOf(engine, events)) });
  const unread = await sendFolded(folded.map((events) => blockOf(own, events)));
  const facts = await sessionFactsOf(clickhouse, engine);
  expect(facts.length).toBeGreaterThan(0);
  expect(await sessionFactsOf(clickhouse, own)).toEqual(facts);
  return unread;
}

test("the facts are the same, whatever the events have, in whatever order and blocks, and however often", async () => {
  for (let seed = 1; seed <= 6; seed++) {
    const events = sessionEvents(seed, 1500);
    const { below } = choices(seed);
    // In other blocks, some of them twice, the last first.
    const turned = [...events, ...events.slice(below(500), 900)].toReversed();
    const blocks: SessionEvent[][] = [];
    for (let at = 0; at < turned.length;) blocks.push(turned.slice(at, (at += 1 + below(400))));
    const unread = await compare([events.slice(0, 700), events.slice(700)], blocks);
    expect(unread).toBeGreaterThan(100);
    expect(unread).toBeLessThan(turned.length / 2);
  }
});

test("each odd member alone gives the same facts", async () => {
  const usual = '"$session_id":"s"';
  const alone = [
    ...others.map((other) => [usual, other]),
    ...others.map((other) => [other, usual]),
    ...others.map((other) => [other]),
    ...names.flatMap((name) => [...texts, ...odd, ...vitals].map((value) => [usual, `"${name}":${value}`])),
    ...[...texts, ...odd].map((value) => [`"$session_id":${value}`]),
    ...[...texts, ...odd].map((value) => [usual, '"$current_url":"u"', `"gclid":${value}`]),
    [usual, '"$session_id":"twice"'],
    [usual, '"$current_url":"a"', '"$current_url":"b"'],
    [usual, '"$current_url":null', '"$current_url":"b"'],
    ['"$session_id":""', '"a":{"$session_id":"inner"}'],
  ];
  // A session each, or one would hide another.
  const events = alone.map((members, i) => ({
    uuid: i,
    event: "$pageview",
    distinct_id: "d",
    properties: `{${members.join(",").replaceAll('"s"', `"s${i}"`)}}`,
    timestamp: i,
    created_at: 1_700_000_000_000_000,
  }));
  await compare([events], [events]);
});

test("more sessions than a fold has room for, and long texts, are folded in several", async () => {
  const count = foldRowsMax + 5000;
  const note = "x".repeat(1200);
  const events = Array.from({ length: count }, (_, i) => ({
    uuid: i,
    event: "e",
    distinct_id: "d",
    properties: `{"$session_id":"s${i % (foldRowsMax + 100)}","$current_url":"${i % 7 === 0 ? note : "u"}"}`,
    timestamp: i,
    created_at: 1_700_000_000_000_000,
  }));
  const blocks = [0, 1, 2, 3].map((part) => events.slice((part * count) / 4, ((part + 1) * count) / 4));
  expect(await compare(blocks, blocks)).toBe(0);
});

test("an event of the longest kind is folded, and one that has no room is left to the engine", async () => {
  const properties = (referrer: string) => `{"$session_id":"s","$referrer":"${referrer}"}`;
  const of = (uuid: number, referrer: string): SessionEvent => ({
    uuid,
    event: "e",
    distinct_id: "d",
    properties: properties(referrer),
    timestamp: uuid,
    created_at: 1_700_000_000_000_000,
  });
  const long = Array.from({ length: 7 }, (_, i) => of(i, `${i}`.repeat(999_000)));
  expect(await compare([long], [long])).toBe(0);
  const longer = [of(1, "a".repeat(5_000_000)), of(2, "b")];
  expect(await compare([longer], [longer])).toBe(1);
});

test("a block of more names of events than there is room for is refused, and nothing of it is changed", () => {
  const fold = new SessionFold();
  const of = (count: number) =>
    Array.from({ length: count }, (_, uuid) => ({
      uuid,
      event: `e${uuid}`,
      distinct_id: "d",
      properties: uuid < 50 ? '{"$session_id":"s"}' : "{}",
      timestamp: uuid,
      created_at: 1_700_000_000_000_000,
    }));
  const [fitting, longer] = [blockOf(1, of(65_536)), blockOf(1, of(65_537))];
  fold.input.set(longer);
  expect(() => fold.add(0, longer.length)).toThrow("names of events");
  expect(Buffer.compare(fold.input.subarray(0, longer.length), longer)).toBe(0);
  fold.begin();
  fold.input.set(fitting);
  fold.add(0, fitting.length);
  expect(Buffer.compare(fold.input.subarray(0, fitting.length), fitting)).toBe(0);
  expect(fold.drainFolded()).toHaveLength(1);
});

test("events of a person who was deleted count when they arrived later, and are refused where it is not known", async () => {
  const project = ++projects;
  // The list of deleted ids forgets after some months.
  const arrival = Date.now() * 1000;
  const event = (uuid: number, distinct_id: string, created_at: number): SessionEvent => ({
    uuid,
    event: "e",
    distinct_id,
    properties: `{"$session_id":"s-${distinct_id}"}`,
    timestamp: uuid,
    created_at,
  });
  await clickhouse.command(
    `INSERT INTO deleted_ids (project_id, id_hash, deleted_at)
     SELECT {project:UInt32}, sipHash64('gone'), fromUnixTimestamp64Micro({at:Int64}, 'UTC')`,
    { project, at: arrival + 5 },
  );
  const events = (from: number, to: number) => [
    event(1, "gone", arrival + from),
    event(2, "gone", arrival + to),
  ];
  const ids = async () =>
    (
      await clickhouse.query<{ id: string }>(
        "SELECT DISTINCT session_id AS id FROM session_facts WHERE project_id = {project:UInt32} ORDER BY id",
        { project },
      )
    ).map(({ id }) => id);
  await sendFolded([blockOf(project, [...events(1, 5), event(3, "here", arrival)])]);
  expect(await ids()).toEqual(["s-here"]);
  const refusal = sendFolded([blockOf(project, events(5, 6))]);
  expect(await refusal.catch((thrown: Error) => thrown.message)).toContain("a person was deleted");
  await sendFolded([blockOf(project, events(6, 9))]);
  expect(await ids()).toEqual(["s-gone", "s-here"]);
});
