// Subscriptions in Postgres: made within the bound, revised under a lock, and left by single recipients.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { Fault } from "../../src/core/fault.ts";
import { createProject } from "../../src/projects/store.ts";
import { findMissing } from "../../src/storage/postgres/rows.ts";
import { subscriptionLimits } from "../../src/subscriptions/limits.ts";
import {
  createSubscription,
  listSubscriptions,
  removeAddress,
  requireSubscription,
  reviseSubscription,
} from "../../src/subscriptions/store.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../support/accounts.ts";

let accounts: FirstAccounts;
let other: number;

beforeAll(async () => {
  accounts = await openFirstAccounts();
  const { sql, organization_id, project_id, user_id } = accounts;
  other = (await createProject(sql, { organization_id, name: "Other", timezone: "UTC" })).id;
  await sql`
    INSERT INTO insights (id, project_id, short_id, query, created_by, last_modified_by, deleted)
    OVERRIDING SYSTEM VALUE VALUES
    (1, ${project_id}, 'aaaaaaaa', '{}', ${user_id}, ${user_id}, false),
    (2, ${project_id}, 'bbbbbbbb', '{}', ${user_id}, ${user_id}, true)`;
}, startMsMax);

afterAll(() => accounts.close());
beforeEach(async () => {
  await accounts.sql`DELETE FROM subscriptions`;
});

const created_at = new Date("2026-03-01T00:00:00Z");
const next_delivery_date = new Date("2026-03-02T09:00:00Z");

async function made(more: object = {}) {
  const { sql, project_id, user_id } = accounts;
  return await createSubscription(sql, {
    project_id,
    user_id,
    created_at,
    next_delivery_date,
    insight: 1,
    dashboard: null,
    target_type: "email",
    target_value: "ann@shop.example,bob@shop.example",
    dashboard_export_insights: [],
    frequency: "daily",
    interval: 1,
    byweekday: null,
    bysetpos: null,
    count: null,
    start_date: "2026-03-01T09:00:00.123456Z",
    until_date: null,
    timezone: null,
    title: "Sales",
    invite_message: null,
    deleted: false,
    ...more,
  } as never);
}
const stored = async (id: number) =>
  await requireSubscription(accounts.sql, {
    project: { id: accounts.project_id },
    params: { id: String(id) },
  });

test("a subscription is shown as it was made, with its schedule in words and nothing of what is internal", async () => {
  const shown = await made();
  expect(shown).toMatchObject({
    insight: 1,
    dashboard: null,
    summary: "sent every day",
    start_date: "2026-03-01T09:00:00.123456Z",
    next_delivery_date: "2026-03-02T09:00:00Z",
    created_by: { id: accounts.user_id },
  });
  expect(shown).not.toHaveProperty("project_id");
  expect(shown).not.toHaveProperty("disabled_at");
});

test("a list has one project's, the newest first, running or paused, and those of one insight", async () => {
  const { sql, project_id } = accounts;
  const [one, two, paused] = [
    await made(),
    await made({ insight: null, dashboard: null }),
    await made({ deleted: true }),
  ];
  const idsOf = async (filter: object) => {
    const { count, rows } = await listSubscriptions(
      sql,
      { project_id, deleted: false, ...filter },
      { limit: 1, offset: 0 },
    );
    return [count, ...rows.map(({ id }) => id)];
  };
  expect(await idsOf({})).toEqual([2, two!.id]);
  expect(await idsOf({ deleted: true })).toEqual([1, paused!.id]);
  expect(await idsOf({ insight: 1 })).toEqual([1, one!.id]);
  expect(await idsOf({ insight: 9 })).toEqual([0]);
  expect(await idsOf({ project_id: other })).toEqual([0]);
});

test("another project's subscription is not found, nor what is no number", async () => {
  const { id } = (await made())!;
  const find = (project: number, name: string) =>
    requireSubscription(accounts.sql, { project: { id: project }, params: { id: name } });
  expect((await stored(id)).id).toBe(id);
  expect(find(other, String(id))).rejects.toBeInstanceOf(Fault);
  expect(find(accounts.project_id, "one")).rejects.toBeInstanceOf(Fault);
  expect(find(accounts.project_id, "99999999999999")).rejects.toBeInstanceOf(Fault);
});

