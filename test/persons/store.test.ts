import { afterAll, beforeAll, expect, test } from "bun:test";
import { openCapture } from "../../src/capture/open.ts";
import { capture } from "../../src/capture/pipeline.ts";
import { ArenaPool, ReceivedBody } from "../../src/capture/receive/received_body.ts";
import { toBytes } from "../../src/core/bytes.ts";
import { systemClock } from "../../src/core/clock.ts";
import { limits } from "../../src/core/limits.ts";
import { silentLog } from "../../src/core/log.ts";
import { deleteGroupType, listGroupTypes } from "../../src/persons/group_type_store.ts";
import { KnownGroupTypes } from "../../src/persons/group_types.ts";
import { type Merge, mergeKind } from "../../src/persons/merge.ts";
import { mirrorMerges } from "../../src/persons/mirror_store.ts";
import { applyMerges, forgetSegment } from "../../src/persons/store.ts";
import type { PostgresTransaction } from "../../src/storage/postgres/postgres.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { cleanUp } from "../support/cleanup.ts";
import { noDefinitions } from "../support/definitions.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { until } from "../support/server.ts";
import { openTestStores, storesStartMsMax } from "../support/stores.ts";

let stores: Stores;
const folder = await makeStoresFolder();
const organization_id = crypto.randomUUID();

beforeAll(async () => {
  stores = await openTestStores(folder);
}, storesStartMsMax);

afterAll(cleanUp);

function merge(project_id: number, from: string, into: string, kind: number = mergeKind.dangerous): Merge {
  return { project_id, kind, from, into, at: 1_700_000_000_000_000, created_at: 1_700_000_000_000_000 };
}

async function mainsOf(project_id: number): Promise<Record<string, string>> {
  const rows = await stores.sql<{ distinct_id: string; main_id: string }[]>`
    SELECT distinct_id, main_id FROM merged_ids WHERE project_id = ${project_id} ORDER BY distinct_id`;
  return Object.fromEntries(rows.map(({ distinct_id, main_id }) => [distinct_id, main_id]));
}

test("a segment is applied once, under whatever number it comes again", async () => {
  const first = await applyMerges(
    stores.sql,
    "once",
    [[merge(1, "a", "b")], [merge(1, "c", "b", mergeKind.identify)]],
    [],
  );
  const again = await applyMerges(stores.sql, "once", [[merge(1, "b", "z")]], []);
  expect(again).toEqual({ version: first.version, refused: [], refusedTypes: [] });
  expect(await mainsOf(1)).toEqual({ a: "b", b: "b", c: "b" });
  await forgetSegment(stores.sql, "once");
});

/** Notes the longest parameter of every statement of a transaction. */
function watched(lengths: number[]): Stores["sql"] {
  const watch = <Asked extends object>(asked: Asked): Asked =>
    new Proxy(asked, {
      apply: (target, self, given: unknown[]) => {
        lengths.push(Math.max(0, ...given.slice(1).map((one) => (typeof one === "string" ? one.length : 0))));
        return Reflect.apply(target as () => unknown, self, given);
      },
    });
  return new Proxy(stores.sql, {
    get: (target, name) => {
      if (name !== "begin") return target[name as keyof typeof target] as unknown;
      return (run: (transaction: PostgresTransaction) => Promise<unknown>) =>
        target.begin((transaction) => run(watch(transaction)));
    },
  });
}

test("a long segment is written in short statements, and comes to the same as many short segments", async () => {
  const merges = Array.from({ length: 6000 }, (_, i) => {
    const [from, into] = i % 4 === 0 ? [`user-${i}`, `user-${i + 4}`] : [`anon-${i}`, `user-${i % 500}`];
    return merge(i % 5 === 0 ? 12 : 11, from, into);
  });
  const later = merges.map((one) => ({ ...one, project_id: one.project_id + 10 }));
  const lengths: number[] = [];
  await applyMerges(
    watched(lengths),
    "long",
    [0, 1, 2, 3, 4, 5].map((i) => merges.slice(i * 1000, i * 1000 + 1000)),
    [],
  );
  // A thousand ids of some ten letters each, quoted: one text of all would be ten times as long.
  expect(lengths.length).toBeGreaterThan(20);
  expect(Math.max(...lengths)).toBeLessThan(limits.mergesAtOnceMax * 20);
  for (let from = 0; from < later.length; from += 700) {
    await applyMerges(stores.sql, `short-${from}`, [later.slice(from, from + 700)], []);
  }
  for (const project_id of [11, 12]) {
    const mains = await mainsOf(project_id);
    expect(Object.keys(mains).length).toBeGreaterThan(1000);
    expect(await mainsOf(project_id + 10)).toEqual(mains);
  }
});

