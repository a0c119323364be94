// Migrations: each once, in order, whoever else does the same; a file that was changed stops the start.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { silentLog as log } from "../../src/core/log.ts";
import { olderRemedy } from "../../src/core/version.ts";
import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { splitStatements } from "../../src/storage/clickhouse/statement.ts";
import { countMigratedRows, migrate, pendingMigrations } from "../../src/storage/migrate.ts";
import { readMigrations } from "../../src/storage/migrations/files.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type EmptyStores, folders as foldersOf, openDatabases } from "../support/migrations.ts";
import { until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp);

let emptyStores: () => Promise<EmptyStores>;

beforeAll(async () => {
  emptyStores = await openDatabases();
}, storesStartMsMax);

function folders(postgres: Record<string, string>, clickhouse: Record<string, string>) {
  return { log, ...foldersOf(postgres, clickhouse) };
}

const head = "-- Older servers: go on.\n-- Takes: a moment.\n";
const begun =
  "CREATE TABLE migrations_begun (store text, version integer, name text, older_go_on boolean, PRIMARY KEY (store, version));";
const things = {
  "0001_baseline.sql": `${begun} CREATE TABLE things (id integer); INSERT INTO things VALUES (1);`,
};
const rows = {
  "0001_baseline.sql": `-- two statements; one of them with a semicolon in it
CREATE TABLE IF NOT EXISTS rows (text String DEFAULT 'a;b') ENGINE = MergeTree ORDER BY text;
CREATE OR REPLACE VIEW lines AS SELECT text FROM rows;
`,
};

test("each file is applied once, and a second run finds nothing to do", async () => {
  const stores = await emptyStores();
  const options = folders(things, rows);
  expect(await migrate(stores, options)).toEqual({ postgres: 1, clickhouse: 1 });
  expect(await migrate(stores, options)).toEqual({ postgres: 0, clickhouse: 0 });
  expect([...(await stores.sql`SELECT id FROM things`)]).toEqual([{ id: 1 }]);
  expect(await stores.clickhouse.query("SELECT count() AS n FROM lines")).toEqual([{ n: "0" }]);
});

test("two that start at once apply each file once between them", async () => {
  const stores = await emptyStores();
  const options = folders(things, rows);
  const both = await Promise.all([migrate(stores, options), migrate(stores.again(), options)]);
  expect(both.map(({ postgres }) => postgres).toSorted()).toEqual([0, 1]);
  expect(both.map(({ clickhouse }) => clickhouse).toSorted()).toEqual([0, 1]);
  expect([...(await stores.sql`SELECT id FROM things`)]).toEqual([{ id: 1 }]);
});

test("a file changed after it was applied is named and stops everything", async () => {
  const stores = await emptyStores();
  await migrate(stores, folders(things, rows));
  const changed = { "0001_baseline.sql": "CREATE TABLE other (id integer);" };
  await expect(migrate(stores, folders(changed, rows))).rejects.toThrow(
    "sql/postgres/0001_baseline.sql is not what the Postgres store was made with",
  );
  const otherRows = { "0001_baseline.sql": "SELECT 1;" };
  await expect(migrate(stores, folders(things, otherRows))).rejects.toThrow(
    "sql/clickhouse/0001_baseline.sql is not what the ClickHouse store was made with",
  );
});

test("a store newer than the program, or a gap in the numbers, stops everything", async () => {
  const stores = await emptyStores();
  const more = `${head.replace("go on", "must stop")}SELECT 1;`;
  await migrate(stores, folders({ ...things, "0002_more.sql": more }, rows));
  await expect(migrate(stores, folders(things, rows))).rejects.toThrow("newer than this program");
  const gap = { ...things, "0003_more.sql": `${head}SELECT 1;` };
  await expect(migrate(stores, folders(gap, rows))).rejects.toThrow("0003_more.sql: expected 0002_name.sql");
});

test("a store that other files made is refused in one line that says what to do", async () => {
  const stores = await emptyStores();
  const more = { "0002_more.sql": `${head}SELECT 1;` };
  await migrate(stores, folders({ ...things, ...more }, { ...rows, ...more }));
  const other = { "0002_other.sql": `${head}SELECT 1;` };
  await expect(migrate(stores, folders({ ...things, ...other }, rows))).rejects.toThrow(
    `an older version of this program made the Postgres store (it has 0002_more.sql): ${olderRemedy}`,
  );
  const own = { ...things, ...more };
  await expect(migrate(stores, folders(own, { ...rows, ...other }))).rejects.toThrow(
    "made the ClickHouse store",
  );
});

