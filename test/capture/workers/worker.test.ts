// What has to be looked at as a whole is, whichever worker took it: warnings, spikes, merges, recordings; on stores of
// the server's own and on remote ones.

import { expect, test } from "bun:test";
import { cleanUpEach } from "../../support/cleanup.ts";
import { bodyOf, event as recorded } from "../../support/recordings.ts";
import { openLender } from "../../support/remote.ts";
import {
  get,
  metric,
  personalKey,
  projectKey,
  rested,
  type Server,
  startServer,
  startWithHistory,
  storesOf,
  until,
} from "../../support/server.ts";
import { postAnew, serving } from "../../support/workers.ts";

cleanUpEach();

const two = { WORKERS: "2", FLUSH_INTERVAL_MS: "300" };

async function took(server: Server, path: string, body: unknown): Promise<void> {
  const reply = await postAnew(server, path, body);
  expect(reply.status).toBe(200);
  await reply.arrayBuffer();
}

test("a hundred warnings of a minute are listed and the others counted, as by one process", async () => {
  const server = await startServer(two);
  await serving(server, 2);
  const batch = Array.from({ length: 7 }, () => ({ distinct_id: "d" }));
  const body = { api_key: projectKey, batch };
  await Promise.all(Array.from({ length: 40 }, () => took(server, "/batch/", body)));
  expect(await server.end("SIGTERM")).toBe(0);
  // What is counted but not listed is written when its minute is over, or the server stops.
  const next = await startServer({}, server.dataDir);
  await rested(next);
  const { clickhouse } = await storesOf(next);
  const minutes = await clickhouse.query<{ listed: string; total: string }>(
    `SELECT countIf(count = 1 AND distinct_id != '') AS listed, sum(count) AS total FROM ingestion_warnings
     GROUP BY toStartOfMinute(timestamp)`,
  );
  expect(minutes.reduce((sum, { total }) => sum + Number(total), 0)).toBe(280);
  for (const { listed, total } of minutes) expect(Number(listed)).toBe(Math.min(100, Number(total)));
});

test("a spike is one when no worker sees enough of it by itself", async () => {
  const server = await startWithHistory(two);
  await serving(server, 2);
  const batch = Array.from({ length: 50 }, (_, i) => ({ event: "e", distinct_id: `d${i}` }));
  let sent = 0;
  while ((await metric(server, "sluice_spikes_total")) === 0) {
    // More than a thousand; a minute may end in the middle of them, or the watch not have begun.
    for (; sent % 1200 < 1200 - 50; sent += 50) await took(server, "/batch/", { api_key: projectKey, batch });
    sent += 50;
    await took(server, "/batch/", { api_key: projectKey, batch });
    await Bun.sleep(500);
  }
  expect(await metric(server, "sluice_spikes_total")).toBe(1);
  await until(async () => {
    const reply = await get(server, "/api/projects/1/ingestion_warnings/?type=spike_detected");
    return (await reply.text()).includes("spike_detected");
  });
});

/** Merges of 20 anonymous ids, each wanted by two persons one after the other, on connections of their own. */
async function claimTwice(server: Server): Promise<void> {
  for (let i = 0; i < 20; i++) {
    for (const claim of ["first", "second"]) {
      const properties = { $anon_distinct_id: `anon-${i}` };
      const body = { api_key: projectKey, event: "$identify", distinct_id: `${claim}-${i}`, properties };
      await took(server, "/capture/", body);
    }
  }
}

test("merges are decided in the order they were answered in, though other workers took them", async () => {
  const server = await startServer(two);
  await serving(server, 2);
  await claimTwice(server);
  const { sql } = await storesOf(server);
  const merged = () =>
    sql<{ distinct_id: string; main_id: string }[]>`
      SELECT distinct_id, main_id FROM merged_ids WHERE distinct_id LIKE 'anon-%' AND main_id <> distinct_id`;
  await until(async () => (await merged()).length === 20);
  const wrong = (await merged()).filter(
    ({ distinct_id, main_id }) => main_id !== distinct_id.replace("anon", "first"),
  );
  expect(wrong).toEqual([]);
});

