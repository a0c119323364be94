import { afterAll, beforeAll, expect, test } from "bun:test";
import { deriveAgain } from "../../src/capture/store.ts";
import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { cleanUp } from "../support/cleanup.ts";
import { openMadeStores, storesStartMsMax } from "../support/stores.ts";

let clickhouse: ClickHouse;

beforeAll(async () => {
  const stores = await openMadeStores();
  clickhouse = stores.clickhouse;
  // Two projects of 50,000 events over 25 days, and merges in both.
  await clickhouse.command(`
    INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, pk, pw, pv)
    SELECT generateUUIDv4(), number % 2 + 1, 'e', concat('id', toString(number % 200)), '{}',
      toDateTime64('2024-01-01 00:00:00', 6, 'UTC') + number * 21, toDateTime64('2024-06-01 00:00:00', 6, 'UTC'), 7,
      ['n'], [0], [toString(number)]
    FROM numbers(100000)`);
  await clickhouse.command(`
    INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version)
    SELECT 1, concat('id', toString(number)), 'id0', '2024-01-10 00:00:00', '2024-06-02 00:00:00', 1
    FROM numbers(0, 20, 2)`);
}, storesStartMsMax);

afterAll(cleanUp);

async function plan(query: string): Promise<string> {
  const lines = await clickhouse.query<{ explain: string }>(`EXPLAIN indexes = 1 ${query}`);
  return lines.map(({ explain }) => explain).join("\n");
}

/** How many of an index's granules are left, of event_rows. */
function granules(text: string): { left: number; all: number } {
  const own = text.slice(text.indexOf("event_rows"));
  const primary = /PrimaryKey[\s\S]*?Granules: (\d+)\/(\d+)/.exec(own);
  return { left: Number(primary?.[1]), all: Number(primary?.[2]) };
}

const wheres = {
  project: "project_id = 1",
  times: "project_id = 1 AND timestamp >= toDateTime64('2024-01-20 00:00:00', 6, 'UTC')",
  day: "project_id = 1 AND toDate(timestamp) = '2024-01-20'",
};

test("filters of project and time prune the rows below the view, with the join and without", async () => {
  for (const what of ["count()", "uniq(person_id)"]) {
    const left = [];
    for (const where of Object.values(wheres)) {
      const text = await plan(`SELECT ${what} FROM events WHERE ${where}`);
      const { left: some, all } = granules(text);
      expect(some).toBeLessThan(all);
      left.push(some);
      // The merged ids of other projects are not read either.
      expect(text.slice(text.indexOf("merged_ids"))).toContain("(project_id in [1, 1])");
    }
    expect(left.toSorted((a, b) => b - a)).toEqual(left);
    expect(left.at(-1)).toBeLessThanOrEqual(2);
  }
});

test("stored_events answers the same without a join", async () => {
  const text = await plan(`SELECT count() FROM stored_events WHERE ${wheres.times}`);
  expect(text).not.toContain("Join");
  const counts = (view: string) => clickhouse.query(`SELECT count() AS n FROM ${view} WHERE ${wheres.times}`);
  expect(await counts("stored_events")).toEqual(await counts("events"));
});

test("events of merged ids are their person's, from the first one on", async () => {
  const rows = await clickhouse.query<{ project_id: number; persons: string; ids: string }>(
    "SELECT project_id, uniqExact(person_id) AS persons, uniqExact(distinct_id) AS ids FROM events GROUP BY project_id ORDER BY project_id",
  );
  expect(rows).toEqual([
    { project_id: 1, persons: "91", ids: "100" },
    { project_id: 2, persons: "100", ids: "100" },
  ]);
  const disagreeing = await clickhouse.query(
    `SELECT distinct_id FROM person_distinct_ids WHERE (project_id, distinct_id, person_id) NOT IN
       (SELECT project_id, distinct_id, person_id FROM events)`,
  );
  expect(disagreeing).toEqual([]);
});

test("persons have what their ids did, one of many ids the oldest creation", async () => {
  const persons = await clickhouse.query<Record<string, unknown>>(
    "SELECT length(distinct_ids) AS ids, properties, created_at, is_identified, changed_at, last_seen_at FROM persons WHERE project_id = 1 ORDER BY ids DESC LIMIT 2",
  );
  expect(persons[0]).toEqual({
    ids: "10",
    properties: `{"n":99818}`,
    created_at: "2024-01-01 00:00:00.000000",
    is_identified: true,
    changed_at: "2024-06-02 00:00:00.000000",
    // The event 99,818, which was the last one of any of its ids.
    last_seen_at: "2024-01-25 06:16:18.000000",
  });
  expect(persons[1]).toMatchObject({
    ids: "1",
    is_identified: false,
    changed_at: "2024-06-01 00:00:00.000000",
  });
});

