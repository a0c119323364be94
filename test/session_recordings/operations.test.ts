// Recordings from the wire to the management API, on a server as it is started.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { wordsIn } from "../../src/core/words.ts";
import { ownPersonId } from "../../src/persons/identity.ts";
import { type Account, addAccount, addStranger, ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { bodyOf, event, type Piece } from "../support/recordings.ts";
import {
  metric,
  post,
  projectKey,
  rested,
  type Server,
  startServer,
  storesOf,
  until,
} from "../support/server.ts";

afterAll(cleanUp);

const start = Date.parse("2026-03-04T10:00:00.250Z");
const base = "/api/environments/1/session_recordings";
let server: Server;

async function record(...pieces: Piece[]): Promise<void> {
  const reply = await post(server, "/s/?compression=gzip-js", bodyOf(...pieces));
  expect([reply.status, await reply.text()]).toEqual([200, '{"status":"Ok"}']);
}

/** A short recording that began so many minutes after `start`. */
function short(session: string, minute: number, more: Partial<Piece> = {}): Piece {
  const at = start + minute * 60_000;
  return { session, events: [event.page(at, "https://shop.example/"), event.click(at + 1000)], ...more };
}

const long: Piece = {
  session: "long",
  uuid: "0195a000-0000-7000-8000-000000000001",
  distinct_id: "zoe@example.com",
  events: [
    event.page(start, `https://shop.example/${"x".repeat(600)}`),
    event.whole(start + 10),
    event.move(start + 1000),
    event.click(start + 3000),
    event.log(start + 3500, "error"),
    event.log(start + 3600, "info"),
    event.log(start + 3700, "warn"),
  ],
};
const later: Piece = {
  session: "long",
  uuid: "0195a000-0000-7000-8000-000000000002",
  distinct_id: "zoe@example.com",
  events: [event.key(start + 60_000), event.key(start + 60_500), event.move(start + 90_000)],
};

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "20" });
  const opted = await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  expect(opted.body["session_recording_opt_in"]).toBe(true);
  await until(
    async () => !(await (await post(server, "/s/", bodyOf(short("probe", -1)))).text()).includes("quota"),
  );
  // The later piece comes first, and both come twice.
  await record(later);
  await rested(server);
  await record(long, later, short("other", 1), short("third", 2, { distinct_id: "ben", window: "w2" }));
  await record(long);
  await rested(server);
});

interface Listed {
  count: number;
  next: string | null;
  previous: string | null;
  results: { id: string; start_time: string }[];
}

async function list(query = ""): Promise<Listed> {
  const { status, text } = await ask(server, "GET", `${base}/${query}`);
  expect(status).toBe(200);
  return JSON.parse(text) as Listed;
}

async function idsOf(query = ""): Promise<string[]> {
  return (await list(query)).results.map(({ id }) => id);
}

const whole = {
  id: "long",
  distinct_id: "zoe@example.com",
  viewed: false,
  recording_duration: 90,
  // Seconds 1 to 3, 60, and 90.
  active_seconds: 5,
  inactive_seconds: 85,
  start_time: "2026-03-04T10:00:00.250000Z",
  end_time: "2026-03-04T10:01:30.250000Z",
  click_count: 1,
  keypress_count: 2,
  mouse_activity_count: 3,
  console_log_count: 1,
  console_warn_count: 1,
  console_error_count: 1,
  start_url: `https://shop.example/${"x".repeat(491)}`,
  person: {
    id: expect.any(Number),
    name: "zoe@example.com",
    distinct_ids: "zoe@example.com",
    properties: {},
    created_at: "2026-03-04T10:00:00.250000Z",
    uuid: ownPersonId(1, "zoe@example.com"),
  },
  storage: "clickhouse",
  snapshot_source: "web",
  ongoing: true,
  activity_score: 9.38,
};

test("a recording counts each of its pieces once, however often it came", async () => {
  const { status, body } = await ask(server, "GET", `${base}/long/`);
  expect(status).toBe(200);
  expect(body as object).toEqual(whole);
  expect(Object.keys(body)).toEqual(Object.keys(whole));
});

test("pieces are counted like events, and none of them is one", async () => {
  const received = await metric(server, "sluice_events_received_total");
  const taken = await metric(server, 'sluice_events_accepted_total{lane="recordings"}');
  const ignored = await metric(server, 'sluice_events_ignored_total{reason="snapshot"}');
  expect(taken).toBeGreaterThanOrEqual(6);
  expect(taken + ignored).toBe(received);
  expect(await metric(server, 'sluice_events_stored_total{lane="recordings"}')).toBe(taken);
  const { body } = await ask(server, "GET", "/api/projects/1/events/");
  expect(body["count"]).toBe(0);
});

