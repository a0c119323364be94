// A disk that is really full: a small one of our own, filled to its end.

import { afterAll, expect, test } from "bun:test";
import { closeSync, openSync, readdirSync, rmSync, statfsSync, writeSync } from "node:fs";
import { liveLane } from "../../src/capture/columns/block.ts";
import { openLog } from "../../src/core/log.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { cleanUp } from "../support/cleanup.ts";
import { appendTo, openJournal } from "../support/journal.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import {
  metric,
  post,
  projectKey,
  rested,
  type Server,
  startServer,
  storesOf,
  until,
} from "../support/server.ts";
import { canMount, makeDisk } from "../support/small_disk.ts";

afterAll(cleanUp);

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Writes to a file until the disk takes no more, also what was freed since; returns its path. */
function fill(folder: string): string {
  const path = `${folder}/filler`;
  const file = openSync(path, "a");
  try {
    for (const bytes = new Uint8Array(4096); ;) writeSync(file, bytes);
  } catch {
    return path;
  } finally {
    closeSync(file);
  }
}

test.skipIf(!canMount)(
  "groups that cannot be written leave no files, say so rarely, and lose nothing",
  async () => {
    const disk = makeDisk(2);
    const lines: string[] = [];
    const log = openLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
    const folder = `${disk}/journal`;
    const journal = openJournal(folder, { log });
    for (let place = 0; place < 100; place++) appendTo(journal, "live", place);
    await journal.live.commit();
    const filler = fill(disk);
    let refused = 0;
    for (let group = 0; group < 200; group++) {
      for (let place = 0; place < 100; place++) appendTo(journal, "live", place);
      await journal.live.commit().catch(() => refused++);
    }
    expect(refused).toBeGreaterThan(190);
    expect(readdirSync(folder).filter((name) => name.endsWith(".segment")).length).toBeLessThanOrEqual(2);
    // One of each kind: a file that is given up, and a group that is refused.
    expect(lines.length).toBeLessThanOrEqual(3);
    const kept = journal.pending().events;
    rmSync(filler);
    appendTo(journal, "live", 1);
    await journal.live.commit();
    const again = openJournal(folder);
    expect(again.pending().events).toBe(kept + 1);
    expect(again.damagedFiles).toBe(0);
    for (const one of [journal, again]) {
      await one.close();
      await one.release();
    }
  },
);

test.skipIf(!canMount)(
  "a start on a disk without a byte left finds what is there, and counts it once",
  async () => {
    const disk = makeDisk(2);
    const folder = `${disk}/journal`;
    const journal = openJournal(folder);
    for (let segment = 0; segment < 3; segment++) {
      appendTo(journal, "live", segment);
      await journal.live.seal();
    }
    await journal.finish(journal.nextSealed(liveLane)!);
    appendTo(journal, "live", 3);
    await journal.live.commit();
    const filler = fill(disk);
    for (let start = 0; start < 3; start++) {
      const full = openJournal(folder);
      expect([full.pending().events, full.damagedFiles]).toEqual([3, 0]);
      await full.close();
      await full.release();
    }
    rmSync(filler);
    const again = openJournal(folder);
    expect([again.pending().events, again.damagedFiles]).toEqual([3, 0]);
    for (const one of [journal, again]) {
      await one.close();
      await one.release();
    }
  },
);

async function readiness(server: Server): Promise<[number, Record<string, unknown>]> {
  const reply = await fetch(`${server.url}/_readiness`);
  return [reply.status, JSON.parse((await reply.text()).split("\n")[0]!) as Record<string, unknown>];
}

/** Sends until a batch is refused; returns how many events were acknowledged. */
async function sendUntilRefused(server: Server, from: number): Promise<number> {
  for (let acknowledged = 0; ; acknowledged += 200) {
    const batch = Array.from({ length: 200 }, (_, i) => ({
      event: "kept",
      distinct_id: `d${i}`,
      properties: {
        place: from + acknowledged + i,
        filler: Buffer.from(crypto.getRandomValues(new Uint8Array(300))).toString("hex"),
      },
    }));
    const reply = await post(server, "/batch/", { api_key: projectKey, batch });
    await reply.arrayBuffer();
    if (reply.status === 200) continue;
    expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "5"]);
    return acknowledged;
  }
}

