// Whether a migration or a backup runs, as any process that shares the Postgres sees it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { lockBackups } from "../../../src/cli/backup/stores/postgres_rows_store.ts";
import { reserve } from "../../../src/storage/postgres/postgres.ts";
import { isStoreLocked, storeLocks } from "../../../src/storage/postgres/store_locks.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";

let stores: Stores;

beforeAll(async () => {
  stores = await openMadeStores();
}, storesStartMsMax);
afterAll(cleanUp);

test("a backup and a migration are seen while they hold their lock, and no other lock is taken for one", async () => {
  const { sql } = stores;
  const connection = await reserve(sql);
  expect(await isStoreLocked(sql)).toBe(false);
  await connection`SELECT pg_advisory_lock(1), pg_advisory_lock(29589, 1)`;
  expect(await isStoreLocked(sql)).toBe(false);
  await lockBackups(connection);
  expect(await isStoreLocked(sql)).toBe(true);
  await connection`SELECT pg_advisory_unlock(${storeLocks.backup}::bigint)`;
  expect(await isStoreLocked(sql)).toBe(false);
  await connection`SELECT pg_advisory_lock(${storeLocks.migration}::bigint)`;
  expect(await isStoreLocked(sql)).toBe(true);
  await connection`SELECT pg_advisory_unlock_all()`;
  expect(await isStoreLocked(sql)).toBe(false);
  connection.release();
});
