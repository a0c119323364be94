// The archive of what a journal has stored: events of the hours since a backup come back once, persons deleted since do
// not, and the flush does not wait.

import { afterAll, beforeEach, expect, test } from "bun:test";
import {
  existsSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { captureSetup } from "../../../src/capture/capture_journal.ts";
import { type Segment, segmentId, segmentName } from "../../../src/capture/journal/segments/segment.ts";
import {
  listWaiting,
  SegmentSpool,
  spoolFolder,
} from "../../../src/capture/journal/segments/segment_spool.ts";
import { archiveBeside } from "../../../src/cli/backup/archive/archive_place.ts";
import { type BundleHead, packBundle } from "../../../src/cli/backup/archive/bundle.ts";
import { Archiver } from "../../../src/cli/backup/archive/send_archive.ts";
import { backupLimits } from "../../../src/cli/backup/limits.ts";
import { openCollection } from "../../../src/cli/backup/write_backup.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { silentLog } from "../../../src/core/log.ts";
import { readPostgresId } from "../../../src/storage/identity.ts";
import { ask } from "../../support/ask.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { killsOf } from "../../support/kills.ts";
import { s3Error, s3Key, s3Secret, type S3Server, startS3 } from "../../support/s3.ts";
import {
  metric,
  post,
  projectKey,
  rested,
  runSluice,
  type Server,
  type StartedServer,
  startServer,
  storesOf as openStoresOf,
  until,
} from "../../support/server.ts";
import { fillProject } from "../../support/shown.ts";

afterAll(cleanUp);

const s3: S3Server = await startS3("backups");
const { objectBytes } = backupLimits;
beforeEach(() => {
  s3.answer = undefined;
  Object.assign(backupLimits, { objectBytes });
});

const home = "/api/projects/1";
const aSegment = segmentName(captureSetup.lanes[0]!, segmentId(Date.UTC(2100, 0), 1));
/** Opened once: each has connections of its own. */
const opened = new Map<string, ReturnType<typeof openStoresOf>>();
const storesOf = (server: Server) => opened.getOrInsertComputed(server.dataDir, () => openStoresOf(server));
const access = () => ({
  AWS_ACCESS_KEY_ID: s3Key,
  AWS_SECRET_ACCESS_KEY: s3Secret,
  AWS_ENDPOINT_URL: s3.url,
});
const bucketAccess = () => ({
  accessKeyId: s3Key,
  secretAccessKey: s3Secret,
  sessionToken: undefined,
  region: "us-east-1",
  endpoint: s3.url,
});

/** Its own archiver, which would come once a minute, reaches no place. */
async function startArchived(flushMs = "50", dataDir?: string): Promise<StartedServer> {
  const file = join(makeFolder(), "file");
  writeFileSync(file, "");
  return await startServer({ FLUSH_INTERVAL_MS: flushMs, JOURNAL_ARCHIVE: `${file}/away` }, dataDir);
}

/** What the server's own archiver does once a minute. */
async function openTestArchiver(server: Server, target: string): Promise<Archiver> {
  const { sql } = await storesOf(server);
  const { dataDir } = server;
  return new Archiver({
    sql,
    dataDir,
    collection: openCollection(dataDir, target, bucketAccess()),
    clock: systemClock,
    log: silentLog,
  });
}

async function backUp(server: Server, place: string, keep = "9"): Promise<string> {
  const ran = await runSluice(["backup", place, "--keep", keep, "--incremental"], {
    DATA_DIR: server.dataDir,
    ...access(),
  });
  expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  return `${place}/${/ to .*\/(sluice-\S+)\n/.exec(ran.stdout)![1]!}`;
}

async function restore(
  address: string,
  ...args: string[]
): Promise<{ server: StartedServer; printed: string }> {
  const dataDir = join(makeFolder(), "restored");
  const ran = await runSluice(["restore", address, ...args], { DATA_DIR: dataDir, ...access() });
  expect([ran.exitCode, ran.stderr]).toEqual([0, expect.any(String)]);
  const server = await startServer({ FLUSH_INTERVAL_MS: "50" }, dataDir);
  await rested(server);
  return { server, printed: ran.stdout };
}

async function send(server: Server, event: string, distinct_id: string): Promise<void> {
  const sent = await post(server, "/capture/", { api_key: projectKey, event, distinct_id });
  expect(sent.status).toBe(200);
  await rested(server);
}

/** A hash of everything that events, persons and sessions have. */
async function hashOf(of: Server): Promise<unknown> {
  const { clickhouse } = await storesOf(of);
  return await clickhouse.query(
    `SELECT (SELECT (count(), uniqExact(uuid), sum(cityHash64(*))) FROM event_rows) AS rows,
       (SELECT (count(), sum(cityHash64(*))) FROM events) AS events,
       (SELECT (count(), sum(cityHash64(project_id, person_id, properties))) FROM persons) AS persons,
       (SELECT (count(), sum(cityHash64(distinct_id, person_id))) FROM person_distinct_ids) AS ids,
       (SELECT (count(), sum(cityHash64(session_id))) FROM sessions) AS sessions,
       (SELECT count() FROM session_recordings) AS recordings`,
  );
}

async function deletePerson(server: Server, distinct_id: string): Promise<void> {
  const body = { distinct_ids: [distinct_id], delete_events: true };
  const { status } = await ask(server, "POST", `${home}/persons/bulk_delete/`, body);
  expect(status).toBe(202);
}

const unfinished = async (server: Server) => {
  const { sql } = await storesOf(server);
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::int AS count FROM person_deletion_orders WHERE finished_at IS NULL`;
  return row!.count;
};
const archived = async (server: Server, address: string) => {
  const { sql } = await storesOf(server);
  return archiveBeside(address, bucketAccess(), (await readPostgresId(sql))!);
};

for (const kind of ["a folder", "a bucket"] as const) {
  test(`from ${kind} the events since a backup come back once, and the persons deleted since do not`, async () => {
    const place = kind === "a folder" ? makeFolder() : "s3://backups/all";
    const server = await startArchived();
    await fillProject(server, "one");
    await send(server, "early", "leaving");
    const address = await backUp(server, place);
    const before = await hashOf(server);
    await send(server, "late", "leaving");
    await fillProject(server, "two");
    await fillProject(server, "moved");
    await rested(server);
    await deletePerson(server, "leaving");
    await until(async () => (await unfinished(server)) === 0);
    await send(server, "again", "leaving");
    expect(await metric(server, "sluice_journal_unarchived_seconds")).toBeGreaterThan(0);
    // Pieces of segments.
    Object.assign(backupLimits, { objectBytes: 3000 });
    const archiver = await openTestArchiver(server, place);
    await archiver.send();
    expect(readdirSync(spoolFolder(server.dataDir))).toEqual(["last"]);
    expect(await metric(server, "sluice_journal_unarchived_seconds")).toBe(0);
    const { sql } = await storesOf(server);
    expect(await sql`SELECT FROM person_deletion_ids`).toHaveLength(0);
    const after = await hashOf(server);
    await server.end("SIGKILL");

    const { server: whole, printed } = await restore(address, "--archive");
    expect(printed).toMatch(/\nadded \d+ archived segments, sent until \S+Z; the next start stores them\n$/);
    await until(async () => (await unfinished(whole)) === 0);
    await rested(whole);
    expect(await metric(whole, "sluice_journal_damaged_total")).toBe(0);
    await until(async () => Bun.deepEquals(await hashOf(whole), after));
    const { clickhouse } = await storesOf(whole);
    const left = "SELECT event FROM events WHERE distinct_id = 'leaving'";
    expect(await clickhouse.query(left)).toEqual([{ event: "again" }]);
    const { server: bare } = await restore(address);
    expect(await hashOf(bare)).toEqual(before);
    // The next backups end what the archive has of before.
    const list = async () => (await archived(whole, address)).list(0);
    expect((await list()).length).toBeGreaterThan(3);
    await (await archived(whole, address)).removeBefore(Date.now() + 1);
    expect(await list()).toEqual([]);
  });
}

test("a segment that grew while it was backed up is whole after the restore, and what fails is sent again", async () => {
  const place = "s3://backups/again";
  const server = await startArchived("3600000");
  for (const event of ["one", "two"]) {
    expect((await post(server, "/capture/", { api_key: projectKey, event, distinct_id: "d" })).status).toBe(
      200,
    );
  }
  const address = await backUp(server, place);
  expect(
    (await post(server, "/capture/", { api_key: projectKey, event: "three", distinct_id: "d" })).status,
  ).toBe(200);
  // The stop flushes, and archives nothing.
  expect(await server.end("SIGTERM")).toBe(0);
  const again = await startArchived("50", server.dataDir);
  await rested(again);
  const waiting = readdirSync(spoolFolder(again.dataDir));
  expect(waiting.length).toBeGreaterThan(0);
  const archiver = await openTestArchiver(again, place);
  s3.answer = ({ method }) => (method === "PUT" ? s3Error(403, "AccessDenied") : undefined);
  await expect(archiver.send()).rejects.toThrow("AccessDenied");
  expect(readdirSync(spoolFolder(again.dataDir))).toEqual(waiting);
  s3.answer = undefined;
  await archiver.send();
  // As after a kill between the sending and the removal.
  await (await openTestArchiver(again, place)).send();
  const after = await hashOf(again);
  await again.end("SIGKILL");
  const { server: restored } = await restore(address, "--archive");
  const { clickhouse } = await storesOf(restored);
  await until(async () => Bun.deepEquals(await hashOf(restored), after));
  const events = await clickhouse.query<{ event: string }>("SELECT event FROM event_rows ORDER BY event");
  expect(events.map(({ event }) => event)).toEqual(["one", "three", "two"]);
  expect(await metric(restored, "sluice_journal_damaged_total")).toBe(0);
});

test("a gap of the archive is told, and all else comes back; what is deleted since stays so", async () => {
  const place = makeFolder();
  const server = await startArchived();
  const { body } = await ask(server, "POST", "/api/organizations/@current/projects/", { name: "going" });
  const { id, api_token } = body as { id: number; api_token: string };
  const gone = { api_key: api_token, event: "gone", distinct_id: "d" };
  expect((await post(server, "/capture/", gone)).status).toBe(200);
  const address = await backUp(server, place);
  expect((await ask(server, "DELETE", `/api/projects/${id}/`)).status).toBe(204);
  const archive = await archived(server, address);
  const archiver = await openTestArchiver(server, place);
  const sent: string[] = [];
  for (const event of ["first", "changed", "removed", "last"]) {
    await send(server, event, "d");
    if (event === "last") writeFileSync(join(spoolFolder(server.dataDir), `0-${aSegment}`), "");
    await archiver.send();
    sent.push((await archive.list(0)).at(-1)!);
  }
  const folder = join(
    place,
    readdirSync(place).find((name) => name.startsWith("sluice-archive-"))!,
  );
  truncateSync(join(folder, sent[1]!), 10);
  rmSync(join(folder, sent[2]!));
  symlinkSync("/dev/zero", join(folder, "99999999999999-zero"));
  const { server: restored, printed } = await restore(address, "--archive");
  const at = (name: string) => new Date(Number.parseInt(name, 10)).toISOString();
  expect(printed.split("\n").slice(-5, -1)).toEqual([
    expect.stringContaining(`sent until ${at(sent[3]!)}; the next start stores them`),
    `the archive has a gap: ${sent[1]} is damaged`,
    `the archive has a gap: nothing is known of ${at(sent[2]!)} to ${at(sent[3]!)}`,
    "the archive has a gap: 1 segments were not archived",
  ]);
  const { clickhouse, sql } = await storesOf(restored);
  const left = async () =>
    await clickhouse.query<{ event: string }>("SELECT event FROM event_rows ORDER BY event");
  await until(async () =>
    Bun.deepEquals(
      (await left()).map(({ event }) => event),
      ["first", "last"],
    ),
  );
  expect(await sql`SELECT FROM projects WHERE id = ${id}`).toHaveLength(0);
});

test("a bundle is refused whole: of names that are no segments', far offsets, and anything that is none", async () => {
  const place = makeFolder();
  const server = await startArchived();
  const address = await backUp(server, place);
  const archive = await archived(server, address);
  const head = { previous: "", pieces: [], orders: [], gone: [], sequences: {} };
  const content = Buffer.from("x");
  const hostile = [
    { ...head, pieces: [{ name: "../../x", offset: 0, bytes: 1 }] },
    { ...head, pieces: [{ name: aSegment, offset: 2 ** 31, bytes: 1 }] },
    { ...head, pieces: [{ name: aSegment, offset: -1, bytes: 1 }] },
    { ...head, pieces: [{ name: aSegment, offset: "0", bytes: null }] },
    { ...head, orders: "all" },
    { ...head, gone: undefined },
    null,
  ] as BundleHead[];
  for (const [i, one] of hostile.entries())
    await archive.put(Date.now() + i, await packBundle(one, [content]));
  await archive.put(Date.now() + 99, content);
  const dataDir = join(makeFolder(), "restored");
  const ran = await runSluice(["restore", address, "--archive"], { DATA_DIR: dataDir });
  expect(ran.exitCode).toBe(0);
  expect(ran.stdout.match(/a gap: \S+ is damaged\n/g)).toHaveLength(hostile.length + 1);
  expect(ran.stdout).toContain("added 0 archived segments");
  expect(existsSync(join(dataDir, "journal", aSegment))).toBe(false);
});

test("a place that is none, or within DATA_DIR, ends the start", async () => {
  const DATA_DIR = join(makeFolder(), "data");
  for (const place of ["s3://x", `${DATA_DIR}/backups`, "s3://backups/all"]) {
    const ran = await runSluice(["serve"], { DATA_DIR, JOURNAL_ARCHIVE: place });
    expect(ran).toMatchObject({ exitCode: place === "s3://x" ? 2 : 1, stdout: "" });
    expect(ran.stderr).toMatch(/within DATA_DIR|expected s3:|AWS_ACCESS_KEY_ID/);
  }
  expect(existsSync(DATA_DIR)).toBe(false);
});

const archiverScript = `
    import { Archiver } from "./src/cli/backup/archive/send_archive.ts";
  import { backupLimits } from "./src/cli/backup/limits.ts";
  import { openCollection } from "./src/cli/backup/write_backup.ts";
  import { systemClock } from "./src/core/clock.ts";
  import { silentLog } from "./src/core/log.ts";
  import { attachStores } from "./src/storage/stores.ts";
  const [dataDir, place] = process.argv.slice(-2);
  backupLimits.objectBytes = 2000;
  const { sql } = await attachStores({ dataDir, log: silentLog, requireReachable: true });
  const collection = openCollection(dataDir, place, {});
  const archiver = new Archiver({ sql, dataDir, collection, clock: systemClock, log: silentLog });
  await archiver.send();
  process.exit(0);`;

test("an archiver that is killed leaves nothing half, and the next one sends the rest", async () => {
  const place = makeFolder();
  const server = await startArchived();
  const address = await backUp(server, place);
  const folder = join(place, `sluice-archive-${/[^-]+$/.exec(address)![0]}`);
  const spool = spoolFolder(server.dataDir);
  const names = (of: string) => (existsSync(of) ? readdirSync(of) : []);
  let events = 0;
  for (let round = 0; round < killsOf(3); round++) {
    for (let i = 0; i < 8; i++) await send(server, `event ${events++}`, `d${i}`);
    const [sent, waiting] = [names(folder).length, names(spool).length];
    const signs = [
      () => names(folder).some((name) => name.endsWith(".partial")),
      () => names(folder).length > sent,
      () => names(spool).length < waiting,
    ];
    const child = Bun.spawn([process.execPath, "-e", archiverScript, server.dataDir, place]);
    later(() => child.kill("SIGKILL"));
    while (!signs[round % signs.length]!() && child.exitCode === null) await Bun.sleep(0);
    child.kill("SIGKILL");
    await child.exited;
  }
  writeFileSync(join(folder, `${"0".repeat(14)}-${"0".repeat(64)}.partial`), "half");
  await (await openTestArchiver(server, place)).send();
  const after = await hashOf(server);
  // Of the oldest backup that is kept.
  await backUp(server, place);
  expect(names(folder).filter((name) => name.startsWith("00000000000000"))).toEqual([]);
  const { server: restored, printed } = await restore(address, "--archive");
  expect(printed).not.toContain("gap");
  await until(async () => Bun.deepEquals(await hashOf(restored), after));
});

test("files wait up to a bound, from the oldest on; what is beyond is counted, and the flush goes on", async () => {
  const dataDir = makeFolder();
  const folder = spoolFolder(dataDir);
  const journal = makeFolder();
  let count = 0;
  const counts = { unarchived: () => void count++ };
  const spool = new SegmentSpool(captureSetup.io, { dataDir, journalBytesMax: 400, counts });
  const [lane] = captureSetup.lanes;
  const make = (millis: number, bytes: number, number = 1): Segment => {
    const id = segmentId(millis, number);
    const path = join(journal, segmentName(lane!, id));
    writeFileSync(path, new Uint8Array(bytes));
    return { id, lane: lane!, path, bytes, rows: 1, oldest: 0, batches: [], isRecovered: false };
  };
  const [late, early, big, tight] = [make(2e12, 40), make(1.9e12, 50), make(2.1e12, 20), make(2.2e12, 1)];
  expect([await spool.retain(late, false), await spool.retain(early, false)]).toEqual([true, true]);
  expect([await spool.retain(tight, true), await spool.retain(big, false), count]).toEqual([false, false, 2]);
  // As after a kill before the ledger has it as finished.
  expect(await spool.retain(late, false)).toBe(true);
  // Each journal has a bound of its own.
  expect(await spool.retain(make(2.3e12, 90, 2), false)).toBe(true);
  expect(listWaiting(captureSetup.io, folder).map(({ bytes }) => bytes)).toEqual([50, 40, 0, 0, 90]);
  const returned = join(journal, "returned.segment");
  renameSync(big.path, returned);
  expect([await spool.retain({ ...big, path: returned }, false), count]).toEqual([false, 2]);
  // A folder that cannot be made.
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "");
  expect([await spool.retain(early, false), count]).toEqual([false, 3]);
  expect(existsSync(early.path)).toBe(true);
});