test.skipIf(!canMount)(
  "on a disk that it fills itself, readiness tells, the stores keep their reserve, and all acknowledged is stored",
  async () => {
    const disk = makeDisk(64);
    // The stores stay behind, so that the journal fills up.
    const server = await startServer({ FLUSH_INTERVAL_MS: "3600000" }, `${disk}/data`);
    expect(await readiness(server)).toEqual([200, { part: "journal", ok: true }]);
    let acknowledged = await sendUntilRefused(server, 0);
    expect(acknowledged).toBeGreaterThan(0);
    // Of a reserve of 16 MiB the stores may have used some: a full segment is stored meanwhile.
    expect(freeBytes(disk)).toBeGreaterThan(10 * 1024 * 1024);
    // A segment that was full goes into the stores and makes room, once or twice.
    const refill = async () => void (acknowledged += await sendUntilRefused(server, acknowledged));
    await until(async () => {
      const [status, journal] = await readiness(server);
      if (status === 503) expect(journal).toEqual({ part: "journal", ok: false, error: "DISK_LOW" });
      else await refill();
      return status === 503;
    });
    // A group that would have taken some of the reserve was refused whole: so much may be left.
    expect(await metric(server, "sluice_disk_free_bytes")).toBeLessThan(32 * 1024 * 1024);
    await until(async () => {
      const isReady = (await metric(server, 'sluice_ready{part="journal"}')) === 1;
      if (isReady) await refill();
      return !isReady;
    });
    for (let refused = 0; refused < 300;) {
      const reply = await post(server, "/capture/", { api_key: projectKey, event: "kept", distinct_id: "d" });
      await reply.arrayBuffer();
      if (reply.status === 503) refused++;
      else {
        expect(reply.status).toBe(200);
        acknowledged++;
        await refill();
      }
    }
    expect(
      readdirSync(`${server.dataDir}/journal`).filter((name) => name.endsWith(".segment")).length,
    ).toBeLessThan(10);
    // Somebody else takes the reserve, and gives it back.
    const filler = fill(disk);
    // A segment that was full may be in the stores already; nothing is anywhere else.
    await until(async () => {
      const pending = await metric(server, "sluice_journal_pending_events");
      return pending + (await metric(server, 'sluice_events_stored_total{lane="live"}')) === acknowledged;
    });
    await until(async () => {
      fill(disk);
      return freeBytes(disk) === 0 && (await readiness(server))[0] === 503;
    });
    rmSync(filler);
    expect(await server.end("SIGTERM")).toBe(0);

    const again = await startServer({}, `${disk}/data`);
    await rested(again);
    const { clickhouse } = await storesOf(again);
    const count = "SELECT count() AS rows, uniqExact(uuid) AS uuids FROM events WHERE event = 'kept'";
    const [stored] = await clickhouse.query<{ rows: string; uuids: string }>(count);
    expect([Number(stored!.rows), Number(stored!.uuids)]).toEqual([acknowledged, acknowledged]);
    await again.end("SIGTERM");
  },
  300_000,
);

const logFiles = (dataDir: string) =>
  readdirSync(`${dataDir}/postgres/pg_wal`).filter((name) => /^[0-9A-F]{24}$/.test(name));

/** Files of Postgres's log that are not begun. */
async function countSpareFiles(dataDir: string, sql: Stores["sql"]): Promise<number> {
  const [current] = await sql<{ file: string }[]>`SELECT pg_walfile_name(pg_current_wal_lsn()) AS file`;
  return logFiles(dataDir).filter((name) => name > current!.file).length;
}

test.skipIf(!canMount)(
  "a disk that others fill stops captures, not Postgres, and all acknowledged is stored when they leave",
  async () => {
    const disk = makeDisk(300);
    const made = await makeStoresFolder();
    expect(Bun.spawnSync(["cp", "-a", made, `${disk}/data`]).success).toBe(true);
    const server = await startServer({}, `${disk}/data`);
    const { sql } = await storesOf(server);
    // With uuids, as SDKs send them: what was refused late may be kept, and is the same when it is sent again.
    const merge = async (from: number) => {
      const batch = Array.from({ length: 300 }, (_, i) => ({
        uuid: `00000000-0000-4000-8000-${String(from + i).padStart(12, "0")}`,
        event: "$identify",
        distinct_id: `u${from + i}`,
        properties: { $anon_distinct_id: `a${from + i}` },
      }));
      const reply = await post(server, "/batch/", { api_key: projectKey, batch });
      await reply.arrayBuffer();
      return reply;
    };
    let acknowledged = 0;
    for (; acknowledged < 6000; acknowledged += 300) expect((await merge(acknowledged)).status).toBe(200);
    const filler = fill(disk);
    await until(async () => {
      fill(disk);
      const reply = await merge(acknowledged);
      if (reply.status === 200) acknowledged += 300;
      else expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "5"]);
      return reply.status === 503 && freeBytes(disk) === 0;
    });
    // More of Postgres's log than there was of files when the disk became full: the server has them used again.
    const end = logFiles(server.dataDir).toSorted().at(-1)!;
    for (let file = ""; file <= end;) {
      await until(async () => (await countSpareFiles(server.dataDir, sql)) > 1);
      fill(disk);
      await sql`SELECT pg_current_xact_id()`;
      [{ file }] = (await sql`SELECT pg_walfile_name(pg_switch_wal()) AS file`) as unknown as [
        { file: string },
      ];
      expect((await merge(acknowledged)).status).toBe(503);
    }
    expect((await readiness(server))[1]).toEqual({ part: "journal", ok: false, error: "DISK_LOW" });
    // On a busy machine one question may wait for too long.
    await until(async () => (await metric(server, 'sluice_ready{part="postgres"}')) === 1);
    rmSync(filler);
    await until(async () => {
      const { status } = await merge(acknowledged);
      if (status === 200) acknowledged += 300;
      return status === 200;
    });
    await rested(server);
    const { clickhouse } = await storesOf(server);
    const [stored] = await clickhouse.query<{ rows: string }>(
      "SELECT count() AS rows FROM events WHERE event = '$identify'",
    );
    expect(Number(stored!.rows)).toBe(acknowledged);
    expect(server.logged()).not.toContain("the embedded Postgres");
    expect(await server.end("SIGTERM")).toBe(0);
  },
  300_000,
);
