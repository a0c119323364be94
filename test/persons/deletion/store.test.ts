// What a deletion leaves: whatever arrived after its order, however late the deletion is carried out.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { bootstrap } from "../../../src/accounts/prepare.ts";
import { deriveStored } from "../../../src/capture/store.ts";
import { silentLog } from "../../../src/core/log.ts";
import { findUserId } from "../../../src/personal_api_keys/store.ts";
import { finishDeletions, hideOrdered, orderDeletions } from "../../../src/persons/deletion/store.ts";
import { openDeletions } from "../../../src/persons/deletion/worker.ts";
import { ownPersonId } from "../../../src/persons/identity.ts";
import type { ClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { HiddenRowsOfProjects } from "../../../src/storage/clickhouse/hidden_rows.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { startMsMax } from "../../support/accounts.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { openMadeStores } from "../../support/stores.ts";

afterAll(cleanUp, startMsMax);

let stores: Stores;
/** Of today: ids of deleted persons are forgotten after 90 days. */
const orderedAt = Date.now() * 1000;

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
    `SELECT session_id, distinct_id, event_count FROM sessions
     WHERE project_id = {project_id:UInt32} ORDER BY session_id`,
    { project_id: 1 },
  );
}

test("a session that continues after its person's deletion keeps later events", async () => {
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
  expect(await finishDeletions(stores.sql, stores.clickhouse)).toBe(1);
  const left = [
    { session_id: "another's", distinct_id: "other", event_count: "1" },
    { session_id: "going on", distinct_id: "gone", event_count: "1" },
    { session_id: "later", distinct_id: "gone", event_count: "1" },
  ];
  expect(await sessions()).toEqual(left);
});

/** Rows as reads of a project count them, and as they lie there. */
async function rowsOf(distinct_id: string): Promise<Record<string, [shown: number, stored: number]>> {
  const { clickhouse } = stores;
  const counted = async (table: string, params: Record<string, unknown>): Promise<number> => {
    const [row] = await clickhouse.query<{ n: string }>(
      `SELECT count() AS n FROM ${table} WHERE ${table === "session_facts" ? "substring(first_seen, 9)" : "distinct_id"} = {distinct_id:String}`,
      { distinct_id, ...params },
    );
    return Number(row?.n);
  };
  const tables = ["event_rows", "seen", "session_facts"];
  const both = async (table: string) => [
    table,
    [await counted(table, { project_id: 1 }), await counted(table, {})],
  ];
  return Object.fromEntries((await Promise.all(tables.map(both))) as [string, [number, number]][]);
}

test("no read shows a person whose deletion is ordered, nor after a restart; the rows go later", async () => {
  await arrive("hidden", "hidden session", 11, -20);
  await arrive("beside it", "shown session", 12, -20);
  const hasRows = { event_rows: [1, 1], session_facts: [1, 1] };
  expect(await rowsOf("hidden")).toMatchObject(hasRows);
  const user_id = (await findUserId(stores.sql, undefined)) ?? 0;
  const scope = { delete_events: true, delete_recordings: true, keep_person: false };
  const request = { project_id: 1, ...scope, user_id, key_id: "key" };
  const person = { person_id: ownPersonId(1, "hidden"), main_id: "hidden" };
  await orderDeletions(stores.sql, stores.clickhouse, request, [person], orderedAt);
  // On a cluster the deletion was awaited.
  const left = stores.clickhouse.cluster ? 0 : 1;
  const hidden = { event_rows: [0, left], session_facts: [0, left] };
  expect(await rowsOf("hidden")).toMatchObject(hidden);
  expect(await rowsOf("beside it")).toMatchObject(hasRows);
  expect((await sessions()).map(({ session_id }) => session_id)).not.toContain("hidden session");

  if (left === 0) return;

  // A server that starts anew knows of no order until it asks.
  stores.clickhouse.hide("deleted", undefined);
  expect(await rowsOf("hidden")).toMatchObject(hasRows);
  await hideOrdered(stores.sql, stores.clickhouse);
  expect(await rowsOf("hidden")).toMatchObject(hidden);

  // What arrives from then on is a new person's.
  await arrive("hidden", "new session", 13, 10);
  expect(await rowsOf("hidden")).toMatchObject({ event_rows: [1, 2] });
  await finishDeletions(stores.sql, stores.clickhouse);
  expect(await rowsOf("hidden")).toMatchObject({ event_rows: [1, 1], session_facts: [1, 1] });
});

test("where an engine does not filter reads by a subquery, or other servers read, a deletion is awaited", async () => {
  const { clickhouse, sql } = stores;
  const asked: string[] = [];
  const remote = (works: boolean): ClickHouse => ({
    ...clickhouse,
    embedded: false,
    canHide: () =>
      new HiddenRowsOfProjects().canHide((text, settings) => {
        asked.push(text);
        return works ? clickhouse.query(text, undefined, { settings }) : Promise.reject(new Error("no"));
      }),
  });
  const user_id = (await findUserId(sql, undefined)) ?? 0;
  const scope = { delete_events: true, delete_recordings: true, keep_person: false };
  const request = { project_id: 1, ...scope, user_id, key_id: "key" };
  const both = ["one", "another"];
  for (const [id, works, isAlone, batch] of [
    ["of an old one", false, true, 21],
    ["of a new one", true, true, 22],
    ["of several servers", true, false, 23],
  ] as const) {
    await arrive(id, id, batch, -20);
    if (!isAlone) await sql`INSERT INTO journals ${sql(both.map((name) => ({ name, seen_at: new Date() })))}`;
    const person = { person_id: ownPersonId(1, id), main_id: id };
    await orderDeletions(sql, remote(works), request, [person], orderedAt);
    const left = works && isAlone && !clickhouse.cluster ? 1 : 0;
    expect(await rowsOf(id)).toMatchObject({ event_rows: [0, left] });
  }
  expect(asked).toHaveLength(clickhouse.cluster ? 0 : 2);
  await sql`DELETE FROM journals WHERE name IN ${sql(both)}`;
  await finishDeletions(sql, clickhouse);
});

test("a pass carries out what was ordered, and none is due without an order", async () => {
  const { clickhouse, sql } = stores;
  let now = orderedAt / 1000;
  const clock = { now: () => now++, elapsed: () => now };
  const [deletions] = openDeletions({ sql, clickhouse, clock, log: silentLog });
  const passedAt = async () => {
    await deletions.poll();
    await deletions.settle();
    const [row] = await sql<{ passed_at: Date | null }[]>`
      SELECT passed_at FROM passes WHERE id = 'deletions of persons'`;
    return row!.passed_at?.getTime();
  };
  expect(await passedAt()).toBeUndefined();
  await arrive("passed over", "passed over", 31, -20);
  const user_id = (await findUserId(sql, undefined)) ?? 0;
  const scope = { delete_events: true, delete_recordings: true, keep_person: false };
  const request = { project_id: 1, ...scope, user_id, key_id: "key" };
  const person = { person_id: ownPersonId(1, "passed over"), main_id: "passed over" };
  await orderDeletions(sql, clickhouse, request, [person], orderedAt);
  const passed = await passedAt();
  expect(passed).toBeNumber();
  expect(await rowsOf("passed over")).toMatchObject({ event_rows: [0, 0], session_facts: [0, 0] });
  expect(await passedAt()).toBe(passed);
  await sql`INSERT INTO project_deletions (project_id, ordered_at) VALUES (77, now() - interval '1 hour')`;
  expect(await passedAt()).toBeGreaterThan(passed!);
  await deletions.close();
});
