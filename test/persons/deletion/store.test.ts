// What a deletion leaves: whatever arrived after its order, however late the deletion is carried out.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { bootstrap } from "../../../src/accounts/bootstrap.ts";
import { deriveStored } from "../../../src/capture/store.ts";
import { finishDeletions, orderDeletions } from "../../../src/persons/deletion/store.ts";
import { ownPersonId } from "../../../src/persons/identity.ts";
import { findUserId } from "../../../src/personal_api_keys/store.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { startMsMax } from "../../support/accounts.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openMadeStores } from "../../support/stores.ts";

afterAll(cleanUp, startMsMax);

let stores: Stores;
const orderedAt = Date.parse("2026-03-04T10:00:00Z") * 1000;

beforeAll(async () => {
  stores = await openMadeStores();
  await bootstrap(stores.sql, {
    bootstrapProjectApiKey: undefined,
    bootstrapPersonalApiKey: undefined,
    bootstrapEmail: undefined,
  });
}, startMsMax);

/** Stores an event of `session` as batch number `batch`, arrived so many seconds after the order. */
async function arrive(distinct_id: string, session: string, batch: number, seconds: number): Promise<void> {
  await stores.clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch)
     SELECT generateUUIDv4(), 1, '$pageview', {distinct_id:String}, concat('{"$session_id":"', {session:String}, '"}'),
       at, at, {batch:UInt64}
     FROM (SELECT fromUnixTimestamp64Micro({at:Int64}, 'UTC') AS at)`,
    { distinct_id, session, batch, at: orderedAt + seconds * 1_000_000 },
  );
  await deriveStored(stores.clickhouse, [BigInt(batch)]);
}

async function sessions(): Promise<Record<string, string>[]> {
  return await stores.clickhouse.query(
    "SELECT session_id, distinct_id, event_count FROM sessions WHERE project_id = 1 ORDER BY session_id",
  );
}

test("a session that goes on after its person's deletion keeps the events since then", async () => {
  await arrive("gone", "ended", 1, -20);
  await arrive("gone", "going on", 2, -10);
  await arrive("gone", "going on", 3, 10);
  await arrive("gone", "later", 4, 20);
  await arrive("other", "another's", 5, -20);
  const user_id = (await findUserId(stores.sql, undefined)) ?? 0;
  const scope = { delete_events: true, delete_recordings: true, keep_person: false };
  const request = { project_id: 1, ...scope, user_id, key_id: "key" };
  const person = { person_id: ownPersonId(1, "gone"), main_id: "gone" };
  await orderDeletions(stores.sql, stores.clickhouse, request, [person], orderedAt);
  const left = [
    { session_id: "another's", distinct_id: "other", event_count: "1" },
    { session_id: "going on", distinct_id: "gone", event_count: "1" },
    { session_id: "later", distinct_id: "gone", event_count: "1" },
  ];
  expect(await sessions()).toEqual(left);
  expect(await finishDeletions(stores.sql, stores.clickhouse)).toBe(1);
  expect(await sessions()).toEqual(left);
});
