// Do 200 browsers that record their sessions slow a live capture down, and how long does a list of 100 recordings take
// among a million? A real server on embedded stores; every latency counts from the moment its request was due.

import { gzipSync } from "node:zlib";
import type { Answer, Scale } from "./answer.ts";
import { oneByOne, pace, type Paced } from "./pace.ts";
import { cpuSeconds } from "./process_tree.ts";
import { personalKey, projectKey, type SluiceStand, usualFlush, withSluice } from "./stand.ts";

const authorization = `Bearer ${personalKey}`;
const recorders = 200;
const listed = 100;

export async function recordingsBench({ rounds, warm }: Scale): Promise<Answer> {
  const seconds = warm ? Math.max(5, Math.min(20, rounds * 3)) : 0.3;
  const recordings = warm ? 1_000_000 : 2000;
  return await withSluice(async (sluice) => {
    const { url, pid, stores } = sluice;
    await wantRecordings(url);
    const chunks = chunksOf(Math.round(recorders * seconds));
    if (warm) await pace(100, 2, () => captureOne(url));
    const start = cpuSeconds([pid]);
    const idle = await pace(100, seconds, () => captureOne(url));
    await sluice.rested();
    const before = cpuSeconds([pid]);
    const [beside, recorded] = await Promise.all([
      pace(100, seconds, () => captureOne(url)),
      pace(recorders, seconds, (i) => sendChunk(url, chunks.bodies[i]!)),
    ]);
    await sluice.rested();
    const cpu = (cpuSeconds([pid]) - before) / seconds;
    const idleCpu = (before - start) / seconds;
    await checkStored(sluice, chunks.bodies.length);
    await stores.clickhouse.command("SYSTEM START MERGES");
    await makeRecordings(sluice, recordings);
    const asked = warm ? 150 : 3;
    await oneByOne(3, () => get(url, `?limit=${listed}`));
    const beforeLists = cpuSeconds([pid]);
    const lists = await oneByOne(asked, () => get(url, `?limit=${listed}`));
    const cpuEach = ((cpuSeconds([pid]) - beforeLists) * 1000) / asked;
    const deep = await oneByOne(Math.ceil(asked / 5), (i) => get(url, `?limit=${listed}&offset=${i * 1000}`));
    return {
      question: `${recorders} recorders at 1 chunk/s beside 100 captures/s; lists among ${recordings.toLocaleString("en")} recordings`,
      figures: [
        { name: "capture, nothing beside", ...shown(idle), "CPU cores": idleCpu },
        { name: "capture beside recorders", ...shown(beside), "CPU cores": cpu },
        { name: `chunks of ${Math.round(chunks.bytesEach / 1000)} kB, gzipped`, ...shown(recorded) },
        { name: `list of ${listed}`, ...shown(lists), "CPU ms each": cpuEach },
        { name: `list of ${listed}, further back`, ...shown(deep) },
      ],
      ratios: [
        {
          name: "capture p99 beside recorders ÷ max(10 ms, 2 × idle)",
          value: beside.p99_ms / Math.max(10, 2 * idle.p99_ms),
          goal: 1,
        },
        { name: `list of ${listed} p99, ms`, value: lists.p99_ms, goal: 200 },
      ],
    };
  }, usualFlush);
}

function shown({ p50_ms, p99_ms, max_ms, failed }: Paced) {
  return { "p50 ms": p50_ms, "p99 ms": p99_ms, "max ms": max_ms, failed };
}

async function wantRecordings(url: string): Promise<void> {
  const headers = { authorization, "content-type": "application/json" };
  const body = JSON.stringify({ session_recording_opt_in: true });
  await fetch(`${url}/api/projects/1/`, { method: "PATCH", headers, body });
  const config = `${url}/array/${projectKey}/config`;
  while (!(await (await fetch(config)).text()).includes('"endpoint":"/s/"')) await Bun.sleep(20);
}

function captureOne(url: string): Promise<Response> {
  const body = `{"api_key":"${projectKey}","event":"probe","distinct_id":"bench","properties":{"a":1}}`;
  return fetch(`${url}/capture/`, { method: "POST", headers: { "content-type": "application/json" }, body });
}