test("a list has the newest first, a page at a time", async () => {
  expect(await idsOf()).toEqual(["third", "other", "long", "probe"]);
  const first = await list("?limit=2");
  expect([first.count, first.results.length, first.previous]).toEqual([4, 2, null]);
  const rest = await fetch(String(first.next), {
    headers: { authorization: "Bearer phx_test_personal_key_0123456789" },
  });
  const second = (await rest.json()) as Listed;
  expect(second.results.map(({ id }) => id)).toEqual(["long", "probe"]);
  expect(second.next).toBeNull();
  expect(second.previous).toBe(`${server.url}${base}/?limit=2`);
  expect((await list("?offset=9")).results).toEqual([]);
  const listed = first.results[0];
  expect(listed as object).toEqual((await ask(server, "GET", `${base}/third`)).body);
});

test("a list can be narrowed by time, person and ids", async () => {
  expect(await idsOf("?date_from=2026-03-04T10:01:00Z")).toEqual(["third", "other"]);
  expect(await idsOf("?date_to=2026-03-04T10:01:00Z")).toEqual(["long", "probe"]);
  // Its later piece came first, and lies within; its start does not.
  expect(await idsOf("?date_from=2026-03-04T10:00:30Z&date_to=2026-03-04T10:01:10Z")).toEqual(["other"]);
  expect(await idsOf("?date_from=-1h")).toEqual([]);
  expect(await idsOf("?distinct_id=ben")).toEqual(["third"]);
  expect(await idsOf(`?person_uuid=${ownPersonId(1, "ben")}`)).toEqual(["third"]);
  expect(await idsOf(`?person_uuid=${ownPersonId(1, "nobody")}`)).toEqual([]);
  expect(await idsOf("?session_ids=long,other,none")).toEqual(["long", "other"]);
  expect(await idsOf(`?session_ids=${encodeURIComponent('["probe"]')}&limit=1`)).toEqual(["probe"]);
  const refused = [
    await ask(server, "GET", `${base}/?date_from=soon`),
    await ask(server, "GET", `${base}/?person_uuid=me`),
    await ask(server, "GET", `${base}/?session_ids=${encodeURIComponent('["a", 5]')}`),
  ];
  expect(refused.map(({ status, body }) => [status, body["attr"]])).toEqual([
    [400, "date_from"],
    [400, "person_uuid"],
    [400, "session_ids"],
  ]);
});

test("a change answers with the whole recording, and changes nothing it does not name", async () => {
  for (const body of [undefined, {}, { person: { id: 5 } }, { person: null }, { start_url: "no" }]) {
    const changed = await ask(server, "PATCH", `${base}/long/`, body);
    expect([changed.status, changed.body]).toEqual([200, whole]);
  }
  const refused = await ask(server, "PATCH", `${base}/long/`, { deleted: true });
  expect([refused.status, refused.body["attr"]]).toEqual([400, "deleted"]);
});

test("seen is seen by one user, until they say otherwise", async () => {
  const { sql } = await storesOf(server);
  const [project] = await sql<
    { organization_id: string }[]
  >`SELECT organization_id FROM projects WHERE id = 1`;
  const membership = { organization_id: project?.organization_id ?? "", level: 1 };
  const other: Account = await addAccount(sql, "other@example.com", membership);
  const viewed = async (key?: string) =>
    (await ask(server, "GET", `${base}/other/`, undefined, key)).body["viewed"];
  expect((await ask(server, "PATCH", `${base}/other/`, { viewed: true })).body["viewed"]).toBe(true);
  expect((await ask(server, "PATCH", `${base}/other/`, { person: {} })).body["viewed"]).toBe(true);
  expect([await viewed(), await viewed(other.key)]).toEqual([true, false]);
  const views = async (key?: string) =>
    (await ask(server, "GET", `${base}/other/viewed/`, undefined, key)).body;
  expect(await views()).toEqual({ viewed: true, other_viewers: 0 });
  expect(await views(other.key)).toEqual({ viewed: false, other_viewers: 1 });
  const hasOther = async (hidden: string, key?: string) => {
    const { body } = await ask(
      server,
      "GET",
      `${base}/?date_to=&hide_viewed_recordings=${hidden}`,
      undefined,
      key,
    );
    const ids = (body["results"] as { id: string }[]).map(({ id }) => id);
    expect(body["count"]).toBe(ids.length);
    return ids.includes("other");
  };
  for (const own of ["true", "current-user"])
    expect([await hasOther(own), await hasOther(own, other.key)]).toEqual([false, true]);
  expect([await hasOther("any-user", other.key), await hasOther("false")]).toEqual([false, true]);
  expect((await ask(server, "GET", `${base}/?hide_viewed_recordings=x`)).status).toBe(400);
  expect((await ask(server, "PATCH", `${base}/other/`, { viewed: false })).body["viewed"]).toBe(false);
  expect((await ask(server, "PATCH", `${base}/other/`, { viewed: "maybe" })).status).toBe(400);
});

