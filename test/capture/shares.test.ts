// What one project may have of the journal, and of what waits to be stored, beside the others.

import { afterAll, expect, test } from "bun:test";
import { CaptureJournal, captureSetup } from "../../src/capture/capture_journal.ts";
import { historicalLane } from "../../src/capture/columns/block.ts";
import { Flush } from "../../src/capture/flush/flush.ts";
import { planInserts } from "../../src/capture/flush/insert_plan.ts";
import { journalLimits } from "../../src/capture/journal/limits.ts";
import { Quarantine } from "../../src/capture/journal/quarantine.ts";
import type { Segment } from "../../src/capture/journal/segments/segment.ts";
import { captureLimits } from "../../src/capture/limits.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { type Desk, key, openDesk } from "../support/capture.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { noDefinitions } from "../support/definitions.ts";
import { makeFolder } from "../support/folder.ts";
import { until } from "../support/server.ts";

afterAll(cleanUp);

const own = 7;
const other = "phc_another_key";
const third = "phc_a_third_key";
const projects = { [other]: 8, [third]: 9 };
const room = 4_000_000;

const event = (api_key: string, text = "x".repeat(5000)) => ({
  api_key,
  event: "e",
  distinct_id: "d",
  properties: { text },
});

/** Sends until it is refused; what the refusal says. */
async function fill(desk: Desk, body: unknown, path = "/e/"): Promise<{ status: number; code: string }> {
  for (;;) {
    const reply = await desk.send(path, body);
    if (reply.status === 200) continue;
    const { code } = (await reply.json()) as { code: string };
    expect(reply.headers.get("retry-after")).toBe("5");
    return { status: reply.status, code };
  }
}

function flushed(journal: CaptureJournal): Promise<void[]> {
  const segments: Segment[] = [];
  for (const lane of [journal.live.kind, journal.historical.kind, journal.recordings.kind]) {
    const taken = new Set<Segment>();
    for (let one = journal.nextSealed(lane, taken); one; one = journal.nextSealed(lane, taken)) {
      taken.add(one);
      segments.push(one);
    }
  }
  return Promise.all(segments.map((segment) => journal.finish(segment)));
}

test("a project alone has nine tenths of the journal, and then others still go on", async () => {
  const desk = openDesk({ journalBytesMax: room, projects });
  expect(await fill(desk, event(key))).toEqual({ status: 503, code: "journal_share_exceeded" });
  const held = desk.journal.pending().bytes;
  expect(held).toBeGreaterThan(room * 0.85);
  expect(held).toBeLessThan(room * 0.92);
  // A body that is not one plain event is told the same.
  const batch = { api_key: key, batch: [event(key), event(key)] };
  expect((await desk.send("/batch/", batch)).status).toBe(503);
  expect((await desk.send("/batch/", { ...batch, historical_migration: true })).status).toBe(503);
  for (const api_key of [other, third]) expect((await desk.send("/e/", event(api_key))).status).toBe(200);
  expect(desk.counts["refused"]).toBe(3);
});

test("a second project's share is of what the first one left, and a third one still goes on", async () => {
  const desk = openDesk({ journalBytesMax: room, projects });
  await fill(desk, event(key));
  const first = desk.journal.pending().bytes;
  expect((await fill(desk, event(other))).code).toBe("journal_share_exceeded");
  expect(desk.journal.pending().bytes - first).toBeGreaterThan((room - first) * 0.8);
  expect((await desk.send("/e/", event(third, "short"))).status).toBe(200);
});

test("what is flushed is the project's to fill again", async () => {
  const desk = openDesk({ journalBytesMax: room, projects });
  await fill(desk, event(key));
  await desk.journal.live.seal();
  await flushed(desk.journal);
  expect(desk.journal.live.usage.of(own)).toEqual({ bytes: 0, changes: 0 });
  expect((await desk.send("/e/", event(key))).status).toBe(200);
});

