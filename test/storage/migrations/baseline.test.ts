// A new store, made by the baseline, and one that the numbered files made since c3da0212: both have the same tables.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { silentLog as log } from "../../../src/core/log.ts";
import { olderRemedy } from "../../../src/core/version.ts";
import { appliedMigrations, migrate } from "../../../src/storage/migrate.ts";
import {
  type AppliedMigration,
  knownMigrations,
  listPending,
  readBackupVersion,
  readMigrations,
} from "../../../src/storage/migrations/files.ts";
import { openStores } from "../../../src/storage/stores.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { type EmptyStores, openDatabases } from "../../support/migrations.ts";
import { unpackReleased } from "../../support/released.ts";
import { readSchema } from "../../support/schema.ts";
import { runSluice } from "../../support/server.ts";
import { storesStartMsMax } from "../../support/stores.ts";

afterAll(cleanUp);

let emptyStores: () => Promise<EmptyStores>;

beforeAll(async () => {
  emptyStores = await openDatabases();
}, storesStartMsMax);

const known = knownMigrations();
const files = readMigrations();
const baselines = {
  postgres: files.postgres.find(({ isBaseline }) => isBaseline)!,
  clickhouse: files.clickhouse.find(({ isBaseline }) => isBaseline)!,
};
const countAfter = (store: "postgres" | "clickhouse", version: number) => known[store] - version;

const before = { postgres: 27, clickhouse: 25 };

/** As a commit recorded its new stores whose baselines had these numbers. */
async function recordBaseline({ sql, clickhouse }: Pick<EmptyStores, "sql" | "clickhouse">): Promise<void> {
  await sql`DELETE FROM schema_migrations`;
  await sql`INSERT INTO schema_migrations VALUES (${before.postgres}, '0027_baseline.sql', 'any')`;
  await clickhouse.command("TRUNCATE TABLE schema_migrations");
  await clickhouse.command(
    `INSERT INTO schema_migrations (version, name, checksum) VALUES (${before.clickhouse}, '0025_baseline.sql', 'any')`,
  );
}

