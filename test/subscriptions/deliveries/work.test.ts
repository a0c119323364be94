import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { startMsMax } from "../../support/accounts.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { type MailSink, openMailSink } from "../../support/mail.ts";
import {
  addDashboard,
  addInsight,
  type Delivering,
  deskTime,
  openDelivering,
  openSubscriptionDesk,
  readerOf,
  signUps,
  type SubscriptionDesk,
} from "../../support/subscriptions.ts";
import { openWebSink, type WebSink } from "../../support/web_sink.ts";

let desk: SubscriptionDesk;
let mail: MailSink;
let web: WebSink;
let work: Delivering;
let insight: number;

const hour = 3_600_000;

beforeAll(async () => {
  desk = await openSubscriptionDesk(true);
  mail = await openMailSink();
  web = openWebSink();
  work = openDelivering(desk, { smtpUrl: mail.url });
  insight = await addInsight(desk.sql, desk.accounts.project_id);
}, startMsMax);

afterAll(cleanUp, startMsMax);

beforeEach(async () => {
  await desk.sql`DELETE FROM subscriptions`;
  desk.clock.at = Date.parse(deskTime);
  mail.received.length = 0;
  mail.refusals.length = 0;
  web.posted.length = 0;
  web.answer = () => new Response("ok");
});

/** A subscription that falls due tomorrow at nine, and every day after. */
async function subscribe(fields: Record<string, unknown> = {}): Promise<number> {
  const made = await desk.make({ insight, frequency: "daily", ...fields });
  if (made.status !== 201) throw new Error(made.text);
  return made.body["id"] as number;
}

async function deliveriesOf(id: number): Promise<Record<string, unknown>[]> {
  const { body } = await desk.ask("GET", `${desk.home}${id}/deliveries/`);
  return body["results"] as Record<string, unknown>[];
}

async function subscription(id: number): Promise<Record<string, unknown>> {
  return (await desk.ask("GET", `${desk.home}${id}/`)).body;
}

function goTo(moment: string): void {
  desk.clock.at = Date.parse(moment);
}

test("a subscription is delivered when it falls due, once, and its next date is set", async () => {
  const id = await subscribe();
  await work.turn();
  expect(await deliveriesOf(id)).toEqual([]);
  goTo("2024-01-16T09:00:00Z");
  await work.turn();
  await work.turn();
  expect(mail.received.map(({ to }) => to)).toEqual(["reader@example.com"]);
  expect(await deliveriesOf(id)).toMatchObject([
    {
      status: "delivered",
      error: null,
      delivered_at: "2024-01-16T09:00:00Z",
      due_at: "2024-01-16T09:00:00Z",
      test: false,
      attempts: 1,
      next_attempt_at: null,
    },
  ]);
  expect((await subscription(id))["next_delivery_date"]).toBe("2024-01-17T09:00:00Z");
});

test("dates that passed while nobody looked are one delivery, not many", async () => {
  const id = await subscribe();
  goTo("2024-02-01T12:00:00Z");
  await work.turn();
  expect(await deliveriesOf(id)).toMatchObject([{ due_at: "2024-01-16T09:00:00Z", status: "delivered" }]);
  expect((await subscription(id))["next_delivery_date"]).toBe("2024-02-02T09:00:00Z");
});

test("the last of a count leaves no further date", async () => {
  const id = await subscribe({ count: 16 });
  goTo("2024-01-16T09:00:01Z");
  await work.turn();
  expect((await subscription(id))["next_delivery_date"]).toBeNull();
  goTo("2025-01-16T09:00:01Z");
  await work.turn();
  expect(await deliveriesOf(id)).toHaveLength(1);
});

test("a deleted one is not delivered, not even what was under way", async () => {
  const id = await subscribe();
  await desk.ask("POST", `${desk.home}${id}/test_delivery/`);
  await desk.ask("PATCH", `${desk.home}${id}/`, { deleted: true });
  goTo("2024-01-16T09:00:00Z");
  await work.turn();
  expect(await deliveriesOf(id)).toMatchObject([
    { status: "failed", error: "The subscription was deleted." },
  ]);
  expect(mail.received).toEqual([]);
});

test("a test delivery goes out now, and the next date stays", async () => {
  const id = await subscribe();
  await desk.ask("POST", `${desk.home}${id}/test_delivery/`);
  await work.turn();
  expect(mail.received[0]?.mail.subject).toBe("[Test] Sign-ups, 15 January 2024");
  expect(await deliveriesOf(id)).toMatchObject([{ status: "delivered", test: true }]);
  expect((await subscription(id))["next_delivery_date"]).toBe("2024-01-16T09:00:00Z");
});