test("a person who moves on and on is moved twice in a segment, not lot by lot", async () => {
  const chain = Array.from({ length: 800 }, (_, i) => merge(51, `c${i}`, `c${i + 1}`));
  const lots = Array.from({ length: 8 }, (_, i) => chain.slice(i * 100, i * 100 + 100));
  const lengths: number[] = [];
  await applyMerges(watched(lengths), "chain", lots, []);
  const mains = await mainsOf(51);
  expect(Object.keys(mains)).toHaveLength(801);
  expect(new Set(Object.values(mains))).toEqual(new Set(["c800"]));
  // Three lots are written, of which two move what is there; lot by lot it would be twice as many statements.
  expect(lengths.length).toBeLessThan(25);
});

test("merges into a table that was emptied look each id up by index, and do not read the table lot by lot", async () => {
  const { sql } = stores;
  await sql`DELETE FROM merged_ids WHERE project_id > 0`;
  await sql`VACUUM ANALYZE merged_ids`;
  const read = async () => {
    await sql`SELECT pg_stat_force_next_flush()`;
    const [row] = await sql<{ tuples: number }[]>`
      SELECT sum(i.idx_tup_read)::integer + max(t.seq_tup_read)::integer AS tuples
      FROM pg_stat_user_indexes i JOIN pg_stat_user_tables t USING (relid) WHERE i.relname = 'merged_ids'`;
    return row!.tuples;
  };
  const before = await read();
  const ids = 20_000;
  const merges = Array.from({ length: ids }, (_, i) =>
    merge(71, `visitor-${i}`, "kiosk", mergeKind.identify),
  );
  const lots = Array.from({ length: ids / 1000 }, (_, i) => merges.slice(i * 1000, i * 1000 + 1000));
  await applyMerges(sql, "emptied", lots, []);
  // Each backend tells of what it read when it is idle for long enough, or is asked.
  await Promise.all(Array.from({ length: 16 }, () => sql`SELECT pg_stat_force_next_flush(), pg_sleep(0.01)`));
  expect((await read()) - before).toBeLessThan(ids * 3);
});

test("a segment's mirror is whole, however many statements wrote it", async () => {
  const merges = Array.from({ length: 2500 }, (_, i) => merge(31, `anon-${i}`, `user-${i}`));
  const { version } = await applyMerges(stores.sql, "whole", [merges], []);
  await mirrorMerges(stores.sql, stores.clickhouse, version);
  const mirrored = await stores.clickhouse.query<{ distinct_id: string; main_id: string }>(
    "SELECT distinct_id, main_id FROM merged_ids FINAL WHERE project_id = 31",
  );
  expect(Object.fromEntries(mirrored.map((row) => [row.distinct_id, row.main_id]))).toEqual(
    await mainsOf(31),
  );
  expect(mirrored).toHaveLength(5000);
});

test("ids are stored as they are, whatever is in them", async () => {
  const odd = ['say "hi"', "back\\slash", "{a,b}", "NULL", " ", "tab\tline\n", '\\"', "靴😀é", "'; --", "$1"];
  const merges = odd.map((id) => merge(41, id, `of ${id}`));
  await applyMerges(stores.sql, "odd", [merges], []);
  const again = await applyMerges(
    stores.sql,
    "odd again",
    [odd.map((id) => merge(41, id, "one", mergeKind.identify))],
    [],
  );
  expect(again.refused.map(({ from }) => from)).toEqual(odd);
  expect(await mainsOf(41)).toEqual(
    Object.fromEntries(odd.flatMap((id) => [id, `of ${id}`].map((one) => [one, `of ${id}`]))),
  );
});

