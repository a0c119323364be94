// What SDKs are told when they start.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { PostHog } from "posthog-node";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { get, metric, personalKey, post, projectKey, until } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

let server: RunningApp;

beforeAll(async () => {
  server = await startApp();
}, startMsMax);

const origin = { origin: "https://shop.example" };

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  return await fetch(`${server.url}${path}`, { headers: origin, redirect: "manual", ...init });
}

test("the configuration turns autocapture, flags and gzip on, and everything off that the server does not do", async () => {
  const response = await ask(`/array/${projectKey}/config`);
  expect(response.status).toBe(200);
  expect(response.headers.get("access-control-allow-origin")).toBe(origin.origin);
  expect(response.headers.get("cache-control")).toBe("public, max-age=300");
  const config = await response.json();
  expect(config).toMatchObject({
    token: projectKey,
    supportedCompression: ["gzip", "gzip-js"],
    hasFeatureFlags: true,
    autocapture_opt_out: false,
    sessionRecording: false,
    capturePerformance: false,
    heatmaps: false,
    elementsChainAsString: true,
    defaultIdentifiedOnly: true,
    surveys: false,
    logs: { captureConsoleLogs: false },
    siteApps: [],
  });
});

test("the events' address that it names takes events", async () => {
  const { analytics } = (await (await ask(`/array/${projectKey}/config`)).json()) as {
    analytics: { endpoint: string };
  };
  const event = { api_key: projectKey, event: "hello", distinct_id: "me" };
  expect((await post(server, analytics.endpoint, event)).status).toBe(200);
});

test("as a script it sets what posthog-js looks for", async () => {
  const response = await ask(`/array/${projectKey}/config.js`);
  expect(response.headers.get("content-type")).toStartWith("text/javascript");
  const page: { _POSTHOG_REMOTE_CONFIG?: Record<string, { config: object; siteApps: unknown[] }> } = {};
  new Function("window", await response.text())(page);
  const config: unknown = await (await ask(`/array/${projectKey}/config`)).json();
  expect(page._POSTHOG_REMOTE_CONFIG?.[projectKey]).toEqual({ config: config as object, siteApps: [] });
});

test("the snippet's script of a project is its configuration and posthog-js in one", async () => {
  const config = await (await ask(`/array/${projectKey}/config.js`)).text();
  const library = await (await ask("/static/array.js")).text();
  for (const headers of [{}, { "accept-encoding": "identity" }]) {
    const response = await ask(`/array/${projectKey}/array.js`, { headers: { ...origin, ...headers } });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toStartWith("text/javascript");
    expect(response.headers.get("cache-control")).toBe("public, max-age=300");
    expect(response.headers.get("access-control-allow-origin")).toBe(origin.origin);
    expect(await response.text()).toBe(config + library);
  }
});

test("a key that no project has gets a 404 that a page may read", async () => {
  for (const name of ["config.js", "config", "array.js"]) {
    const path = `/array/phc_nobodys/${name}`;
    const response = await ask(path);
    expect(response.status).toBe(404);
    expect(response.headers.get("access-control-allow-origin")).toBe(origin.origin);
    expect(await response.json()).toMatchObject({ code: "not_found" });
  }
});

test("there are no flags, whatever the version, the method, the slash and the body", async () => {
  const gzipped = Bun.gzipSync(new TextEncoder().encode(JSON.stringify({ token: projectKey })));
  const asked: [string, RequestInit][] = [
    ["/flags/?v=2", { method: "POST", body: gzipped, headers: { "content-type": "text/plain" } }],
    ["/flags?v=2", { method: "POST", body: "data=eyJ0b2tlbiI6MX0%3D" }],
    ["/flags", {}],
    ["/flags/?v=1&ip=0&_=1&compression=base64", { method: "POST", body: "{" }],
  ];
  for (const [path, init] of asked) {
    const response = await ask(path, init);
    expect(response.status).toBe(200);
    const { requestId, ...flags } = (await response.json()) as { requestId: string };
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(flags).toEqual({
      flags: {},
      featureFlags: {},
      featureFlagPayloads: {},
      errorsWhileComputingFlags: false,
    });
  }
});

test("older SDKs find the configuration beside the flags", async () => {
  for (const path of ["/decide/?v=3", "/decide", "/flags/?v=2&config=true"]) {
    const answer = await (await ask(path, { method: "POST", body: "{}" })).json();
    expect(answer).toMatchObject({ supportedCompression: ["gzip", "gzip-js"], featureFlags: {} });
  }
});

test("surveys, experiments, early access features and tours are empty lists", async () => {
  const lists = {
    "/api/surveys": { surveys: [] },
    "/api/web_experiments": { experiments: [] },
    "/api/early_access_features": { earlyAccessFeatures: [] },
    "/api/product_tours": { product_tours: [] },
  };
  for (const [path, list] of Object.entries(lists)) {
    for (const slash of ["", "/"]) {
      const response = await ask(`${path}${slash}?token=${projectKey}`);
      expect([response.status, await response.json()]).toEqual([200, list]);
    }
    expect((await ask(`${path}/?token=phc_nobodys`)).status).toBe(401);
  }
});

test("flag definitions are for personal keys", async () => {
  for (const path of ["/flags/definitions", "/api/feature_flag/local_evaluation/"]) {
    const response = await get(server, `${path}?token=${projectKey}&send_cohorts`);
    expect([response.status, await response.json()]).toEqual([
      200,
      { flags: [], group_type_mapping: {}, cohorts: {} },
    ]);
    expect((await get(server, path, "phx_nobodys")).status).toBe(401);
    expect((await ask(path)).status).toBe(401);
  }
});

