// The files of an interval, by a real server process: none of an earlier attempt stays, none of another export is lost.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Stores } from "../../src/storage/stores.ts";
import { ask } from "../support/ask.ts";
import { azureAccount, azureKey, type AzureServer, startAzure } from "../support/azure.ts";
import { cleanUp } from "../support/cleanup.ts";
import { endedRuns, linesOf, makeBackfill, makeExport, runsOf } from "../support/exports.ts";
import { makeFolder } from "../support/folder.ts";
import { s3Error, s3Key, s3Secret, type S3Server, startS3 } from "../support/s3.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";

afterAll(cleanUp);

const folder = makeFolder();
const settings = {
  FLUSH_INTERVAL_MS: "50",
  ALLOW_PRIVATE_DESTINATIONS: "1",
  EXPORT_FILE_DIR: folder,
};
let server: Server;
let stores: Stores;
let s3: S3Server;
let azure: AzureServer;
let span: { start: Date; end: Date };

beforeAll(async () => {
  s3 = await startS3("lake", "kept");
  azure = startAzure("lake");
  server = await startServer(settings);
  stores = await storesOf(server);
  const batch = Array.from({ length: 24 }, (_, i) => ({
    event: i < 3 ? "bought" : "seen",
    distinct_id: `d${i}`,
    uuid: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`,
    properties: { text: Array.from({ length: 200 }, () => crypto.randomUUID().repeat(30)).join("") },
  }));
  const body = JSON.stringify({ api_key: projectKey, historical_migration: true, batch });
  expect((await post(server, "/batch/", body)).status).toBe(200);
  await rested(server);
  const end = new Date(Math.ceil(Date.now() / 1000) * 1000);
  await until(async () => Date.now() > end.getTime());
  span = { start: new Date(end.getTime() - 3_600_000), end };
});

/** A destination that holds files, and what is in it: the keys, and all lines of those that have some. */
interface Place {
  type: string;
  config: Record<string, unknown>;
  secrets?: Record<string, unknown>;
  keys: () => string[];
  read: (key: string) => string;
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const places: Readonly<Record<string, () => Place>> = {
  S3: () => ({
    type: "S3",
    config: { bucket_name: "lake", prefix: "a b+é/&=%20", region: "eu-west-1", endpoint_url: s3.url },
    secrets: { aws_access_key_id: s3Key, aws_secret_access_key: s3Secret },
    keys: () => s3.keys("lake"),
    read: (key) => decode(s3.read("lake", key)),
  }),
  AzureBlob: () => ({
    type: "AzureBlob",
    config: { account_name: azureAccount, container_name: "lake", prefix: "a b", endpoint_url: azure.url },
    secrets: { account_key: azureKey },
    keys: () => [...azure.blobs.keys()].toSorted(),
    read: (key) => decode(azure.blobs.get(key)!),
  }),
  File: () => ({
    type: "File",
    config: { path: "lake", prefix: "a b" },
    keys: () => (existsSync(join(folder, "lake")) ? readdirSync(join(folder, "lake", "a b")).toSorted() : []),
    read: (key) => readFileSync(join(folder, "lake", "a b", key), "utf8"),
  }),
};

const linesIn = (place: Place): string[] =>
  place
    .keys()
    .filter((key) => key.endsWith(".jsonl"))
    .flatMap((key) => place.read(key).trim().split("\n"))
    .map((line) => (JSON.parse(line) as { uuid: string }).uuid)
    .toSorted();

async function rerun(id: string, config: Record<string, unknown>, count: number): Promise<void> {
  await stores.sql`
    UPDATE batch_exports SET destination_config = ${stores.sql.json(config as never)} WHERE id = ${id}`;
  await makeBackfill(stores, id, "hour", span);
  const runs = await endedRuns(stores, id, count);
  expect(runs.map(({ status, latest_error }) => [status, latest_error])).toEqual(
    Array.from({ length: count }, () => ["Completed", null]),
  );
}

const allUuids = Array.from(
  { length: 24 },
  (_, i) => `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`,
);

// airbytehq/airbyte#61522
for (const [type, placeOf] of Object.entries(places)) {
  test(`a repeated interval of ${type} with fewer rows, with none and unsplit leaves only what it wrote`, async () => {
    const place = placeOf();
    const split = { ...place.config, max_file_size_mb: 1 };
    const id = await makeExport(stores, server, { ...place, config: split });
    await rerun(id, split, 1);
    expect(linesIn(place)).toEqual(allUuids);
    const before = place.keys();
    expect(before.length).toBeGreaterThan(5);
    await rerun(id, { ...split, include_events: ["bought"] }, 2);
    expect(linesIn(place)).toEqual(allUuids.slice(0, 3));
    const manifest = place.keys().find((key) => key.endsWith("_manifest.json"))!;
    const listed = (JSON.parse(place.read(manifest)) as { files: string[] }).files;
    expect(place.keys().length).toBe(listed.length + 1);
    await rerun(id, place.config, 3);
    expect([linesIn(place), place.keys().length]).toEqual([allUuids, 1]);
    await rerun(id, { ...place.config, include_events: ["sold"] }, 4);
    expect(place.keys()).toEqual([]);
  });
}

test("a repeated interval whose events have expired leaves the files that it wrote before, and its export running", async () => {
  const place = places["File"]!();
  const id = await makeExport(stores, server, place);
  await rerun(id, place.config, 1);
  const before = place.keys();
  expect(before.length).toBeGreaterThan(0);
  const tenDays = 10 * 86_400_000;
  const old = {
    start: new Date(span.start.getTime() - tenDays),
    end: new Date(span.end.getTime() - tenDays),
  };
  await stores.sql`
    UPDATE batch_export_runs SET data_interval_start = ${old.start}, data_interval_end = ${old.end}
    WHERE batch_export_id = ${id}`;
  await stores.sql`UPDATE projects SET event_retention_days = 5 WHERE id = 1`;
  await makeBackfill(stores, id, "hour", old);
  const runs = await endedRuns(stores, id, 2);
  // In another place there is nothing to be replaced.
  const config = { ...place.config, prefix: "elsewhere" };
  await stores.sql`
    UPDATE batch_exports SET destination_config = ${stores.sql.json(config as never)} WHERE id = ${id}`;
  await makeBackfill(stores, id, "hour", old);
  const [last] = (await endedRuns(stores, id, 3)).slice(-1);
  await stores.sql`UPDATE projects SET event_retention_days = NULL WHERE id = 1`;
  expect(runs.map(({ status, latest_error }) => [status, latest_error])).toEqual([
    ["Completed", null],
    ["Cancelled", "Events of its interval have expired: the files that an earlier run wrote stay"],
  ]);
  expect(last!.status).toBe("Completed");
  expect(place.keys()).toEqual(before);
});

// langfuse/langfuse#15617: of events and persons below one prefix, the later run replaced the other's file.
test("exports of one prefix with other models and queries have files of their own", async () => {
  const place = places["S3"]!();
  const config = { ...place.config, ...place.secrets, prefix: "both" };
  const native_query = "SELECT uuid, event AS name FROM events";
  const others = [{}, { model: "persons" }, { native_query }, { native_query, filters: [] }, {}];
  const ids: string[] = [];
  for (const more of others) {
    const body = { name: "e", interval: "hour", destination: { type: "S3", config }, ...more };
    const made = await ask(server, "POST", "/api/projects/1/batch_exports/", body);
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    ids.push(String(made.body["id"]));
  }
  for (const id of ids) await makeBackfill(stores, id, "hour", span);
  for (const id of ids) await endedRuns(stores, id);
  const keys = place.keys().filter((key) => key.startsWith("both/"));
  const stem = keys.find((key) => !key.includes("_"))!.replace(".jsonl", "");
  expect(keys.toSorted()).toEqual(
    ["", ...ids.slice(1, 4).map((id) => `_${id.slice(-8)}`)].map((own) => `${stem}${own}.jsonl`).toSorted(),
  );
  const columns = keys.map(
    (key) => Object.keys(JSON.parse(place.read(key).split("\n")[0]!) as object).length,
  );
  expect(columns.toSorted()).toEqual([10, 2, 2, 9]);
});

test("files of another prefix stay, and a store that removes nothing is named in the run's log", async () => {
  const place = { ...places["S3"]!(), keys: () => s3.keys("kept") };
  const config = { ...place.config, bucket_name: "kept", prefix: "first" };
  const id = await makeExport(stores, server, { ...place, config });
  await rerun(id, config, 1);
  await rerun(id, { ...config, prefix: "second" }, 2);
  expect(place.keys().map((key) => key.split("/")[0])).toEqual(["first", "second"]);
  s3.answer = (request) => (request.method === "DELETE" ? s3Error(403, "AccessDenied") : undefined);
  const none = { ...config, prefix: "second", include_events: ["sold"] };
  await rerun(id, none, 3);
  s3.answer = undefined;
  const warnings = (await linesOf(stores, id)).filter(({ level }) => level === "WARNING");
  expect(warnings.map(({ message }) => message)).toEqual([
    `Files of an earlier attempt could not be removed (1, the first is ${place.keys()[1]}): The server answered 403 without a known error code`,
  ]);
  await rerun(id, none, 4);
  expect(place.keys().map((key) => key.split("/")[0])).toEqual(["first"]);
});

test("an attempt that is killed leaves nothing that the next one does not write", async () => {
  const place = places["S3"]!();
  const config = { ...place.config, prefix: "killed", max_file_size_mb: 1 };
  const keys = (): string[] => place.keys().filter((key) => key.startsWith("killed/"));
  // The list of the files waits until the process is killed.
  s3.answer = (request) => (request.url.includes("_manifest") ? new Promise<undefined>(() => {}) : undefined);
  const id = await makeExport(stores, server, { ...place, config });
  await makeBackfill(stores, id, "hour", span);
  await until(async () => keys().length > 5);
  const fewer = stores.sql.json({ ...config, include_events: ["bought"] } as never);
  await stores.sql`UPDATE batch_exports SET destination_config = ${fewer} WHERE id = ${id}`;
  const { dataDir } = server;
  await server.end("SIGKILL");
  s3.answer = undefined;
  server = await startServer(settings, dataDir);
  stores = await storesOf(server);
  await stores.sql`UPDATE batch_export_runs SET lease_until = lease_until - interval '1 minute' WHERE status = 'Running'`;
  await until(async () => (await runsOf(stores, id)).every(({ status }) => status === "Completed"));
  const uuids = keys()
    .filter((key) => key.endsWith(".jsonl"))
    .flatMap((key) => place.read(key).trim().split("\n"));
  expect(uuids.map((line) => (JSON.parse(line) as { uuid: string }).uuid).toSorted()).toEqual(
    allUuids.slice(0, 3),
  );
});
