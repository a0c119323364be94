import { expect, test } from "bun:test";
import { ask } from "../../support/ask.ts";
import { cleanUpEach } from "../../support/cleanup.ts";
import { readEvents } from "../../support/events.ts";
import { sendRaw } from "../../support/raw.ts";
import {
  metric,
  post,
  projectKey,
  rested,
  runSluice,
  type Server,
  startServer,
  storesOf,
  until,
} from "../../support/server.ts";
import { postAnew, serving } from "../../support/workers.ts";

cleanUpEach();

const quick = { FLUSH_INTERVAL_MS: "50" };

function visit(event: string): object {
  const properties = {
    distinct_id: "$posthog_cookieless",
    $host: "www.example.com",
    $raw_user_agent: "Mozilla/5.0",
    $timezone: "UTC",
    $cookieless_mode: true,
  };
  return { api_key: projectKey, event, properties, timestamp: new Date().toISOString() };
}

/** The id under which the events of a name are stored; more than one is a mistake. */
async function idOf(server: Server, event: string, count = 1): Promise<string> {
  const found = async () => await readEvents(server, { event });
  await until(async () => (await found()).length >= count);
  const ids = new Set((await found()).map(({ distinct_id }) => distinct_id));
  expect([event, ids.size]).toEqual([event, 1]);
  return [...ids][0]!;
}

async function took(server: Server, event: string, headers: Record<string, string> = {}): Promise<void> {
  expect((await post(server, "/e/", visit(event), headers)).status).toBe(200);
}

test("workers agree on a visitor's id, a later start too, and salts rest in Postgres only while they are needed", async () => {
  const two = { ...quick, WORKERS: "2" };
  const server = await startServer(two);
  await serving(server, 2);
  for (let i = 0; i < 16; i++) {
    expect((await postAnew(server, "/e/", visit("by any"))).status).toBe(200);
  }
  const id = await idOf(server, "by any", 16);
  expect(id).toMatch(/^cookieless_.{22}$/);
  expect(await metric(server, 'sluice_events_accepted_total{lane="live"}')).toBe(16);
  const { sql } = await storesOf(server);
  const [salts] = await sql<{ n: number }[]>`SELECT count(*)::int AS n FROM cookieless_salts`;
  expect(salts!.n).toBeGreaterThanOrEqual(5);
  expect(await server.end("SIGTERM")).toBe(0);
  const later = await startServer(quick, server.dataDir);
  await took(later, "later");
  // Around midnight in UTC it may be another day.
  const [one, another] = [await idOf(later, "later"), await idOf(later, "by any", 16)];
  const days = new Set((await readEvents(later)).map(({ timestamp }) => timestamp.slice(0, 10)));
  if (days.size === 1) expect(one).toBe(another);
});

test("what a client says of its address is believed of trusted proxies only, and stored of nobody", async () => {
  const trusting = await startServer({ ...quick, TRUSTED_PROXIES: "127.0.0.0/8, ::1" });
  await took(trusting, "one", { "x-forwarded-for": "203.0.113.7" });
  await took(trusting, "forged", { "x-forwarded-for": "198.51.100.9, 203.0.113.7" });
  await took(trusting, "two", { "x-forwarded-for": "203.0.113.8" });
  await took(trusting, "none");
  const raw = JSON.stringify(visit("of old"));
  const head = ["POST /e/ HTTP/1.0", "X-Forwarded-For: 203.0.113.7", "Content-Type: application/json"];
  expect((await sendRaw(trusting.url, head, raw)).status).toBe(200);
  const one = await idOf(trusting, "one");
  expect(await idOf(trusting, "forged")).toBe(one);
  expect(await idOf(trusting, "of old")).toBe(one);
  const others = [await idOf(trusting, "two"), await idOf(trusting, "none")];
  expect(new Set([one, ...others]).size).toBe(3);
  await rested(trusting);
  const { clickhouse } = await storesOf(trusting);
  const stored = await clickhouse.query(`SELECT * FROM event_rows`);
  expect(JSON.stringify(stored)).not.toMatch(/203\.0\.113|198\.51\.100|Mozilla/);
});

test("without trusted proxies what a client says of its address is ignored", async () => {
  const plain = await startServer(quick);
  await took(plain, "one", { "x-forwarded-for": "203.0.113.7" });
  await took(plain, "two", { "x-forwarded-for": "203.0.113.8" });
  await took(plain, "none");
  const peer = await idOf(plain, "none");
  expect([await idOf(plain, "one"), await idOf(plain, "two")]).toEqual([peer, peer]);
});

test("a project that takes no visitors without cookies says so, and a mode that does not exist is refused", async () => {
  const server = await startServer(quick);
  const changed = await ask(server, "PATCH", "/api/projects/1/", { cookieless_server_hash_mode: 0 });
  expect(changed.body).toMatchObject({ cookieless_server_hash_mode: 0 });
  const reason = 'sluice_events_ignored_total{reason="cookieless_team_disabled"}';
  await until(async () => {
    await took(server, "unwanted");
    return (await metric(server, reason)) > 0;
  });
  const again = await ask(server, "PATCH", "/api/projects/1/", { cookieless_server_hash_mode: 2 });
  expect([again.status, again.body["attr"]]).toEqual([400, "cookieless_server_hash_mode"]);
  expect((await ask(server, "PATCH", "/api/projects/1/", { cookieless_server_hash_mode: 1 })).status).toBe(
    200,
  );
  await until(async () => {
    await took(server, "wanted");
    return (await readEvents(server, { event: "wanted" })).length > 0;
  });
});

test("TRUSTED_PROXIES that are no addresses are told at the start, each of them", async () => {
  const ran = await runSluice(["serve"], { TRUSTED_PROXIES: "10.0.0.0/8, proxy.example 10.0.0.0/33" });
  expect(ran.exitCode).toBe(1);
  expect(ran.stderr).toContain(
    'TRUSTED_PROXIES: "proxy.example" is no IP address and no network like 10.0.0.0/8',
  );
  expect(ran.stderr).toContain('TRUSTED_PROXIES: "10.0.0.0/33"');
});
