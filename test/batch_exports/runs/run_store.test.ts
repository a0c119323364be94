// The end of a run that cannot be written: nothing runs for ever, and nothing is delivered again and again.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { exportLimits } from "../../../src/batch_exports/limits.ts";
import { runStatuses } from "../../../src/batch_exports/model.ts";
import { type ClaimedRun, endRun, leasedRuns } from "../../../src/batch_exports/runs/run_store.ts";
import type { Postgres } from "../../../src/storage/postgres/postgres.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { type ExportProcess, noon, openExportProcess } from "../../support/export_process.ts";
import { endedRuns } from "../../support/exports.ts";
import { storesStartMsMax } from "../../support/stores.ts";
import { openWebSink, type WebSink } from "../../support/web_sink.ts";

afterAll(cleanUp);

let exports: ExportProcess;
let sink: WebSink;

beforeAll(async () => {
  exports = await openExportProcess();
  sink = openWebSink();
}, storesStartMsMax);

const toSink = () => ({
  type: "HTTP",
  config: { url: `${sink.url}/batch` },
  secrets: { token: "phc_token" },
});

/** Ends of runs are refused by the store as long as `sql` says so of the row that is to be written. */
async function refuseEnds(sql: string): Promise<void> {
  await exports.stores.sql.unsafe(`
    CREATE OR REPLACE FUNCTION refuse_end() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF ${sql} THEN RAISE EXCEPTION 'cannot be stored'; END IF; RETURN NEW; END $$;
    CREATE OR REPLACE TRIGGER refuse_end BEFORE UPDATE ON batch_export_runs
    FOR EACH ROW EXECUTE FUNCTION refuse_end();`);
}

test("a failure whose reason cannot be stored is stored without it, and delivered once", async () => {
  exports.open();
  await refuseEnds("NEW.latest_error LIKE '%odd%'");
  sink.answer = () => new Response("odd", { status: 403 });
  const run = await exports.exported(toSink());
  expect([run.status, run.attempts]).toEqual(["Failed", 1]);
  expect(run.latest_error).toBe("The run failed, and why could not be stored");
  expect(sink.posted.length).toBe(1);
});

test("an end that the store refuses for a moment is written again, and nothing is delivered twice", async () => {
  exports.open();
  await exports.stores.sql.unsafe("CREATE SEQUENCE refused");
  await refuseEnds("NEW.status = 'Completed' AND nextval('refused') <= 2");
  // A sequence counts on in what is rolled back.
  sink.posted.length = 0;
  sink.answer = () => new Response("ok");
  const run = await exports.exported(toSink());
  expect([run.status, run.latest_error, run.records_completed]).toEqual(["Completed", null, 3]);
  expect(sink.posted.length).toBe(1);
});

test("a run whose processes keep dying counts their attempts, and is given up without another one", async () => {
  const { sql } = exports.stores;
  await refuseEnds("false");
  sink.posted.length = 0;
  const id = await exports.begin(toSink());
  const made = async (attempts: number, lease: Date | null) =>
    await sql`
      INSERT INTO batch_export_runs (id, batch_export_id, status, attempts, data_interval_start, data_interval_end,
        created_at, last_updated_at, next_attempt_at, lease_owner, lease_until)
      VALUES (gen_random_uuid(), ${id}, 'Running', ${attempts},
        ${new Date(noon - (lease ? 1 : 2))}, ${new Date(noon)},
        ${new Date(noon)}, ${new Date(noon)}, ${new Date(noon)}, ${lease && crypto.randomUUID()}, ${lease})`;
  await made(exportLimits.attemptsMax - 1, new Date(noon - 1));
  // One that was given back when its process stopped in good order has lost nothing.
  await made(exportLimits.attemptsMax - 1, null);
  exports.open();
  const runs = await endedRuns(exports.stores, id, 3);
  const given_up = runs.find(({ status }) => status === "Failed")!;
  expect(given_up.attempts).toBe(exportLimits.attemptsMax);
  expect(given_up.latest_error).toContain("its process ended");
  expect(runs.map(({ status }) => status).toSorted()).toEqual(["Completed", "Completed", "Failed"]);
  expect(sink.posted.length).toBe(2);
});

test("a run ends only from where it runs, and never begins again once it is over", async () => {
  await refuseEnds("false");
  const batch_export_id = await exports.begin({ type: "NoOp", config: {} });
  const [id, claim] = [crypto.randomUUID(), crypto.randomUUID()];
  const at = new Date(noon - 3);
  const ending = { status: "Completed", attempts: 1 } as const;
  const rows = { completed: 0, failed: 0 };
  const seen: Record<string, { mayBegin: boolean; hasEnded: boolean }> = {};
  // In a transaction, where no worker sees the run.
  await exports.stores.sql.begin(async (tx) => {
    const sql = tx as unknown as Postgres;
    await sql`
      INSERT INTO batch_export_runs (id, batch_export_id, status, data_interval_end, created_at, last_updated_at,
        next_attempt_at)
      VALUES (${id}, ${batch_export_id}, 'Starting', ${at}, ${at}, ${at}, ${at})`;
    const { due } = leasedRuns(sql, { now: noon, watermark: noon, unsupported: [] });
    for (const status of runStatuses) {
      await sql`UPDATE batch_export_runs SET status = ${status}, lease_owner = ${claim} WHERE id = ${id}`;
      const begins = await sql`
        SELECT q.id FROM batch_export_runs q JOIN batch_exports e ON e.id = q.batch_export_id
        WHERE q.id = ${id} AND ${due}`;
      const hasEnded = await endRun(sql, { id, claim } as ClaimedRun, { ...ending, rows }, noon);
      seen[status] = { mayBegin: begins.length === 1, hasEnded };
    }
    await sql`DELETE FROM batch_export_runs WHERE id = ${id}`;
  });
  const over = Object.fromEntries(runStatuses.map((one) => [one, { mayBegin: false, hasEnded: false }]));
  expect(seen).toEqual({
    ...over,
    Starting: { mayBegin: true, hasEnded: false },
    Running: { mayBegin: true, hasEnded: true },
    FailedRetryable: { mayBegin: true, hasEnded: false },
  });
});