test("the shares of what an earlier process left are known at the next start", async () => {
  const desk = openDesk({ journalBytesMax: room, projects, records: true });
  const piece = {
    api_key: key,
    event: "$snapshot",
    properties: {
      distinct_id: "d",
      $session_id: "s",
      $snapshot_data: [{ type: 3, timestamp: 1, data: { text: "x".repeat(3000) } }],
    },
  };
  expect((await desk.send("/s/", piece)).status).toBe(200);
  await fill(desk, event(key));
  for (let i = 0; i < 20; i++) await desk.send("/e/", event(other));
  const [live, recordings] = [desk.journal.live, desk.journal.recordings];
  const known = [live.usage.of(own).bytes, live.usage.of(8).bytes, recordings.usage.of(own).bytes];
  await desk.kept();
  const options = { number: 1, flushIntervalMs: 3_600_000, bytesMax: room, clock: systemClock };
  const again = new CaptureJournal({ folder: desk.journal.folder, ...options, log: silentLog });
  again.open();
  later(() => again.close());
  const found = [again.live.usage.of(own), again.live.usage.of(8), again.recordings.usage.of(own)];
  for (const [i, { bytes }] of found.entries()) {
    expect(bytes).toBeGreaterThan(known[i]! * 0.9);
    expect(bytes).toBeLessThan(known[i]! * 1.3);
  }
  expect(() => again.quota.chooseLane(own, false)).toThrow("of this project wait to be stored");
  expect(again.quota.chooseLane(9, false)).toBe(again.live);
});

test("one project's recordings fill nine tenths of theirs, and others' still go on", async () => {
  const desk = openDesk({ journalBytesMax: room, projects, records: true });
  const piece = (api_key: string) => ({
    api_key,
    event: "$snapshot",
    properties: {
      distinct_id: "d",
      $session_id: "s",
      $snapshot_data: [{ type: 3, timestamp: 1, data: { text: "x".repeat(5000) } }],
    },
  });
  expect((await fill(desk, piece(key), "/s/")).code).toBe("journal_share_exceeded");
  expect((await desk.send("/s/", piece(other))).status).toBe(200);
  expect((await desk.send("/e/", event(key))).status).toBe(200);
});

/** `count` events that change a thousand properties each. */
function wide(api_key: string, count: number): string {
  const set = `{${Array.from({ length: 1000 }, (_, i) => `"k${i}":1`).join(",")}}`;
  const item = (i: number) => `{"event":"e","distinct_id":"d${i}","properties":{"$set":${set}}}`;
  return `{"api_key":"${api_key}","batch":[${Array.from({ length: count }, (_, i) => item(i)).join(",")}]}`;
}

const perProject = journalLimits.liveBacklogBytesMax / 2 / journalLimits.changeWeightBytes;

test("live events of a project whose changes would keep others waiting go behind imports, within a body too", async () => {
  const desk = openDesk({ bodyBytesMax: 1 << 26, projects });
  expect((await desk.send("/batch/", wide(key, 1500))).status).toBe(200);
  const { live, historical } = desk.journal;
  const first = live.usage.of(own).changes;
  // Events weigh as well, and a slice is appended whole.
  expect(first).toBeGreaterThan(perProject * 0.6);
  expect(first).toBeLessThan(perProject * 1.3);
  expect(first + historical.usage.of(own).changes).toBe(1_500_000);
  expect((await desk.send("/e/", event(key))).status).toBe(200);
  expect(live.usage.of(own).changes).toBe(first);
  // Another's go the live way, and there is only so much of all of them.
  expect((await desk.send("/batch/", wide(other, 1500))).status).toBe(200);
  expect(live.usage.of(8).changes).toBeGreaterThan(perProject * 0.2);
  expect(live.usage.total.changes).toBeLessThan(perProject * 2.2);
  expect((await desk.send("/e/", event(third))).status).toBe(200);
  expect(live.usage.of(9).bytes).toBeGreaterThan(0);
  expect(await desk.kept()).toMatchObject({ warnings: 0 });
  const rows = await desk.kept();
  expect(rows["live"]! + rows["historical"]!).toBe(3002);
});

