import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../../support/accounts.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { type MailSink, openMailSink } from "../../support/mail.ts";
import {
  addInsight,
  type Delivering,
  openDelivering,
  openSubscriptionDesk,
  type SubscriptionDesk,
} from "../../support/subscriptions.ts";

let desk: SubscriptionDesk;
let mail: MailSink;
let work: Delivering;
let id: number;

beforeAll(async () => {
  desk = await openSubscriptionDesk();
  mail = await openMailSink();
  work = openDelivering(desk, { smtpUrl: mail.url });
  const insight = await addInsight(desk.sql, desk.accounts.project_id);
  const made = await desk.make({ insight, frequency: "daily", target_value: "a@example.com, B@example.com" });
  id = made.body["id"] as number;
  await desk.ask("POST", `${desk.home}${id}/test_delivery/`);
  await work.turn();
}, startMsMax);

afterAll(cleanUp, startMsMax);

const links = (kind: string): string[] =>
  mail.received.map(
    ({ mail: { text = "" } }) =>
      new RegExp(`http://localhost/subscriptions/${kind}/[\\w-]+`).exec(text)?.[0] ?? "",
  );

async function target(): Promise<unknown[]> {
  const { body } = await desk.ask("GET", `${desk.home}${id}/`);
  return [body["target_value"], body["deleted"]];
}

test("the report opens as a page without external requests, with its chart", async () => {
  const reply = await work.open(links("report")[0]!);
  const html = await reply.text();
  expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(reply.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(html).toContain("Sign-ups");
  expect(html).not.toContain("unsubscribe");
  const [, chart = ""] = /<img src="\.\.\/(chart\/[\w-]+)"/.exec(html) ?? [];
  const picture = await work.open(`http://localhost/subscriptions/${chart}`);
  expect([picture.status, picture.headers.get("content-type")]).toEqual([200, "image/png"]);
  expect(new Uint8Array(await picture.arrayBuffer()).length).toBeGreaterThan(5000);
});

test("looking at the way out takes nobody off; going through does, one by one", async () => {
  const [first, second] = links("unsubscribe");
  const asked = await (await work.open(first!)).text();
  expect(asked).toContain("a@example.com");
  expect(asked).toContain('<form method="post">');
  expect(await target()).toEqual(["a@example.com, B@example.com", false]);
  const one = await work.open(first!, "POST");
  expect(await one.text()).toContain("no longer sent to a@example.com");
  expect(await target()).toEqual(["B@example.com", false]);
  expect((await work.open(first!, "POST")).status).toBe(200);
  expect(await target()).toEqual(["B@example.com", false]);
  await work.open(second!, "POST");
  expect(await target()).toEqual(["B@example.com", true]);
});

test("a link that was changed, belongs elsewhere or is too old opens nothing", async () => {
  const report = links("report")[0]!;
  const token = report.split("/").at(-1)!;
  const flipped = `${token.slice(0, -3)}${token.at(-3) === "A" ? "B" : "A"}${token.slice(-2)}`;
  const others = [flipped, token.slice(0, -8), "", "x", "%00", "a".repeat(5000), `${token}.`];
  for (const other of others) {
    for (const [kind, method] of [
      ["report", "GET"],
      ["chart", "GET"],
      ["unsubscribe", "GET"],
      ["unsubscribe", "POST"],
    ]) {
      const reply = await work.open(`http://localhost/subscriptions/${kind}/${other}`, method!);
      expect([kind, other.slice(0, 20), reply.status]).toEqual([kind, other.slice(0, 20), 404]);
    }
  }
  for (const kind of ["chart", "unsubscribe"]) {
    expect((await work.open(`http://localhost/subscriptions/${kind}/${token}`)).status).toBe(404);
  }
  expect((await work.open(report)).status).toBe(200);
  desk.clock.at += 181 * 86_400_000;
  expect((await work.open(report)).status).toBe(404);
});