test("a paused one sends nothing, not even what is to be tried again; a test goes out", async () => {
  const id = await subscribe({ target_type: "webhook", target_value: `${web.url}/hook` });
  web.answer = () => new Response("busy", { status: 503 });
  goTo("2024-01-16T09:00:00Z");
  await work.turn();
  web.answer = () => new Response(null, { status: 204 });
  await desk.ask("PATCH", `${desk.home}${id}/`, { enabled: false });
  await desk.ask("POST", `${desk.home}${id}/test_delivery/`);
  desk.clock.at += 30_000;
  await work.turn();
  expect(await deliveriesOf(id)).toMatchObject([
    { status: "delivered", test: true },
    { status: "failed", error: "The subscription was paused." },
  ]);
  expect(web.posted).toHaveLength(2);
});

test("several processes share what is due, and nothing goes out twice", async () => {
  const others = [openDelivering(desk, { smtpUrl: mail.url }), openDelivering(desk, { smtpUrl: mail.url })];
  const ids = await Promise.all(
    Array.from({ length: 40 }, (_, i) => subscribe({ target_value: `reader-${i}@example.com` })),
  );
  goTo("2024-01-16T09:00:00Z");
  await Promise.all([work, ...others].map((one) => one.turn()));
  const to = mail.received.map((one) => one.to);
  expect([to.length, new Set(to).size]).toEqual([40, 40]);
  for (const id of ids) expect(await deliveriesOf(id)).toMatchObject([{ status: "delivered", attempts: 1 }]);
});

test("a failure that may pass is tried again, the first time within 30 s, and says so meanwhile", async () => {
  const id = await subscribe({ target_type: "webhook", target_value: `${web.url}/hook` });
  web.answer = () => new Response("busy", { status: 503 });
  goTo("2024-01-16T09:00:00Z");
  await work.turn();
  const host = new URL(web.url).host;
  const [first] = await deliveriesOf(id);
  expect(first).toMatchObject({
    status: "retrying",
    error: `${host} answered 503: busy`,
    delivered_at: null,
  });
  const wait = Date.parse(first!["next_attempt_at"] as string) - desk.clock.at;
  expect(wait).toBeGreaterThan(0);
  expect(wait).toBeLessThan(30_000);
  await work.turn();
  expect(web.posted).toHaveLength(1);
  web.answer = () => new Response(null, { status: 204 });
  desk.clock.at += 30_000;
  await work.turn();
  expect(await deliveriesOf(id)).toMatchObject([{ status: "delivered", error: null, attempts: 2 }]);
  const keys = web.posted.map(({ headers }) => headers.get("idempotency-key"));
  expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
  expect((await subscription(id))["next_delivery_date"]).toBe("2024-01-17T09:00:00Z");
});

test("a failure that does not pass ends after six attempts", async () => {
  const id = await subscribe({ target_type: "webhook", target_value: `${web.url}/hook` });
  web.answer = () => new Response(null, { status: 500 });
  goTo("2024-01-16T09:00:00Z");
  for (let turn = 0; turn < 8; turn++) {
    await work.turn();
    desk.clock.at += 2 * hour;
  }
  expect(web.posted).toHaveLength(6);
  expect(await deliveriesOf(id)).toMatchObject([{ status: "failed", attempts: 6, next_attempt_at: null }]);
});

test("a target that refuses permanently fails at once; five dates in a row disable the subscription, visibly", async () => {
  const id = await subscribe({ target_type: "webhook", target_value: `${web.url}/hook` });
  web.answer = () => new Response("gone", { status: 410 });
  for (let day = 16; day < 23; day++) {
    goTo(`2024-01-${day}T09:00:00Z`);
    await work.turn();
  }
  const deliveries = await deliveriesOf(id);
  const host = new URL(web.url).host;
  expect(deliveries.map(({ status }) => status)).toEqual(Array(5).fill("failed"));
  expect(deliveries[0]?.["error"]).toBe(
    `${host} answered 410: gone The subscription is disabled after 5 failed deliveries in a row; change it to try again.`,
  );
  expect(deliveries[1]?.["error"]).toBe(`${host} answered 410: gone`);
  expect((await subscription(id))["next_delivery_date"]).toBeNull();
  expect(work.metrics()).toContain("sluice_subscriptions_disabled_total 1");
  const changed = await desk.ask("PATCH", `${desk.home}${id}/`, { target_value: `${web.url}/new` });
  expect(changed.body["next_delivery_date"]).toBe("2024-01-23T09:00:00Z");
  web.answer = () => new Response("ok");
  goTo("2024-01-23T09:00:00Z");
  await work.turn();
  expect((await deliveriesOf(id))[0]).toMatchObject({ status: "delivered" });
});

