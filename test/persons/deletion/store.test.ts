// What a deletion leaves: whatever arrived after its order, however late the deletion is carried out.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { bootstrap } from "../../../src/accounts/prepare.ts";
import { deriveStored } from "../../../src/capture/store.ts";
import { silentLog } from "../../../src/core/log.ts";
import { findUserId } from "../../../src/personal_api_keys/store.ts";
import { forgetSessions } from "../../../src/persons/deletion/session_store.ts";
import { finishDeletions, hideOrdered, orderDeletions } from "../../../src/persons/deletion/store.ts";
import { openDeletions } from "../../../src/persons/deletion/worker.ts";
import { ownPersonId } from "../../../src/persons/identity.ts";
import { personLimits } from "../../../src/persons/limits.ts";
import { type Merge, mergeKind } from "../../../src/persons/merge.ts";
import { mirrorMerges } from "../../../src/persons/mirror_store.ts";
import { applyMerges } from "../../../src/persons/store.ts";
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
async function arrive(
  distinct_id: string,
  session: string,
  batch: number,
  seconds: number,
  url = "",
): Promise<void> {
  await stores.clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch)
     SELECT generateUUIDv4(), 1, '$pageview', {distinct_id:String}, concat('{"$session_id":"', {session:String}, '","$current_url":"', {url:String}, '"}'),
       at, at, {batch:UInt64}
     FROM (SELECT fromUnixTimestamp64Micro({at:Int64}, 'UTC') AS at)`,
    { distinct_id, session, url, batch, at: orderedAt + seconds * 1_000_000 },
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

/** Applies merges that arrived so many seconds after the order, as one segment. */
async function merge(...merges: (Pick<Merge, "kind" | "from" | "into"> & { seconds: number })[]) {
  const at = ({ seconds }: { seconds: number }) => orderedAt + seconds * 1_000_000;
  const rows = merges.map((row) => ({ ...row, project_id: 1, at: at(row), created_at: at(row) }));
  const { version } = await applyMerges(stores.sql, crypto.randomUUID(), [rows], []);
  await mirrorMerges(stores.sql, stores.clickhouse, version);
}

/** The main ids of merged ids that begin so, as Postgres and ClickHouse have them. */
async function mainsOf(prefix: string): Promise<Record<string, string>> {
  const { sql, clickhouse } = stores;
  const toMains = (rows: { distinct_id: string; main_id: string }[]) =>
    Object.fromEntries(rows.map(({ distinct_id, main_id }) => [distinct_id, main_id]));
  const decided = toMains(
    await sql`
    SELECT distinct_id, main_id FROM merged_ids WHERE starts_with(distinct_id, ${prefix})`,
  );
  const mirrored = await clickhouse.query<{ distinct_id: string; main_id: string }>(
    "SELECT distinct_id, main_id FROM merged_ids FINAL WHERE startsWith(distinct_id, {prefix:String})",
    { prefix },
  );
  expect(toMains(mirrored)).toEqual(decided);
  return decided;
}

async function order(
  main_id: string,
  scope: { delete_events: boolean; keep_person: boolean },
): Promise<void> {
  const user_id = (await findUserId(stores.sql, undefined)) ?? 0;
  const request = { project_id: 1, delete_recordings: false, ...scope, user_id, key_id: "key" };
  const person = { person_id: ownPersonId(1, main_id), main_id };
  await orderDeletions(stores.sql, stores.clickhouse, request, [person], orderedAt);
}

for (const keep_person of [false, true]) {
  const [name, batch] = keep_person ? (["kept", 50] as const) : (["left", 40] as const);
  test(`an id that was merged before the order and is so behind it goes with its person, which is ${name}`, async () => {
    const [late, main, later] = [`${name} late`, `${name} main`, `${name} later`];
    for (const [i, id] of [late, main, later].entries()) {
      await arrive(id, `${id} before`, batch + i * 2, -20);
      await arrive(id, `${id} after`, batch + i * 2 + 1, 10);
    }
    await order(main, { delete_events: true, keep_person });
    const { identify } = mergeKind;
    await merge(
      { kind: identify, from: late, into: main, seconds: -1 },
      { kind: identify, from: later, into: main, seconds: 1 },
    );
    await finishDeletions(stores.sql, stores.clickhouse);
    for (const id of [late, main]) expect(await rowsOf(id)).toMatchObject({ event_rows: [1, 1] });
    expect(await rowsOf(later)).toMatchObject({ event_rows: [2, 2] });
    const since = { [main]: main, [later]: main };
    expect(await mainsOf(name)).toEqual(keep_person ? { [late]: main, ...since } : since);
    const [left] = await stores.sql`SELECT FROM person_deletion_ids LIMIT 1`;
    expect(left).toBeUndefined();
  });
}

test("ids that were merged into a person since the order of its deletion stay one person with its main id", async () => {
  const { identify, alias } = mergeKind;
  await merge({ kind: identify, from: "torn old", into: "torn main", seconds: -30 });
  await order("torn main", { delete_events: true, keep_person: false });
  await merge({ kind: identify, from: "torn new", into: "torn main", seconds: 10 });
  await finishDeletions(stores.sql, stores.clickhouse);
  expect(await mainsOf("torn")).toEqual({ "torn main": "torn main", "torn new": "torn main" });
  await merge({ kind: alias, from: "torn main", into: "torn next", seconds: 20 });
  const mains = ["torn main", "torn new", "torn next"].map((id) => [id, "torn next"]);
  expect(await mainsOf("torn")).toEqual(Object.fromEntries(mains));
});

test("a deleted person stays hidden while another project orders many deletions", async () => {
  let isHidden: (project_id: number) => unknown = () => undefined;
  const hide = (_: string, find: typeof isHidden) => void (isHidden = find);
  const clickhouse = { canHide: async () => true, hide } as never;
  const orderAt = (project_id: number, at: number) => stores.sql`
    INSERT INTO person_deletion_orders
      (project_id, person_id, delete_events, delete_recordings, keep_person, user_id, key_id, ordered_at)
    VALUES (${project_id}, gen_random_uuid(), true, true, false, 1, 'k', ${at})`;
  await orderAt(900, 1_000_000);
  for (let i = 1; i <= personLimits.hiddenOrdersMax + 1; i++) await orderAt(5, 1_000_000 + i);
  await hideOrdered(stores.sql, clickhouse);
  await stores.sql`DELETE FROM person_deletion_orders WHERE ordered_at < 2000000`;
  expect(isHidden(900)).toBeDefined();
});

for (const keep_person of [false, true]) {
  const [leaving, staying, batch] = keep_person ? ["emptied", "beside", 70] : ["leaving", "staying", 60];
  test(`a session of two persons keeps what the other one did, and nothing of the one ${leaving}`, async () => {
    const ids = ["first", "second"].map((name) => `${leaving} ${name}`);
    await arrive(staying, ids[0]!, batch, -30, "/kept");
    await arrive(leaving, ids[0]!, batch + 1, -29, "/gone");
    await arrive(leaving, ids[1]!, batch + 2, -30, "/gone");
    await arrive(staying, ids[1]!, batch + 3, -29, "/kept");
    await stores.clickhouse.command(
      `OPTIMIZE TABLE ${stores.clickhouse.tables.local("session_facts")} FINAL`,
    );
    await order(leaving, { delete_events: true, keep_person });
    await finishDeletions(stores.sql, stores.clickhouse);
    const left = await stores.clickhouse.query(
      `SELECT session_id, distinct_id, event_count, exit_url FROM sessions
       WHERE project_id = 1 AND session_id IN {ids:Array(String)} ORDER BY session_id`,
      { ids },
    );
    const kept = { distinct_id: staying, event_count: "1", exit_url: "/kept" };
    expect(left).toEqual(ids.map((session_id) => ({ session_id, ...kept })));
    expect(await stores.clickhouse.query("SELECT 1 FROM deleting_ids")).toEqual([]);
  });
}

test("what the flush derived of a deleted event meanwhile is gone when the deletion is finished", async () => {
  const { sql, clickhouse } = stores;
  await arrive("other", "slow", 80, -30, "/kept");
  await arrive("slow", "slow", 81, -29, "/gone");
  await clickhouse.command("CREATE TABLE derived_late AS session_facts ENGINE = Memory");
  await clickhouse.command("INSERT INTO derived_late SELECT * FROM session_facts WHERE session_id = 'slow'");
  await sql`INSERT INTO journals ${sql({ name: "behind", seen_at: new Date() })}`;
  await order("slow", { delete_events: true, keep_person: true });
  await clickhouse.command("INSERT INTO session_facts SELECT * FROM derived_late");
  await sql`DELETE FROM journals WHERE name = 'behind'`;
  await finishDeletions(sql, clickhouse);
  const left = await clickhouse.query("SELECT event_count, exit_url FROM sessions WHERE session_id = 'slow'");
  expect(left).toEqual([{ event_count: "1", exit_url: "/kept" }]);
  await clickhouse.command("DROP TABLE derived_late");
});

test("a deletion that another process finishes meanwhile keeps the sessions of those who stay", async () => {
  await arrive("stays", "met", 201, -30);
  await arrive("goes", "met", 202, -20);
  const user_id = (await findUserId(stores.sql, undefined)) ?? 0;
  const scope = { delete_events: true, delete_recordings: true, keep_person: false };
  const person = { person_id: ownPersonId(1, "goes"), main_id: "goes" };
  await orderDeletions(
    stores.sql,
    stores.clickhouse,
    { project_id: 1, ...scope, user_id, key_id: "key" },
    [person],
    orderedAt,
  );
  let drops = 0;
  const command: ClickHouse["command"] = async (text, ...more) => {
    await stores.clickhouse.command(text, ...more);
    if (!/DELETE FROM session_facts/.test(text)) return;
    drops++;
    await forgetSessions(stores.clickhouse, { project_id: 1, ordered_at: orderedAt });
  };
  await finishDeletions(stores.sql, { ...stores.clickhouse, command });
  expect(drops).toBeGreaterThan(0);
  const met = (await sessions()).filter(({ session_id }) => session_id === "met");
  expect(met).toEqual([{ session_id: "met", distinct_id: "stays", event_count: "1" }]);
});