test("exports have one row for every distinct id, found by the arrival of its person's last change", async () => {
  const between = (from: string, to: string) =>
    clickhouse.query<{ distinct_id: string; persons: string }>(
      `SELECT count() AS ids, uniqExact(person_id) AS persons FROM exported_persons
       WHERE project_id = 1 AND _inserted_at >= '${from}' AND _inserted_at < '${to}'`,
    );
  expect(await between("2024-05-31 00:00:00", "2024-06-02 00:00:00")).toMatchObject([
    { ids: "90", persons: "90" },
  ]);
  expect(await between("2024-06-02 00:00:00", "2024-06-03 00:00:00")).toMatchObject([
    { ids: "10", persons: "1" },
  ]);
  const text = await plan("SELECT * FROM exported_persons WHERE project_id = 1");
  expect(text.match(/ReadFromMergeTree/g)).toHaveLength(9);
  expect(text.match(/Condition: (?:and\()?\(project_id in \[1, 1\]\)/g)).toHaveLength(9);
});

test("deriving a batch again changes nothing, and brings back what a dying engine left out", async () => {
  const all = () => clickhouse.query("SELECT * FROM persons ORDER BY project_id, person_id");
  const sorted = async () =>
    JSON.stringify(await all(), (name, value: unknown) =>
      name === "distinct_ids" ? [...(value as string[])].sort() : value,
    );
  const before = await sorted();
  await deriveAgain(clickhouse, "event_rows", [7n]);
  expect(await sorted()).toBe(before);
  for (const table of ["seen", "person_props"])
    await clickhouse.command(`TRUNCATE TABLE ${clickhouse.tables.local(table)}`);
  await deriveAgain(clickhouse, "event_rows", [7n]);
  await clickhouse.command(
    "INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version) SELECT project_id, distinct_id, main_id, merged_at, created_at, version FROM merged_ids",
  );
  expect(await sorted()).toBe(before);
});

test("what arrived before a deletion is not derived again", async () => {
  await clickhouse.command("INSERT INTO deleted_ids SELECT 2, sipHash64('id1'), now64(6)");
  await clickhouse.command(`TRUNCATE TABLE ${clickhouse.tables.local("seen")}`);
  await deriveAgain(clickhouse, "event_rows", [7n]);
  const seen = (project: number) =>
    clickhouse.query(`SELECT DISTINCT distinct_id FROM seen WHERE project_id = ${project}`);
  expect(await seen(2)).toHaveLength(99);
  expect(await seen(1)).toHaveLength(100);
});

test("of changes of one moment the highest rank counts; those without one come before, by their uuids", async () => {
  const rows = [
    ["ffffffff-0000-4000-8000-000000000000", "high uuid", 0],
    ["10000000-0000-4000-8000-000000000000", "last", 8],
    ["20000000-0000-4000-8000-000000000000", "first rank", 7],
    ["00000000-0000-4000-8000-000000000001", "low uuid", 0],
  ].map(
    ([uuid, value, rank]) =>
      `('${uuid}', 3, 'e', 'd', '{}', '2024-01-01', '2024-01-02', 8, 2, ['p', 'o', 'g'], [0, 1, 3],
        ['"${value}"', '"${value}"', '"${value}"'], ['company'], ['c'], ${rank})`,
  );
  await clickhouse.command(`
    INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch,
      person_mode, pk, pw, pv, gt, gk, rank) VALUES ${rows.join(", ")}`);
  const read = async () => [
    ...(await clickhouse.query("SELECT key, value FROM person_properties WHERE project_id = 3 ORDER BY key")),
    ...(await clickhouse.query("SELECT max(w).4 AS value FROM group_props WHERE project_id = 3")),
  ];
  const expected = [{ key: "o", value: '"low uuid"' }, { key: "p", value: '"last"' }, { value: '"last"' }];
  expect(await read()).toEqual(expected);
  await deriveAgain(clickhouse, "event_rows", [8n]);
  expect(await read()).toEqual(expected);
});
