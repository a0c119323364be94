// kill -9 while e-mails are handed over: nobody gets one twice for a date, and a send of unknown outcome is shown as
// such.

import { expect, test } from "bun:test";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import { ask } from "../support/ask.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { inLongForm } from "../support/kills.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { type MailSink, openMailSink } from "../support/mail.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";

cleanUpEach();

const home = "/api/projects/1";
const [readers] = inLongForm([150], [60]) as [number];

/** At which e-mail, and whether the server had read that it was accepted. */
const kills = inLongForm<[letters: number, answered: boolean]>(
  [
    [1, false],
    [3, true],
    [7, false],
    [2, true],
  ],
  [
    [3, true],
    [7, false],
  ],
);

async function insightOf(server: Server): Promise<number> {
  const batch = Array.from({ length: 20 }, (_, i) => ({ event: "signed up", distinct_id: `d${i}` }));
  await (await post(server, "/batch/", { api_key: projectKey, batch })).arrayBuffer();
  await rested(server);
  const query = { kind: "TrendsQuery", series: [{ event: "signed up" }] };
  const made = await ask(server, "POST", `${home}/insights/`, { name: "Sign-ups", query });
  expect(made.status).toBe(201);
  return made.body["id"] as number;
}

async function subscribe(server: Server, insight: number): Promise<void> {
  for (let i = 0; i < readers; i++) {
    const made = await ask(server, "POST", `${home}/subscriptions/`, {
      insight,
      target_type: "email",
      target_value: `reader-${i}@example.com`,
      frequency: "daily",
      start_date: "2024-01-01T09:00:00Z",
    });
    expect(made.status).toBe(201);
  }
}

/**
 * Resolves when the server was killed in the middle of e-mail number `letters` from now on: before it reads that the
 * e-mail was accepted, or just after.
 */
function killedAt(mail: MailSink, server: Server, letters: number, answered: boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const goal = mail.received.length + letters;
  const kill = (): void => void server.end("SIGKILL").then(() => resolve());
  mail.beforeAnswer = async () => {
    await Bun.sleep(20);
    if (mail.received.length < goal) return;
    mail.beforeAnswer = () => {};
    if (answered) setTimeout(kill, 1);
    else {
      kill();
      await promise;
    }
  };
  return promise;
}

async function open(sql: Postgres): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT (SELECT count(*) FROM subscription_deliveries WHERE next_attempt_at IS NOT NULL)::integer
      + (SELECT count(*) FROM subscriptions WHERE next_delivery_date < now())::integer AS count`;
  return row?.count ?? 0;
}

test("no reader gets a date's letter twice, however often the server is killed", async () => {
  const mail = await openMailSink();
  const dataDir = await makeStoresFolder();
  const environment = { SMTP_URL: mail.url, EMAIL_FROM: "reports@sluice.example" };
  let server = await startServer(environment, dataDir);
  await subscribe(server, await insightOf(server));
  let { sql } = await storesOf(server);
  await sql`UPDATE subscriptions SET next_delivery_date = now() - interval '1 second'`;
  for (const [letters, answered] of kills) {
    await killedAt(mail, server, letters, answered);
    server = await startServer(environment, dataDir);
    ({ sql } = await storesOf(server));
    // What a dead process claimed is free after a minute: no test waits so long.
    await sql`UPDATE subscription_deliveries SET claimed_until = now() WHERE claimed_until IS NOT NULL`;
  }
  await until(async () => (await open(sql)) === 0);
  const deliveries = await sql<{ target_value: string; status: string; error: string | null; due: number }[]>`
    SELECT s.target_value, d.status, d.error, (SELECT count(*)::integer FROM subscription_deliveries e
      WHERE e.subscription_id = s.id) AS due
    FROM subscription_deliveries d JOIN subscriptions s ON s.id = d.subscription_id`;
  expect(deliveries.map(({ due }) => due)).toEqual(Array(readers).fill(1));
  const arrived = mail.received.map(({ to }) => to);
  expect(arrived.length).toBe(new Set(arrived).size);
  for (const { target_value, status, error } of deliveries) {
    const doubtful = status === "failed" && error?.includes("it may have arrived") === true;
    expect([target_value, status === "delivered" || doubtful]).toEqual([target_value, true]);
    if (status === "delivered") expect(arrived).toContain(target_value);
  }
  expect(deliveries.some(({ status }) => status === "failed")).toBe(true);
  expect(deliveries.filter(({ status }) => status === "delivered").length).toBeGreaterThan(0);
  expect(await server.end("SIGTERM")).toBe(0);
});

test("SIGTERM lets letters under way end; the next start sends the rest, and none twice", async () => {
  const mail = await openMailSink();
  const dataDir = await makeStoresFolder();
  const environment = { SMTP_URL: mail.url, EMAIL_FROM: "reports@sluice.example" };
  let server = await startServer(environment, dataDir);
  await subscribe(server, await insightOf(server));
  let { sql } = await storesOf(server);
  await sql`UPDATE subscriptions SET next_delivery_date = now() - interval '1 second'`;
  await until(() => Promise.resolve(mail.received.length >= 5));
  expect(await server.end("SIGTERM")).toBe(0);
  server = await startServer(environment, dataDir);
  ({ sql } = await storesOf(server));
  await until(async () => (await open(sql)) === 0);
  const arrived = mail.received.map(({ to }) => to);
  expect([arrived.length, new Set(arrived).size]).toEqual([readers, readers]);
  const states = await sql<{ status: string; error: string | null }[]>`
    SELECT DISTINCT status, error FROM subscription_deliveries`;
  expect([...states]).toEqual([{ status: "delivered", error: null }]);
});