/** How many rows each table has, but those that say what was applied, or whose rows expire. */
async function countRows({ sql, clickhouse }: Pick<EmptyStores, "sql" | "clickhouse">) {
  const names = await sql<{ name: string }[]>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`;
  const tables = await clickhouse.query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%ingMergeTree'
       AND create_table_query NOT LIKE '% TTL %'`,
  );
  const counts = await Promise.all([
    ...names.map(async ({ name }) => {
      const [found] = await sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM ${sql(name)}`;
      return [`postgres ${name}`, found!.n] as const;
    }),
    ...tables.map(async ({ name }) => {
      const [found] = await clickhouse.query<{ n: string }>(`SELECT count() AS n FROM ${name} FINAL`);
      return [`clickhouse ${name}`, Number(found!.n)] as const;
    }),
  ]);
  return Object.fromEntries(counts.filter(([name, n]) => n > 0 && !/migrations/.test(name)));
}

test("the baseline and the files make the same tables, views, indexes, triggers and functions", async () => {
  const dataDir = await unpackReleased("c3da0212");
  const older = await openStores({ dataDir, log, requireReachable: true });
  later(() => older.close());
  const rows = await countRows(older);
  expect(Object.keys(rows).length).toBeGreaterThan(20);
  const newer = await emptyStores();
  // A start that was cut short, one of a later commit, whose new stores had a baseline of their own, and this one.
  const part = { postgres: 24, clickhouse: 20 };
  expect(await migrate(older, { log, until: part })).toEqual({ postgres: 2, clickhouse: 4 });
  expect(await migrate(older, { log, until: before })).toEqual({ postgres: 3, clickhouse: 5 });
  await recordBaseline(older);
  const rest = { postgres: countAfter("postgres", 27), clickhouse: countAfter("clickhouse", 25) };
  expect(await migrate(older, { log })).toEqual(rest);
  expect(await migrate(newer, { log })).toEqual({
    postgres: 1 + countAfter("postgres", baselines.postgres.version),
    clickhouse: 1 + countAfter("clickhouse", baselines.clickhouse.version),
  });
  expect(await countRows(older)).toMatchObject(rows);
  const [byFiles, byBaseline] = [await readSchema(older), await readSchema(newer)];
  expect(byBaseline).toEqual(byFiles);
  expect(Object.keys(byFiles).length).toBeGreaterThan(700);
  for (const stores of [older, newer])
    expect(await migrate(stores, { log })).toEqual({ postgres: 0, clickhouse: 0 });
});

test("a backup of a store that the files made is restored by the baseline, with the same tables", async () => {
  const dataDir = await unpackReleased("c3da0212");
  const older = await openStores({ dataDir, log, requireReachable: true });
  await migrate(older, { log });
  const byFiles = await readSchema(older);
  const [made] = await older.sql`SELECT count(*)::integer AS insights FROM insights`;
  await older.close();
  const [backup, restored] = [`${makeFolder()}/backup`, `${makeFolder()}/restored`];
  for (const [args, folder] of [
    [["backup", backup], dataDir],
    [["restore", backup], restored],
  ] as const) {
    expect(await runSluice([...args], { DATA_DIR: folder })).toMatchObject({ exitCode: 0, stderr: "" });
  }
  await using stores = await openStores({ dataDir: restored, log, requireReachable: true });
  expect([...(await stores.sql`SELECT count(*)::integer AS insights FROM insights`)]).toEqual([made!]);
  expect(await readSchema(stores)).toEqual(byFiles);
  expect(await migrate(stores, { log })).toEqual({ postgres: 0, clickhouse: 0 });
});

test("a new store records the baseline, and then what comes after it", async () => {
  const stores = await emptyStores();
  const { postgres, clickhouse } = baselines;
  const only = { postgres: postgres.version, clickhouse: clickhouse.version };
  expect(await migrate(stores, { log, until: only })).toEqual({ postgres: 1, clickhouse: 1 });
  for (const store of ["postgres", "clickhouse"] as const) {
    const { version, name, checksum } = baselines[store];
    expect(await appliedMigrations(stores, store)).toEqual([{ version, name, checksum }]);
  }
  expect(await migrate(stores, { log })).toEqual({
    postgres: countAfter("postgres", only.postgres),
    clickhouse: countAfter("clickhouse", only.clickhouse),
  });
});

/** As the versions before the baseline recorded their files. */
function recordFiles(store: "postgres" | "clickhouse", last: number): AppliedMigration[] {
  const lastGone = { postgres: "0022_passes.sql", clickhouse: "0016_replaced_parts.sql" }[store];
  const gone = Number(lastGone.slice(0, 4));
  const older = Array.from({ length: Math.min(gone, last) }, (_, i) => ({
    version: i + 1,
    name: i + 1 === gone ? lastGone : `${String(i + 1).padStart(4, "0")}_gone.sql`,
    checksum: "any",
  }));
  const kept = files[store].filter(({ isBaseline, version }) => !isBaseline && version <= last);
  return [...older, ...kept];
}

test("a store from before c3da0212, or of other files, is refused with the commit that opens it", () => {
  for (const [store, title, first] of [
    ["postgres", "Postgres", 22],
    ["clickhouse", "ClickHouse", 16],
  ] as const) {
    const versions = (applied: AppliedMigration[]) =>
      listPending(files[store], applied, store).map(({ version }) => version);
    const all = Array.from({ length: known[store] }, (_, i) => i + 1);
    for (const last of [first, first + 1, known[store] - 1, known[store]])
      expect(versions(recordFiles(store, last))).toEqual(all.slice(last));
    const older = recordFiles(store, first - 1);
    const line = `an older version of this program made the ${title} store (it has ${older.at(-1)!.name}): ${olderRemedy}`;
    expect(() => versions(older)).toThrow(line);
    const others = recordFiles(store, first + 1).map((file) =>
      file.version > first ? { ...file, name: "0099_other.sql" } : file,
    );
    expect(() => versions(others)).toThrow("(it has 0099_other.sql)");
    const gap = recordFiles(store, first + 2).filter(({ version }) => version !== first + 1);
    expect(() => versions(gap)).toThrow("was left out");
  }
});

test("a backup is restored where the baseline makes its tables, else refused", () => {
  for (const store of ["postgres", "clickhouse"] as const) {
    const { version, name, checksum } = baselines[store];
    expect(readBackupVersion(store, recordFiles(store, version))).toBe(version);
    expect(readBackupVersion(store, [{ version, name, checksum }])).toBe(version);
    expect(readBackupVersion(store, recordFiles(store, known[store]))).toBe(known[store]);
    for (const applied of [recordFiles(store, version - 1), []])
      expect(() => readBackupVersion(store, applied)).toThrow("an older version made the backup");
  }
});

test("tables of an older version's first start, which was cut short, are not taken for a new store's", async () => {
  const stores = await emptyStores();
  await stores.clickhouse.createDatabase();
  const columns = "project_id UInt32, created_at DateTime64(6), _batch UInt64";
  await stores.clickhouse.command(`CREATE TABLE event_rows (${columns}) ENGINE = MergeTree ORDER BY _batch`);
  await expect(migrate(stores, { log })).rejects.toThrow(
    "an older version of this program made the ClickHouse store",
  );
  await stores.clickhouse.command("DROP TABLE event_rows SYNC");
  // Its own first start, cut short after any of its statements, is taken up.
  const [first] = files.clickhouse.filter(({ isBaseline }) => isBaseline);
  for (const statement of first!.text.split(/;\n/).slice(0, 6)) await stores.clickhouse.command(statement);
  const { clickhouse } = await migrate(stores, { log });
  expect(clickhouse).toBe(1 + known.clickhouse - first!.version);
});
