// Deliveries in Postgres: due dates become one each, every write needs its claim, failures in a row disable.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import {
  type DeliveryResult,
  endAttempt,
  enqueueDue,
  findReport,
  recordSending,
  releaseDelivery,
} from "../../../src/subscriptions/deliveries/store.ts";
import { subscriptionLimits } from "../../../src/subscriptions/limits.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../../support/accounts.ts";

let accounts: FirstAccounts;

beforeAll(async () => {
  accounts = await openFirstAccounts();
  const { sql, project_id, user_id } = accounts;
  await sql`
    INSERT INTO insights (id, project_id, short_id, query, created_by, last_modified_by)
    OVERRIDING SYSTEM VALUE VALUES (1, ${project_id}, 'aaaaaaaa', '{}', ${user_id}, ${user_id})`;
}, startMsMax);

afterAll(() => accounts.close());
beforeEach(async () => {
  await accounts.sql`DELETE FROM subscriptions`;
});

const now = new Date("2026-03-01T09:00:00Z");
const day = 86_400_000;
const later = new Date(now.getTime() + day);

async function subscribe(count = 1, more: { deleted?: boolean; disabled_at?: Date } = {}): Promise<number[]> {
  const rows = await accounts.sql<{ id: number }[]>`
    INSERT INTO subscriptions (project_id, insight_id, target_type, target_value, frequency, interval, start_date, created_at,
      next_delivery_date, deleted, disabled_at)
    SELECT ${accounts.project_id}, 1, 'email', 'x@shop.example', 'daily', 1, ${now}, ${now}, ${now},
      ${more.deleted ?? false}::boolean, ${more.disabled_at ?? null}::timestamptz
    FROM generate_series(1, ${count}::integer) RETURNING id`;
  return rows.map(({ id }) => id);
}

const deliveries = () => accounts.sql`SELECT * FROM subscription_deliveries ORDER BY id`;
const tomorrow = () => later;

/** A delivery that somebody has claimed for a minute. */
async function claimed(
  subscription_id: number,
  claim = "018f6d00-0000-7000-8000-000000000001",
  test_ = false,
) {
  const [row] = await accounts.sql<{ id: number }[]>`
    INSERT INTO subscription_deliveries (uuid, subscription_id, due_at, next_attempt_at, created_at, claim, claimed_until, attempts, test)
    VALUES (gen_random_uuid(), ${subscription_id}, now() + random() * interval '1 year', ${now}, ${now}, ${claim}, ${later}, 1, ${test_})
    RETURNING id`;
  return { id: row!.id, claim, subscription_id, test: test_ };
}

const result = (more: Partial<DeliveryResult>): DeliveryResult => ({
  status: "delivered",
  error: null,
  recipients: {},
  next_attempt_at: null,
  delivered_at: now,
  counts: false,
  ...more,
});
const failed = result({ status: "failed", error: "refused.", delivered_at: null, counts: true });

test("what is due becomes one delivery each, with the next date that is decided, or none", async () => {
  const { sql } = accounts;
  const [one, last] = await subscribe(2);
  expect(await enqueueDue(sql, now, ({ id }) => (id === one ? later : null))).toBe(2);
  expect((await deliveries()).map((row) => [row["subscription_id"], row["due_at"]])).toEqual([
    [one!, now],
    [last!, now],
  ]);
  const dates = await sql`SELECT id, next_delivery_date AS next FROM subscriptions ORDER BY id`;
  expect(dates.map(({ next }) => next as Date | null)).toEqual([later, null]);
  expect(await enqueueDue(sql, now, tomorrow)).toBe(0);
});

test("paused and disabled ones, and those of later, are not due", async () => {
  await subscribe(1, { deleted: true });
  await subscribe(1, { disabled_at: now });
  const [own] = await subscribe();
  expect(await enqueueDue(accounts.sql, new Date(now.getTime() - 1), tomorrow)).toBe(0);
  expect(await enqueueDue(accounts.sql, now, tomorrow)).toBe(1);
  expect((await deliveries()).map((row) => row["subscription_id"])).toEqual([own]);
});

test("several processes share what is due, so many at a time, and a date is delivered once", async () => {
  const { sql } = accounts;
  const { dueAtOnceMax } = subscriptionLimits;
  await subscribe(dueAtOnceMax + 10);
  const counts = await Promise.all([
    enqueueDue(sql, now, tomorrow),
    enqueueDue(sql, now, tomorrow),
    enqueueDue(sql, now, tomorrow),
  ]);
  expect(Math.max(...counts)).toBeLessThanOrEqual(dueAtOnceMax);
  while ((await enqueueDue(sql, now, tomorrow)) > 0);
  const rows = await sql`SELECT DISTINCT subscription_id FROM subscription_deliveries`;
  expect([rows.length, (await deliveries()).length]).toEqual([dueAtOnceMax + 10, dueAtOnceMax + 10]);
  // A date that comes again is not delivered again.
  await sql`UPDATE subscriptions SET next_delivery_date = ${now}`;
  await enqueueDue(sql, now, tomorrow);
  expect((await deliveries()).length).toBe(dueAtOnceMax + 10);
});

