// Alerts by a moved clock: each crossing, recovery and failure is told once, also over a killed checker.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { InsightView } from "../../../src/subscriptions/report/section.ts";
import { addUser, startMsMax } from "../../support/accounts.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { type MailSink, openMailSink } from "../../support/mail.ts";
import {
  addInsight,
  type Delivering,
  deskTime,
  openDelivering,
  openSubscriptionDesk,
  type SubscriptionDesk,
} from "../../support/subscriptions.ts";
import { openWebSink, type WebSink } from "../../support/web_sink.ts";

let desk: SubscriptionDesk;
let mail: MailSink;
let web: WebSink;
let work: Delivering;
let insight: number;
let user: { id: number; email: string };
let home: string;
/** Figures of the days until now, the last one of today. */
let data: number[];
let error: string | undefined;
let more: Partial<InsightView>;
let reads: number;
/** Called while an insight is read. */
let whileRead: (() => Promise<void>) | undefined;

const dayMs = 86_400_000;

function readSignUps(id: number): InsightView {
  const dayOf = (i: number) =>
    new Date(desk.clock.at - (data.length - 1 - i) * dayMs).toISOString().slice(0, 10);
  const days = data.map((_, i) => dayOf(i));
  const results = [{ label: "signed up", action: { order: 0 }, labels: days, days, data, count: 0 }];
  return {
    id,
    name: "Sign-ups",
    type: error ? null : "series",
    interval: "day",
    results: error ? [] : results,
    error,
    ...more,
  };
}

beforeAll(async () => {
  desk = await openSubscriptionDesk(true);
  mail = await openMailSink();
  web = openWebSink();
  const reader = {
    insight: async (_project_id: number, id: number) => {
      reads++;
      await whileRead?.();
      return readSignUps(id);
    },
    dashboard: () => Promise.resolve(undefined),
  };
  work = openDelivering(desk, { smtpUrl: mail.url, reader });
  insight = await addInsight(desk.sql, desk.accounts.project_id);
  await desk.sql`UPDATE insights SET query = '{"kind":"TrendsQuery","series":[{"event":"signed up"}]}'`;
  const [row] = await desk.sql<{ id: number; email: string }[]>`SELECT id, email FROM users LIMIT 1`;
  user = row!;
  home = `/api/projects/${desk.accounts.project_id}/alerts/`;
}, startMsMax);

afterAll(cleanUp, startMsMax);

beforeEach(async () => {
  await desk.sql`DELETE FROM alerts`;
  desk.clock.at = Date.parse(deskTime);
  mail.received.length = 0;
  web.posted.length = 0;
  data = [80, 90, 3];
  error = undefined;
  more = {};
  reads = 0;
  whileRead = undefined;
});

async function makeAlert(fields: Record<string, unknown> = {}): Promise<string> {
  const body = {
    insight,
    name: "Few sign-ups",
    subscribed_users: [user.id],
    condition: { type: "absolute_value" },
    threshold: { configuration: { type: "absolute", bounds: { lower: 50 } } },
    config: { type: "TrendsAlertConfig", series_index: 0 },
    ...fields,
  };
  const { status, body: alert, text } = await desk.ask("POST", home, body);
  if (status !== 201) throw new Error(text);
  return alert["id"] as string;
}

const readAlert = async (id: string) => (await desk.ask("GET", `${home}${id}/`)).body;
const subjects = () =>
  mail.received.map(({ mail: { subject = "" } }) => subject.replace(/, \d+ \w+ \d{4}$/, ""));

/** A day later, with the figure of the day that is over by then. */
async function turnDay(figure: number): Promise<void> {
  desk.clock.at += dayMs;
  data = [...data.slice(0, -1), figure, 3];
  await work.turn();
}

test("a check waits for events that are received and not stored yet", async () => {
  const id = await makeAlert();
  await desk.sql`
    INSERT INTO journals (name, created_at, seen_at, stored_watermark, watermark)
    VALUES ('late', ${new Date(desk.clock.at)}, ${new Date(desk.clock.at)}, ${new Date(desk.clock.at - 3_600_000)},
      ${new Date(desk.clock.at - 3_600_000)})`;
  // Due since before this server was there: it waits from its own start on.
  for (const hours of [0, 2]) {
    const due = new Date(desk.clock.at - hours * 3_600_000);
    await desk.sql`UPDATE alerts SET next_check_at = ${due} WHERE id = ${id}`;
    await work.turn();
    expect((await readAlert(id))["checks"]).toEqual([]);
    desk.clock.at += 70_000;
    await desk.sql`UPDATE journals SET seen_at = ${new Date(desk.clock.at)} WHERE name = 'late'`;
  }
  await desk.sql`DELETE FROM journals WHERE name = 'late'`;
  desk.clock.at += 120_000;
  await work.turn();
  expect((await readAlert(id))["checks"]).toHaveLength(1);
});

