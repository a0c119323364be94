// A program that runs an hourly export to S3 and prints, as JSON, which files of src the run passed. Runs with trace.ts
// loaded before it.

import { cleanUp } from "./cleanup.ts";
import { noon, openExportProcess } from "./export_process.ts";
import { endedRuns, makeExport } from "./exports.ts";
import { s3Key, s3Secret, startS3 } from "./s3.ts";
import { noting, passed } from "./trace.ts";

const s3 = await startS3("bucket");
const { stores, open, dataDir } = await openExportProcess();
const worker = open();
const made = {
  type: "S3",
  config: { bucket_name: "bucket", endpoint_url: s3.url, prefix: "events" },
  secrets: { aws_access_key_id: s3Key, aws_secret_access_key: s3Secret },
  scheduled_until: new Date(noon - 3_600_000),
};
const id = await makeExport(stores, { dataDir }, made);
noting(() => worker.wake());
const [run] = await endedRuns(stores, id);
if (run?.records_completed !== 3) throw new Error(`the run ended otherwise: ${run?.latest_error}`);
// The run's counts and its log follow its end.
await worker.close();
process.stdout.write(`${JSON.stringify([...passed])}\n`);
await cleanUp();
process.exit(0);
