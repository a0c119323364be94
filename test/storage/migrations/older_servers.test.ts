// Servers of several versions on the same stores: what a newer one waits for, and where an older one goes on.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { UserError } from "../../../src/core/fault.ts";
import { openLog, silentLog } from "../../../src/core/log.ts";
import { newerRemedy } from "../../../src/core/version.ts";
import { appliedMigrations, migrate } from "../../../src/storage/migrate.ts";
import { knownMigrations } from "../../../src/storage/migrations/files.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { type EmptyStores, openDatabases, ownAnd } from "../../support/migrations.ts";
import { until } from "../../support/server.ts";
import { storesStartMsMax } from "../../support/stores.ts";

afterAll(cleanUp);

let emptyStores: () => Promise<EmptyStores>;

beforeAll(async () => {
  emptyStores = await openDatabases();
}, storesStartMsMax);

const known = knownMigrations();
const next = {
  postgres: `${String(known.postgres + 1).padStart(4, "0")}_more.sql`,
  clickhouse: `${String(known.clickhouse + 1).padStart(4, "0")}_more.sql`,
};
const moment = "-- Takes: a moment.\n";
const [goOn, mustStop] = [`-- Older servers: go on.\n${moment}`, `-- Older servers: must stop.\n${moment}`];
const moreOfPostgres = "ALTER TABLE journals ADD COLUMN more integer NOT NULL DEFAULT 1;";
const moreOfClickHouse = "ALTER TABLE seen ADD COLUMN IF NOT EXISTS more UInt8 DEFAULT 1;";

/** The next version, with one migration more for each store. */
function nextVersion(postgres: string, clickhouse: string) {
  return ownAnd(
    { [next.postgres]: postgres + moreOfPostgres },
    { [next.clickhouse]: clickhouse + moreOfClickHouse },
  );
}

function recorder() {
  const lines: string[] = [];
  return { lines, log: openLog({ level: "info", format: "json", write: (line) => void lines.push(line) }) };
}

/** Stores as this version makes them. */
async function madeStores(): Promise<EmptyStores> {
  const stores = await emptyStores();
  await migrate(stores, { log: silentLog });
  return stores;
}

interface Running {
  location?: string;
  postgres?: number | null;
  clickhouse?: number | null;
  seenMs?: number;
}

/** Registers a journal as a process of this version does, seen so long ago. */
async function runs(
  { sql }: EmptyStores,
  name: string,
  { location = name, postgres = known.postgres, clickhouse = known.clickhouse, seenMs = 0 }: Running = {},
): Promise<void> {
  await sql`
    INSERT INTO journals (name, location, postgres_migration, clickhouse_migration, created_at, seen_at)
    VALUES (${name}, ${location}, ${postgres}, ${clickhouse}, now() - interval '1 day',
      ${new Date(Date.now() - seenMs)})`;
}

async function versionsOf(stores: EmptyStores) {
  const [postgres, clickhouse] = await Promise.all([
    appliedMigrations(stores, "postgres"),
    appliedMigrations(stores, "clickhouse"),
  ]);
  return { postgres: postgres.at(-1)?.version, clickhouse: clickhouse.at(-1)?.version };
}

test("an older server starts on stores whose newer migrations it can tolerate, and logs it in one line", async () => {
  const stores = await madeStores();
  await runs(stores, "older");
  const applied = await migrate(stores, { log: silentLog, ...nextVersion(goOn, goOn) });
  expect(applied).toEqual({ postgres: 1, clickhouse: 1 });
  const { lines, log } = recorder();
  expect(await migrate(stores, { log })).toEqual({ postgres: 0, clickhouse: 0 });
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({
    message: "a newer version has changed the stores; this one is compatible",
    postgres: known.postgres + 1,
    clickhouse: known.clickhouse + 1,
  });
  await expect(migrate(stores, { log, exact: true })).rejects.toThrow("newer than this program");
});

test("an older server refuses stores with one newer migration that it cannot tolerate, in whichever store", async () => {
  const cases: [string, string, string][] = [
    [goOn, mustStop, `the ClickHouse store is at migration ${known.clickhouse + 1}`],
    [mustStop, goOn, `the Postgres store is at migration ${known.postgres + 1}`],
  ];
  for (const [postgres, clickhouse, said] of cases) {
    const stores = await madeStores();
    await migrate(stores, { log: silentLog, ...nextVersion(postgres, clickhouse) });
    await expect(migrate(stores, { log: silentLog })).rejects.toThrow(
      `${said}, newer than this program; ${newerRemedy}`,
    );
  }
});