test("opposite merges and cycles of several processes at the same moment make one person", async () => {
  const ids = ["a", "b", "c", "d", "e"];
  const works = ids.flatMap((from, i) => [
    applyMerges(stores.sql, `ring-${i}`, [[merge(2, from, ids[(i + 1) % ids.length]!)]], []),
    applyMerges(stores.sql, `back-${i}`, [[merge(2, ids[(i + 1) % ids.length]!, from)]], []),
  ]);
  const applied = await Promise.all(works);
  const mains = await mainsOf(2);
  expect(Object.keys(mains)).toEqual(ids);
  expect(new Set(Object.values(mains)).size).toBe(1);
  // Mirrored in any order, and again, ClickHouse comes to the same.
  for (const { version } of [...applied, ...applied].toReversed()) {
    await mirrorMerges(stores.sql, stores.clickhouse, version);
  }
  const mirrored = await stores.clickhouse.query<{ distinct_id: string; main_id: string }>(
    "SELECT distinct_id, main_id FROM merged_ids FINAL WHERE project_id = 2 ORDER BY distinct_id",
  );
  expect(Object.fromEntries(mirrored.map((row) => [row.distinct_id, row.main_id]))).toEqual(mains);
  const [persons] = await stores.clickhouse.query<{ n: string }>(
    "SELECT uniqExact(person_id) AS n FROM person_distinct_ids WHERE project_id = 2",
  );
  expect(persons).toEqual({ n: "1" });
});

test("of the types of several processes at once five find a place, and capture knows them afterwards", async () => {
  const names = ["t1", "t2", "t3", "t4", "t5", "t6", "t7"];
  const all = await Promise.all(
    names.map((name) => applyMerges(stores.sql, `type-${name}`, [], [{ project_id: 3, name }])),
  );
  expect(all.flatMap(({ refusedTypes }) => refusedTypes)).toHaveLength(2);
  const announced: string[] = [];
  const known = new KnownGroupTypes(({ name }) => announced.push(name));
  const admit = (name: string) => known.admit(3, { source: toBytes(name), from: 0, to: name.length });
  expect(names.slice(0, 6).map(admit)).toEqual([true, true, true, true, true, false]);
  expect(announced).toEqual(names.slice(0, 5));
  known.replace(await listGroupTypes(stores.sql));
  const refused = new Set(all.flatMap(({ refusedTypes }) => refusedTypes.map(({ name }) => name)));
  expect(names.filter((name) => !admit(name))).toEqual([...refused].toSorted());
  expect(announced).toHaveLength(5);
});

test("a type that is not allowed finds no place, though it was announced before; a freed place is given again", async () => {
  const { sql, clickhouse } = stores;
  await sql`
    INSERT INTO organizations (id, name, slug) VALUES (${organization_id}, 'O', 'o') ON CONFLICT DO NOTHING`;
  const [project] = await sql<{ id: number }[]>`
    INSERT INTO projects (uuid, organization_id, name, api_token)
    VALUES (${crypto.randomUUID()}, ${organization_id}, 'P', 'phc_places') RETURNING id`;
  const { id } = project!;
  const sighted = (names: string[]) => names.map((name) => ({ project_id: id, name }));
  const shown = async () => {
    const query = "SELECT group_type, place FROM group_types WHERE project_id = {id:UInt32} ORDER BY place";
    const rows = await clickhouse.query<{ group_type: string; place: number }>(query, { id });
    return rows.map(({ group_type, place }) => `${place} ${group_type}`);
  };
  const first = await applyMerges(sql, "places-1", [], sighted(["a", "b", "c"]));
  await mirrorMerges(sql, clickhouse, first.version);
  expect(await shown()).toEqual(["0 a", "1 b", "2 c"]);
  await sql`UPDATE projects SET allowed_group_types = ${["a", "d"]} WHERE id = ${id}`;
  expect(await deleteGroupType(sql, clickhouse, id, 1)).toBe(true);
  expect(await deleteGroupType(sql, clickhouse, id, 1)).toBe(false);
  const second = await applyMerges(sql, "places-2", [], sighted(["b", "d"]));
  expect(second.refusedTypes).toEqual([{ project_id: id, name: "b", forbidden: true }]);
  await mirrorMerges(sql, clickhouse, second.version);
  // A copy that was on its way while the type was deleted comes too late.
  await clickhouse.command(
    "INSERT INTO group_type_rows (project_id, group_type, place, version) SELECT {id:UInt32}, 'b', 1, {version:UInt64}",
    { id, version: first.version },
  );
  expect(await shown()).toEqual(["0 a", "1 d", "2 c"]);
  const announced: string[] = [];
  const known = new KnownGroupTypes(({ name }) => announced.push(name));
  known.replace(await listGroupTypes(sql));
  const ask = (name: string) => ({ source: toBytes(name), from: 0, to: name.length });
  // "c" has a place, and is not used while it is not allowed.
  expect(["a", "b", "c", "d", "e"].map((name) => known.admit(id, ask(name)))).toEqual([
    true,
    false,
    false,
    true,
    false,
  ]);
  expect(["a", "c", "e"].map((name) => known.isForbidden(id, ask(name)))).toEqual([false, true, true]);
  expect(known.assigned(id).map((name) => new TextDecoder().decode(name))).toEqual(["a", "d"]);
  expect(announced).toEqual([]);
});

