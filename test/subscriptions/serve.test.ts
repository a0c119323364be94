// Subscriptions as their users meet them: a server of its own, real events, a real mailbox, a real listener.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { subscriptionLimits } from "../../src/subscriptions/limits.ts";
import { ask } from "../support/ask.ts";
import { noBrowser, openBrowser, openSite, visit } from "../support/browser.ts";
import { cleanUp } from "../support/cleanup.ts";
import { type MailSink, openMailSink } from "../support/mail.ts";
import {
  metric,
  post,
  projectKey,
  rested,
  type Server,
  startServer,
  storesOf,
  until,
} from "../support/server.ts";
import { openWebSink, type WebSink } from "../support/web_sink.ts";

let server: Server;
let mail: MailSink;
let web: WebSink;
let insight: number;
let dashboard: number;

const home = "/api/projects/1";

beforeAll(async () => {
  mail = await openMailSink();
  web = openWebSink();
  server = await startServer({
    SMTP_URL: mail.url,
    EMAIL_FROM: "Sluice <reports@sluice.example>",
    ALLOW_PRIVATE_DESTINATIONS: "1",
  });
  const batch = Array.from({ length: 400 }, (_, i) => ({
    event: i % 3 === 0 ? "paid" : "signed up",
    distinct_id: `d${i % 90}`,
    timestamp: new Date(Date.now() - (i % 20) * 86_400_000).toISOString(),
    properties: { plan: i % 2 === 0 ? "free" : "<b>team</b>" },
  }));
  await (await post(server, "/batch/", { api_key: projectKey, batch })).arrayBuffer();
  await rested(server);
  const make = async (path: string, body: unknown): Promise<number> => {
    const made = await ask(server, "POST", `${home}/${path}/`, body);
    if (made.status !== 201) throw new Error(made.text);
    return made.body["id"] as number;
  };
  dashboard = await make("dashboards", { name: "Company <board>" });
  const queries = [
    {
      kind: "TrendsQuery",
      series: [{ event: "signed up" }],
      dateRange: { date_from: "-30d" },
      breakdownFilter: { breakdown: "plan", breakdown_type: "event" },
    },
    {
      kind: "FunnelsQuery",
      series: [{ event: "signed up" }, { event: "paid" }],
      dateRange: { date_from: "-30d" },
    },
    {
      kind: "RetentionQuery",
      retentionFilter: {
        period: "Day",
        totalIntervals: 7,
        targetEntity: { id: "signed up", type: "events" },
        returningEntity: { id: "signed up", type: "events" },
      },
    },
    { kind: "EventsQuery", select: ["event", "distinct_id", "timestamp"] },
  ];
  const ids: number[] = [];
  for (const query of queries)
    ids.push(await make("insights", { name: `The ${query.kind}`, query, dashboards: [dashboard] }));
  insight = ids[0]!;
});

afterAll(cleanUp);

async function subscribe(fields: Record<string, unknown>): Promise<string> {
  const input = { frequency: "daily", start_date: "2024-01-01T09:00:00Z", ...fields };
  const made = await ask(server, "POST", `${home}/subscriptions/`, input);
  if (made.status !== 201) throw new Error(made.text);
  return `${home}/subscriptions/${String(made.body["id"])}`;
}

async function lastDelivery(path: string): Promise<Record<string, unknown> | undefined> {
  const { body } = await ask(server, "GET", `${path}/deliveries/`);
  return (body["results"] as Record<string, unknown>[])[0];
}