const gone = [404, "invalid_request", "not_found", "Recording not found", null];

test("a deleted recording is gone from everywhere at once, and late pieces do not bring it back", async () => {
  await record(short("secret", 3));
  await rested(server);
  const sharing = await ask(server, "PATCH", `${base}/secret/sharing/`, { enabled: true });
  const deleted = await ask(server, "DELETE", `${base}/secret/`);
  expect([deleted.status, deleted.text]).toEqual([204, ""]);
  const check = async () => {
    for (const [method, path] of [
      ["GET", "secret/"],
      ["PATCH", "secret"],
      ["DELETE", "secret/"],
      ["GET", "secret/sharing/"],
      ["GET", "secret/snapshots/"],
    ] as const) {
      expect(problemOf(await ask(server, method, `${base}/${path}`))).toEqual(gone);
    }
    expect(await idsOf()).not.toContain("secret");
    expect((await list()).count).toBe(4);
    const shared = await fetch(`${server.url}/shared/${String(sharing.body["access_token"])}/`);
    expect(shared.status).toBe(404);
  };
  await check();
  await record(short("secret", 4));
  await rested(server);
  await check();
});

test("up to a hundred are deleted at once", async () => {
  await record(short("a", 5), short("b", 6), short("c", 7));
  await rested(server);
  const { status, body } = await ask(server, "POST", `${base}/bulk_delete/`, {
    session_recording_ids: ["a", "b", "b", "nothing", "secret"],
  });
  expect([status, body as object]).toEqual([
    200,
    { success: true, deleted_count: 2, total_requested: 4, not_found_count: 2 },
  ]);
  expect(await idsOf("?session_ids=a,b,c")).toEqual(["c"]);
  const wrong = { session_recording_ids: ["c"], date_from: "-1d" };
  const refused = await ask(server, "POST", `${base}/bulk_delete/`, wrong);
  expect([refused.status, refused.body["attr"]]).toEqual([400, "date_from"]);
  expect(await idsOf("?session_ids=a,b,c")).toEqual(["c"]);
  await ask(server, "DELETE", `${base}/c/`);
  const many = Array.from({ length: 101 }, (_, i) => String(i));
  for (const session_recording_ids of [[], many, "a", undefined])
    expect((await ask(server, "POST", `${base}/bulk_delete/`, { session_recording_ids })).status).toBe(400);
});

test("a recording's person is the project's, with the properties of its events and all its ids", async () => {
  await record(short("before", 20, { distinct_id: "anonymous-7" }));
  const events = [
    { event: "$identify", distinct_id: "ann", properties: { $anon_distinct_id: "anonymous-7" } },
    { event: "paid", distinct_id: "ann", properties: { $set: { email: "ann@example.com", plan: "large" } } },
  ];
  const batch = events.map((one, n) => ({ ...one, timestamp: new Date(start - 60_000 + n).toISOString() }));
  await post(server, "/batch/", { api_key: projectKey, batch });
  await rested(server);
  const personIn = async () =>
    (await ask(server, "GET", `${base}/before/`)).body["person"] as Record<string, unknown>;
  await until(async () => String((await personIn())["distinct_ids"]).includes("ann"));
  const uuid = ownPersonId(1, "ann");
  expect(await personIn()).toEqual({
    id: Number.parseInt(uuid.replaceAll("-", "").slice(0, 12), 16),
    name: "ann@example.com",
    distinct_ids: "ann,anonymous-7",
    properties: { email: "ann@example.com", plan: "large" },
    created_at: expect.stringMatching(/^2026-03-04T09:59:00.25/),
    uuid,
  });
  expect(await idsOf(`?person_uuid=${uuid}`)).toEqual(["before"]);
  expect(await idsOf(`?person_uuid=${ownPersonId(1, "anonymous-7")}`)).toEqual([]);
  await ask(server, "DELETE", `${base}/before/`);
});

