import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import { silentLog } from "../../../src/core/log.ts";
import { startEmbeddedPostgres } from "../../../src/storage/embedded/postgres.ts";
import { openPostgres, type Postgres } from "../../../src/storage/postgres/postgres.ts";
import { startMsMax } from "../../support/accounts.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";

afterAll(cleanUp);

let url = "";

beforeAll(async () => {
  const store = await startEmbeddedPostgres({ dataDir: makeFolder(), log: silentLog });
  later(() => store.stop());
  url = store.url;
}, startMsMax);

/** A pool of so many connections at the most. */
function openPool(connectionsMax = 4): Postgres {
  const sql = openPostgres(url, { log: silentLog, connectionsMax });
  later(() => sql.end({ timeout: 0 }));
  return sql;
}

async function backendOf(sql: Postgres): Promise<number> {
  const [row] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  return row!.pid;
}

/** Opens so many connections, by transactions that wait for each other. */
async function warm(sql: Postgres, count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let waiting = 0;
  const one = async (inside: { unsafe: Postgres["unsafe"] }) => {
    await inside.unsafe("SELECT 1");
    if (++waiting === count) resolve();
    await promise;
  };
  await Promise.all(Array.from({ length: count }, () => sql.begin(one)));
}

test("one statement after the other goes to one backend, the latest used, however many are open", async () => {
  const sql = openPool();
  await warm(sql, 4);
  const backends = new Set<number>();
  for (let i = 0; i < 20; i++) backends.add(await backendOf(sql));
  expect(backends.size).toBe(1);
});

/** As if no time went by for a pool: nobody has waited long enough for another connection. */
async function timeless<T>(run: () => Promise<T>): Promise<T> {
  const real = globalThis.setTimeout;
  const held = (run: () => void, ms: number) => (ms === widenMs ? 0 : real(run, ms));
  const stopped = spyOn(globalThis, "setTimeout").mockImplementation(held as never);
  try {
    return await run();
  } finally {
    expect(stopped.mock.calls.map(([, ms]) => ms)).toContain(widenMs);
    stopped.mockRestore();
  }
}

/** For how long a statement waits before another connection is opened. */
const widenMs = 10;

test("a few short statements at once wait for what is open, and open nothing for it", async () => {
  const sql = openPool(8);
  await backendOf(sql);
  const asked = () => Promise.all(Array.from({ length: 8 }, () => backendOf(sql)));
  expect(new Set(await timeless(asked)).size).toBe(1);
});

test("a statement that takes long holds up nobody", async () => {
  const sql = openPool();
  const other = openPool(1);
  await backendOf(sql);
  const order: string[] = [];
  await other`SELECT pg_advisory_lock(8)`;
  const slow = sql`SELECT pg_advisory_lock(8)`.then(() => order.push("slow"));
  const quick = Array.from({ length: 10 }, (_, i) => backendOf(sql).then(() => order.push(`quick ${i}`)));
  await Promise.all(quick);
  expect(order).not.toContain("slow");
  await other`SELECT pg_advisory_unlock(8)`;
  await slow;
  expect(order.length).toBe(11);
});

test("what a transaction asks beside itself is answered while others wait for its lock", async () => {
  const sql = openPool();
  await backendOf(sql);
  let blocked: Promise<unknown> = Promise.resolve();
  await sql.begin(async (inside) => {
    await inside`SELECT pg_advisory_xact_lock(7)`;
    blocked = Promise.all([sql`SELECT pg_advisory_lock(7)`, sql`SELECT 1`]);
    blocked.catch(() => {});
    for (let i = 0; i < 5; i++) await backendOf(sql);
  });
  await blocked;
});

test("a crowd is answered by as many connections as there may be, or fewer", async () => {
  const sql = openPool(3);
  const backends = new Set(await Promise.all(Array.from({ length: 200 }, () => backendOf(sql))));
  expect(backends.size).toBeLessThanOrEqual(3);
  const list = await Promise.all(Array.from({ length: 50 }, (_, i) => sql`SELECT ${[i]}::integer[] AS list`));
  expect(list.map(([row]) => row!["list"] as number[])).toEqual(Array.from({ length: 50 }, (_, i) => [i]));
});

test("a pool that ends answers those who wait, or refuses them", async () => {
  const sql = openPostgres(url, { log: silentLog, connectionsMax: 2 });
  await backendOf(sql);
  const asked = Array.from({ length: 20 }, () => backendOf(sql));
  const settled = Promise.allSettled(asked);
  await sql.end();
  const failures = (await settled).flatMap((one) =>
    one.status === "rejected" ? [one.reason as unknown] : [],
  );
  for (const failure of failures) expect(failure).toMatchObject({ code: "CONNECTION_ENDED" });
});
