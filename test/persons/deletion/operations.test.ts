// Persons deleted over HTTP: what is named is deleted, and nothing else, whatever the request looks like.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { finishDeletions } from "../../../src/persons/deletion/store.ts";
import { ownPersonId } from "../../../src/persons/identity.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { type Answer, ask, problemOf } from "../../support/ask.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { personalKey, projectKey, rested, storesOf, until } from "../../support/server.ts";
import { storesStartMsMax } from "../../support/stores.ts";

let app: RunningApp;
let stores: Stores;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  stores = await storesOf(app);
}, storesStartMsMax);

afterAll(cleanUp);

const server = () => ({ ...app, pid: 0, printed: () => "", end: () => Promise.resolve(0) });
const home = "/api/projects/1";
const bulk = (body: unknown, query = ""): Promise<Answer> =>
  ask(server(), "POST", `${home}/persons/bulk_delete/${query}`, body);
const uuidOf = (distinct_id: string) => ownPersonId(1, distinct_id);

async function send(batch: object[], api_key: string = projectKey): Promise<void> {
  const reply = await fetch(`${app.url}/batch/`, {
    method: "POST",
    body: JSON.stringify({ api_key, batch }),
  });
  expect(reply.status).toBe(200);
  await rested(server());
}

/** Persons of one event each, in project 1. */
async function arrive(...distinct_ids: string[]): Promise<void> {
  await send(
    distinct_ids.map((distinct_id) => ({ event: "e", distinct_id, properties: { $set: { a: 1 } } })),
  );
}

async function count(path: string, project = "1"): Promise<number> {
  return Number((await ask(server(), "GET", `/api/projects/${project}/${path}`)).body["count"]);
}

const persons = () => count("persons/");
const isThere = async (id: string) => (await count(`persons/?distinct_id=${encodeURIComponent(id)}`)) === 1;
const eventsOf = (id: string) => count(`events/?distinct_id=${encodeURIComponent(id)}`);

const nothing = {
  persons_found: 0,
  persons_deleted: 0,
  persons_queued_for_deletion: 0,
  events_queued_for_deletion: false,
  recordings_queued_for_deletion: false,
  ids_not_found: [],
  distinct_ids_not_found: [],
  deletion_errors: [],
};

test("persons are deleted by their distinct ids, each with all of its ids", async () => {
  await arrive("by id", "stays");
  await send([
    { event: "e", distinct_id: "by id" },
    { event: "$identify", distinct_id: "many", properties: { $anon_distinct_id: "many-anon" } },
  ]);
  await until(() => isThere("many-anon"));
  const { status, body } = await bulk({
    distinct_ids: ["by id", "many-anon", "many", "by id", "never seen", " by id"],
    delete_events: true,
  });
  expect(status).toBe(202);
  expect(body).toEqual({
    ...nothing,
    persons_found: 2,
    persons_deleted: 2,
    events_queued_for_deletion: true,
    recordings_queued_for_deletion: true,
    distinct_ids_not_found: ["never seen", " by id"],
  });
  for (const id of ["by id", "many", "many-anon"]) {
    expect([id, await isThere(id), await eventsOf(id)]).toEqual([id, false, 0]);
  }
  expect([await isThere("stays"), await eventsOf("stays")]).toEqual([true, 1]);
});

test("persons are deleted by their uuids, in either case, and keep their events unless the request says so", async () => {
  await arrive("one", "two", "three");
  const unknown = crypto.randomUUID();
  const { status, body } = await bulk({ ids: [uuidOf("one").toUpperCase(), uuidOf("two"), unknown] });
  expect(status).toBe(202);
  expect(body).toEqual({ ...nothing, persons_found: 2, persons_deleted: 2, ids_not_found: [unknown] });
  const left = await Promise.all(["one", "two", "three"].map(isThere));
  expect(left).toEqual([false, false, true]);
  expect(await eventsOf("one")).toBe(1);
});

