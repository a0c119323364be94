// A person of more distinct ids than a statement can carry, made as anybody can: with the public key.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { gzipSync } from "bun";
import { ownPersonId } from "../../../src/persons/identity.ts";
import { personLimits } from "../../../src/persons/limits.ts";
import { readLarge } from "../../../src/persons/reading/large_store.ts";
import { type ClickHouse, readsUntil } from "../../../src/storage/clickhouse/clickhouse.ts";
import { clickhouseLimits } from "../../../src/storage/clickhouse/limits.ts";
import { openLongReads } from "../../../src/storage/clickhouse/long_reads.ts";
import { toReads } from "../../../src/storage/clickhouse/query_options.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { type Answer, ask } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { projectKey, rested, storesOf, until } from "../../support/server.ts";
import { storesStartMsMax } from "../../support/stores.ts";

/** More than one statement could name: the engine gave up at 76,000. */
const idsMerged = 80_000;
const minutes = 60_000;

let app: RunningApp;
let stores: Stores;

const server = () => ({ ...app, pid: 0, printed: () => "", end: () => Promise.resolve(0) });
const get = (path: string): Promise<Answer> => ask(server(), "GET", `/api/projects/1/${path}`);
const results = ({ body }: Answer) => body["results"] as Record<string, unknown>[];

async function send(batch: object[]): Promise<void> {
  const body = gzipSync(JSON.stringify({ api_key: projectKey, batch }));
  const headers = { "content-encoding": "gzip" };
  const reply = await fetch(`${app.url}/batch/`, { method: "POST", body, headers });
  expect(reply.status).toBe(200);
}

async function mergedIds(): Promise<number> {
  const [row] = await stores.clickhouse.query<{ n: string }>("SELECT count() AS n FROM merged_ids FINAL");
  return Number(row?.n);
}

/** As many visitors come to one screen, where somebody is logged in. */
async function makeKiosk(main: string, visitor: string): Promise<void> {
  const before = await mergedIds();
  await send(
    Array.from({ length: idsMerged }, (_, i) => ({
      event: "$identify",
      distinct_id: main,
      properties: { $anon_distinct_id: `${visitor}-${i}` },
    })),
  );
  await rested(server());
  await until(async () => (await mergedIds()) === before + idsMerged + 1);
  // The same INSERT derives who was seen, and shows it a moment later.
  await until(async () => {
    const [row] = await stores.clickhouse.query<{ n: string }>(
      "SELECT uniqExact(distinct_id) AS n FROM seen WHERE startsWith(distinct_id, {prefix:String})",
      { prefix: `${visitor}-` },
    );
    return Number(row?.n) === idsMerged;
  });
}

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  stores = await storesOf(app);
}, storesStartMsMax);

afterAll(cleanUp, minutes);

const ids = (main: string, visitor: string): string[] => [
  main,
  ...Array.from({ length: idsMerged }, (_, i) => `${visitor}-${i}`).toSorted(),
];

test(
  "a person of 80,000 distinct ids is read, found, listed and filtered by, with the first thousand of them",
  async () => {
    await send([
      { event: "e", distinct_id: "visitor-7", properties: { $set: { plan: "free", name: "Seven" } } },
      { event: "e", distinct_id: "visitor-79999", properties: { $set_once: { from: "ad" } } },
    ]);
    await makeKiosk("kiosk", "visitor");
    const uuid = ownPersonId(1, "kiosk");
    const all = ids("kiosk", "visitor");
    const one = await get(`persons/${uuid}/`);
    expect([one.status, one.body["distinct_ids_count"]]).toEqual([200, idsMerged + 1]);
    expect(one.body["distinct_ids"]).toEqual(all.slice(0, 1000));
    expect(one.body["properties"]).toEqual({ plan: "free", name: "Seven", from: "ad" });
    expect([one.body["name"], one.body["is_identified"]]).toEqual(["Seven", true]);
    for (const path of [
      "persons/?distinct_id=visitor-76001",
      "persons/?search=visitor-76001",
      "persons/?search=seven",
      "persons/",
    ]) {
      const { status, body } = await get(path);
      expect([path, status, body["count"], body["results"]]).toEqual([path, 200, 1, [one.body]]);
    }
    const held = await get('events/?limit=1&properties=[{"type":"person","key":"plan","value":"free"}]');
    expect([held.status, held.body["count"], results(held)[0]!["person_id"]]).toEqual([
      200,
      idsMerged + 2,
      uuid,
    ]);
  },
  5 * minutes,
);

test(
  "read by many at once, it is answered to each of them",
  async () => {
    // Two are read at a time: on a busy machine more of them would outlast the time that a read is given.
    const readers = 6;
    const uuid = ownPersonId(1, "kiosk");
    const answers = await Promise.all(Array.from({ length: readers }, () => get(`persons/${uuid}/`)));
    expect(answers.map(({ status, body }) => [status, body["distinct_ids_count"]])).toEqual(
      Array.from({ length: readers }, () => [200, idsMerged + 1]),
    );
  },
  5 * minutes,
);

