// S3 servers that send the engine elsewhere, or answer what is not theirs to show: it goes nowhere, and tells nothing.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { openDestination } from "../../src/batch_exports/destinations/destinations.ts";
import type { ExportWorker } from "../../src/batch_exports/runs/worker.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { type ExportProcess, openExportProcess } from "../support/export_process.ts";
import { linesOf, runsOf } from "../support/exports.ts";
import { s3Error, s3Key, s3Secret, type S3Server, startS3 } from "../support/s3.ts";
import { until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp);

let exports: ExportProcess;
let worker: ExportWorker;
let s3: S3Server;
let inside: string;
const hits: string[] = [];
const secrets = { aws_access_key_id: s3Key, aws_secret_access_key: s3Secret };

beforeAll(async () => {
  exports = await openExportProcess();
  worker = exports.open();
  s3 = await startS3("exports");
  const listener = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ method, url }) => {
      hits.push(`${method} ${url}`);
      return new Response("what lies inside", { status: 500 });
    },
  });
  later(() => listener.stop(true));
  inside = `127.0.0.1:${listener.port}`;
}, storesStartMsMax);

/** What is shown of a run that met an answer: its error, its log, what a dry run says. */
async function shownOf(answer: () => Response): Promise<string> {
  s3.answer = answer;
  const config = { bucket_name: "exports", region: "us-east-1", prefix: "p", endpoint_url: s3.url };
  const id = await exports.begin({ type: "S3", config, secrets });
  await until(async () =>
    (await runsOf(exports.stores, id)).some(({ latest_error }) => latest_error !== null),
  );
  const [run] = await runsOf(exports.stores, id);
  const lines = await linesOf(exports.stores, id);
  const dry = await worker.probe(openDestination("S3", config, secrets), 1);
  await exports.stores.sql`UPDATE batch_exports SET deleted = true WHERE id = ${id}`;
  return [run!.latest_error, dry, ...lines.map(({ message }) => message)].join("\n");
}

test("an answer that names another place leads nowhere, by its header or its body", async () => {
  const elsewhere = () => `<Endpoint>${inside}</Endpoint><Bucket>exports</Bucket><Region>eu-west-1</Region>`;
  const answers: (() => Response)[] = [
    ...[301, 302, 303, 307, 308].map(
      (status) => () => new Response("words", { status, headers: { location: `http://${inside}/x` } }),
    ),
    () => s3Error(301, "PermanentRedirect", "words", elsewhere()),
    () => s3Error(307, "TemporaryRedirect", "words", elsewhere()),
    () => s3Error(400, "AuthorizationHeaderMalformed", "words", elsewhere()),
  ];
  for (const answer of answers) expect(await shownOf(answer)).not.toContain("words");
  expect(hits).toEqual([]);
});

test("an answer's words are not repeated, known or not", async () => {
  const denied = await shownOf(() => s3Error(403, "AccessDenied", "Access Denied to root:x:0:0"));
  expect(denied).toContain("The S3 server refused: AccessDenied: Access Denied");
  expect(denied).not.toContain("root:x");
  const odd = await shownOf(() => s3Error(418, "OddError", "root:x:0:0, bucket root:x"));
  expect(odd).toContain("The S3 server failed with status 418");
  expect(odd).not.toContain("root:x");
  const moved = () =>
    new Response("root:x", {
      status: 301,
      headers: { "x-amz-bucket-region": "eu-west-1", location: "http://b" },
    });
  expect(await shownOf(moved)).toContain("redirects are not followed: the bucket is in the region eu-west-1");
});
