// A 200 means kept, for pieces of recordings too: whatever dies in between, each is there once.

import { expect, test } from "bun:test";
import { deriveAgain } from "../../src/capture/store.ts";
import type { RecordingFilter } from "../../src/session_recordings/listing/filter_store.ts";
import { countRecordings, listRecordings } from "../../src/session_recordings/listing/store.ts";
import { toReads } from "../../src/storage/clickhouse/query_options.ts";
import { ask } from "../support/ask.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { bodyOf, event, type Piece } from "../support/recordings.ts";
import { post, rested, startServer, storesOf, until } from "../support/server.ts";
import { openMadeStores } from "../support/stores.ts";

cleanUpEach();

const at = Date.parse("2026-03-04T10:00:00Z");

test("pieces that were answered are there after the server was killed, each once", async () => {
  const dataDir = await makeStoresFolder();
  const first = await startServer({ FLUSH_INTERVAL_MS: "50" }, dataDir);
  await ask(first, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  const send = async (piece: Piece) =>
    (await (await post(first, "/s/", bodyOf(piece))).text()) === '{"status":"Ok"}';
  await until(() => send({ session: "probe", events: [event.click(at)] }));
  let kept = 0;
  const sending = (async () => {
    for (let n = 0; n < 500; n++) {
      const piece = { session: `s${n % 5}`, events: [event.click(at + n * 1000)] };
      // What had no answer before the end may be there or not.
      if (!(await send(piece).catch(() => false))) return;
      kept++;
    }
  })();
  await until(() => Promise.resolve(kept >= 120));
  await first.end("SIGKILL");
  await sending;
  const second = await startServer({ FLUSH_INTERVAL_MS: "50" }, dataDir);
  await rested(second);
  const { clickhouse } = await storesOf(second);
  const [chunks] = await clickhouse.query<{ sent: string; stored: string }>(
    `SELECT count() AS stored, uniqExact(first_at, session_id) AS sent FROM snapshot_chunks WHERE session_id != 'probe'`,
  );
  const stored = Number(chunks?.stored);
  expect(stored).toBe(Number(chunks?.sent));
  expect(stored - kept).toBeOneOf([0, 1]);
  const { body } = await ask(second, "GET", "/api/projects/1/session_recordings/");
  const results = body["results"] as { id: string; click_count: number }[];
  expect(results.map(({ id }) => id).toSorted()).toEqual(["probe", "s0", "s1", "s2", "s3", "s4"]);
  const clicks = results.filter(({ id }) => id !== "probe").map(({ click_count }) => click_count);
  expect(clicks.reduce((sum, count) => sum + count)).toBe(stored);
});

test("a recording is kept as long as the operator says, then gone by itself", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "20", RECORDING_RETENTION_DAYS: "7" });
  await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  const body = bodyOf({ session: "s", events: [event.click(at)] });
  await until(async () => (await (await post(server, "/s/", body)).text()) === '{"status":"Ok"}');
  await rested(server);
  const { clickhouse } = await storesOf(server);
  const days = "dateDiff('day', created_at, expires_at)";
  const kept = await clickhouse.query(`SELECT DISTINCT session_id, ${days} AS days FROM snapshot_chunks`);
  expect(kept).toEqual([{ session_id: "s", days: "7" }]);
  await clickhouse.command(
    `INSERT INTO snapshot_chunks (project_id, session_id, uuid, distinct_id, first_at, created_at, expires_at)
     SELECT 1, 'old', generateUUIDv4(), 'd', now64(6), now64(6) - INTERVAL 8 DAY, now64(6) - INTERVAL 1 DAY`,
  );
  for (const table of ["snapshot_chunks", "session_recording_days"]) {
    await clickhouse.command(`OPTIMIZE TABLE ${clickhouse.tables.local(table)} FINAL`);
    const rows = await clickhouse.query(
      `SELECT DISTINCT session_hash = sipHash64('s') AS is_s FROM ${table}`,
    );
    expect(rows).toEqual([{ is_s: 1 }]);
  }
});

test("days are derived again from a batch, and a second time changes nothing", async () => {
  const { clickhouse } = await openMadeStores();
  await clickhouse.command(
    `INSERT INTO snapshot_chunks (project_id, session_id, uuid, distinct_id, first_at, created_at, expires_at, _batch)
     SELECT 1, concat('s', toString(number % 3)), generateUUIDv4(), 'd', now64(6) + number, now64(6), now64(6) + 9999, 7
     FROM numbers(9)`,
  );
  const days = () =>
    clickhouse.query("SELECT * FROM session_recording_days FINAL ORDER BY day, session_hash, distinct_id");
  const before = await days();
  expect(before.length).toBeGreaterThanOrEqual(3);
  await deriveAgain(clickhouse, "snapshot_chunks", [7n]);
  await deriveAgain(clickhouse, "snapshot_chunks", [8n, 9n]);
  expect(await days()).toEqual(before);
  await clickhouse.command(`TRUNCATE TABLE ${clickhouse.tables.local("session_recording_days")}`);
  await deriveAgain(clickhouse, "snapshot_chunks", [7n]);
  expect(await days()).toEqual(before);
});

test("a list is in order however its recordings' pieces were stored, at its head and far back", async () => {
  const { clickhouse } = await openMadeStores();
  // 40,000 recordings of two pieces; the later piece is stored by itself, before or after the first.
  for (const piece of [1, 0])
    await clickhouse.command(
      `INSERT INTO snapshot_chunks (project_id, session_id, uuid, distinct_id, first_at, last_at, created_at, expires_at)
       SELECT 1, concat('s', toString(number)), generateUUIDv4(), 'd',
         toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + number * 7 + {later:UInt32} AS at, at, now64(6), now64(6) + 9999
       FROM numbers(40000)`,
      { later: piece * 100_000 },
    );
  const list = async (filter: RecordingFilter, limit: number, offset: number) => ({
    count: await countRecordings(toReads(clickhouse, 1), filter),
    recordings: await listRecordings(toReads(clickhouse, 1), filter, { limit, offset }, () => {}),
  });
  const filter = { without: [] };
  for (const offset of [0, 50, 9990, 15_000, 39_995]) {
    const { count, recordings } = await list(filter, 10, offset);
    const expected = Array.from(
      { length: Math.min(10, 40_000 - offset) },
      (_, i) => `s${39_999 - offset - i}`,
    );
    expect([count, recordings.map(({ session_id }) => session_id)]).toEqual([40_000, expected]);
  }
  const from = "2026-01-01 00:00:00.000000";
  const to = "2026-01-01 00:00:35.000000";
  const early = await list({ ...filter, from, to }, 10, 0);
  expect([early.count, early.recordings.map(({ session_id }) => session_id)]).toEqual([
    5,
    ["s4", "s3", "s2", "s1", "s0"],
  ]);
  const without = ["s4", "s0"];
  const rest = await list({ ...filter, from, to, without }, 10, 0);
  expect([rest.count, rest.recordings.length]).toEqual([3, 3]);
});
