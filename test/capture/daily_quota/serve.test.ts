import { expect, test } from "bun:test";
import { addAccount, ask, problemOf } from "../../support/ask.ts";
import { cleanUpEach } from "../../support/cleanup.ts";
import { metric, post, projectKey, type Server, startServer, storesOf, until } from "../../support/server.ts";
import { postAnew, serving } from "../../support/workers.ts";

cleanUpEach();

const ignored = 'sluice_events_ignored_total{reason="daily_event_quota_exceeded"}';
const event = { api_key: projectKey, event: "e", distinct_id: "d" };
const batchOf = (count: number) => ({
  api_key: projectKey,
  batch: Array.from({ length: count }, () => event),
});

/** Sets the quota of the project and waits until capture obeys it. */
async function setQuota(server: Server, daily_event_quota: number | null): Promise<void> {
  const { status, body } = await ask(server, "PATCH", "/api/projects/1/", { daily_event_quota });
  expect([status, body["daily_event_quota"]]).toEqual([200, daily_event_quota]);
}

/** Sends batches until an event of one is ignored. */
async function exhaust(server: Server, events: number): Promise<void> {
  await until(async () => {
    expect((await postAnew(server, "/batch/", batchOf(events))).status).toBe(200);
    return (await metric(server, ignored).catch(() => 0)) > 0;
  });
}

test("workers share a project's quota, a later start remembers it, and a raised one is obeyed", async () => {
  const server = await startServer({ WORKERS: "2" });
  await serving(server, 2);
  await setQuota(server, 500);
  await exhaust(server, 40);
  // Each worker has its own count until they are exchanged.
  const { sql } = await storesOf(server);
  const counted = async () => {
    const [row] = await sql<{ events: number }[]>`
      SELECT coalesce(sum(events), 0)::bigint AS events FROM daily_event_counts`;
    return row!.events;
  };
  await until(async () => (await counted()) >= 500);
  expect(await server.end("SIGTERM")).toBe(0);
  const later = await startServer({}, server.dataDir);
  const body = await (await post(later, "/batch/?verbose=1", batchOf(30))).json();
  expect(body).toMatchObject({ accepted: 0, ignored_by_reason: { daily_event_quota_exceeded: 30 } });
  const received = await metric(later, "sluice_events_received_total");
  expect([received, await metric(later, ignored)]).toEqual([30, 30]);
  const { text } = await ask(later, "GET", "/api/projects/1/ingestion_warnings/");
  expect(text).toContain("daily_event_quota_exceeded");
  await setQuota(later, null);
  await until(async () =>
    (await (await post(later, "/e/?verbose=1", event)).text()).includes('"accepted":1'),
  );
}, 300_000);

test("administrators set a quota of one event or more, and nobody else changes it", async () => {
  const server = await startServer();
  const path = "/api/projects/1/";
  for (const [value, code] of [
    [0, "min_value"],
    [2 ** 31, "max_value"],
    [1.5, "invalid_input"],
    ["many", "invalid_input"],
  ] as const)
    expect(problemOf(await ask(server, "PATCH", path, { daily_event_quota: value }))).toMatchObject([
      400,
      "validation_error",
      code,
      expect.any(String),
      "daily_event_quota",
    ]);
  await setQuota(server, 2 ** 31 - 1);
  const { sql } = await storesOf(server);
  const [home] = await sql<{ organization_id: string }[]>`SELECT organization_id FROM projects WHERE id = 1`;
  const member = await addAccount(sql, "member@example.com", {
    organization_id: home!.organization_id,
    level: 1,
  });
  const asMember = (changes: object) => ask(server, "PATCH", path, changes, member.key);
  expect((await asMember({ daily_event_quota: null })).status).toBe(403);
  expect((await asMember({ daily_event_quota: 2 ** 31 - 1, name: "Renamed" })).status).toBe(200);
  const made = await ask(server, "POST", "/api/projects/", { name: "New", daily_event_quota: 7 });
  expect(made.body["daily_event_quota"]).toBe(7);
}, 300_000);