test("a relative alert on several values without intervals says that they have nothing before", async () => {
  const steps = (name: string) => [
    { count: 10, order: 0, name: "a", breakdown_value: [name] },
    { count: 5, order: 1, name: "b", breakdown_value: [name] },
  ];
  more = { type: "steps", results: [steps("x"), steps("y")] };
  const id = await makeAlert({ condition: { type: "relative_decrease" } });
  await work.turn();
  expect((await readAlert(id))["checks"]).toMatchObject([
    {
      state: "Errored",
      error: "The values of a breakdown without intervals have nothing to be compared with.",
    },
  ]);
});

test("a crossing is told once with what it was and is, and the return once", async () => {
  const id = await makeAlert();
  await work.turn();
  expect([subjects(), (await readAlert(id))["state"]]).toEqual([[], "Not firing"]);
  await turnDay(12);
  await work.turn();
  await turnDay(11);
  expect(subjects()).toEqual(["Few sign-ups: 12, below 50"]);
  expect(mail.received[0]!.to).toBe(user.email);
  expect(mail.received[0]!.mail.text).toContain("since the interval before (90)");
  expect(await readAlert(id)).toMatchObject({ state: "Firing", last_notified_at: "2024-01-16T10:00:00Z" });
  await turnDay(60);
  await turnDay(70);
  expect(subjects()).toEqual(["Few sign-ups: 12, below 50", "Few sign-ups: 60, back within its bounds"]);
  const { checks, state, next_check_at } = await readAlert(id);
  expect([state, next_check_at]).toEqual(["Not firing", "2024-01-20T01:00:00Z"]);
  const told = (checks as Record<string, unknown>[]).map((check) => [
    check["value"],
    check["previous_value"],
    check["state"],
    check["delivery_status"],
  ]);
  expect(told).toEqual([
    [70, 60, "Not firing", null],
    [60, 11, "Not firing", "delivered"],
    [11, 12, "Firing", null],
    [12, 90, "Firing", "delivered"],
    [90, 80, "Not firing", null],
  ]);
});

test("the day that is not over is judged on request alone", async () => {
  const finished = await makeAlert();
  const ongoing = await makeAlert({
    config: { type: "TrendsAlertConfig", series_index: 0, check_ongoing_interval: true },
  });
  await work.turn();
  expect([(await readAlert(finished))["state"], (await readAlert(ongoing))["state"]]).toEqual([
    "Not firing",
    "Firing",
  ]);
});

test("a change is judged by its share", async () => {
  const share = { configuration: { type: "percentage", bounds: { upper: 0.2 } } };
  await makeAlert({ name: "Fell", condition: { type: "relative_decrease" }, threshold: share });
  await makeAlert({ name: "Rose", condition: { type: "relative_increase" }, threshold: share });
  await work.turn();
  expect(subjects()).toEqual([]);
  await turnDay(45);
  expect(subjects()).toEqual(["Fell: fell by 50%, more than 20%"]);
  await turnDay(90);
  expect(subjects().slice(1).toSorted()).toEqual([
    "Fell: 90, back within its bounds",
    "Rose: rose by 100%, more than 20%",
  ]);
});

test("a refused question is neither alert nor recovery, and is told after three in a row, once", async () => {
  const id = await makeAlert();
  data = [80, 12, 3];
  await work.turn();
  expect(subjects()).toEqual(["Few sign-ups: 12, below 50"]);
  desk.clock.at += dayMs;
  error = "It takes more than the server allows.";
  for (const state of ["Firing", "Firing", "Errored", "Errored"]) {
    await work.turn();
    expect((await readAlert(id))["state"]).toBe(state);
    desk.clock.at += state === "Firing" ? 600_000 : dayMs;
  }
  expect(subjects().slice(1)).toEqual(["Few sign-ups: could not be checked 3 times"]);
  expect(mail.received[1]!.mail.text).toContain("It takes more than the server allows.");
  error = undefined;
  await turnDay(13);
  expect([mail.received.length, (await readAlert(id))["state"]]).toEqual([2, "Firing"]);
  await turnDay(60);
  expect(subjects().slice(2)).toEqual(["Few sign-ups: 60, back within its bounds"]);
});

