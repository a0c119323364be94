// What listeners and mail servers answer, however hostile: a delivery comes to its end, and its error holds no secret.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { startMsMax } from "../../support/accounts.ts";
import { cleanUp } from "../../support/cleanup.ts";
import {
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
let web: WebSink;
let work: Delivering;
let insight: number;

beforeAll(async () => {
  desk = await openSubscriptionDesk(true);
  web = openWebSink();
  work = openDelivering(desk);
  insight = await addInsight(desk.sql, desk.accounts.project_id);
}, startMsMax);

afterAll(cleanUp, startMsMax);

beforeEach(async () => {
  await desk.sql`DELETE FROM subscriptions`;
  await refuse("false");
  desk.clock.at = Date.parse(deskTime);
  web.posted.length = 0;
  web.answer = () => new Response("ok");
});

/** Writes of deliveries are refused by the store as long as `sql` says so of the row that is to be written. */
async function refuse(sql: string): Promise<void> {
  await desk.sql.unsafe(`
    CREATE OR REPLACE FUNCTION refuse_write() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF ${sql} THEN RAISE EXCEPTION 'cannot be stored'; END IF; RETURN NEW; END $$;
    CREATE OR REPLACE TRIGGER refuse_write BEFORE UPDATE ON subscription_deliveries
    FOR EACH ROW EXECUTE FUNCTION refuse_write();`);
}

/** A subscription whose first delivery is due now. */
async function due(target_value: string): Promise<number> {
  const made = await desk.make({ insight, frequency: "daily", target_type: "webhook", target_value });
  if (made.status !== 201) throw new Error(made.text);
  desk.clock.at = Date.parse("2024-01-16T09:00:00Z");
  return made.body["id"] as number;
}

async function deliveryOf(id: number): Promise<Record<string, unknown>> {
  const { body } = await desk.ask("GET", `${desk.home}${id}/deliveries/`);
  return (body["results"] as Record<string, unknown>[])[0]!;
}

test("an answer with a NUL is reported with U+FFFD in its place", async () => {
  web.answer = () => new Response("go\0ne\u001b[2J", { status: 410 });
  const id = await due(`${web.url}/hook`);
  await work.turn();
  expect(await deliveryOf(id)).toMatchObject({
    status: "failed",
    error: `${new URL(web.url).host} answered 410: go\uFFFDne\uFFFD[2J`,
  });
  expect(web.posted.length).toBe(1);
});

test("what of a listener's address is secret is not repeated after it", async () => {
  const step = "XXXXXXXXsecretXXXXXXXXXX";
  web.answer = () =>
    new Response(`no /services/T0/${step} and no ${btoa(step)}, key%20of%20it`, { status: 410 });
  const id = await due(`${web.url}/services/T0/${step}?key=${encodeURIComponent("key of it")}`);
  await work.turn();
  const { error } = await deliveryOf(id);
  expect(error).toContain("answered 410: no /services/T0/[hidden] and no [hidden]");
  expect(error).not.toMatch(/secret|key%20of%20it/);
});

test("a label with a NUL is stored, and delivered once", async () => {
  const odd = structuredClone(signUps) as typeof signUps & { name: string };
  const named = { ...odd, name: "odd \0 \ud800 name" };
  const other = openDelivering(desk, { reader: readerOf([named]) });
  const id = await due(`${web.url}/hook`);
  await other.turn();
  expect(await deliveryOf(id)).toMatchObject({ status: "delivered", error: null });
  expect(web.posted.length).toBe(1);
});

test("an error that cannot be stored is stored without its words, and nothing is sent twice", async () => {
  web.answer = () => new Response("odd", { status: 410 });
  await refuse("NEW.error LIKE '%odd%'");
  const id = await due(`${web.url}/hook`);
  await work.turn();
  expect(await deliveryOf(id)).toMatchObject({
    status: "failed",
    error: "The delivery failed, and why could not be stored.",
  });
  expect(web.posted.length).toBe(1);
});

test("a delivery whose attempts keep breaking off is given up, and never sent", async () => {
  await refuse("NEW.report IS NOT NULL AND OLD.report IS NULL");
  const id = await due(`${web.url}/hook`);
  for (let turn = 0; turn < 8; turn++) {
    await work.turn();
    desk.clock.at += 61_000;
  }
  const delivery = await deliveryOf(id);
  expect([delivery["status"], delivery["error"]]).toEqual([
    "failed",
    "Stopped after 6 interrupted attempts.",
  ]);
  expect(web.posted.length).toBe(0);
});
