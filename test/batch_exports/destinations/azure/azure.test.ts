// Exports to Azure's blob storage: nowhere but to the address that was checked, whole blobs or none.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { openDestination } from "../../../../src/batch_exports/destinations/destinations.ts";
import type { ExportWorker } from "../../../../src/batch_exports/runs/worker.ts";
import { azureAccount, azureError, azureKey, type AzureServer, startAzure } from "../../../support/azure.ts";
import { cleanUp, later } from "../../../support/cleanup.ts";
import { type ExportProcess, openExportProcess } from "../../../support/export_process.ts";
import { linesOf, runIn } from "../../../support/exports.ts";
import { storesStartMsMax } from "../../../support/stores.ts";

afterAll(cleanUp);

let exports: ExportProcess;
let worker: ExportWorker;
let azure: AzureServer;
const secrets = { account_key: azureKey };

beforeAll(async () => {
  exports = await openExportProcess();
  worker = exports.open();
  azure = startAzure("box");
}, storesStartMsMax);

beforeEach(() => {
  azure.answer = undefined;
  azure.blobs.clear();
  azure.requests.length = 0;
});

const config = (more: object = {}) => ({
  account_name: azureAccount,
  container_name: "box",
  prefix: "p",
  endpoint_url: azure.url,
  ...more,
});
const toAzure = (more: object = {}) => ({ type: "AzureBlob", config: config(more), secrets });

function rowsIn(bytes: Uint8Array): string[] {
  const text = new TextDecoder().decode(bytes).trimEnd();
  return text.split("\n").map((line) => String((JSON.parse(line) as { uuid: string }).uuid));
}

test.each([301, 302, 303, 307, 308])(
  "an answer of %d leads nowhere, and nothing of what lies there is shown",
  async (status) => {
    const hits: string[] = [];
    const inside = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) => {
        hits.push(url);
        return new Response("what lies inside", { status: 403 });
      },
    });
    later(() => inside.stop(true));
    const location = `http://127.0.0.1:${inside.port}/metadata`;
    azure.answer = () => new Response("words of the first", { status, headers: { location } });
    const run = await exports.exported(toAzure());
    const { host } = new URL(azure.url);
    const expected = `${host} answered ${status}; redirects are not followed`;
    expect([run.status, run.attempts, run.latest_error]).toEqual(["Failed", 1, expected]);
    expect(await worker.probe(openDestination("AzureBlob", config(), secrets), 1)).toBe(expected);
    expect(hits).toEqual([]);
  },
  300_000,
);

test("a refusal is reported with its status and a known code only", async () => {
  const { host } = new URL(azure.url);
  const answers: [() => Response, string][] = [
    [() => azureError(403, "AuthorizationFailure"), `${host} answered 403 AuthorizationFailure`],
    [() => azureError(403, "root:x:0:0"), `${host} answered 403`],
    [() => new Response("what lies inside", { status: 404 }), `${host} answered 404`],
  ];
  for (const [answer, said] of answers) {
    azure.answer = answer;
    const id = await exports.begin(toAzure());
    const run = await runIn(exports.stores, id, "Failed");
    expect([run.attempts, run.latest_error]).toEqual([1, said]);
    const lines = (await linesOf(exports.stores, id)).map(({ message }) => message).join("\n");
    expect(lines).not.toMatch(/what lies inside|root:x/);
  }
});

test("a request to a busy server is retried, and later if it stays busy", async () => {
  let busy = 2;
  azure.answer = () => {
    if (busy-- <= 0) return undefined;
    const reply = azureError(503, "ServerBusy");
    reply.headers.set("retry-after", "0");
    return reply;
  };
  const run = await exports.exported(toAzure());
  expect([run.latest_error, run.records_completed]).toEqual([null, 3]);
  busy = 1000;
  const waiting = await runIn(exports.stores, await exports.begin(toAzure()), "FailedRetryable");
  expect(waiting.latest_error).toEndWith("answered 503 ServerBusy");
});

test("what was there stays until all of a new blob is, and is then replaced", async () => {
  await exports.exported(toAzure());
  const [[name, first]] = [...azure.blobs] as [[string, Uint8Array]];
  azure.answer = ({ url }) => (url.includes("comp=blocklist") ? azureError(403, "BlobArchived") : undefined);
  await exports.arrive(1);
  expect((await exports.exported(toAzure())).latest_error).toEndWith("answered 403 BlobArchived");
  expect(azure.blobs.get(name)).toBe(first);
  azure.answer = undefined;
  expect((await exports.exported(toAzure())).records_completed).toBe(4);
  expect([...azure.blobs.keys()]).toEqual([name]);
  expect(rowsIn(azure.blobs.get(name)!).length).toBe(4);
});

test("long files go in blocks, compressed as configured, split by size, and contain every row once", async () => {
  await exports.arrive(1500, "concat('{\"text\":\"', repeat(hex(SHA256(toString(number))), 400), '\"}')");
  const plain = await exports.exported(toAzure({ prefix: "plain" }));
  expect([plain.latest_error, plain.records_completed]).toEqual([null, 1504]);
  const blocks = azure.requests.filter(({ url }) => url.searchParams.get("comp") === "block");
  expect(blocks.length).toBeGreaterThanOrEqual(4);
  expect(Math.max(...blocks.map(({ bytes }) => bytes))).toBeLessThan(10 * 1024 * 1024);
  const whole = rowsIn([...azure.blobs.values()][0]!).toSorted();
  expect(new Set(whole).size).toBe(1504);
  for (const [compression, unpack] of [
    ["gzip", gunzipSync],
    ["brotli", brotliDecompressSync],
  ] as const) {
    azure.blobs.clear();
    expect((await exports.exported(toAzure({ compression }))).latest_error).toBeNull();
    expect(rowsIn(unpack([...azure.blobs.values()][0]!)).toSorted()).toEqual(whole);
  }
  azure.blobs.clear();
  const split = await exports.exported(toAzure({ max_file_size_mb: 10, compression: "gzip" }));
  expect([split.latest_error, split.records_completed]).toEqual([null, 1504]);
  azure.blobs.clear();
  expect((await exports.exported(toAzure({ max_file_size_mb: 10 }))).latest_error).toBeNull();
  const list = [...azure.blobs.keys()].find((key) => key.endsWith("_manifest.json"))!;
  const { files } = JSON.parse(new TextDecoder().decode(azure.blobs.get(list))) as { files: string[] };
  expect(files.length).toBeGreaterThanOrEqual(4);
  const parts = files.flatMap((file) => rowsIn(azure.blobs.get(`box/${file}`)!));
  expect(parts.toSorted()).toEqual(whole);
});

test("CSV and Parquet are whole", async () => {
  expect(
    (await exports.exported(toAzure({ file_format: "CSV", compression: "gzip" }))).latest_error,
  ).toBeNull();
  const [csv] = [...azure.blobs.values()];
  expect(gunzipSync(csv!).toString().startsWith('"uuid","event"')).toBeTrue();
  azure.blobs.clear();
  expect(
    (await exports.exported(toAzure({ file_format: "Parquet", compression: "zstd" }))).latest_error,
  ).toBeNull();
  const [parquet] = [...azure.blobs.values()];
  expect(Buffer.from(parquet!.slice(-4)).toString()).toBe("PAR1");
});

test("a prefix does not lead out of its container", async () => {
  const run = await exports.exported(toAzure({ prefix: "a/../../other" }));
  expect([run.status, run.latest_error]).toEqual(["Failed", 'A prefix must not hold "." or ".." as a step']);
  expect(azure.requests).toEqual([]);
});