test("what the server cannot do is nobody's failure: without SMTP_URL nothing is disabled", async () => {
  const bare = openDelivering(desk, { smtpUrl: undefined });
  const id = await subscribe();
  for (let day = 16; day < 24; day++) {
    goTo(`2024-01-${day}T09:00:00Z`);
    await bare.turn();
  }
  const deliveries = await deliveriesOf(id);
  expect(deliveries).toHaveLength(8);
  expect(deliveries[0]).toMatchObject({
    status: "failed",
    error: "This server cannot send e-mail: SMTP_URL is not set. Set it and start the server again.",
  });
  expect((await subscription(id))["next_delivery_date"]).toBe("2024-01-24T09:00:00Z");
  const nameless = openDelivering(desk, { smtpUrl: mail.url, emailFrom: undefined });
  goTo("2024-01-24T09:00:00Z");
  await nameless.turn();
  expect((await deliveriesOf(id))[0]?.["error"]).toContain("EMAIL_FROM is not set");
});

test("one recipient's refusal is not another's, and only the one who may still get it is tried again", async () => {
  const id = await subscribe({ target_value: "a@example.com, b@example.com ,c@example.com" });
  mail.refusals.push("rcpt 550 No such user", "data 451 Try later");
  goTo("2024-01-16T09:00:00Z");
  await work.turn();
  expect(mail.received.map(({ to }) => to)).toEqual(["c@example.com"]);
  const [first] = await deliveriesOf(id);
  expect(first?.["status"]).toBe("retrying");
  expect(first?.["error"]).toContain("a@example.com: The mail server refused");
  desk.clock.at += 30_000;
  await work.turn();
  expect(mail.received.map(({ to }) => to)).toEqual(["c@example.com", "b@example.com"]);
  const [second] = await deliveriesOf(id);
  expect(second).toMatchObject({ status: "delivered", attempts: 2 });
  expect(second?.["error"]).toContain("a@example.com: The mail server refused");
  expect(second?.["error"]).toContain("550 No such user");
  expect(second?.["error"]).not.toContain("b@example.com");
});

test("an insight that cannot be read now is tried again, one that is gone is not", async () => {
  let away = true;
  const reader = readerOf([signUps]);
  const limping = openDelivering(desk, {
    smtpUrl: mail.url,
    reader: {
      ...reader,
      insight: (project_id, id) =>
        away ? Promise.reject(new Error("the store is away")) : reader.insight(project_id, id),
    },
  });
  const id = await subscribe();
  goTo("2024-01-16T09:00:00Z");
  await limping.turn();
  expect(await deliveriesOf(id)).toMatchObject([
    { status: "retrying", error: "The report cannot be made: the store is away" },
  ]);
  away = false;
  desk.clock.at += 30_000;
  await limping.turn();
  expect(await deliveriesOf(id)).toMatchObject([{ status: "delivered" }]);
  const gone = openDelivering(desk, { smtpUrl: mail.url, reader: readerOf([]) });
  goTo("2024-01-17T09:00:00Z");
  await gone.turn();
  expect((await deliveriesOf(id))[0]).toMatchObject({ status: "failed", error: "The insight was deleted." });
});

test("a store that was away is asked again by the first retry, seconds later", async () => {
  let away = true;
  const reader = readerOf([signUps]);
  const view = {
    ...signUps,
    type: null,
    results: [],
    error: "The event store cannot be reached.",
    isAway: true,
  };
  const limping = openDelivering(desk, {
    smtpUrl: mail.url,
    reader: {
      ...reader,
      insight: (...asked) => (away ? Promise.resolve(view) : reader.insight(...asked)),
    },
  });
  const id = await subscribe();
  goTo("2024-01-16T09:00:00Z");
  await limping.turn();
  expect(await deliveriesOf(id)).toMatchObject([{ status: "retrying" }]);
  away = false;
  desk.clock.at += 12_000;
  await limping.turn();
  expect(await deliveriesOf(id)).toMatchObject([{ status: "delivered" }]);
});

test("an insight whose query fails is retried, within a dashboard it is shown beside the others", async () => {
  const broken = { id: 2, name: "Heavy", type: null, error: "It takes more than it may." };
  const failing = openDelivering(desk, { smtpUrl: mail.url, reader: readerOf([broken]) });
  const id = await subscribe();
  goTo("2024-01-16T09:00:00Z");
  await failing.turn();
  expect(await deliveriesOf(id)).toMatchObject([
    { status: "retrying", error: "The report cannot be made: It takes more than it may." },
  ]);
  await desk.sql`DELETE FROM subscriptions`;
  goTo(deskTime);
  const mixed = openDelivering(desk, { smtpUrl: mail.url, reader: readerOf([signUps, broken]) });
  const dashboard = await addDashboard(desk.sql, desk.accounts.project_id);
  await subscribe({ dashboard, insight: null });
  goTo("2024-01-16T09:00:00Z");
  await mixed.turn();
  expect(mail.received[0]?.mail.text).toContain("It takes more than it may.");
  expect(mail.received[0]?.mail.text).toContain("signed up: 23");
});

