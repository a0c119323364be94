// Channels of visits as strangers expect them. Each case names the public threads that it stands for.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { post, projectKey, rested } from "../support/server.ts";

const visits = [
  // PostHog/posthog#24080: a source that is not known does not hide the referrer.
  ["utm_source=issue-42", "www.google.com", "Organic Search"],
  ["utm_source=spring&utm_campaign=may", "l.facebook.com", "Organic Social"],
  ["utm_source=issue-42", "blog.example.org", "Referral"],
  // PostHog/posthog#56995: "cp" inside of a medium is no payment.
  ["utm_medium=mcp", "$direct", "Direct"],
  ["utm_medium=mcp-docs", "partner.example", "Referral"],
  ["utm_source=google&utm_medium=cpc", "www.google.com", "Paid Search"],
  ["utm_source=news&utm_medium=ppc", "$direct", "Paid Unknown"],
  ["utm_source=facebook&utm_medium=paid-social", "l.facebook.com", "Paid Social"],
  // PostHog/posthog#86141: Facebook's app sends no referrer.
  ["fbclid=IwAR1", "$direct", "Organic Social"],
  ["gclid=abc", "www.google.com", "Paid Search"],
  // umami-software/umami#3264, #4297.
  ["", "$direct", "Direct"],
  ["", "www.google.com", "Organic Search"],
  ["", "blog.example.org", "Referral"],
  ["utm_source=newsletter&utm_medium=email", "www.google.com", "Email"],
  ["utm_medium=push", "$direct", "Push"],
  ["utm_source=google&utm_medium=cpc&utm_campaign=cross-network-q1", "www.google.com", "Cross Network"],
  ["", undefined, "Unknown"],
  // PostHog's test_channel_type.py: a source that is not known leaves a visit without a referrer direct.
  ["utm_source=what&utm_medium=who&utm_campaign=slim+shady", "$direct", "Direct"],
  ["utm_medium=ppc", "www.ebay.co.uk", "Paid Shopping"],
  ["utm_campaign=shopping&utm_medium=ppc", undefined, "Paid Shopping"],
  ["utm_source=yahoo&utm_medium=ppc", undefined, "Paid Search"],
  ["utm_medium=cpc", "youtube.com", "Paid Video"],
  ["", "youtube.com", "Organic Video"],
  ["gad_source=1", "$direct", "Paid Search"],
  ["gad_source=5", "partner.example", "Paid Unknown"],
  ["gclid=EA", "x.safeframe.googlesyndication.com", "Paid Unknown"],
  ["utm_source=Facebook&utm_medium=Paid", undefined, "Paid Social"],
  ["utm_source=substack&utm_medium=email", "bing.com", "Email"],
  ["utm_source=Foo&utm_medium=partnership", "foo.com", "Affiliate"],
  ["utm_medium=in-product", "news.ycombinator.com", "Organic Social"],
  ["utm_source=plus.google.com", "$direct", "Organic Social"],
  ["", "plus.google.com", "Organic Social"],
  ["", "com.google.android.gm", "Email"],
  ["", "mail.google.com", "Email"],
  ["utm_medium=cpc&utm_campaign=spring+video", "$direct", "Paid Video"],
  ["utm_source=null&utm_medium=null&utm_campaign=null&gclid=null&gad_source=null", "$direct", "Direct"],
] as const;

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  const at = Date.UTC(2024, 2, 4, 10);
  const batch = visits.map(([query, domain], i) => ({
    event: "$pageview",
    distinct_id: `user-${String(i).padStart(2, "0")}`,
    timestamp: new Date(at + i * 600_000).toISOString(),
    properties: {
      $session_id: `0188f0a0-0000-7000-8000-0000000000${String(i).padStart(2, "0")}`,
      $current_url: `https://a.test/?${query}`,
      ...(domain !== undefined && { $referring_domain: domain }),
      ...Object.fromEntries(new URLSearchParams(query)),
    },
  }));
  await post({ url: app.url }, "/batch/", { api_key: projectKey, batch, historical_migration: true });
  await rested({ url: app.url });
}, startMsMax);
afterAll(cleanUp, startMsMax);

test("a visit's channel is what its campaign says, then its referrer", async () => {
  const query = "select distinct_id, $channel_type from sessions order by distinct_id";
  const { body } = await ask(app, "POST", "/api/projects/1/query/", {
    query: { kind: "HogQLQuery", query },
    refresh: "force_blocking",
  });
  const channels = (body["results"] as string[][]).map(([, channel]) => channel);
  expect(visits.map(([search, domain], i) => [search, domain, channels[i]])).toEqual(
    visits.map(([search, domain, channel]) => [search, domain, channel]),
  );
});