test("pieces of one recording that different workers took are one recording", async () => {
  const server = await startServer(two);
  await serving(server, 2);
  const changed = await fetch(`${server.url}/api/projects/1/`, {
    method: "PATCH",
    headers: { authorization: `Bearer ${personalKey}`, "content-type": "application/json" },
    body: JSON.stringify({ session_recording_opt_in: true }),
  });
  expect(changed.status).toBe(200);
  const from = Date.UTC(2026, 0, 1);
  const session = "018f3c1e-0000-7000-8000-000000000001";
  const accepted = () => metric(server, 'sluice_events_accepted_total{lane="recordings"}');
  let taken = 0;
  // A worker learns a moment later that recordings are wanted: eight in a row are of two that know.
  for (let i = 0, inRow = 0; i < 200 && inRow < 8; i++) {
    const events = [
      recorded.page(from + i * 1000, "https://example.org/"),
      recorded.click(from + i * 1000 + 1),
    ];
    await took(server, "/s/", bodyOf({ session, events }));
    const now = await accepted();
    inRow = now > taken ? inRow + 1 : 0;
    taken = now;
  }
  expect(taken).toBeGreaterThanOrEqual(8);
  await rested(server);
  taken = await accepted();
  const reply = await get(server, "/api/projects/1/session_recordings/");
  const { results } = (await reply.json()) as { results: { click_count: number }[] };
  expect(results.map(({ click_count }) => click_count)).toEqual([taken]);
});

test("on remote stores two servers of two workers are four journals, nothing is stored twice, and they may be away", async () => {
  const { stores, lend } = await openLender();
  const remote = await lend("shared");
  const servers = await Promise.all([startServer({ ...remote, ...two }), startServer({ ...remote, ...two })]);
  let sent = 0;
  for (const server of servers) {
    await serving(server, 2);
    for (let i = 0; i < 24; i++, sent += 3) {
      const batch = Array.from({ length: 3 }, (_, j) => ({ event: "met", distinct_id: `d${i}-${j}` }));
      await took(server, "/batch/", { api_key: projectKey, batch });
    }
  }
  for (const server of servers) await rested(server);
  const counted = await stores.clickhouse.query<{ n: string; rows: string; journals: string }>(
    `SELECT count() AS n, (SELECT count() FROM shared.event_rows) AS rows,
       (SELECT uniqExact(bitAnd(bitShiftRight(_batch, 11), 4095)) FROM shared.event_rows) AS journals
     FROM shared.events`,
  );
  expect(counted).toEqual([{ n: String(sent), rows: String(sent), journals: "4" }]);
  for (const server of servers) expect(await server.end("SIGTERM")).toBe(0);
  // Both capture while their stores are away, and a later start stores what they took.
  const { dataDir } = servers[0]!;
  const nowhere = {
    DATABASE_URL: "postgres://x:y@127.0.0.1:1/shared",
    CLICKHOUSE_URL: "http://x:y@127.0.0.1:1/z",
  };
  const cut = await startServer({ ...remote, ...two, ...nowhere }, dataDir);
  await serving(cut, 2);
  for (let i = 0; i < 24; i++) {
    await took(cut, "/capture/", { api_key: projectKey, event: "cut", distinct_id: `d${i}` });
  }
  expect((await fetch(`${cut.url}/_readiness`)).status).toBe(503);
  expect(await cut.end("SIGTERM")).toBe(0);
  const back = await startServer({ ...remote, ...two }, dataDir);
  await serving(back, 2);
  await rested(back);
  const [later] = await stores.clickhouse.query<{ n: string; journals: string }>(
    `SELECT count() AS n, uniqExact(bitAnd(bitShiftRight(_batch, 11), 4095)) AS journals
     FROM shared.event_rows WHERE event = 'cut'`,
  );
  expect(later).toEqual({ n: "24", journals: "2" });
});