test("a dashboard arrives by e-mail, of all kinds, and a browser shows it", async () => {
  const fields = {
    target_type: "email",
    target_value: "reader@example.com",
    title: "Weekly numbers",
    dashboard,
  };
  const path = await subscribe({ ...fields, invite_message: "Hello Ada" });
  expect((await ask(server, "POST", `${path}/test_delivery/`)).status).toBe(201);
  await until(async () => (await lastDelivery(path))?.["status"] !== "pending");
  expect(await lastDelivery(path)).toMatchObject({ status: "delivered", error: null, test: true });
  const email = mail.received[0]!.mail;
  expect(email.subject).toStartWith("[Test] Weekly numbers, ");
  for (const name of ["TrendsQuery", "FunnelsQuery", "RetentionQuery", "EventsQuery"]) {
    expect(email.text).toContain(`The ${name}`);
  }
  expect(email.text).not.toContain("There is nothing in this time.");
  expect(email.html).toContain("&lt;b&gt;team&lt;/b&gt;");
  expect(email.attachments.map(({ mimeType }) => mimeType)).toEqual(Array(3).fill("image/png"));
  const [link = ""] = /http\S+\/subscriptions\/report\/[\w-]+/.exec(email.text ?? "") ?? [];
  expect(link).toStartWith(server.url);
  expect((await fetch(link)).status).toBe(200);
  if (noBrowser) return;
  let html = email.html ?? "";
  for (const { contentId, content } of email.attachments) {
    const data = Buffer.from(content as ArrayBuffer).toString("base64");
    html = html.replaceAll(`cid:${contentId?.slice(1, -1)}`, `data:image/png;base64,${data}`);
  }
  const browser = await openBrowser();
  const mailed = await visit(browser, openSite({ "/": html, "/favicon.ico": "" }).url);
  const paged = await visit(browser, link);
  for (const { page } of [mailed, paged]) {
    const widths: unknown = await page.evaluate("[...document.images].map((one) => one.naturalWidth)");
    expect(widths).toEqual([1200, 1200, 1200]);
    expect(await page.locator("h2").count()).toBe(4);
  }
  expect(mailed.complaints).toEqual([]);
});

test("a webhook gets the numbers and the picture when its date comes, within ten seconds", async () => {
  const path = await subscribe({ target_type: "webhook", target_value: `${web.url}/hook`, insight });
  const { sql } = await storesOf(server);
  const due = Date.now();
  await sql`UPDATE subscriptions SET next_delivery_date = ${new Date(due)} WHERE target_type = 'webhook'`;
  await until(() => Promise.resolve(web.posted.length > 0));
  await until(async () => (await lastDelivery(path))?.["status"] === "delivered");
  // Nobody told it that something is due: it looked by itself, as often as that takes.
  expect(subscriptionLimits.deliveryPollMs).toBeLessThanOrEqual(5000);
  const { created_at } = (await lastDelivery(path)) ?? {};
  expect(Date.parse(created_at as string)).toBeGreaterThanOrEqual(due);
  const { body } = web.posted[0]!;
  expect(body).toMatchObject({ type: "subscription.delivery", insight, project_id: 1, test: false });
  const [section] = body["insights"] as { figures: { value: number }[]; image: { data: string } }[];
  // Both plans together, as on the page.
  expect(section?.figures.map(({ value }) => value)).toEqual([266]);
  expect(Buffer.from(section?.image.data ?? "", "base64").toString("latin1", 1, 4)).toBe("PNG");
  expect(await metric(server, 'sluice_subscription_deliveries_total{status="delivered"}')).toBeGreaterThan(0);
});

test("Slack gets blocks whose pictures open; a channel says what it would need", async () => {
  const before = web.posted.length;
  const path = await subscribe({ target_type: "slack", target_value: `${web.url}/services/T/B/x`, insight });
  await ask(server, "POST", `${path}/test_delivery/`);
  await until(async () => (await lastDelivery(path))?.["status"] === "delivered");
  const { blocks, text } = web.posted[before]!.body as {
    blocks: { type: string; image_url?: string }[];
    text: string;
  };
  expect(text).toContain("The TrendsQuery");
  const image = blocks.find(({ type }) => type === "image");
  const picture = await fetch(image?.image_url ?? "");
  expect([picture.status, picture.headers.get("content-type")]).toEqual([200, "image/png"]);
  const { sql } = await storesOf(server);
  // As one that was made before channels were refused.
  const channel = await subscribe({
    target_type: "slack",
    target_value: `${web.url}/services/T/B/y`,
    insight,
  });
  const id = Number(channel.split("/").filter(Boolean).at(-1));
  await sql`UPDATE subscriptions SET target_value = 'C123|#general' WHERE id = ${id}`;
  await ask(server, "POST", `${channel}/test_delivery/`);
  await until(async () => (await lastDelivery(channel))?.["status"] === "failed");
  expect((await lastDelivery(channel))?.["error"]).toContain("set target_value to the URL of one");
});

test("a listener that fails once gets it again within half a minute", async () => {
  let answers = 0;
  web.answer = () => new Response(null, { status: answers++ === 0 ? 500 : 200 });
  const path = await subscribe({ target_type: "webhook", target_value: `${web.url}/again`, insight });
  await ask(server, "POST", `${path}/test_delivery/`);
  await until(async () => (await lastDelivery(path))?.["status"] === "retrying");
  await until(async () => (await lastDelivery(path))?.["status"] === "delivered");
  expect(answers).toBe(2);
});
