// What SDKs, phones and proxies bring, each line with its public thread or file; inputs are ours.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { brotliCompressSync, deflateRawSync, gzipSync, zstdCompressSync } from "node:zlib";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { milliseconds, openImports } from "../support/imports.ts";
import { projectKey } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
}, startMsMax);
afterAll(cleanUp, startMsMax);

type Answer = Record<string, unknown>;
const moment = "2024-05-06T08:11:12.000Z";
const momentMs = Date.parse(moment);
const { sql, eventsOf, importRows } = openImports(() => app);

async function post(path: string, body: string | Uint8Array, headers: Record<string, string> = {}) {
  const sent = { "content-type": "application/json", ...headers };
  return await fetch(`${app.url}${path}`, { method: "POST", body: body as string, headers: sent });
}

async function send(events: readonly unknown[]): Promise<Answer> {
  const texts = events.map((event) => (typeof event === "string" ? event : JSON.stringify(event)));
  const reply = await post("/batch/?verbose=1", `{"api_key":"${projectKey}","batch":[${texts.join(",")}]}`);
  expect(reply.status).toBe(200);
  return (await reply.json()) as Answer;
}

/** The thread, what it writes, and how many ms behind the moment that is. */
const written: [thread: string, timestamp: unknown, ms: number][] = [
  ["segmentio/analytics-swift#75", "2024-05-06T08:11:12.029:Z", 29],
  ["tiktok/tiktok-business-ios-sdk#66", "2024-05-06T8:11:12 AMZ", 0],
  ["tiktok/tiktok-business-ios-sdk#67", "2024-05-06T3:11:12 PMZ", 25_200_000],
  ["ushahidi/Ushahidi_Android#83", "2024/05/06 上午08:11:12", 0],
  ["PlayFab/UnitySDK#219", "2024-05-06T08.11.12.988Z", 988],
  ["grafana/grafana#130134", "2024-05-06 11:41:12 +0330 +0330", 0],
  ["araddon/dateparse#57", "2024-05-06 08:11:12.123456789 +0000 UTC m=+0.000000001", 123],
  ["google/starlark-go#524", "2024-05-06 10:11:12.35 +0200 CEST m=+210.079650729", 350],
  ["golang/go#20876", "2024-05-06 01:11:12.969388848 -0700 PDT", 969],
  ["wvanbergen/request-log-analyzer#77", "Mon May 06 01:11:12 -0700 2024", 0],
  ["adzap/timeliness#15", "2024-05-06 08:11:12 +0000", 0],
  ["schappim/ekctl#8", "2024-05-06T8:11:12+00:00", 0],
  ["aliyun/aliyun-openapi-python-sdk#313", "Mon, 06 May 2024 08:11:12 AM GMT", 0],
  ["stac-utils/stac-api-validator#35", "2024-05-06T08:11:12,123Z", 123],
  ["bitwalker/timex#182", "Mon, 06 May 2024 08:11:12 Z", 0],
  ["tloncorp/tlon-apps#4849", 1714983072.5, 500],
  ["airbytehq/airbyte#12953", "202405060811", -12_000],
  ["log2timeline/dfdatetime#207", "638505798720000000", 0],
  ["Azure/amqpnetlite#434", "133594566720000000", 0],
  ["Tangerine-Community/Tangerine-legacy#116", "1.714983072E+12", 0],
];

test("times as programs and phones write them are those times, in /batch and in a file", async () => {
  const events = (of: string) =>
    written.map(([thread, timestamp]) => ({
      event: "t",
      distinct_id: of,
      timestamp,
      properties: { thread },
    }));
  await send(events("written"));
  await importRows(events("written-file"));
  const expected = written.map(([thread, , ms]) => [thread, momentMs + ms]);
  for (const of of ["written", "written-file"]) {
    const rows = await eventsOf(of, `properties.thread, ${milliseconds}`);
    const found = new Map(rows.map(([thread, time]) => [thread, Number(time)]));
    expect(expected.map(([thread]) => [thread, found.get(thread)])).toEqual(expected);
  }
});

