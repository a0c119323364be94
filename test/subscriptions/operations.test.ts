import { afterAll, beforeAll, expect, test } from "bun:test";
import { createProject } from "../../src/projects/store.ts";
import { startMsMax } from "../support/accounts.ts";
import { problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import {
  addDashboard,
  addInsight,
  deskTime,
  openSubscriptionDesk,
  required,
  type SubscriptionDesk,
} from "../support/subscriptions.ts";
import { hostileZones } from "../support/zones.ts";

let desk: SubscriptionDesk;
let insight: number;
let dashboard: number;

beforeAll(async () => {
  desk = await openSubscriptionDesk();
  insight = await addInsight(desk.sql, desk.accounts.project_id);
  dashboard = await addDashboard(desk.sql, desk.accounts.project_id);
}, startMsMax);

afterAll(cleanUp, startMsMax);

const shownFields = [
  "id",
  "dashboard",
  "insight",
  "dashboard_export_insights",
  "target_type",
  "target_value",
  "frequency",
  "interval",
  "byweekday",
  "bysetpos",
  "count",
  "start_date",
  "until_date",
  "created_at",
  "created_by",
  "deleted",
  "title",
  "summary",
  "next_delivery_date",
  "invite_message",
  "timezone",
  "enabled",
];

async function makeOne(fields: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
  const { status, body, text } = await desk.make({ insight, ...fields });
  if (status !== 201) throw new Error(text);
  return body;
}

/** What PATCHing a fresh one answers. */
async function changed(made: Record<string, unknown>, changes: Record<string, unknown>) {
  return await desk.ask("PATCH", `${desk.home}${String(made["id"])}/`, changes);
}

test("a zone is an IANA name or alias, and shown as it was sent", async () => {
  const made = await makeOne({ timezone: "US/Pacific" });
  expect(made["timezone"]).toBe("US/Pacific");
  for (const timezone of hostileZones) {
    const expected = [timezone, 400, "timezone"];
    for (const refused of [await desk.make({ insight, timezone }), await changed(made, { timezone })])
      expect([timezone, refused.status, refused.body["attr"]]).toEqual(expected);
  }
  expect((await changed(made, { title: "t" })).body["timezone"]).toBe("US/Pacific");
});

test("a created subscription has every field, omitted ones with their default", async () => {
  const made = await makeOne({ insight });
  expect(Object.keys(made)).toEqual(shownFields);
  expect(made).toMatchObject({
    ...required,
    dashboard: null,
    insight,
    interval: 1,
    byweekday: null,
    bysetpos: null,
    count: null,
    until_date: null,
    created_at: deskTime,
    deleted: false,
    enabled: true,
    title: null,
    summary: "sent every week",
    next_delivery_date: "2024-01-22T09:00:00Z",
    invite_message: null,
  });
  expect(Object.keys(made["created_by"] as object)).toEqual([
    "id",
    "uuid",
    "distinct_id",
    "first_name",
    "last_name",
    "email",
    "is_email_verified",
    "hedgehog_config",
    "role_at_organization",
  ]);
  expect(made["created_by"]).toMatchObject({
    id: desk.accounts.user_id,
    // Nothing is known of them yet, and each has its type all the same.
    is_email_verified: false,
    hedgehog_config: {},
    role_at_organization: "",
  });
});

test("every writable field comes back as it was given", async () => {
  const given = {
    dashboard,
    insight: null,
    target_type: "webhook",
    target_value: "https://example.com/in?a=1",
    frequency: "monthly",
    interval: 2,
    byweekday: ["wednesday"],
    bysetpos: 3,
    count: 10,
    start_date: "2022-01-01T00:00:00.000123Z",
    until_date: "2030-01-01T00:00:00Z",
    deleted: false,
    title: "My Subscription",
    invite_message: "hey",
  };
  const made = await makeOne({ ...given, timezone: "Europe/Paris" });
  expect(made).toMatchObject(given);
  expect(made["summary"]).toBe("sent every 2 months on the third Wednesday");
  expect(made["timezone"]).toBe("Europe/Paris");
  const again = await desk.ask("GET", `${desk.home}${String(made["id"])}`);
  expect(again.body).toEqual(made);
});

test("one that names neither insight nor dashboard is taken: only four fields are required", async () => {
  for (const nothing of [{}, { insight: null, dashboard: null }])
    expect((await desk.make(nothing)).status).toBe(201);
});

test("projects and environments show the same", async () => {
  const { id } = await makeOne();
  const path = `/${desk.accounts.project_id}/subscriptions/${String(id)}/`;
  const [one, other] = await Promise.all([
    desk.ask("GET", `/api/projects${path}`),
    desk.ask("GET", `/api/environments${path}`),
  ]);
  expect([one.status, other.body]).toEqual([200, one.body]);
});

test.each([
  [{ target_type: undefined }, "required", "This field is required.", "target_type"],
  [{ target_value: undefined }, "required", "This field is required.", "target_value"],
  [{ frequency: undefined }, "required", "This field is required.", "frequency"],
  [{ start_date: undefined }, "required", "This field is required.", "start_date"],
  [{ target_type: "sms" }, "invalid_choice", '"sms" is not a valid choice.', "target_type"],
  [{ target_value: " " }, "blank", "This field may not be blank.", "target_value"],
  [{ frequency: "hourly" }, "invalid_choice", '"hourly" is not a valid choice.', "frequency"],
  [{ interval: 0 }, "min_value", "Ensure this value is greater than or equal to 1.", "interval"],
  [{ interval: null }, "null", "This field may not be null.", "interval"],
  [{ byweekday: ["monday", "funday"] }, "invalid_choice", '"funday" is not a valid choice.', "byweekday__1"],
  [{ byweekday: "monday" }, "not_a_list", 'Expected a list of items but got type "str".', "byweekday"],
  [
    { bysetpos: 0 },
    "invalid_input",
    "Ensure this value is between 1 and 366, or between -366 and -1.",
    "bysetpos",
  ],
  [{ bysetpos: 367 }, "max_value", "Ensure this value is less than or equal to 366.", "bysetpos"],
  [{ title: "x".repeat(101) }, "max_length", "Ensure this field has no more than 100 characters.", "title"],
  [{ timezone: "Mars/Olympus" }, "invalid_choice", '"Mars/Olympus" is not a valid choice.', "timezone"],
  [{ insight: 2_000_000 }, "does_not_exist", 'Invalid pk "2000000" - object does not exist.', "insight"],
  [{ dashboard: 2_000_000 }, "does_not_exist", 'Invalid pk "2000000" - object does not exist.', "dashboard"],
  [{ target_value: "a@b.co,nobody" }, "invalid_input", '"nobody" is not an e-mail address.', "target_value"],
  [{ target_value: "," }, "invalid_input", "Enter at least one e-mail address.", "target_value"],
  [
    { target_type: "webhook", target_value: "ftp://example.com" },
    "invalid_input",
    "Enter a valid URL that starts with http:// or https://.",
    "target_value",
  ],
] as [Record<string, unknown>, string, string, string][])(
  "%j is refused",
  async (fields, code, detail, attr) => {
    expect(problemOf(await desk.make(fields))).toEqual([400, "validation_error", code, detail, attr]);
  },
);

test("a target that could begin another header is refused", async () => {
  for (const target_value of [
    "a@b.co\r\nBcc: c@d.co",
    "a@b.co\nx",
    "a@b.co>,<c@d.co",
    '"a\r\n"@b.co',
    "a@b@c.co",
    // Some mail servers read an encoded word, whose letters are others than it shows.
    "=?utf-8?q?a=40b.co=3e=00?=@c.co",
  ]) {
    const { status, body } = await desk.make({ target_value });
    expect([status, body["attr"]]).toEqual([400, "target_value"]);
  }
});

test("webhooks to private addresses are refused, however they are spelled", async () => {
  for (const host of [
    "127.0.0.1",
    "localhost",
    "10.1.2.3",
    "[::1]",
    "0x7f.1",
    "169.254.169.254",
    "inside.example.com",
  ]) {
    for (const target_type of ["webhook", "slack"]) {
      const { status, body } = await desk.make({ target_type, target_value: `http://${host}:8080/hook` });
      expect([host, status, body["attr"]]).toEqual([host, 400, "target_value"]);
    }
  }
  const channel = await desk.make({ insight, target_type: "slack", target_value: "C123|#general" });
  expect([channel.status, channel.body["attr"]]).toEqual([400, "target_value"]);
});

test("an insight or a dashboard of another project, or a deleted one, does not exist", async () => {
  const { sql, accounts } = desk;
  const other = await createProject(sql, { organization_id: accounts.organization_id, name: "Other" });
  const foreign = await addInsight(sql, other.id);
  expect((await desk.make({ insight: foreign })).body["code"]).toBe("does_not_exist");
  const gone = await addDashboard(sql, accounts.project_id);
  const made = await makeOne({ dashboard: gone });
  await sql`UPDATE dashboards SET deleted = true WHERE id = ${gone}`;
  expect((await desk.make({ dashboard: gone })).body["attr"]).toBe("dashboard");
  expect((await changed(made, { dashboard: gone })).status).toBe(400);
  expect((await changed(made, { title: "still there" })).status).toBe(200);
});

test("the next date moves with the schedule and with nothing else", async () => {
  const made = await makeOne({ insight });
  desk.clock.at = Date.parse("2024-03-01T00:00:00Z");
  const next = async (changes: Record<string, unknown>) =>
    (await changed(made, changes)).body["next_delivery_date"];
  expect(await next({})).toBe("2024-01-22T09:00:00Z");
  const rest = {
    title: "t",
    target_value: "other@example.com",
    frequency: "weekly",
    start_date: "2024-01-01T10:00:00+01:00",
  };
  expect(await next(rest)).toBe("2024-01-22T09:00:00Z");
  expect(await next({ byweekday: ["tuesday"] })).toBe("2024-03-05T09:00:00Z");
  expect(await next({ timezone: "America/New_York" })).toBe("2024-03-05T09:00:00Z");
  // New York's clocks go forward on 10 March.
  expect(await next({ start_date: "2024-03-09T09:00:00Z" })).toBe("2024-03-12T08:00:00Z");
  expect(await next({ until_date: "2024-03-09T10:00:00Z" })).toBeNull();
  desk.clock.at = Date.parse(deskTime);
});

test("an occurrence within the next quarter of an hour is too soon", async () => {
  const soon = await makeOne({ frequency: "daily", start_date: "2024-01-15T10:15:00Z" });
  expect(soon["next_delivery_date"]).toBe("2024-01-16T10:15:00Z");
  const later = await makeOne({ frequency: "daily", start_date: "2024-01-15T10:15:01Z" });
  expect(later["next_delivery_date"]).toBe("2024-01-15T10:15:01Z");
});

test("a rule that can never match has no next date", async () => {
  const fields = { frequency: "weekly", byweekday: ["monday"], bysetpos: 2 };
  expect((await makeOne(fields))["next_delivery_date"]).toBeNull();
});

test("deleting is a PATCH; the deleted are listed on demand, and come back with a date to come", async () => {
  const made = await makeOne({ title: "to go" });
  const path = `${desk.home}${String(made["id"])}/`;
  const refused = await desk.ask("DELETE", path);
  expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD, PATCH, PUT"]);
  expect((await desk.ask("PATCH", path, { deleted: true })).body["deleted"]).toBe(true);
  const ids = async (query: string) =>
    ((await desk.ask("GET", `${desk.home}?${query}`)).body["results"] as { id: number }[]).map(
      ({ id }) => id,
    );
  expect(await ids("")).not.toContain(made["id"] as number);
  expect(await ids("deleted=true")).toEqual([made["id"] as number]);
  expect((await desk.ask("GET", path)).status).toBe(200);
  expect(problemOf(await desk.ask("POST", `${path}test_delivery/`))[3]).toBe("The subscription is deleted.");
  desk.clock.at = Date.parse("2024-02-01T00:00:00Z");
  expect((await desk.ask("PATCH", path, { deleted: false })).body).toMatchObject({
    deleted: false,
    next_delivery_date: "2024-02-05T09:00:00Z",
  });
  desk.clock.at = Date.parse(deskTime);
});

test("a list is narrowed to an insight or a dashboard, newest first, a page at a time", async () => {
  const own = await addInsight(desk.sql, desk.accounts.project_id);
  const first = await makeOne({ insight: own });
  const second = await makeOne({ insight: own, dashboard });
  const list = async (query: string) => (await desk.ask("GET", `${desk.home}?${query}`)).body;
  const all = await list(`insight=${own}`);
  expect(all).toMatchObject({ count: 2, next: null, previous: null, results: [second, first] });
  const page = await list(`insight=${own}&limit=1`);
  expect([page["count"], page["results"]]).toEqual([2, [second]]);
  expect(page["next"]).toBe(`http://localhost${desk.home}?insight=${own}&limit=1&offset=1`);
  expect((await list(`insight=${own}&dashboard=${dashboard}`))["results"]).toEqual([second]);
  expect((await list("insight=x"))["code"]).toBe("invalid_input");
});

test("PUT needs what has no default, and changes the rest only where it is given", async () => {
  const made = await makeOne({ title: "kept", insight });
  const path = `${desk.home}${String(made["id"])}/`;
  expect(problemOf(await desk.ask("PUT", path, { title: "x" }))[4]).toBe("target_type");
  const put = await desk.ask("PUT", path, { ...required, frequency: "daily" });
  expect(put.body).toMatchObject({ title: "kept", insight, frequency: "daily", summary: "sent every day" });
});

test("a test delivery is listed at once, pending, and there cannot be many", async () => {
  const { id } = await makeOne();
  const path = `${desk.home}${String(id)}/`;
  const asked = await desk.ask("POST", `${path}test_delivery/`);
  expect(asked.status).toBe(201);
  const { body } = await desk.ask("GET", `${path}deliveries/`);
  expect(body).toMatchObject({ count: 1, next: null, previous: null, results: [asked.body] });
  expect(asked.body).toMatchObject({
    status: "pending",
    error: null,
    delivered_at: null,
    test: true,
    attempts: 0,
    due_at: deskTime,
  });
  const statuses = [];
  for (let more = 0; more < 5; more++)
    statuses.push((await desk.ask("POST", `${path}test_delivery/`)).status);
  expect(statuses).toEqual([201, 201, 201, 201, 409]);
});
