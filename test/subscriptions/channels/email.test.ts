import { afterAll, expect, test } from "bun:test";
import { emailHtml, writeSubject } from "../../../src/subscriptions/channels/email.ts";
import { emailText } from "../../../src/subscriptions/channels/email_text.ts";
import { slackBody, webhookBody } from "../../../src/subscriptions/channels/message.ts";
import type { Report } from "../../../src/subscriptions/report/model.ts";
import { makeReport } from "../../../src/subscriptions/report/report.ts";
import { noBrowser, openBrowser, openSite, visit } from "../../support/browser.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { readerOf, signUps } from "../../support/subscriptions.ts";

afterAll(cleanUp);

const links = {
  view: "https://x.example/view",
  unsubscribe: "https://x.example/leave",
  chart: () => "cid:chart0",
};

async function reportOf(text: string): Promise<Report> {
  const results = [
    {
      label: text,
      labels: [text, text],
      days: ["2024-01-14", "2024-01-15"],
      data: [1, 22_000],
      count: 22_001,
    },
  ];
  return await makeReport(
    readerOf([
      { ...signUps, name: text, results },
      { ...signUps, error: text },
    ]),
    {
      project_id: 1,
      dashboard_id: 1,
      insight_id: null,
      dashboard_export_insights: [],
      title: text,
      invite_message: text,
      due_at: new Date("2024-01-15T09:00:00Z"),
      before: null,
      frequency: "weekly",
      interval: 1,
      byweekday: null,
      bysetpos: null,
      timezone: null,
    },
  );
}

const hostile = `<img src=x onerror=alert(1)>"'&</title></td><script>alert(2)</script>`;

test("a letter says it all in plain text, in columns", async () => {
  expect(emailText(await reportOf("Numbers"), links)).toBe(`Numbers
=======

Board
15 January 2024, sent every week

Numbers

Numbers
-------
2024-01-13 to 2024-01-15, by day
Numbers: 22,001

Date     Numbers
-------  -------
Numbers   22,000
Numbers        1

Sign-ups
--------
2024-01-13 to 2024-01-15, by day
Numbers

View in browser: https://x.example/view

Unsubscribe from this report: https://x.example/leave
`);
});

test("what users write is text in the letter, whatever they write", async () => {
  const html = emailHtml(await reportOf(hostile), links);
  expect(html).not.toMatch(/<script|<img src=x|onerror=alert\(1\)>/);
  expect(html.match(/<img /g)).toHaveLength(2);
  const text = emailText(await reportOf("two\r\nlines\u2028and\u0000more"), links);
  expect(text).toContain("two lines and more\n====");
});

test("a subject is one line", async () => {
  const report = await reportOf("one\r\nBcc: x@example.com\u0085\u2028");
  expect(writeSubject(report, true)).toBe("[Test] one Bcc: x@example.com , 15 January 2024");
});

test("a webhook gets the numbers, and pictures it need not fetch", async () => {
  const facts = {
    delivery_id: 1,
    delivery_uuid: "u",
    subscription_id: 2,
    project_id: 3,
    insight: null,
    dashboard: 4,
    due_at: "2024-01-15T09:00:00Z",
    test: false,
    view_url: links.view,
  };
  const report = await reportOf("Numbers");
  const body = webhookBody(report, facts, (i) => (i === 0 ? new Uint8Array([1, 2, 3]) : undefined));
  expect(body).toMatchObject({
    type: "subscription.delivery",
    ...facts,
    title: "Numbers",
    insights_left_out: 0,
  });
  expect(body["insights"]).toMatchObject([
    {
      id: 1,
      name: "Numbers",
      figures: [{ label: "Numbers", value: 22_001, before: null }],
      table: { columns: ["Date", "Numbers"] },
      image: { content_type: "image/png", encoding: "base64", data: "AQID" },
    },
    { error: "Numbers", image: null },
  ]);
});

test("Slack gets blocks within its bounds, and no mention can be forged", async () => {
  const report = await reportOf("<!channel> & <https://evil.example|click>");
  const body = slackBody(report, links.view, (i) => (i === 0 ? "https://x.example/chart" : undefined));
  // Slack reads its own marks in texts of this kind and in the message's, not in plain ones.
  const marked = JSON.stringify(body).match(/"mrkdwn","text":"(?:[^"\\]|\\.)*"/g) ?? [];
  const text = [body["text"], ...marked].join("\n");
  expect(text).not.toContain("<!channel>");
  expect(text).toContain("&lt;!channel&gt; &amp;");
  const blocks = body["blocks"] as { type: string; image_url?: string }[];
  expect(blocks[0]?.type).toBe("header");
  expect(blocks.filter(({ type }) => type === "image")).toMatchObject([
    { image_url: "https://x.example/chart" },
  ]);
  const big = { ...report, sections: Array.from({ length: 60 }, () => report.sections[0]!) };
  expect((slackBody(big, links.view, () => "https://x.example/chart")["blocks"] as unknown[]).length).toBe(
    50,
  );
});

test.skipIf(noBrowser)(
  "a browser shows the letter: nothing runs, nothing is cut, wide or narrow",
  async () => {
    const pixel =
      "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const html = emailHtml(await reportOf(hostile), { ...links, chart: () => pixel });
    const { url } = openSite({ "/": html, "/favicon.ico": "" });
    const { page, complaints } = await visit(await openBrowser(), url);
    expect(await page.title()).toBe(hostile);
    expect(await page.locator("h1").textContent()).toBe(hostile);
    expect(await page.locator("td").last().isVisible()).toBe(true);
    expect(await page.locator("a", { hasText: "View in browser" }).getAttribute("href")).toBe(links.view);
    for (const width of [800, 375]) {
      await page.setViewportSize({ width, height: 800 });
      const wide: number = await page.evaluate("document.documentElement.scrollWidth");
      expect(wide).toBeLessThanOrEqual(width);
    }
    expect(complaints).toEqual([]);
  },
  300_000,
);