test("a Postgres file that fails leaves nothing of itself, and can be repaired and run again", async () => {
  const stores = await emptyStores();
  const broken = { ...things, "0002_broken.sql": `${head}CREATE TABLE half (id integer); SELECT nonsense;` };
  await expect(migrate(stores, folders(broken, rows))).rejects.toThrow("0002_broken.sql");
  expect((await stores.sql`SELECT to_regclass('half') AS half`)[0]).toEqual({ half: null });
  const mended = { ...things, "0002_broken.sql": `${head}CREATE TABLE half (id integer);` };
  expect(await migrate(stores, folders(mended, rows))).toEqual({ postgres: 1, clickhouse: 1 });
});

test("a ClickHouse file that fails on a new store is named, and those before it are not run again", async () => {
  const stores = await emptyStores();
  const broken = { ...rows, "0002_broken.sql": `${head}SELECT nonsense;` };
  await expect(migrate(stores, folders(things, broken))).rejects.toThrow("0002_broken.sql failed");
  const recorded = await stores.clickhouse.query("SELECT version, name FROM schema_migrations");
  expect(recorded).toEqual([{ version: 1, name: "0001_baseline.sql" }]);
  const repaired = { ...rows, "0002_broken.sql": `${head}SELECT 1;` };
  expect(await migrate(stores, folders(things, repaired))).toEqual({ postgres: 0, clickhouse: 1 });
});

test("this program's own files apply to empty stores", async () => {
  const stores = await emptyStores();
  const applied = await migrate(stores, { log });
  expect(applied.postgres).toBeGreaterThanOrEqual(1);
  expect(applied.clickhouse).toBeGreaterThanOrEqual(1);
  expect(await stores.clickhouse.query("SELECT count() AS n FROM events")).toEqual([{ n: "0" }]);
});

test("a span of sessions skips those from before its index", async () => {
  const stores = await emptyStores();
  const { clickhouse } = stores;
  await migrate(stores, { log });
  // As a store has it whose sessions are older than the index.
  await clickhouse.command("ALTER TABLE session_facts DROP INDEX bounds");
  await clickhouse.command(
    "INSERT INTO session_facts (project_id, session_id, start_time, end_time) VALUES (1, 's', '2024-05-01', '2024-05-02')",
  );
  const later = readMigrations().clickhouse.filter(({ version }) => version === 20 || version === 22);
  for (const statement of later.flatMap(({ text }) => splitStatements(text)))
    await clickhouse.command(statement);
  await until(async () => {
    const [left] = await clickhouse.query<{ n: string }>(
      "SELECT count() AS n FROM system.mutations WHERE NOT is_done",
    );
    return left?.n === "0";
  });
  const plan = await clickhouse.query<{ explain: string }>(
    `EXPLAIN indexes = 1 SELECT count() FROM sessions
     WHERE start_time >= toDateTime64('2025-01-01', 6, 'UTC') AND end_time >= toDateTime64('2025-01-01', 6, 'UTC')`,
  );
  const lines = plan.map(({ explain }) => explain.trim());
  expect(lines.slice(lines.indexOf("Name: bounds")).find((line) => line.startsWith("Granules"))).toBe(
    "Granules: 0/1",
  );
});

test("what would be applied is reported without applying it, in stores that have nothing, too", async () => {
  const stores = await emptyStores();
  const all = await pendingMigrations(stores, log);
  expect([all.postgres[0]?.isBaseline, all.clickhouse[0]?.isBaseline]).toEqual([true, true]);
  const tables = await stores.sql`SELECT 1 FROM pg_tables WHERE tablename = 'schema_migrations'`;
  expect(tables).toHaveLength(0);
});

test("a migration takes as long as the rows of the tables that it copies, and a moment where they are empty", async () => {
  const counted = async (rows: Record<string, number>) => {
    const query = (text: string) => Promise.resolve([{ rows: String(rows[text.split(" FROM ")[1]!] ?? 0) }]);
    const timed = readMigrations().clickhouse.filter(({ duration }) => duration.seconds > 0);
    const clickhouse = { query } as unknown as ClickHouse;
    return await Promise.all(
      timed.map(async (file) => [file.version, await countMigratedRows(clickhouse, file)]),
    );
  };
  expect((await counted({ event_rows: 5, person_props: 2 }))[0]).toEqual([17, []]);
  expect((await counted({ event_rows: 5, session_recording_days: 1 }))[0]).toEqual([
    17,
    [["session_recording_days", 1]],
  ]);
});
