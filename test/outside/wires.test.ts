// Requests as strangers' SDKs, proxies and browsers put them on the wire; each line names the public thread that it
// stands for. Inputs are our own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { deflateSync, gzipSync } from "node:zlib";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { projectKey } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
}, startMsMax);
afterAll(cleanUp, startMsMax);

const sent: Record<string, unknown>[] = [];
const makeEvent = (fields: object = {}) => {
  const event = { event: "wire", distinct_id: `wire-${sent.length}`, ...fields };
  sent.push(event);
  return event;
};
const inBatch = (fields: object = {}, envelope: object = {}) =>
  JSON.stringify({ api_key: projectKey, batch: [makeEvent(fields)], ...envelope });
const alone = (fields: object = {}) => JSON.stringify({ api_key: projectKey, ...makeEvent(fields) });
const followed = (junk: string) => Buffer.concat([gzipSync(inBatch()), Buffer.from(junk, "latin1")]);

type Sending = [
  thread: string,
  path: string,
  make: () => string | Uint8Array,
  headers?: Record<string, string>,
];
const json = { "content-type": "application/json" };
const zipped = { ...json, "content-encoding": "gzip" };
const beacon = { "content-type": "text/plain;charset=UTF-8" };
const form = { "content-type": "application/x-www-form-urlencoded" };

const sendings: Sending[] = [
  ["nodejs/node#7502", "/batch/", () => followed("\n \n\n\n\n \n"), zipped],
  ["icsharpcode/SharpZipLib#116", "/batch/", () => followed("some random data"), zipped],
  ["browserify/browserify-zlib#29", "/e/", () => followed("\0".repeat(10)), beacon],
  ["lysine-dev/okhttp#3457", "/batch/", () => followed("x"), zipped],
  ["lysine-dev/retrofit#2513", "/batch/", () => followed("\0".repeat(5000)), zipped],
  ["oven-sh/bun#33708", "/batch/", () => followed("\r\n"), zipped],
  ["curl/curl#3796", "/batch/", () => Buffer.concat([gzipSync(inBatch()), gzipSync("")]), zipped],
  [
    "madler/zlib#773",
    "/batch/",
    () => Buffer.concat([deflateSync(inBatch()), Buffer.from("junk")]),
    { ...json, "content-encoding": "deflate" },
  ],
  ["PostHog/posthog-ios#208", "/batch", () => gzipSync(inBatch()), zipped],
  ["PostHog/posthog-rs#40", "/e", () => inBatch(), json],
  ["PostHog/posthog-go#8", "/i/v0/e/", () => inBatch(), json],
  [
    "PostHog/posthog-go#68",
    "/capture/",
    () => inBatch({ uuid: "", type: "capture", library: "posthog-go" }),
    json,
  ],
  ["segmentio/analytics-node#81", "//batch/", () => inBatch(), json],
  ["coelhucas/godot-posthog#1", "/capture/", () => alone(), json],
  ["mozilla/fxa-content-server#2737", "/e/", () => alone(), beacon],
  ["Luracast/Restler#607", "/e/?compression=base64", () => `data=${btoa(alone())}`, form],
  ["akamai/boomerang#71", "/e/", () => `data=${encodeURIComponent(btoa(alone()))}`, form],
  ["wikimedia/eventgate#6", "/capture/", () => alone(), { "content-type": "text/plain" }],
  ["react/create-react-app#11515", "/capture/", () => alone(), {}],
  ["funnycoderstar/blog#212", "/e/", () => JSON.stringify([{ ...makeEvent(), api_key: projectKey }]), beacon],
  [
    "PostHog/posthog#4276",
    "/batch/",
    () => inBatch({ properties: { ratio: null, $set: { a: null } } }),
    json,
  ],
  ["PostHog/posthog#10996", "/batch/", () => inBatch({ timestamp: "yesterday, about noon" }), json],
  ["PostHog/posthog#533", "/batch/", () => inBatch({ timestamp: "2199-01-01T00:00:00Z" }), json],
  ["NemeStats/NemeStats#607", "/batch/", () => inBatch({ timestamp: "2567-03-01T10:00:00Z" }), json],
  [
    "segmentio/analytics_flutter#120",
    "/batch/",
    () => inBatch({}, { sent_at: "2000-01-01T00:00:00Z" }),
    json,
  ],
  ["algolia/instantsearch-ios#192", "/batch/", () => inBatch({ timestamp: "2001-01-01T00:00:00Z" }), json],
  ["segmentio/analytics-ios#80", "/batch/", () => inBatch({}, { timestamp: "2024-01-01T00:00:00Z" }), json],
  ["PostHog/posthog#30801", "/batch/", () => inBatch({ properties: { $session_id: "no uuid" } }), json],
];

test("what strangers put on the wire is stored, each event once", async () => {
  const answers: [string, number][] = [];
  for (const [thread, path, make, headers = {}] of sendings) {
    const { status } = await fetch(`${app.url}${path}`, {
      method: "POST",
      body: make() as string,
      headers,
    });
    answers.push([thread, status]);
  }
  expect(answers).toEqual(sendings.map(([thread]) => [thread, 200]));
  const query = "SELECT distinct_id, count() FROM events WHERE event = 'wire' GROUP BY 1 LIMIT 1000";
  const { body } = await ask(app, "POST", "/api/projects/1/query/", { query: { kind: "HogQLQuery", query } });
  const counts = new Map(body["results"] as [string, number][]);
  expect(sent.map(({ distinct_id }, i) => [sendings[i]![0], counts.get(distinct_id as string)])).toEqual(
    sendings.map(([thread]) => [thread, 1]),
  );
});

// PostHog/posthog.com#20033: a retry repeats a uuid within one batch.
test("a uuid that is in a batch twice is one event", async () => {
  const uuid = crypto.randomUUID();
  const event = { event: "twice", distinct_id: "twice", uuid };
  const body = { api_key: projectKey, batch: [event, event] };
  expect((await ask(app, "POST", "/batch/", body, "")).status).toBe(200);
  const query = "SELECT count() FROM events WHERE event = 'twice'";
  const read = await ask(app, "POST", "/api/projects/1/query/", { query: { kind: "HogQLQuery", query } });
  expect(read.body["results"]).toEqual([[1]]);
});