test("while Postgres is unavailable merges wait and events flow; then nothing of them is lost", async () => {
  let away = false;
  const sql = new Proxy(stores.sql, {
    get: (target, name) => {
      if (name !== "begin" || !away) return target[name as keyof typeof target] as unknown;
      return () => Promise.reject(Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" }));
    },
  });
  const nothing = () => {};
  const opened = await openCapture({
    dataDir: `${folder}/away`,
    flushIntervalMs: 20,
    journalBytesMax: 1 << 30,
    stores: { ...stores, sql },
    counts: {
      stored: nothing,
      quarantined: nothing,
      seconds: nothing,
      spiked: nothing,
      damaged: nothing,
      unarchived: () => {},
      unrecorded: nothing,
    },
    clock: systemClock,
    log: silentLog,
  });
  away = true;
  opened.startFlush();
  const batch = Array.from({ length: 20 }, (_, i) => ({
    event: "$identify",
    distinct_id: `user-${i}`,
    properties: { $anon_distinct_id: `anon-${i}`, $set: { i } },
  }));
  const {
    journal,
    book,
    parts: { groupTypes, salts, dailyQuotas },
  } = opened;
  await capture(
    {
      body: new ReceivedBody(new ArenaPool(1), toBytes(JSON.stringify({ api_key: "k", batch }))),
      sent_at: Number.NaN,
      allowsNameless: false,
    },
    {
      journal,
      book,
      groupTypes,
      definitions: noDefinitions,
      salts,
      dailyQuotas,
      keys: {
        find: () => 4,
        admit: () => Promise.reject(new Error()),
        records: () => false,
        recordsConsole: () => false,
        cookieless: () => ({ enabled: true, timezone: "UTC" }),
        dailyEventQuota: () => Number.POSITIVE_INFINITY,
        close: () => Promise.resolve(),
      },
      counts: { received: nothing, accepted: nothing, ignored: nothing, warned: nothing },
      clock: systemClock,
      ack: "journal",
      recordingRetentionDays: 1,
    },
  );
  const before = journal.stamp();
  await until(async () => journal.pending().events === 0);
  const count = async (from: string) => {
    const [row] = await stores.clickhouse.query<{ n: string }>(
      `SELECT count() AS n FROM ${from} WHERE project_id = 4`,
    );
    return Number(row?.n);
  };
  expect(await count("events")).toBe(20);
  expect(await count("persons")).toBe(20);
  expect(await count("merged_ids")).toBe(0);
  // Exports of persons wait for merges that wait.
  expect(journal.watermarks().derived).toBeLessThanOrEqual(before);
  expect(journal.pending().bytes).toBeGreaterThan(0);
  away = false;
  await until(async () => journal.pending().bytes === 0);
  expect(await count("merged_ids")).toBe(40);
  expect(await count("persons")).toBe(20);
  expect(await count("person_distinct_ids")).toBe(40);
  await opened.close(10_000);
});
