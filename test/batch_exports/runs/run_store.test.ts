// The end of a run that cannot be written: nothing runs for ever, and nothing is delivered again and again.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { exportLimits } from "../../../src/batch_exports/limits.ts";
import type { RunStatus } from "../../../src/batch_exports/model.ts";
import { statusesBefore } from "../../../src/batch_exports/runs/run_store.ts";
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
  sink.answer = () => new Response("odd", { status: 400 });
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

test("a run ends only from where it runs, and never begins again once it is over", () => {
  expect(statusesBefore("Completed")).toEqual(["Running"]);
  expect(statusesBefore("Failed")).toEqual(["Running"]);
  expect(statusesBefore("FailedRetryable")).toEqual(["Running"]);
  expect(statusesBefore("Running")).toEqual(["Starting", "Running", "FailedRetryable"]);
  expect(statusesBefore("Cancelled")).toEqual(["Starting", "Running", "FailedRetryable"]);
  const entered: RunStatus[] = ["Starting", "FailedBilling", "TimedOut", "Terminated", "ContinuedAsNew"];
  for (const status of entered) expect(statusesBefore(status)).toEqual([]);
});
