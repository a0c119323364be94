import { afterAll, beforeAll, expect, test } from "bun:test";
import { ownPersonId } from "../../src/persons/identity.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { type Answer, ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey, rested, storesOf, until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

let app: RunningApp;
let stores: Stores;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  stores = await storesOf(app);
}, storesStartMsMax);

afterAll(cleanUp);

const server = () => ({ ...app, pid: 0, printed: () => "", end: () => Promise.resolve(0) });

function event(name: string, distinct_id: string, properties: object = {}, more: object = {}) {
  return { event: name, distinct_id, properties, ...more };
}

/** Sends, and waits until events and merges have left the journal. */
async function send(...batch: object[]): Promise<void> {
  const reply = await fetch(`${app.url}/batch/`, {
    method: "POST",
    body: JSON.stringify({ api_key: projectKey, batch }),
  });
  expect(reply.status).toBe(200);
  await rested(server());
}

async function merged(count: number): Promise<void> {
  await until(async () => {
    const [row] = await stores.clickhouse.query<{ n: string }>("SELECT count() AS n FROM merged_ids FINAL");
    return Number(row?.n) >= count;
  });
}

const get = (path: string): Promise<Answer> => ask(server(), "GET", `/api/projects/1/${path}`);
const results = ({ body }: Answer) => body["results"] as Record<string, unknown>[];

async function personOf(distinct_id: string): Promise<Record<string, unknown> | undefined> {
  return results(await get(`persons/?distinct_id=${encodeURIComponent(distinct_id)}`))[0];
}

test("a person is found by any of its ids, and by its uuid", async () => {
  await send(
    event(
      "e",
      "anon-1",
      { $set: { plan: "free", email: "old@example.com" }, $set_once: { from: "ad" } },
      { timestamp: "2024-01-01T00:00:00Z" },
    ),
    event(
      "$identify",
      "user-1",
      { $anon_distinct_id: "anon-1", $set: { email: "new@example.com" } },
      { timestamp: "2024-01-02T00:00:00Z" },
    ),
  );
  await merged(2);
  const person = await personOf("anon-1");
  expect(person).toEqual({
    id: ownPersonId(1, "user-1"),
    uuid: ownPersonId(1, "user-1"),
    name: "new@example.com",
    distinct_ids: ["user-1", "anon-1"],
    distinct_ids_count: 2,
    properties: { email: "new@example.com", plan: "free", from: "ad" },
    created_at: "2024-01-01T00:00:00Z",
    last_seen_at: "2024-01-02T00:00:00Z",
    is_identified: true,
  });
  expect(await personOf("user-1")).toEqual(person);
  const { status, body } = await get(`persons/${ownPersonId(1, "user-1").toUpperCase()}/`);
  expect([status, body]).toEqual([200, person!]);
  // What has become part of another is not there any more.
  for (const uuid of [ownPersonId(1, "anon-1"), crypto.randomUUID(), "no uuid"])
    expect((await get(`persons/${uuid}/`)).status).toBe(404);
  const events = results(await get("events/"));
  expect(new Set(events.map((one) => one["person_id"]))).toEqual(new Set([person!["uuid"]]));
});

test("$create_alias makes the alias the main id", async () => {
  await send(event("$create_alias", "short", { alias: "long" }));
  await merged(4);
  expect(await personOf("short")).toMatchObject({
    uuid: ownPersonId(1, "long"),
    distinct_ids: ["long", "short"],
  });
});

test("an event without a person makes none, and is adopted when its id is identified", async () => {
  await send(event("e", "nobody", { $process_person_profile: false, $set: { a: 1 } }));
  expect(await personOf("nobody")).toBeUndefined();
  expect((await get(`persons/${ownPersonId(1, "nobody")}/`)).status).toBe(404);
  await send(event("$identify", "somebody", { $anon_distinct_id: "nobody" }));
  await merged(6);
  expect(await personOf("nobody")).toMatchObject({ distinct_ids: ["somebody", "nobody"], properties: {} });
  const [own] = results(await get("events/?distinct_id=nobody"));
  expect(own!["person_id"]).toBe(ownPersonId(1, "somebody"));
});

test("persons are listed once each, page by page, and searched by id, e-mail address and name", async () => {
  await send(
    event("e", "zoe", { $set: { name: "Zoë Ångström" } }),
    event("e", "50%_off"),
    event("e", "yan", { $set: { email: "yan@example.org" } }),
    event("e", "yan", { $set: { email: "other@example.net" } }),
  );
  const whole = await get("persons/");
  const ids = results(whole).map((one) => (one["distinct_ids"] as string[])[0]);
  expect(ids).toEqual(["50%_off", "long", "somebody", "user-1", "yan", "zoe"]);
  expect(whole.body["count"]).toBe(6);
  const first = await get("persons/?limit=4");
  const second = await ask(
    server(),
    "GET",
    new URL(String(first.body["next"])).pathname + new URL(String(first.body["next"])).search,
  );
  expect([...results(first), ...results(second)]).toEqual(results(whole));
  expect(second.body["next"]).toBeNull();
  const found = async (search: string) =>
    results(await get(`persons/?search=${encodeURIComponent(search)}`)).map(
      (one) => (one["distinct_ids"] as string[])[0],
    );
  expect(await found("ÅNG")).toEqual(["zoe"]);
  expect(await found("anon-1")).toEqual(["user-1"]);
  expect(await found("example.net")).toEqual(["yan"]);
  expect(await found("example.org")).toEqual([]);
  expect(await found("%_")).toEqual(["50%_off"]);
  expect(await found("'; DROP TABLE seen; --")).toEqual([]);
});