test("a session without pieces may be requested, not changed or deleted, and is new when it comes", async () => {
  expect(problemOf(await ask(server, "GET", `${base}/none/`))).toEqual(gone);
  const sharing = await ask(server, "GET", `${base}/none/sharing/`);
  expect([sharing.status, Object.keys(sharing.body)]).toEqual([
    200,
    wordsIn(`created_at enabled password_required share_passwords expires_at access_token shown_properties
      not_shown properties_to_confirm`),
  ]);
  expect(sharing.body["enabled"]).toBe(false);
  expect(Date.parse(String(sharing.body["created_at"]))).not.toBeNaN();
  const token = String(sharing.body["access_token"]);
  expect((await fetch(`${server.url}/shared/${token}/`)).status).toBe(404);
  const { sql } = await storesOf(server);
  const kept = await sql`SELECT 1 FROM sharing_configurations WHERE target = 'none'`;
  expect(kept.length).toBe(0);
  for (const [method, body] of [
    ["PATCH", { viewed: true }],
    ["PATCH", { person: {} }],
    ["DELETE", undefined],
  ] as const) {
    expect(problemOf(await ask(server, method, `${base}/none/`, body))).toEqual(gone);
  }
  await record(short("none", 9));
  await rested(server);
  expect(await idsOf("?session_ids=none")).toEqual(["none"]);
  expect((await ask(server, "GET", `${base}/none/`)).body["viewed"]).toBe(false);
  // Once it was there and was deleted, pieces that come late do not bring it back.
  expect((await ask(server, "DELETE", `${base}/none/`)).status).toBe(204);
  for (const [method, more] of [
    ["DELETE", ""],
    ["PATCH", ""],
    ["GET", "sharing/"],
  ] as const) {
    expect(problemOf(await ask(server, method, `${base}/none/${more}`))).toEqual(gone);
  }
  await record(short("none", 10));
  await rested(server);
  expect(await idsOf("?session_ids=none")).toEqual([]);
});

test("a recording that was acknowledged and is not stored yet is deleted like any other", async () => {
  await record(short("on its way", 11));
  expect((await ask(server, "DELETE", `${base}/on%20its%20way/`)).status).toBe(204);
  await rested(server);
  expect(await idsOf("?session_ids=on%20its%20way")).toEqual([]);
});

test("a recording whose pieces are gone is answered as an empty one, and deleting it does nothing", async () => {
  await record(short("expired", 12));
  await rested(server);
  const model = Object.keys((await ask(server, "GET", `${base}/long/`)).body);
  const { clickhouse } = await storesOf(server);
  for (const table of ["snapshot_chunks", "session_recording_days"]) {
    const local = clickhouse.tables.local(table);
    await clickhouse.command(`DELETE FROM ${local} WHERE session_hash = sipHash64('expired')`);
  }
  expect(problemOf(await ask(server, "GET", `${base}/expired/`))).toEqual(gone);
  for (const change of [{ person: {} }, { viewed: true }]) {
    const { status, body } = await ask(server, "PATCH", `${base}/expired/`, change);
    expect([status, Object.keys(body)]).toEqual([200, model]);
    expect(body).toMatchObject({ id: "expired", viewed: false, recording_duration: 0, ongoing: false });
    expect(body["start_time"]).toBe("1970-01-01T00:00:00Z");
  }
  expect((await ask(server, "DELETE", `${base}/expired/`)).status).toBe(204);
  expect((await ask(server, "PATCH", `${base}/expired/`, {})).status).toBe(200);
  // Another project has not received it.
  const { key } = await addStranger((await storesOf(server)).sql);
  const theirs = "/api/projects/@current/session_recordings/expired/";
  expect(problemOf(await ask(server, "PATCH", theirs, {}, key))).toEqual(gone);
});

test("an invalid recording id is not found by any operation", async () => {
  for (const id of ["x".repeat(201), "%00", "%F0%9F"]) {
    for (const method of ["GET", "PATCH", "DELETE"])
      expect((await ask(server, method, `${base}/${id}/`)).status).toBe(404);
    expect((await ask(server, "GET", `${base}/${id}/sharing/`)).status).toBe(404);
  }
});

test("another project's recordings are not there", async () => {
  const { sql } = await storesOf(server);
  const { key, organization_id } = await addStranger(sql);
  const [theirs] = await sql<
    { id: number }[]
  >`SELECT id FROM projects WHERE organization_id = ${organization_id}`;
  const path = `/api/projects/${theirs?.id}/session_recordings`;
  expect((await ask(server, "GET", `${path}/`, undefined, key)).body["count"]).toBe(0);
  for (const more of ["", "snapshots/"])
    expect((await ask(server, "GET", `${path}/long/${more}`, undefined, key)).status).toBe(404);
  // Theirs of the same id never was, and ours does not change.
  expect(problemOf(await ask(server, "PATCH", `${path}/long/`, { viewed: true }, key))).toEqual(gone);
  const ours = (await ask(server, "GET", `${base}/long/sharing/`)).body;
  expect((await ask(server, "GET", `${path}/long/sharing/`, undefined, key)).body).not.toEqual(ours);
  expect(problemOf(await ask(server, "DELETE", `${path}/long/`, undefined, key))).toEqual(gone);
  expect((await ask(server, "GET", `${base}/long/`)).status).toBe(200);
});

test("the view in ClickHouse says the same", async () => {
  const { clickhouse } = await storesOf(server);
  const [row] = await clickhouse.query<Record<string, unknown>>(
    "SELECT * FROM session_recordings WHERE project_id = 1 AND session_id = 'long'",
  );
  expect(row).toMatchObject({ recording_duration: 90, active_seconds: 5, click_count: 1, chunk_count: "2" });
});