function sendChunk(url: string, body: Uint8Array): Promise<Response> {
  return fetch(`${url}/s/?compression=gzip-js&ip=0`, {
    method: "POST",
    headers: { "content-type": "text/plain" },
    body: body as Uint8Array<ArrayBuffer>,
  });
}

/** Bodies as posthog-js sends them: movements, clicks, a mutation that it compressed by itself; gzipped once more. */
function chunksOf(count: number): { bodies: Uint8Array[]; bytesEach: number } {
  const bodies: Uint8Array[] = [];
  let bytes = 0;
  for (let i = 0; i < count; i++) {
    const at = Date.now() - 600_000 + Math.floor(i / recorders) * 1000;
    const node = (n: number) => ({
      parentId: n,
      nextId: null,
      node: { type: 3, textContent: `${i} ${n * i}`, id: n },
    });
    const adds = gzipSync(JSON.stringify(Array.from({ length: 40 }, (_, n) => node(n)))).toString("latin1");
    const events: object[] = [
      {
        type: 3,
        cv: "2024-10",
        data: { source: 0, adds, texts: "", attributes: "", removes: "" },
        timestamp: at,
      },
    ];
    for (let n = 0; n < 60; n++) {
      const positions = [{ x: (i * 7 + n) % 1280, y: (n * 13) % 720, id: n, timeOffset: -n }];
      events.push({ type: 3, data: { source: 1, positions }, timestamp: at + n * 15 });
    }
    events.push({ type: 3, data: { source: 2, type: 2, id: 9, x: 5, y: 5 }, timestamp: at + 950 });
    const properties = {
      token: projectKey,
      distinct_id: `visitor ${i % recorders}`,
      $session_id: `session ${i % recorders}`,
      $window_id: "w",
      $snapshot_data: events,
    };
    const text = JSON.stringify([{ uuid: crypto.randomUUID(), event: "$snapshot", properties, offset: 5 }]);
    bytes += text.length;
    bodies.push(new Uint8Array(gzipSync(text)));
  }
  return { bodies, bytesEach: bytes / count };
}

async function checkStored({ stores }: SluiceStand, sent: number): Promise<void> {
  const [row] = await stores.clickhouse.query<{ count: string }>(
    "SELECT count() AS count FROM snapshot_chunks",
  );
  if (Number(row?.count) !== sent) throw new Error(`${sent} chunks were sent, ${row?.count} are stored`);
}

/** Recordings of three pieces each, over 90 days. */
async function makeRecordings({ stores }: SluiceStand, recordings: number): Promise<void> {
  const each = Math.min(recordings, 100_000);
  for (let first = 0; first < recordings; first += each) {
    await stores.clickhouse.command(
      `INSERT INTO snapshot_chunks (project_id, session_id, uuid, window_id, distinct_id, first_at, last_at, created_at,
         expires_at, event_count, click_count, mouse_activity_count, active_at, start_url, snapshot_source, size, data)
       SELECT 1, toString(reinterpretAsUUID(sipHash128(intDiv(number, 3) + {first:UInt64}))), generateUUIDv4(), 'w',
         concat('visitor ', toString(intDiv(number, 3) % 50000)),
         now64(6) - (((intDiv(number, 3) + {first:UInt64}) * 7919) % 7776000) + number % 3 * 10 AS at, at + 10, now64(6),
         now64(6) + INTERVAL 90 DAY, 40, 2, 30,
         arrayStringConcat(arrayMap(x -> toString(toUnixTimestamp(toDateTime(at)) + x), range(10)), ','),
         if(number % 3 = 0, 'https://shop.example/', ''), 'web', 300, repeat('x', 300)
       FROM numbers({rows:UInt64})`,
      { first, rows: each * 3 },
      { timeoutMs: 120_000 },
    );
  }
}

async function get(url: string, query: string): Promise<void> {
  const reply = await fetch(`${url}/api/projects/1/session_recordings/${query}`, {
    headers: { authorization },
  });
  const { count, results } = (await reply.json()) as { count: number; results: unknown[] };
  if (results.length !== Math.min(listed, count))
    throw new Error(`a list has ${results.length} of ${count} recordings`);
}