test(
  "its other ids are listed page by page, none twice and none left out",
  async () => {
    const uuid = ownPersonId(1, "kiosk");
    const all = ids("kiosk", "visitor");
    const page = async (query: string) => await get(`persons/${uuid}/distinct_ids/${query}`);
    const first = await page("?limit=1000");
    expect([first.status, first.body["count"], first.body["previous"]]).toEqual([200, idsMerged + 1, null]);
    expect(first.body["results"]).toEqual(all.slice(0, 1000));
    const next = new URL(String(first.body["next"]));
    const second = await ask(server(), "GET", next.pathname + next.search);
    expect(second.body["results"]).toEqual(all.slice(1000, 2000));
    const last = await page("?limit=1000&offset=79500");
    expect([last.body["results"], last.body["next"]]).toEqual([all.slice(79_500), null]);
    expect((await get(`persons/${ownPersonId(1, "visitor-1")}/distinct_ids/`)).status).toBe(404);
    expect((await get("persons/nobody/distinct_ids/")).status).toBe(404);
  },
  5 * minutes,
);

test(
  "recordings are found by a person of 80,000 distinct ids",
  async () => {
    const uuid = ownPersonId(1, "kiosk");
    await stores.clickhouse.command(`
      INSERT INTO snapshot_chunks
        (project_id, session_id, distinct_id, uuid, first_at, last_at, created_at, expires_at)
      SELECT 1, concat('s', toString(number)), concat(number < 3 ? 'visitor-' : 'other-', toString(78000 + number)),
        generateUUIDv4(), now64(6), now64(6), now64(6), now64(6) + 86400
      FROM numbers(5)`);
    const found = await get(`session_recordings/?person_uuid=${uuid}`);
    const idsOf = (answer: Answer) => results(answer).map((one) => one["distinct_id"]);
    expect([found.status, found.body["count"], idsOf(found).toSorted()]).toEqual([
      200,
      3,
      ["visitor-78000", "visitor-78001", "visitor-78002"],
    ]);
    const both = await get(`session_recordings/?person_uuid=${uuid}&distinct_id=visitor-78001`);
    expect([both.body["count"], idsOf(both)]).toEqual([1, ["visitor-78001"]]);
    const none = await get(`session_recordings/?person_uuid=${uuid}&distinct_id=other-78003`);
    expect([none.body["count"], idsOf(none)]).toEqual([0, []]);
  },
  5 * minutes,
);

/** How many rows a table has of a person's ids. */
async function rowsOf(table: string, start: string): Promise<number> {
  const [row] = await stores.clickhouse.query<{ n: string }>(
    "SELECT count() AS n FROM {table:Identifier} WHERE startsWith(distinct_id, {start:String})",
    { table, start },
  );
  return Number(row?.n);
}

test(
  "a person of 80,000 distinct ids is deleted with its events, and forgotten",
  async () => {
    const uuid = ownPersonId(1, "kiosk");
    const gone = await ask(server(), "DELETE", `/api/projects/1/persons/${uuid}/?delete_events=true`);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect((await get(`persons/${uuid}/`)).status).toBe(404);
    expect((await get("persons/?distinct_id=visitor-76001")).body["count"]).toBe(0);
    await until(async () => {
      const [open] = await stores.sql`SELECT 1 FROM person_deletion_orders WHERE finished_at IS NULL`;
      return open === undefined;
    });
    for (const table of ["seen", "person_props", "event_rows"]) {
      expect([table, await rowsOf(table, "visitor-"), await rowsOf(table, "kiosk")]).toEqual([table, 0, 0]);
    }
    expect(await stores.sql`SELECT 1 FROM merged_ids`).toHaveLength(0);
    expect(await stores.sql`SELECT 1 FROM person_deletion_ids`).toHaveLength(0);
    const kept = "SELECT count() AS n FROM deleting_ids";
    expect(await stores.clickhouse.query<{ n: string }>(kept)).toEqual([{ n: "0" }]);
    expect((await get("persons/")).body["count"]).toBe(0);
  },
  5 * minutes,
);

test("the bounds of one reading hold the ids that are shown", () => {
  expect(personLimits.mergedIdsReadMax).toBeGreaterThan(personLimits.distinctIdsShownMax);
});

test("requests, each with a client of its own, share the places of such readings", async () => {
  let [running, most] = [0, 0];
  const answering = {
    longReads: openLongReads(),
    query: async () => {
      most = Math.max(most, ++running);
      await new Promise((turn) => setImmediate(turn));
      running--;
      return [];
    },
  } as unknown as ClickHouse;
  const request = () => toReads(readsUntil(answering, new AbortController().signal), 1);
  await Promise.all(Array.from({ length: 10 }, () => readLarge(request(), ["kiosk"])));
  // Two statements each.
  expect(most).toBe(2 * clickhouseLimits.largePersonPermits);
});