test("a send is recorded while the claim is valid, and the first report stays", async () => {
  const { sql } = accounts;
  const [id] = await subscribe();
  const one = await claimed(id!);
  const sending = {
    report: { title: "first" } as never,
    recipients: { x: { state: "sending" as const } },
    now,
    until: new Date(later.getTime() + day),
  };
  expect(await recordSending(sql, one, sending)).toBe(true);
  expect(await recordSending(sql, one, { ...sending, report: { title: "second" } as never })).toBe(true);
  expect(await findReport(sql, one.id)).toEqual({ title: "first" } as never);
  expect(await recordSending(sql, { ...one, claim: crypto.randomUUID() }, sending)).toBe(false);
  expect(await recordSending(sql, one, { ...sending, now: new Date(later.getTime() + 2 * day) })).toBe(false);
});

test("an end without the claim changes nothing, neither the delivery nor the subscription", async () => {
  const { sql } = accounts;
  const [id] = await subscribe();
  const one = await claimed(id!);
  expect(await endAttempt(sql, { ...one, claim: crypto.randomUUID() }, failed, now)).toBe(false);
  const [row] = await deliveries();
  expect([row!["status"], row!["claim"]]).toEqual(["pending", one.claim]);
  const [subscription] = await sql`SELECT failures FROM subscriptions`;
  expect(subscription!["failures"]).toBe(0);
});

test("so many failures in a row disable a subscription, and the last one says so; a success between them begins anew", async () => {
  const { sql } = accounts;
  const { deliveryFailuresMax: most } = subscriptionLimits;
  const [id] = await subscribe();
  const fail = async (more: Partial<DeliveryResult> = {}, isTest = false) =>
    await endAttempt(sql, await claimed(id!, undefined, isTest), { ...failed, ...more }, now);
  for (let i = 1; i < most; i++) expect(await fail()).toBe(false);
  await endAttempt(sql, await claimed(id!), result({}), now);
  for (let i = 1; i < most; i++) expect(await fail()).toBe(false);
  // Neither a test, nor what the server could not do, nor what is tried again counts.
  expect([
    await fail({}, true),
    await fail({ counts: false }),
    await fail({ status: "retrying", next_attempt_at: later }),
  ]).toEqual([false, false, false]);
  expect(await fail()).toBe(true);
  const [row] = await sql`SELECT disabled_at, next_delivery_date FROM subscriptions`;
  expect([row!["disabled_at"], row!["next_delivery_date"]]).toEqual([now, null]);
  expect((await deliveries()).at(-1)!["error"]).toBe(
    `refused. The subscription is disabled after ${most} failed deliveries in a row; change it to try again.`,
  );
});

test("a released delivery is as before its attempt, for whoever is next", async () => {
  const { sql } = accounts;
  const [id] = await subscribe();
  const one = await claimed(id!);
  await releaseDelivery(sql, { ...one, claim: crypto.randomUUID() }, {});
  expect((await deliveries())[0]!["attempts"]).toBe(1);
  await releaseDelivery(sql, one, { x: { state: "sent" } });
  const [row] = await deliveries();
  expect([row!["attempts"], row!["claim"], row!["recipients"]]).toEqual([0, null, { x: { state: "sent" } }]);
});

test("of a subscription's deliveries the newest hundred stay, and none that is not over is forgotten", async () => {
  const { sql } = accounts;
  const { deliveriesKeptMax: most } = subscriptionLimits;
  const [id] = await subscribe();
  await sql`
    INSERT INTO subscription_deliveries (uuid, subscription_id, due_at, next_attempt_at, created_at, status)
    SELECT gen_random_uuid(), ${id!}, ${now}::timestamptz - i * interval '1 day',
      CASE WHEN i = ${most + 3} THEN ${now}::timestamptz END, ${now},
      CASE WHEN i = ${most + 3} THEN 'pending' ELSE 'delivered' END
    FROM generate_series(${most + 3}, 1, -1) AS i`;
  await endAttempt(sql, await claimed(id!), result({}), now);
  const rows = await deliveries();
  expect([rows.length, rows[0]!["next_attempt_at"]]).toEqual([most + 1, now]);
});
