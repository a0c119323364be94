// One attempt at a delivery: to whom it is sent, what becomes of each, and when it is tried again. What sends is played.

import { beforeEach, expect, test } from "bun:test";
import { DeliveryError } from "../../../src/subscriptions/channels/delivery_error.ts";
import { attemptDelivery, type AttemptParts } from "../../../src/subscriptions/deliveries/attempt.ts";
import type { ClaimedDelivery } from "../../../src/subscriptions/deliveries/store.ts";
import { subscriptionLimits } from "../../../src/subscriptions/limits.ts";

const now = Date.UTC(2026, 2, 1, 9);
const section = { insight: 1, name: "Sales", span: "", error: null, figures: [], chart: null, table: null };
const report = {
  title: "Sales",
  subject: "Sales",
  summary: "",
  day: "",
  invite: null,
  sections: [section],
  more: 0,
};

const delivery = {
  id: 5,
  uuid: "018f6d00-0000-7000-8000-000000000005",
  claim: "c",
  test: false,
  attempts: 1,
  report,
  recipients: {},
  subscription_id: 3,
  project_id: 1,
  insight_id: 1,
  dashboard_id: null,
  target_type: "email",
  target_value: "ann@shop.example, bob@shop.example",
  deleted: false,
  due_at: new Date(now),
  before: null,
} as unknown as ClaimedDelivery;

/** To whom was sent; before each, what was stored of the recipients. */
const sent: string[] = [];
let stored: Record<string, { state: string }>[] = [];
let isMine = true;
let failures: Record<string, Error> = {};

const parts = {
  sql: Object.assign(
    (_: TemplateStringsArray, recipients: Record<string, { state: string }>) => {
      stored.push(structuredClone(recipients));
      return Promise.resolve(isMine ? [{ id: 5 }] : []);
    },
    { json: (value: unknown) => value },
  ),
  clock: { now: () => now, elapsed: () => 0 },
  log: { warn: () => {} },
  reader: { insight: () => Promise.resolve(undefined), dashboard: () => Promise.resolve(undefined) },
  pictures: { draw: () => Promise.reject(new Error("no chart is drawn here")) },
  links: { url: () => "https://site.example/link" },
  mail: {
    send: ({ to }: { to: string }) => {
      sent.push(to);
      return failures[to] ? Promise.reject(failures[to]) : Promise.resolve();
    },
  },
  web: {
    send: ({ url }: { url: URL }) => {
      sent.push(url.href);
      return failures[url.href] ? Promise.reject(failures[url.href]) : Promise.resolve();
    },
  },
  throttle: () => Promise.resolve(),
} as unknown as AttemptParts;

beforeEach(() => {
  sent.length = 0;
  stored = [];
  isMine = true;
  failures = {};
});

const attempt = (
  more: Partial<ClaimedDelivery> = {},
  stopping = new AbortController().signal,
  with_: Partial<AttemptParts> = {},
) => attemptDelivery({ ...parts, ...with_ }, { ...delivery, ...more }, stopping);

test("each recipient is stored as being sent to before the message goes out", async () => {
  expect(await attempt()).toEqual({
    status: "delivered",
    error: null,
    recipients: { "ann@shop.example": { state: "sent" }, "bob@shop.example": { state: "sent" } },
    next_attempt_at: null,
    delivered_at: new Date(now),
    counts: false,
  });
  expect(sent).toEqual(["ann@shop.example", "bob@shop.example"]);
  expect(stored).toEqual([
    { "ann@shop.example": { state: "sending" } },
    { "ann@shop.example": { state: "sent" }, "bob@shop.example": { state: "sending" } },
  ]);
});

test("who was being sent to when the process ended is not sent to again; who is done or refused neither", async () => {
  const recipients = {
    "ann@shop.example": { state: "sending" as const },
    "bob@shop.example": { state: "again" as const, error: "busy" },
  };
  const result = await attempt({ recipients });
  expect(sent).toEqual(["bob@shop.example"]);
  expect(result).toMatchObject({ status: "delivered", counts: false });
  expect((result as { error: string }).error).toStartWith("ann@shop.example: The server ended while sending");
  sent.length = 0;
  await attempt({
    recipients: { "ann@shop.example": { state: "sent" }, "bob@shop.example": { state: "refused" } },
  });
  expect(sent).toEqual([]);
});