test("a request that is wrong in any way is refused whole, and deletes nothing", async () => {
  await arrive("safe");
  const before = await persons();
  const [id, distinct_id] = [uuidOf("safe"), "safe"];
  const wrong: [unknown, string | null][] = [
    [{}, null],
    [{ delete_events: true }, null],
    [{ ids: [id], distinct_ids: [distinct_id] }, null],
    [{ ids: [] }, "ids"],
    [{ distinct_ids: [] }, "distinct_ids"],
    [{ ids: [], distinct_ids: [distinct_id] }, "ids"],
    [{ ids: null }, "ids"],
    [{ ids: id }, "ids"],
    [{ ids: [id, "no uuid"] }, "ids__1"],
    [{ ids: [id, 5] }, "ids__1"],
    [{ distinct_ids: distinct_id }, "distinct_ids"],
    [{ distinct_ids: [distinct_id, ""] }, "distinct_ids__1"],
    [{ distinct_ids: [distinct_id, 5] }, "distinct_ids__1"],
    [{ distinct_ids: [distinct_id, null] }, "distinct_ids__1"],
    [{ distinct_ids: [distinct_id], email: "x@example.com" }, "email"],
    [{ distinct_ids: [distinct_id], delete_events: "perhaps" }, "delete_events"],
    [{ ids: Array.from({ length: 1001 }, () => id) }, "ids"],
    [
      { distinct_ids: Array.from({ length: 1001 }, (_, i) => (i === 0 ? distinct_id : `x${i}`)) },
      "distinct_ids",
    ],
  ];
  for (const [body, attr] of wrong) {
    const answer = await bulk(body);
    expect([JSON.stringify(body).slice(0, 80), answer.status, answer.body["attr"]]).toEqual([
      JSON.stringify(body).slice(0, 80),
      400,
      attr,
    ]);
  }
  const unknown = await bulk({ distinct_ids: [distinct_id], email: "x@example.com" });
  expect(problemOf(unknown)[3]).toBe(
    '"email" is not a field of this request. There are: ids, distinct_ids, delete_events, delete_recordings, keep_person.',
  );
  expect((await bulk("ids")).status).toBe(400);
  const asked = await bulk({ distinct_ids: [distinct_id] }, "?delete_events=true");
  expect([asked.status, asked.body["attr"]]).toEqual([400, "delete_events"]);
  expect([await persons(), await eventsOf("safe")]).toEqual([before, 1]);
});

test("a form with an unknown name is refused like JSON", async () => {
  await arrive("in a form");
  const post = async (fields: Record<string, string>) => {
    const reply = await fetch(`${app.url}${home}/persons/bulk_delete/`, {
      method: "POST",
      headers: { authorization: `Bearer ${personalKey}` },
      body: new URLSearchParams(fields),
    });
    return [reply.status, (await reply.json()) as Record<string, unknown>] as const;
  };
  const refused = await post({ distinct_ids: "in a form", persons: "all" });
  expect(refused).toMatchObject([400, { attr: "persons" }]);
  expect(await isThere("in a form")).toBe(true);
  const deleted = await post({ distinct_ids: "in a form", keep_person: "" });
  expect(deleted).toMatchObject([202, { persons_deleted: 1 }]);
});

test("ids of another project are nobody's here", async () => {
  const made = await ask(server(), "POST", "/api/projects/", { name: "Other" });
  const { id, api_token } = made.body as { id: number; api_token: string };
  const sent = { event: "e", distinct_id: "theirs" };
  await until(async () => {
    const reply = await fetch(`${app.url}/batch/`, {
      method: "POST",
      body: JSON.stringify({ api_key: api_token, batch: [sent] }),
    });
    return reply.status === 200;
  });
  await rested(server());
  const theirs = ownPersonId(id, "theirs");
  expect((await bulk({ ids: [theirs], delete_events: true })).body).toEqual({
    ...nothing,
    ids_not_found: [theirs],
  });
  expect((await bulk({ distinct_ids: ["theirs"], delete_events: true })).body).toEqual({
    ...nothing,
    distinct_ids_not_found: ["theirs"],
  });
  expect([await count("persons/", String(id)), await count("events/", String(id))]).toEqual([1, 1]);
});

test("with keep_person the person stays, and only its events go", async () => {
  await arrive("kept", "kept too");
  const { body } = await bulk({ distinct_ids: ["kept"], delete_events: true, keep_person: true });
  expect(body).toEqual({
    ...nothing,
    persons_found: 1,
    events_queued_for_deletion: true,
    recordings_queued_for_deletion: true,
  });
  expect([await isThere("kept"), await eventsOf("kept")]).toEqual([true, 0]);
  const path = `${home}/persons/${uuidOf("kept too")}/?keep_person=true&delete_events=true`;
  expect((await ask(server(), "DELETE", path)).status).toBe(204);
  const shown = await ask(server(), "GET", `${home}/persons/${uuidOf("kept too")}/`);
  expect([shown.body["properties"], await eventsOf("kept too")]).toEqual([{ a: 1 }, 0]);
  // Nothing is left to be deleted.
  const neither = await bulk({ distinct_ids: ["kept"], keep_person: true });
  expect(neither.body).toEqual({ ...nothing, persons_found: 1 });
});

