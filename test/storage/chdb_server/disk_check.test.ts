import { afterAll, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { type ClickHouse, openClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { canMount, makeDisk } from "../../support/small_disk.ts";
import { startFront, storesStartMsMax, type TestFront } from "../../support/stores.ts";

afterAll(cleanUp, 60_000);

/** A front none of whose files may grow beyond `fileKiB`. */
async function start(dataDir: string, fileKiB?: number): Promise<[TestFront, ClickHouse]> {
  const front = await startFront(dataDir, 0, fileKiB);
  const clickhouse = openClickHouse(front.url);
  later(() => clickhouse.close());
  await clickhouse.createDatabase();
  return [front, clickhouse];
}

const table = (name: string) => `CREATE TABLE ${name} (a UInt8, s String) ENGINE = MergeTree ORDER BY a
  SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, old_parts_lifetime = 480`;

/** An INSERT of so many bytes that no codec makes smaller. */
const insert = (a: number, kib: number) =>
  `INSERT INTO t SELECT ${a}, randomString(1024) FROM numbers(${kib})`;

async function rows(clickhouse: ClickHouse): Promise<string> {
  const [row] = await clickhouse.query<{ held: string }>(
    "SELECT toString((countIf(a = 1), countIf(a = 2), sum(length(s)))) AS held FROM t",
  );
  return row!.held;
}

test(
  "an INSERT whose write fails is never acknowledged, and leaves nothing behind",
  async () => {
    const dataDir = makeFolder();
    const [front, clickhouse] = await start(dataDir, 512);
    await clickhouse.command(table("t"));
    await clickhouse.command(insert(1, 100));
    await expect(clickhouse.command(insert(2, 1000))).rejects.toMatchObject({ kind: "transient" });
    expect(await front.ended).toBe(137);
    const [, again] = await start(dataDir);
    expect(await rows(again)).toBe("(100,0,102400)");
    await again.command(insert(2, 1000));
    expect(await rows(again)).toBe("(100,1000,1126400)");
  },
  2 * storesStartMsMax,
);

test(
  "a read never finds rows whose write has failed, also while their INSERT is under way",
  async () => {
    const [front, clickhouse] = await start(makeFolder(), 512);
    await clickhouse.command(table("t"));
    await clickhouse.command(table("derived"));
    await clickhouse.command(
      "CREATE MATERIALIZED VIEW slow TO derived AS SELECT a, '' AS s FROM t WHERE a = 2 AND sleepEachRow(0.002) = 0",
    );
    await clickhouse.command(insert(1, 100));
    let said = "";
    const writing = clickhouse.command(insert(2, 1000)).then(
      () => (said = "acknowledged"),
      () => (said = "failed"),
    );
    const found: string[] = [];
    while (said === "") {
      const batches = "SELECT DISTINCT toString(a) AS batch FROM t";
      const read = await clickhouse.query<{ batch: string }>(batches).catch(() => []);
      found.push(...read.map(({ batch }) => batch));
    }
    expect(await writing).toBe("failed");
    expect(found).not.toContain("2");
    expect(await front.ended).toBe(137);
  },
  2 * storesStartMsMax,
);

test(
  "a merge whose write fails loses nothing",
  async () => {
    const dataDir = makeFolder();
    const [front, clickhouse] = await start(dataDir, 512);
    await clickhouse.command(table("t"));
    for (const a of [1, 2]) await clickhouse.command(insert(a, 400));
    await clickhouse.command("OPTIMIZE TABLE t FINAL").catch(() => {});
    expect(await front.ended).toBe(137);
    const [, again] = await start(dataDir);
    expect(await rows(again)).toBe("(400,400,819200)");
  },
  2 * storesStartMsMax,
);

test.skipIf(!canMount)(
  "on a full disk the engine starts and reads, and changes no table",
  async () => {
    const dataDir = makeDisk(64);
    const [front, clickhouse] = await start(dataDir);
    await clickhouse.command(table("t"));
    await clickhouse.command(insert(1, 100));
    await front.end();
    const filler = `${dataDir}/filler`;
    expect(() => writeFileSync(filler, new Uint8Array(64 * 1024 * 1024))).toThrow("ENOSPC");
    const [full, fullClickHouse] = await start(dataDir);
    expect(await rows(fullClickHouse)).toBe("(100,0,102400)");
    for (const change of [table("u"), "ALTER TABLE t ADD COLUMN b UInt8", "DELETE FROM t WHERE a = 1"]) {
      await expect(fullClickHouse.command(change)).rejects.toMatchObject({
        kind: "transient",
        type: "NOT_ENOUGH_SPACE",
      });
    }
    rmSync(filler);
    await fullClickHouse.command("ALTER TABLE t ADD COLUMN b UInt8");
    await full.end();
    const [, again] = await start(dataDir);
    expect(await rows(again)).toBe("(100,0,102400)");
  },
  3 * storesStartMsMax,
);