test("an insert derives no more than a quarter of a million rows, or those of one frame", async () => {
  const desk = openDesk({ bodyBytesMax: 1 << 26 });
  const body = wide(key, 1500).replace(`"batch"`, `"historical_migration":true,"batch"`);
  for (let i = 0; i < 3; i++) expect((await desk.send("/batch/", body)).status).toBe(200);
  await desk.journal.historical.seal();
  const taken = new Set<Segment>();
  let changes = 0;
  for (;;) {
    const segment = desk.journal.nextSealed(historicalLane, taken);
    if (!segment) break;
    taken.add(segment);
    for (const batches of planInserts(segment)) {
      const sum = batches.reduce((all, batch) => all + (batch.changes ?? 0), 0);
      const [first, ...others] = batches;
      const isOneFrame = others.length === 0 && first!.frames.length === 1;
      if (!isOneFrame) expect(sum).toBeLessThanOrEqual(captureLimits.batchChangesMax);
      expect(sum).toBeLessThanOrEqual(2 * captureLimits.batchChangesMax);
      changes += sum;
    }
  }
  expect(changes).toBe(4_500_000);
});

test("a project with a minute's changes waiting is told to come back, others are not", async () => {
  const desk = openDesk({ projects });
  const { historical, quota: space } = desk.journal;
  space.isStoreUnavailable = false;
  historical.usage.add(own, 1000, journalLimits.changesBacklogMax / 2 + 1);
  const imported = (api_key: string) => ({ historical_migration: true, batch: [event(api_key)], api_key });
  const refused = await desk.send("/batch/", imported(key));
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
    503,
    "changes_share_exceeded",
  ]);
  expect(Number(refused.headers.get("retry-after"))).toBe(11);
  expect((await desk.send("/batch/", imported(other))).status).toBe(200);
  // What is live goes the live way.
  expect((await desk.send("/e/", event(key))).status).toBe(200);
  // While nothing is stored, nothing is late: bytes alone bound it.
  space.isStoreUnavailable = true;
  expect((await desk.send("/batch/", imported(key))).status).toBe(200);
  // What was measured says when to come back.
  space.isStoreUnavailable = false;
  for (let i = 0; i < 20; i++) space.recordDerived(1_000_000, 10_000);
  const again = await desk.send("/batch/", imported(key));
  expect(Number(again.headers.get("retry-after"))).toBe(50);
});

test("the journal knows whether the engine takes inserts", async () => {
  const { journal, send } = openDesk();
  const dataDir = makeFolder();
  let isDown = true;
  const clickhouse = {
    embedded: false,
    insertNative: () => (isDown ? Promise.reject(new Error("gone")) : Promise.resolve()),
    insertDerived: () => Promise.resolve(),
    query: () => Promise.resolve([]),
  } as never;
  const counts = { stored: () => {}, quarantined: () => {}, seconds: () => {} };
  const parts = {
    journal,
    clickhouse,
    quarantine: new Quarantine(captureSetup, dataDir),
    folder: `${dataDir}/flush`,
    counts,
  };
  const flush = new Flush({ ...parts, definitions: noDefinitions, clock: systemClock, log: silentLog });
  expect(journal.quota.isStoreUnavailable).toBe(true);
  flush.start();
  expect(journal.quota.isStoreUnavailable).toBe(false);
  expect((await send("/e/", event(key))).status).toBe(200);
  await journal.live.seal();
  await until(() => Promise.resolve(journal.quota.isStoreUnavailable));
  isDown = false;
  await until(() => Promise.resolve(!journal.quota.isStoreUnavailable && journal.pending().events === 0));
  expect(journal.live.usage.total).toEqual({ bytes: 0, changes: 0 });
  await flush.drain(1000);
});