test("a flag has no payload, as posthog-node asks for it", async () => {
  const node = new PostHog(projectKey, { host: server.url, personalApiKey: personalKey });
  expect(await node.getRemoteConfigPayload("any")).toBeNull();
  await node.shutdown();
  const path = "/api/projects/@current/feature_flags/any/remote_config";
  expect((await get(server, `${path}?token=${projectKey}`, "phx_nobodys")).status).toBe(401);
  expect((await get(server, `${path}?tokn=1`)).status).toBe(400);
});

test("recordings nobody wants are answered as over their quota, and counted as ignored", async () => {
  const ignored = await metric(server, 'sluice_events_ignored_total{reason="snapshot"}');
  const properties = { token: projectKey, distinct_id: "d", $session_id: "s", $snapshot_data: [{}] };
  const body = JSON.stringify([{ event: "$snapshot", properties }]);
  for (const path of ["/s", "/s/"]) {
    const response = await ask(path, { method: "POST", body });
    expect([response.status, await response.json()]).toEqual([
      200,
      { status: "Ok", quota_limited: ["recordings"] },
    ]);
  }
  expect(await metric(server, 'sluice_events_ignored_total{reason="snapshot"}')).toBe(ignored + 2);
});

test("a project that wants recordings has its pages told so, within moments", async () => {
  const wanting = async (session_recording_opt_in: boolean, more = {}) => {
    const headers = { authorization: `Bearer ${personalKey}`, "content-type": "application/json" };
    const body = JSON.stringify({ session_recording_opt_in, ...more });
    const path = `${server.url}/api/projects/1/`;
    expect((await fetch(path, { method: "PATCH", headers, body })).status).toBe(200);
  };
  const told = async () =>
    ((await (await ask(`/array/${projectKey}/config`)).json()) as { sessionRecording: unknown })
      .sessionRecording;
  await wanting(true);
  await until(async () => (await told()) !== false);
  const recording = { endpoint: "/s/", consoleLogRecordingEnabled: true, recorderVersion: "v2" };
  expect(await told()).toEqual(recording);
  expect(await (await ask(`/array/${projectKey}/config.js`)).text()).toContain('"endpoint":"/s/"');
  expect(await toldWithFlags(projectKey)).toEqual(Array(9).fill(recording));
  expect(await toldWithFlags("phc_nobodys")).toEqual(Array(9).fill(false));
  expect(await sessionRecordingOf("/decide/?v=3", "{")).toBe(false);
  expect(await (await ask(`/flags/?v=2&token=${projectKey}`)).json()).not.toHaveProperty("sessionRecording");
  await wanting(true, { capture_console_log_opt_in: false });
  const withoutConsole = { ...recording, consoleLogRecordingEnabled: false };
  await until(async () => Bun.deepEquals(await told(), withoutConsole));
  expect(await toldWithFlags(projectKey)).toEqual(Array(9).fill(withoutConsole));
  await wanting(false, { capture_console_log_opt_in: true });
  await until(async () => (await told()) === false);
  expect(await toldWithFlags(projectKey)).toEqual(Array(9).fill(false));
});

async function sessionRecordingOf(
  path: string,
  body?: string | Uint8Array<ArrayBuffer>,
  headers = {},
): Promise<unknown> {
  const init = body === undefined ? {} : { method: "POST", body, headers };
  const response = await ask(path, init);
  expect(response.status).toBe(200);
  return ((await response.json()) as { sessionRecording: unknown }).sessionRecording;
}

/** What /decide and /flags say of recordings, the key sent in all the ways that SDKs have. */
async function toldWithFlags(key: string): Promise<unknown[]> {
  const json = JSON.stringify({ token: key, distinct_id: "d" });
  const gzipped = Bun.gzipSync(new TextEncoder().encode(json));
  const base64 = Buffer.from(json).toString("base64");
  const form = { "content-type": "application/x-www-form-urlencoded" };
  return [
    await sessionRecordingOf("/decide/?v=3", json),
    await sessionRecordingOf("/decide", JSON.stringify({ api_key: key }), {
      "content-type": "application/json",
    }),
    await sessionRecordingOf("/decide/?v=3&compression=base64", `data=${encodeURIComponent(base64)}`, form),
    await sessionRecordingOf(`/decide/?v=1&data=${encodeURIComponent(base64)}`),
    await sessionRecordingOf(`/decide/?token=${key}`),
    await sessionRecordingOf("/flags/?v=2&config=true&compression=gzip-js", gzipped, {
      "content-type": "text/plain",
    }),
    await sessionRecordingOf("/flags/?v=2&config=true", gzipped, { "content-encoding": "gzip" }),
    await sessionRecordingOf("/flags?v=2&config=true", json),
    await sessionRecordingOf(`/flags?v=2&config=true&api_key=${key}`, "{}"),
  ];
}

test("each of them lets a page ask first", async () => {
  const paths = [`/array/${projectKey}/config`, "/flags/?v=2", "/decide/", "/api/surveys/", "/s/"];
  for (const path of [...paths, "/static/array.js"]) {
    const headers = {
      ...origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-encoding,x-own",
    };
    const response = await ask(path, { method: "OPTIONS", headers });
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe(origin.origin);
    expect(response.headers.get("access-control-allow-headers")).toBe("content-encoding,x-own");
  }
});