test("what is named must be there, in the project and not deleted", async () => {
  const { sql, project_id } = accounts;
  const missing = (insight: number | null, dashboard: number | null = null, project = project_id) =>
    findMissing(sql, project, { insight, dashboard });
  expect(await missing(1)).toBeUndefined();
  expect(await missing(null)).toBeUndefined();
  expect([await missing(2), await missing(9), await missing(1, null, other), await missing(null, 7)]).toEqual(
    ["insight", "insight", "insight", "dashboard"],
  );
});

test("a project has so many, paused ones too, and another project its own", async () => {
  const { sql, project_id } = accounts;
  await made();
  await sql`
    INSERT INTO subscriptions (project_id, target_type, target_value, frequency, interval, start_date, created_at, deleted, insight_id)
    SELECT ${project_id}, 'email', 'x@shop.example', 'daily', 1, now(), now(), true, 1
    FROM generate_series(2, ${subscriptionLimits.subscriptionsPerProjectMax}::integer)`;
  expect(await made()).toBeUndefined();
  await sql`DELETE FROM subscriptions WHERE id = (SELECT max(id) FROM subscriptions)`;
  expect(await made()).toBeDefined();
});

test("a change enables a disabled one again; one that changes nothing leaves it disabled", async () => {
  const { sql, project_id } = accounts;
  const { id } = (await made())!;
  const disable = () =>
    sql`UPDATE subscriptions SET disabled_at = now(), failures = 5, next_delivery_date = NULL WHERE id = ${id}`;
  await disable();
  await reviseSubscription(sql, project_id, id, () => ({ changes: {}, next: next_delivery_date }));
  expect((await stored(id)).disabled_at).not.toBeNull();
  const changed = await reviseSubscription(sql, project_id, id, ({ title }) => ({
    changes: { title: `${title}!`, dashboard: null },
    next: next_delivery_date,
  }));
  expect(changed).toMatchObject({ title: "Sales!", next_delivery_date: "2026-03-02T09:00:00Z" });
  const [row] = await sql<{ failures: number }[]>`SELECT failures FROM subscriptions WHERE id = ${id}`;
  expect([row?.failures, (await stored(id)).disabled_at]).toEqual([0, null]);
  expect(await reviseSubscription(sql, other, id, () => ({ changes: { title: "theirs" } }))).toBeUndefined();
});

test("two changes at once are decided one after the other", async () => {
  const { sql, project_id } = accounts;
  const { id } = (await made({ title: "" }))!;
  const titles: string[] = [];
  const second = () =>
    reviseSubscription(sql, project_id, id, ({ title }) => {
      titles.push(title!);
      return { changes: { title: `${title}b` } };
    });
  let later: Promise<unknown> | undefined;
  await reviseSubscription(sql, project_id, id, async () => {
    later = second();
    // Until it waits for the lock, or has decided without one.
    while (titles.length === 0 && (await sql`SELECT FROM pg_locks WHERE NOT granted`).length === 0);
    return { changes: { title: "a" } };
  });
  await later;
  expect([titles, (await stored(id)).title]).toEqual([["a"], "ab"]);
});

test("a recipient who leaves is removed, the last one pauses the subscription and can be restored", async () => {
  const { sql } = accounts;
  const { id } = (await made())!;
  expect(await removeAddress(sql, id, "nobody@shop.example")).toBe(false);
  expect(await removeAddress(sql, id, "ANN@shop.example")).toBe(true);
  expect(await stored(id)).toMatchObject({ target_value: "bob@shop.example", deleted: false });
  expect(await removeAddress(sql, id, "bob@shop.example")).toBe(true);
  expect(await stored(id)).toMatchObject({ target_value: "bob@shop.example", deleted: true });
  const hook = (await made({ target_type: "webhook", target_value: "https://a.example/" }))!;
  expect(await removeAddress(sql, hook.id, "https://a.example/")).toBe(false);
});