test("a store that is away is asked again and told nothing, unless that lasts", async () => {
  const id = await makeAlert();
  more = { type: null, error: "The event store cannot be reached.", isAway: true };
  for (let minutes = 0; minutes < 30; minutes += 5) {
    await work.turn();
    desk.clock.at += 300_000;
  }
  expect([reads, (await readAlert(id))["checks"]]).toEqual([6, []]);
  await work.turn();
  expect((await readAlert(id))["checks"]).toMatchObject([{ error: "The event store cannot be reached." }]);
  more = {};
  data = [80, 12, 3];
  desk.clock.at += 600_000;
  await work.turn();
  expect(subjects()).toEqual(["Few sign-ups: 12, below 50"]);
});

test("results that cannot be judged are a failed check", async () => {
  const id = await makeAlert();
  more = { results: [null] };
  for (let i = 0; i < 3; i++) {
    await work.turn();
    desk.clock.at += 600_000;
  }
  expect(subjects()).toEqual(["Few sign-ups: could not be checked 3 times"]);
  expect((await readAlert(id))["checks"]).toMatchObject([
    { error: "Its results could not be judged." },
    {},
    {},
  ]);
});

test("while the first interval runs, or a change has nothing before, an alert stays as it was", async () => {
  const threshold = { configuration: { type: "absolute", bounds: { lower: 0 } } };
  const id = await makeAlert({ condition: { type: "relative_increase" }, threshold });
  data = [80, 12, 3];
  await work.turn();
  const told = ["Few sign-ups: fell by 68, more than 0"];
  expect(subjects()).toEqual(told);
  data = [3];
  await turnDay(3);
  expect([subjects(), (await readAlert(id))["state"]]).toEqual([told, "Firing"]);
  data = [3];
  for (let i = 0; i < 3; i++) {
    desk.clock.at += dayMs;
    await work.turn();
  }
  expect([subjects(), (await readAlert(id))["state"]]).toEqual([told, "Firing"]);
  expect((await readAlert(id))["checks"]).toMatchObject([
    { state: "Firing", value: null, error: null },
    {},
    {},
    { value: 3, calculated_value: null, previous_value: null },
    {},
  ]);
});

test("an alert sent back as it was read stays as it is: nothing is told again", async () => {
  const id = await makeAlert({ condition: undefined });
  data = [80, 12, 3];
  await work.turn();
  const { checks: _, ...read } = await readAlert(id);
  const bounds = { lower: 50, upper: null };
  const whole = { ...read, threshold: { name: "low", configuration: { type: "absolute", bounds } } };
  for (const [method, body] of [
    ["PATCH", read],
    ["PUT", whole],
    ["PATCH", { name: "Few", enabled: true, calculation_interval: "daily", snoozed_until: null }],
  ] as const)
    expect((await desk.ask(method, `${home}${id}/`, body)).body).toMatchObject({
      state: "Firing",
      next_check_at: read["next_check_at"],
    });
  await turnDay(11);
  expect([subjects().length, ((await readAlert(id))["checks"] as unknown[]).length]).toEqual([1, 2]);
  const threshold = { configuration: { type: "absolute", bounds: { lower: 40 } } };
  const { body } = await desk.ask("PATCH", `${home}${id}/`, { threshold });
  expect(body).toMatchObject({ state: "Not firing", next_check_at: null });
});

test("a check that is planned further ahead than any interval is due", async () => {
  const id = await makeAlert();
  await desk.sql`UPDATE alerts SET next_check_at = ${new Date(desk.clock.at + 33 * dayMs)}`;
  await work.turn();
  expect([reads, (await readAlert(id))["next_check_at"]]).toEqual([1, "2024-01-16T01:00:00Z"]);
});