test("a deleted person is gone with its events, however late they are stored or derived again", async () => {
  await send(
    event("e", "leaver", { $set: { secret: 1 } }, { uuid: crypto.randomUUID() }),
    event("$identify", "leaver", { $anon_distinct_id: "leaver-anon" }),
  );
  await until(
    async () => ((await personOf("leaver"))?.["distinct_ids"] as string[] | undefined)?.length === 2,
  );
  const uuid = String((await personOf("leaver"))!["uuid"]);
  // A journal that is behind: the deletion is not done with before it has come this far.
  const [behind] =
    await stores.sql`INSERT INTO journals (name, created_at) VALUES ('one that is behind', now() - interval '1 minute') RETURNING id`;
  const gone = await ask(server(), "DELETE", `/api/projects/1/persons/${uuid}/?delete_events=true`);
  expect([gone.status, gone.text]).toEqual([204, ""]);
  const nothing = async () => {
    expect(await personOf("leaver")).toBeUndefined();
    expect(await personOf("leaver-anon")).toBeUndefined();
    expect(results(await get("events/?distinct_id=leaver"))).toEqual([]);
  };
  await nothing();
  expect((await ask(server(), "DELETE", `/api/projects/1/persons/${uuid}/`)).status).toBe(404);
  // A batch that was in doubt is sent again, with the day it had arrived on.
  await stores.clickhouse.command(`
    INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, pk, pw, pv)
    SELECT generateUUIDv4(), 1, 'e', 'leaver', '{}', now64(6), now64(6) - 3600, ['secret'], [0], ['1']`);
  expect(await personOf("leaver")).toBeUndefined();
  await stores.sql`DELETE FROM journals WHERE id = ${behind!["id"] as number}`;
  await until(async () => {
    const [open] = await stores.sql`SELECT 1 FROM person_deletion_orders WHERE finished_at IS NULL`;
    return open === undefined;
  });
  await nothing();
  const audit = await stores.sql`SELECT person_id, delete_events, user_id FROM person_deletion_orders`;
  expect([...audit]).toEqual([{ person_id: uuid, delete_events: true, user_id: 1 }]);
  expect(await stores.sql`SELECT 1 FROM person_deletion_ids`).toHaveLength(0);
  // Whoever comes back is somebody new.
  await send(event("e", "leaver", { $set: { fresh: true } }));
  expect(await personOf("leaver")).toMatchObject({
    distinct_ids: ["leaver"],
    properties: { fresh: true },
    is_identified: false,
  });
});

test("without delete_events the events stay, and are nobody's in particular", async () => {
  await send(event("e", "stays", { $set: { secret: 1 } }));
  const person = await personOf("stays");
  expect(
    (await ask(server(), "DELETE", `/api/environments/1/persons/${String(person!["uuid"])}/`)).status,
  ).toBe(204);
  expect(await personOf("stays")).toBeUndefined();
  expect(results(await get("events/?distinct_id=stays"))).toHaveLength(1);
});

test("a deleted project's rows go from every table", async () => {
  const made = await ask(server(), "POST", "/api/projects/", { name: "Short-lived" });
  const { id, api_token } = made.body as { id: number; api_token: string };
  const batch = [
    event("e", "x", { $set: { a: 1 } }),
    event("$identify", "y", { $anon_distinct_id: "x" }),
    event("", "bad"),
  ];
  await until(async () => {
    const reply = await fetch(`${app.url}/batch/`, {
      method: "POST",
      body: JSON.stringify({ api_key: api_token, batch }),
    });
    return reply.status === 200;
  });
  await rested(server());
  const rows = async () => {
    const counts = await Promise.all(
      ["event_rows", "seen", "person_props", "merged_ids", "ingestion_warnings"].map(async (table) => {
        const [row] = await stores.clickhouse.query<{ n: string }>(
          "SELECT count() AS n FROM {table:Identifier} WHERE project_id = {id:UInt32}",
          { table, id },
        );
        return Number(row?.n);
      }),
    );
    return counts;
  };
  await until(async () => (await rows()).every((n) => n > 0));
  expect((await ask(server(), "DELETE", `/api/projects/${id}/`)).status).toBe(204);
  await until(async () => (await rows()).every((n) => n === 0));
  const [own] = await stores.clickhouse.query<{ n: string }>(
    "SELECT count() AS n FROM events WHERE project_id = 1",
  );
  expect(Number(own?.n)).toBeGreaterThan(10);
});