test("an older server names the last newer migration, also where it only could not tolerate an earlier one", async () => {
  const stores = await madeStores();
  const last = `${String(known.postgres + 2).padStart(4, "0")}_last.sql`;
  const files = { [next.postgres]: mustStop + moreOfPostgres, [last]: `${goOn}SELECT 1;` };
  await migrate(stores, { log: silentLog, ...ownAnd(files, {}) });
  await expect(migrate(stores, { log: silentLog })).rejects.toThrow(
    `the Postgres store is at migration ${known.postgres + 2}, newer than this program`,
  );
});

test("a migration of ClickHouse that was cut short keeps out older servers that cannot tolerate it", async () => {
  const stores = await madeStores();
  const half = `${mustStop}${moreOfClickHouse} SELECT nonsense;`;
  await expect(
    migrate(stores, { log: silentLog, ...ownAnd({}, { [next.clickhouse]: half }) }),
  ).rejects.toThrow(next.clickhouse);
  expect((await versionsOf(stores)).clickhouse).toBe(known.clickhouse);
  await expect(migrate(stores, { log: silentLog })).rejects.toThrow("newer than this program");
});

test("a newer server waits for older ones before it changes anything, and they can start again meanwhile", async () => {
  const stores = await madeStores();
  await runs(stores, "first", { location: "web-1:/data" });
  await runs(stores, "worker", { location: "web-1:/data/workers/2" });
  await runs(stores, "second", { location: "web-2:/data" });
  const { lines, log } = recorder();
  const newer = nextVersion(goOn, mustStop);
  const ending = Promise.all([
    migrate(stores, { log, ...newer }),
    migrate(stores.again(), { log: silentLog, ...newer }),
  ]);
  await until(() => Promise.resolve(lines.length > 0));
  expect(JSON.parse(lines[0]!)).toMatchObject({
    message: "a migration is incompatible with running older servers; it waits until they stop",
    file: `sql/clickhouse/${next.clickhouse}`,
    count: 2,
    servers: "web-1:/data, web-2:/data",
  });
  expect(await migrate(stores.again(), { log: silentLog })).toEqual({ postgres: 0, clickhouse: 0 });
  expect(await versionsOf(stores)).toEqual(known);
  await stores.sql`DELETE FROM journals WHERE name <> 'second'`;
  expect(await versionsOf(stores)).toEqual(known);
  await stores.sql`DELETE FROM journals`;
  const counts = await ending;
  expect(counts.map(({ clickhouse }) => clickhouse).toSorted()).toEqual([0, 1]);
  expect(counts.map(({ postgres }) => postgres).toSorted()).toEqual([0, 1]);
});

test("a newer server that has waited too long ends with one line that says what to do", async () => {
  const stores = await madeStores();
  await runs(stores, "older", { location: "web-1:/data" });
  const newer = nextVersion(mustStop, goOn);
  const refused = migrate(stores, { log: silentLog, ...newer, olderServersMsMax: 0 });
  const file = `sql/postgres/${next.postgres}`;
  await expect(refused).rejects.toThrow(
    new UserError(
      `1 server of an older version cannot run beside ${file} and still runs (web-1:/data); nothing was changed; ` +
        "stop the older servers, then: bun run sluice serve",
    ),
  );
  expect(await versionsOf(stores)).toEqual(known);
});

test("nobody waits for a server that died an hour ago, for its own earlier life, or for one that knows the file", async () => {
  const stores = await madeStores();
  await runs(stores, "died", { seenMs: 3_600_000 });
  await runs(stores, "own");
  await runs(stores, "newer", { postgres: known.postgres + 1, clickhouse: known.clickhouse + 1 });
  const options = { log: silentLog, ...nextVersion(mustStop, mustStop), olderServersMsMax: 0 };
  await expect(migrate(stores, options)).rejects.toThrow("(own)");
  expect(await migrate(stores, { ...options, ownJournals: ["own"] })).toEqual({ postgres: 1, clickhouse: 1 });
});

test("where no other server reaches the stores, nothing is waited for", async () => {
  const stores = await madeStores();
  await runs(stores, "older");
  const options = { log: silentLog, ...nextVersion(mustStop, mustStop), olderServersMsMax: 0, alone: true };
  expect(await migrate(stores, options)).toEqual({ postgres: 1, clickhouse: 1 });
});

test("a process that is stopped does not wait any longer", async () => {
  const stores = await madeStores();
  await runs(stores, "older");
  const { lines, log } = recorder();
  const ending = new AbortController();
  const waiting = migrate(stores, { log, ...nextVersion(mustStop, goOn), ending: ending.signal });
  await until(() => Promise.resolve(lines.length > 0));
  ending.abort(new UserError("told to stop"));
  await expect(waiting).rejects.toThrow("told to stop");
});