test("a number without intervals is compared with that of the last check, an interval with none but its own", async () => {
  const threshold = { configuration: { type: "absolute", bounds: { upper: 5 } } };
  await makeAlert({ condition: { type: "relative_increase" }, threshold });
  data = [8, 3];
  await work.turn();
  data = [90];
  await turnDay(90);
  expect(subjects()).toEqual([]);
  const line = { label: "n", data: [], days: [], labels: [], count: 0, action: { order: 0 } };
  for (const value of [100, 200]) {
    more = { results: [{ ...line, aggregated_value: value }] };
    desk.clock.at += dayMs;
    await work.turn();
  }
  expect(subjects()).toEqual(["Few sign-ups: rose by 10, more than 5"]);
});

test("a crossing is told once when the checker is killed before its end, and by two servers", async () => {
  const id = await makeAlert();
  data = [80, 12, 3];
  // What a kill leaves: a claim, and nothing else.
  await desk.sql`
    UPDATE alerts SET claim = gen_random_uuid(), claimed_until = ${new Date(desk.clock.at + 60_000)} WHERE id = ${id}`;
  await work.turn();
  expect([reads, mail.received.length]).toEqual([0, 0]);
  desk.clock.at += 61_000;
  const other = openDelivering(desk, {
    smtpUrl: mail.url,
    reader: { insight: async (_, at) => readSignUps(at), dashboard: async () => undefined },
  });
  await Promise.all([work.turn(), other.turn()]);
  await Promise.all([work.turn(), other.turn()]);
  expect(subjects()).toEqual(["Few sign-ups: 12, below 50"]);
});

test("a check whose alert is changed meanwhile stores nothing: the changed one is judged", async () => {
  const id = await makeAlert();
  data = [80, 12, 3];
  whileRead = async () => {
    whileRead = undefined;
    const threshold = { configuration: { type: "absolute", bounds: { lower: 5 } } };
    expect((await desk.ask("PATCH", `${home}${id}/`, { threshold })).status).toBe(200);
  };
  await work.turn();
  await work.turn();
  expect([reads, mail.received.length]).toEqual([2, 0]);
  const { state, checks } = await readAlert(id);
  expect([state, checks]).toMatchObject(["Not firing", [{ value: 12, state: "Not firing" }]]);
  expect(checks).toBeArrayOfSize(1);
});

test.each(["left", "reader"])("an alert ends with the rights of its maker: %s", async (what) => {
  const id = await makeAlert();
  data = [80, 12, 3];
  const user_id = await addUser(desk.sql, `${what}@example.com`);
  await desk.sql`UPDATE alerts SET created_by = ${user_id}`;
  if (what === "reader")
    await desk.sql`
      INSERT INTO organization_memberships (organization_id, user_id, level)
      SELECT organization_id, ${user_id}, 0 FROM projects LIMIT 1`;
  await work.turn();
  expect([reads, mail.received.length]).toEqual([0, 0]);
  expect(await readAlert(id)).toMatchObject({
    enabled: false,
    checks: [{ state: "Errored", error: "Whoever made it is no longer a member.", targets_notified: false }],
  });
});

test("a snoozed alert is not checked until then, and a crossing that lasts is told after it", async () => {
  const id = await makeAlert();
  data = [80, 12, 3];
  const { body } = await desk.ask("PATCH", `${home}${id}/`, { snoozed_until: "2d" });
  expect(body).toMatchObject({ state: "Snoozed", snoozed_until: "2024-01-17T10:00:00Z" });
  await work.turn();
  expect([reads, mail.received.length]).toEqual([0, 0]);
  desk.clock.at += 2 * dayMs;
  await work.turn();
  expect(subjects()).toEqual(["Few sign-ups: 12, below 50"]);
  expect(await readAlert(id)).toMatchObject({ state: "Firing", snoozed_until: null });
});

test("a webhook gets the figures, and the link of an e-mail ends the e-mails alone", async () => {
  const id = await makeAlert({ target_type: "webhook", target_value: `${web.url}/hook` });
  data = [80, 12, 3];
  await work.turn();
  const [posted] = web.posted;
  expect(posted!.body).toMatchObject({
    type: "alert.notification",
    alert_id: id,
    state: "Firing",
    title: "Few sign-ups: 12, below 50",
    insights: [{ figures: [{ value: 12, before: 80 }] }],
  });
  const [link] = /http:\/\/localhost\/subscriptions\/unsubscribe\/[\w-]+/.exec(mail.received[0]!.mail.text!)!;
  const reply = await work.open(link, "POST");
  expect(reply.status).toBe(200);
  expect((await readAlert(id))["subscribed_users"]).toEqual([]);
});