test("a claim that was lost sends nothing more and stores nothing", async () => {
  isMine = false;
  expect(await attempt()).toEqual({ status: "lost" });
  expect(sent).toEqual([]);
});

test("a stop leaves the rest to the next start", async () => {
  expect(await attempt({}, AbortSignal.abort())).toEqual({ status: "stopped", recipients: {} });
  expect(sent).toEqual([]);
});

test("one refusal is not another's: the delivery is done, and the target's fault counts", async () => {
  failures = { "ann@shop.example": new DeliveryError("no such address", "refused", "target") };
  expect(await attempt()).toMatchObject({
    status: "delivered",
    error: "ann@shop.example: no such address",
    counts: true,
    recipients: { "bob@shop.example": { state: "sent" } },
  });
});

test("what may pass is tried again after the wait of its attempt, give or take a fifth, and ends after the last", async () => {
  failures = { "ann@shop.example": new DeliveryError("busy", "again", "target") };
  const { deliveryRetriesMs: waits } = subscriptionLimits;
  for (const [i, wait] of waits.entries()) {
    const result = await attempt({ attempts: i + 1, target_value: "ann@shop.example" });
    const { status, next_attempt_at, counts } = result as {
      status: string;
      next_attempt_at: Date;
      counts: boolean;
    };
    expect([status, counts]).toEqual(["retrying", false]);
    expect(next_attempt_at.getTime() - now).toBeWithin(0.8 * wait - 1, 1.2 * wait + 1);
  }
  expect(await attempt({ attempts: waits.length + 1, target_value: "ann@shop.example" })).toMatchObject({
    status: "failed",
    error: "busy",
    next_attempt_at: null,
    counts: true,
  });
});

test("attempts that keep breaking off are given up, which is not the target's fault", async () => {
  const attempts = subscriptionLimits.deliveryRetriesMs.length + 2;
  expect(await attempt({ attempts })).toMatchObject({
    status: "failed",
    error: `Stopped after ${attempts - 1} interrupted attempts.`,
    counts: false,
  });
  expect(sent).toEqual([]);
});

test("of an error that nobody expects it is not known whether it arrived; a secret of the address is not repeated", async () => {
  const url = "https://hooks.example/services/SECRET0123456789?token=hidden0123456789";
  failures = { [url]: new Error(`reset while posting to ${url}`) };
  const result = await attempt({ target_type: "webhook", target_value: url });
  expect(result).toMatchObject({
    status: "failed",
    counts: false,
    recipients: { [url]: { state: "doubt" } },
  });
  expect(JSON.stringify((result as { error: string }).error)).not.toContain("hidden0123456789");
});

test("a deleted subscription sends nothing, and Slack without an address of a webhook says how it is delivered to", async () => {
  expect(await attempt({ deleted: true })).toMatchObject({
    status: "failed",
    error: "The subscription was deleted.",
    counts: true,
  });
  expect(sent).toEqual([]);
  const slack = await attempt({ target_type: "slack", target_value: "#general" });
  expect(slack).toMatchObject({ status: "failed", counts: true });
  expect((slack as { error: string }).error).toContain("incoming webhooks");
});

test("a report that cannot be made now is tried again, one of nothing is not; no recipient is touched", async () => {
  const busy = {
    reader: { insight: () => Promise.reject(new Error("store away")) } as unknown as AttemptParts["reader"],
  };
  expect(await attempt({ report: null }, undefined, busy)).toMatchObject({
    status: "retrying",
    error: "The report cannot be made: store away",
    recipients: {},
  });
  expect(await attempt({ report: null })).toMatchObject({ status: "failed", next_attempt_at: null });
  const wrong = { ...report, sections: [{ ...section, error: "its query failed" }] };
  expect(await attempt({ report: wrong })).toMatchObject({
    status: "retrying",
    error: "The report cannot be made: its query failed",
  });
  expect(sent).toEqual([]);
});
