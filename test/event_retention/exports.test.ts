// Exports of events that expire: before a run reads them, and in the middle of it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { silentLog } from "../../src/core/log.ts";
import { retentionLimits } from "../../src/event_retention/limits.ts";
import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type ExportProcess, noon, openExportProcess } from "../support/export_process.ts";
import { endedRuns } from "../support/exports.ts";
import { expireOnce } from "../support/retention.ts";
import { storesStartMsMax } from "../support/stores.ts";
import { openWebSink, type WebSink } from "../support/web_sink.ts";

afterAll(cleanUp);

let exports: ExportProcess;
let sink: WebSink;
let now = noon;

beforeAll(async () => {
  exports = await openExportProcess();
  sink = openWebSink();
  sink.answer = () => new Response("ok");
}, storesStartMsMax);

const toSink = () => ({
  type: "HTTP",
  config: { url: `${sink.url}/batch` },
  secrets: { token: "phc_token" },
});

/** Events of the hour before noon that are to be kept; those that exports come with are months old. */
async function arriveRecent(rows: number): Promise<void> {
  await exports.stores.clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, _row)
     SELECT generateUUIDv4(), 1, 'recent', 'd', '{}', moment, moment, 70000, number
     FROM (SELECT fromUnixTimestamp64Milli({moment:Int64}, 'UTC') AS moment, number FROM numbers({rows:UInt64}))`,
    { moment: noon - 1, rows },
  );
}

async function expire(): Promise<void> {
  now += 2 * retentionLimits.expiryPassMs;
  const { sql, clickhouse } = exports.stores;
  const looked = await expireOnce({
    sql,
    clickhouse,
    clock: { now: () => now, elapsed: () => now },
    log: silentLog,
    retentionDays: 30,
    expired: () => {},
    stopping: new AbortController().signal,
  });
  expect(looked).toMatchObject({ is: "passed", events: 3 });
}

test("a run whose events expire while it reads them delivers at its next attempt what is left", async () => {
  await arriveRecent(2);
  const began = performance.now();
  let expired: Promise<void> | undefined;
  const { clickhouse } = exports.stores;
  const expiring: ClickHouse = {
    ...clickhouse,
    // Behind the count, and before the rows.
    stream: async function* (text, params, options) {
      await (expired ??= expire());
      yield* clickhouse.stream(text, params, options);
    },
  };
  // It goes on, so that the next attempt falls due.
  const clock = { now: () => noon + performance.now() - began, elapsed: () => performance.now() };
  const worker = exports.open({ clickhouse: expiring, clock });
  const run = await exports.exported(toSink());
  expect([run.status, run.attempts, run.records_completed]).toEqual(["Completed", 1, 2]);
  await worker.close();
});

test("a run over an interval whose events all expired is complete with none", async () => {
  const { clickhouse } = exports.stores;
  await clickhouse.command(`DELETE FROM ${clickhouse.tables.local("event_rows")} WHERE event = 'recent'`);
  await exports.arrive(3);
  await expire();
  sink.posted.length = 0;
  exports.open();
  const [run] = await endedRuns(exports.stores, await exports.begin(toSink()));
  expect([run!.status, run!.records_completed, run!.latest_error]).toEqual(["Completed", 0, null]);
  expect(sink.posted).toEqual([]);
});