// medizininformatik-initiative/fts-next#1654, mongo-express/mongo-express#422, dalenguyen/firestore-import-export#23.
test("a time that is a list or an object is the arrival, with a warning", async () => {
  const times = [[2024, 5, 6, 8, 11, 12], { $date: moment }, { _seconds: 1714983072, _nanoseconds: 0 }];
  const answer = await send(times.map((timestamp) => ({ event: "t", distinct_id: "boxed", timestamp })));
  expect(answer).toMatchObject({ accepted: 3, warnings_by_reason: { ignored_invalid_timestamp: 3 } });
  const rows = await eventsOf("boxed", milliseconds);
  expect(rows.map(([time]) => Date.now() - Number(time) < 600_000)).toEqual([true, true, true]);
});

const body = (id: string) => JSON.stringify({ api_key: projectKey, event: "w", distinct_id: id });
const encodings: [thread: string, (text: string) => string | Uint8Array, Record<string, string>][] = [
  ["RFC 9110 8.4", gzipSync, { "content-encoding": "GZIP" }],
  ["RFC 9110 8.4.1.3", gzipSync, { "content-encoding": "x-gzip" }],
  ["cloudflare/vinext#2986", (text) => gzipSync(gzipSync(text)), { "content-encoding": "gzip, gzip" }],
  ["RFC 9110 12.5.3", (text) => text, { "content-encoding": "identity" }],
  ["zyycn/codex-proxy-rs#66", zstdCompressSync, { "content-encoding": "zstd" }],
  ["rust/capture v1 header.rs", brotliCompressSync, { "content-encoding": "br" }],
  ["madler/zlib#773", deflateRawSync, { "content-encoding": "deflate" }],
  ["PostHog/posthog#855", (text) => gzipSync(`\ufeff${text}`), { "content-encoding": "gzip" }],
  ["rust/common/types event.rs", (text) => text.replace("api_key", "$token"), {}],
  [
    "home-assistant/core#108712",
    (text) => text,
    { "x-forwarded-for": "unknown, [2001:db8::1]:4711, 1.2.3.4:80" },
  ],
];

test("what proxies and SDKs pack and forward is stored once", async () => {
  for (const [i, [thread, pack, headers]] of encodings.entries())
    expect([thread, (await post("/e/", pack(body(`packed-${i}`)), headers)).status]).toEqual([thread, 200]);
  const rows = await sql(
    "SELECT distinct_id, count() FROM events WHERE startsWith(distinct_id, 'packed-') GROUP BY 1 ORDER BY 1",
  );
  expect(rows).toEqual(encodings.map((_, i) => [`packed-${i}`, 1]));
});

// rust/capture/src/v1/analytics/types.rs: padded ids are one person, flags are numbers and words.
test("v1 takes ids without the blanks around them, and flags in any spelling", async () => {
  const at = new Date(Date.now() - 60_000).toISOString();
  const event = (uuid: string, distinct_id: string, more: object) => ({
    event: "v",
    uuid,
    distinct_id,
    timestamp: at,
    properties: {},
    ...more,
  });
  const uuids = [crypto.randomUUID(), crypto.randomUUID()];
  const batch = [
    event(` ${uuids[0]} `, " padded\n", { options: { process_person_profile: " False " } }),
    event(uuids[1]!, "\tpadded ", { options: { disable_skew_correction: 2, product_tour_id: 7 } }),
  ];
  const text = JSON.stringify({ created_at: at, batch });
  const reply = await post("/i/v1/analytics/events", text, { authorization: `Bearer ${projectKey}` });
  const { results } = (await reply.json()) as { results: unknown };
  expect(results).toEqual(Object.fromEntries(uuids.map((uuid) => [uuid, { result: "ok" }])));
  const tours = await eventsOf("padded", "properties.$process_person_profile, properties.$product_tour_id");
  expect(tours.toSorted()).toEqual([
    [null, "7"],
    ["false", null],
  ]);
});

// PostHog/posthog#44194: keys that come twice at the top, and the names of JavaScript's objects.
test("of members that come twice the last counts, and no name of a property is special", async () => {
  await send([
    `{"event":"a","event":"b","distinct_id":"x","distinct_id":"top","timestamp":"2020-01-01","timestamp":"${moment}"}`,
    `{"event":"c","distinct_id":"top","timestamp":"${moment}","properties":{"__proto__":{"a":1},"constructor":2,"":3}}`,
  ]);
  const rows = await eventsOf("top", `event, ${milliseconds}, properties`);
  const properties = '{"__proto__":{"a":1},"constructor":2,"":3}';
  expect(rows).toEqual([
    ["b", momentMs, "{}"],
    ["c", momentMs, properties],
  ]);
});