/** Stores a piece of a recording of this distinct id. */
async function record(distinct_id: string): Promise<void> {
  await stores.clickhouse.command(
    `INSERT INTO snapshot_chunks (project_id, session_id, uuid, distinct_id, first_at, last_at, created_at, expires_at, data)
     SELECT 1, concat('session of ', {distinct_id:String}), generateUUIDv4(), {distinct_id:String}, now64(6), now64(6),
       now64(6), now64(6) + INTERVAL 9 DAY, '[{"type":5}]'`,
    { distinct_id },
  );
}

async function recordingsOf(distinct_id: string): Promise<number> {
  const [row] = await stores.clickhouse.query<{ n: string }>(
    "SELECT count() AS n FROM snapshot_chunks WHERE project_id = 1 AND distinct_id = {distinct_id:String}",
    { distinct_id },
  );
  return Number(row?.n);
}

test("recordings go with the events unless the request says otherwise", async () => {
  const ids = ["with events", "without recordings", "only recordings", "nothing else"];
  await arrive(...ids);
  for (const id of ids) await record(id);
  await bulk({ distinct_ids: [ids[0]], delete_events: true });
  const kept = await bulk({ distinct_ids: [ids[1]], delete_events: true, delete_recordings: false });
  expect(kept.body["recordings_queued_for_deletion"]).toBe(false);
  const only = await bulk({ distinct_ids: [ids[2]], delete_recordings: true });
  expect(only.body["events_queued_for_deletion"]).toBe(false);
  await bulk({ distinct_ids: [ids[3]] });
  const events = await Promise.all(ids.map(eventsOf));
  expect(events).toEqual([0, 0, 1, 1]);
  // What is erased a moment later: here the rows are counted, as no read of the server's does.
  const left = async () => await Promise.all(ids.map(recordingsOf));
  await until(async () => Bun.deepEquals(await left(), [0, 1, 0, 1]));
});

test("a person that was merged into another in the meantime is reported, and stays", async () => {
  await arrive("merged away", "not merged");
  // ClickHouse does not show the merge yet.
  await stores.sql`
    INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version)
    VALUES (1, 'merged away', 'stays', 1, 1, nextval('merge_versions'))`;
  const { body } = await bulk({ distinct_ids: ["merged away", "not merged"], delete_events: true });
  expect(body).toMatchObject({
    persons_found: 2,
    persons_deleted: 1,
    deletion_errors: [{ person_uuid: uuidOf("merged away") }],
  });
  expect([await eventsOf("merged away"), await eventsOf("not merged")]).toEqual([1, 0]);
  await stores.sql`DELETE FROM merged_ids WHERE distinct_id = 'merged away'`;
});

test("the orders of one request are carried out together, again when every journal has passed them", async () => {
  await until(async () => (await finishDeletions(stores.sql, stores.clickhouse)) === 0);
  const ids = Array.from({ length: 1000 }, (_, i) => `of many ${i}`);
  await arrive(...ids);
  const { body } = await bulk({ distinct_ids: ids, delete_events: true });
  expect(body["persons_deleted"]).toBe(1000);
  expect(await count("persons/?search=of%20many")).toBe(0);
  const [orders] = await stores.sql<{ orders: number; moments: number }[]>`
    SELECT count(*)::integer AS orders, count(DISTINCT ordered_at)::integer AS moments
    FROM (SELECT * FROM person_deletion_orders ORDER BY id DESC LIMIT 1000) AS o`;
  expect({ ...orders! }).toEqual({ orders: 1000, moments: 1 });
  await until(async () => {
    const [open] = await stores.sql`SELECT 1 FROM person_deletion_orders WHERE finished_at IS NULL`;
    return open === undefined;
  });
  expect(await stores.sql`SELECT 1 FROM person_deletion_ids`).toHaveLength(0);
});
