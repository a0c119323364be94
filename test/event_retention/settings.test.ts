// The retention of events as operators and administrators of projects say it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { openGate } from "../../src/access/gate.ts";
import { readConfig } from "../../src/config.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { openProblems } from "../../src/http/problem.ts";
import { issueKey } from "../../src/personal_api_keys/store.ts";
import { projectRoutes } from "../../src/projects/operations.ts";
import { addUser, type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";

let accounts: FirstAccounts;
let memberKey: string;
type Asked = { status: number; body: Record<string, unknown> };

beforeAll(async () => {
  accounts = await openFirstAccounts();
  const { sql, organization_id } = accounts;
  const user_id = await addUser(sql, "member@example.com");
  await sql`
    INSERT INTO organization_memberships (organization_id, user_id, level) VALUES (${organization_id}, ${user_id}, 1)`;
  memberKey = (await issueKey(sql, user_id, { label: "member", scopes: ["*"] })).value;
}, startMsMax);

afterAll(() => accounts.close());

/** Asks a server that keeps events for so many days. */
function serverKeeping(eventRetentionDays: number | undefined) {
  const { sql } = accounts;
  const gate = openGate({ sql, clock: systemClock, log: silentLog });
  const room = projectRoutes({ gate, clickhouse: {} as never, sql, eventRetentionDays });
  const app = new Elysia().onError(openProblems({ log: silentLog, routes: () => room.routes })).use(room);
  return async (method: string, body?: unknown, key = accounts.personal_api_key): Promise<Asked> => {
    const path = method === "POST" ? "/api/projects/" : `/api/projects/${accounts.project_id}/`;
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const text = body === undefined ? null : JSON.stringify(body);
    const reply = await app.handle(new Request(`http://localhost${path}`, { method, headers, body: text }));
    return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
  };
}

const daysOf = ({ status, body }: Asked) => [status, body["event_retention_days"]];
const faultOf = ({ status, body }: Asked) => [status, body["code"], body["attr"]];

test("the server's retention is a whole number of days, and off unless set", () => {
  const daysIn = (text?: string) => readConfig({ EVENT_RETENTION_DAYS: text }).eventRetentionDays;
  expect([daysIn(), daysIn(""), daysIn("1"), daysIn("36500")]).toEqual([undefined, undefined, 1, 36_500]);
  for (const wrong of ["0", "-1", "1.5", "36501", "a year"])
    expect(() => daysIn(wrong)).toThrow(
      `EVENT_RETENTION_DAYS: expected a whole number from 1 to 36500, got "${wrong}"`,
    );
});

test("a project's own retention is shown, set and taken back", async () => {
  const ask = serverKeeping(undefined);
  expect(daysOf(await ask("GET"))).toEqual([200, null]);
  expect(daysOf(await ask("PATCH", { event_retention_days: 36_500 }))).toEqual([200, 36_500]);
  expect(daysOf(await ask("PATCH", { name: "Other" }))).toEqual([200, 36_500]);
  expect(daysOf(await ask("PUT", { name: "Other", event_retention_days: 1 }))).toEqual([200, 1]);
  expect(daysOf(await ask("PATCH", { event_retention_days: null }))).toEqual([200, null]);
  expect(daysOf(await ask("POST", { name: "New", event_retention_days: 30 }))).toEqual([201, 30]);
  expect(daysOf(await ask("POST", { name: "Newer" }))).toEqual([201, null]);
});

test("what is no whole number of days from 1 to 36500 is refused", async () => {
  const ask = serverKeeping(undefined);
  const codes: [unknown, string][] = [
    [0, "min_value"],
    [-7, "min_value"],
    [36_501, "max_value"],
    [1.5, "invalid_input"],
    ["soon", "invalid_input"],
    [true, "invalid_input"],
    [[7], "invalid_input"],
  ];
  for (const [event_retention_days, code] of codes)
    for (const method of ["PATCH", "POST"])
      expect(faultOf(await ask(method, { event_retention_days }))).toEqual([
        400,
        code,
        "event_retention_days",
      ]);
  expect(daysOf(await ask("GET"))).toEqual([200, null]);
});

test("a project keeps no longer than its server", async () => {
  const ask = serverKeeping(90);
  for (const method of ["PATCH", "POST"]) {
    const refused = await ask(method, { name: "Long", event_retention_days: 91 });
    expect(faultOf(refused)).toEqual([400, "max_value", "event_retention_days"]);
    expect(refused.body["detail"]).toBe(
      "Ensure this value is less than or equal to 90, the server's own retention.",
    );
  }
  expect(daysOf(await ask("PATCH", { event_retention_days: 90 }))).toEqual([200, 90]);
  // From before the server said less; a reply that is sent back whole is taken.
  const later = serverKeeping(30);
  expect(daysOf(await later("PATCH", (await later("GET")).body))).toEqual([200, 90]);
  expect(daysOf(await later("PATCH", { event_retention_days: null }))).toEqual([200, null]);
});

test("only administrators change what deletes events", async () => {
  const ask = serverKeeping(undefined);
  const refused = await ask("PATCH", { name: "By a member", event_retention_days: 1 }, memberKey);
  expect(faultOf(refused)).toEqual([403, "permission_denied", null]);
  expect((await ask("GET")).body["name"]).not.toBe("By a member");
  expect(daysOf(await ask("PATCH", { name: "By a member", event_retention_days: null }, memberKey))).toEqual([
    200,
    null,
  ]);
});