test("a delivery says what changed since the last one that arrived, tests aside", async () => {
  const results = (count: number) => [
    {
      label: "signed up",
      labels: ["a", "b"],
      days: ["2024-01-14", "2024-01-15"],
      data: [1, count - 1],
      count,
    },
  ];
  let count = 20;
  const base = readerOf([signUps]);
  const id = await subscribe({ invite_message: "Hello\nthere" });
  const emails: string[] = [];
  for (const [day, value] of [
    [16, 20],
    [17, 25],
    [18, 25],
  ] as const) {
    count = value;
    const fresh = openDelivering(desk, {
      smtpUrl: mail.url,
      reader: {
        ...base,
        insight: (_project_id, one) => Promise.resolve({ ...signUps, id: one, results: results(count) }),
      },
    });
    goTo(`2024-01-${day}T09:00:00Z`);
    await fresh.turn();
    emails.push(mail.received.at(-1)?.mail.text ?? "");
  }
  expect(emails.map((text) => /^signed up: .*$/m.exec(text)?.[0])).toEqual([
    "signed up: 20",
    "signed up: 25, +25% since last time (20)",
    "signed up: 25, no change since last time",
  ]);
  expect(emails.map((text) => text.includes("Hello\nthere"))).toEqual([true, false, false]);
  expect(await deliveriesOf(id)).toHaveLength(3);
});

test("what a process that died was sending is in doubt: it is reported, and not sent again", async () => {
  const id = await subscribe({ target_value: "a@example.com,b@example.com" });
  goTo("2024-01-16T09:00:00Z");
  // As a process leaves it that is killed while it hands an email over.
  let sending = Promise.withResolvers<void>();
  mail.beforeAnswer = () => sending.promise;
  const dying = openDelivering(desk, { smtpUrl: mail.url });
  await dying.poll();
  while (mail.received.length === 0) await Bun.sleep(5);
  await work.turn();
  expect(mail.received).toHaveLength(1);
  // Its claim runs out while it hangs.
  desk.clock.at += 61_000;
  mail.beforeAnswer = () => {};
  await work.turn();
  expect(mail.received.map(({ to }) => to)).toEqual(["a@example.com", "b@example.com"]);
  const [delivery] = await deliveriesOf(id);
  const doubt =
    "a@example.com: The server ended while sending; it may have arrived, so it is not sent again.";
  expect(delivery).toMatchObject({ status: "delivered", error: doubt, attempts: 2 });
  // It comes back to life and finds that the delivery is no longer its own.
  sending.resolve();
  sending = Promise.withResolvers();
  await dying.settle();
  expect(mail.received).toHaveLength(2);
  expect((await deliveriesOf(id))[0]).toEqual(delivery!);
});

test("a stop finishes what is being sent, and returns the rest for the next start", async () => {
  const id = await subscribe({ target_value: "a@example.com,b@example.com" });
  goTo("2024-01-16T09:00:00Z");
  const held = Promise.withResolvers<void>();
  mail.beforeAnswer = () => held.promise;
  const stopping = openDelivering(desk, { smtpUrl: mail.url });
  await stopping.poll();
  while (mail.received.length === 0) await Bun.sleep(5);
  const closed = stopping.close();
  mail.beforeAnswer = () => {};
  held.resolve();
  await closed;
  expect(mail.received.map(({ to }) => to)).toEqual(["a@example.com"]);
  await work.turn();
  expect(mail.received.map(({ to }) => to)).toEqual(["a@example.com", "b@example.com"]);
  expect(await deliveriesOf(id)).toMatchObject([{ status: "delivered", error: null }]);
});

test("deliveries are forgotten, the oldest first, once there are more than a hundred", async () => {
  const id = await subscribe();
  await desk.sql`
    INSERT INTO subscription_deliveries (uuid, subscription_id, due_at, status, created_at)
    SELECT gen_random_uuid(), ${id}, now() - n * interval '1 day', 'failed', now() FROM generate_series(1, 120) n`;
  goTo("2024-01-16T09:00:00Z");
  await work.turn();
  const { body } = await desk.ask("GET", `${desk.home}${id}/deliveries/?limit=1`);
  expect(body).toMatchObject({ count: 100, results: [{ status: "delivered" }] });
});
