// What SDKs, proxies and movers really send, from their issue lists. Each case names its public thread; inputs are ours.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { projectKey, runSluice, until } from "../support/server.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50", CAPTURE_ACK: "stored" });
}, startMsMax);
afterAll(cleanUp, startMsMax);

const json = { "content-type": "application/json" };
const form = { "content-type": "application/x-www-form-urlencoded" };

async function post(path: string, body: string | Buffer, headers: Record<string, string> = json) {
  const sent = await fetch(`${app.url}${path}`, { method: "POST", body, headers, redirect: "manual" });
  const text = await sent.text();
  return { status: sent.status, text };
}

/** Sends a batch; returns what its verbose answer lists as ignored and warned, by the item's index. */
async function send(events: readonly unknown[], more: Record<string, unknown> = {}) {
  const sent = await post(
    "/batch/?verbose=1",
    JSON.stringify({ api_key: projectKey, ...more, batch: events }),
  );
  expect([sent.status, sent.status === 200 ? "" : sent.text]).toEqual([200, ""]);
  return JSON.parse(sent.text) as Record<string, unknown>;
}

async function sql(query: string): Promise<unknown[][]> {
  const asked = { query: { kind: "HogQLQuery", query } };
  const { status, body, text } = await ask(app, "POST", "/api/projects/1/query/", asked);
  expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
  return body["results"] as unknown[][];
}

const count = async (id: string): Promise<unknown> =>
  (await sql(`SELECT count() FROM events WHERE distinct_id = '${id}'`))[0]![0];

/** The times of a sender's events, in ms since 1970. */
const times = async (id: string): Promise<number[]> =>
  (await sql(`SELECT toString(timestamp) FROM events WHERE distinct_id = '${id}' ORDER BY timestamp`)).map(
    ([time]) => Date.parse(`${String(time).replace(" ", "T").replace("Z", "")}Z`),
  );

async function personOf(id: string): Promise<Record<string, unknown> | undefined> {
  const { body } = await ask(app, "GET", `/api/projects/1/persons/?distinct_id=${id}`);
  const [person] = body["results"] as { properties: Record<string, unknown> }[];
  return person?.properties;
}

async function importText(text: string, format: string, name = "rows.jsonl"): Promise<void> {
  const file = `${makeFolder()}/${name}`;
  await Bun.write(file, text);
  const ran = await runSluice(["import", file, "--host", app.url, "--format", format], {});
  expect([ran.exitCode, ran.exitCode === 0 ? "" : ran.stderr]).toEqual([0, ""]);
}

const importRows = (rows: readonly unknown[], format: string) =>
  importText(rows.map((row) => JSON.stringify(row)).join("\n"), format);

const single = (distinct_id: string, more: Record<string, unknown> = {}): string =>
  JSON.stringify({ api_key: projectKey, event: "e", distinct_id, ...more });

const now = (): number => Date.now();
const iso = (ms: number): string => new Date(ms).toISOString();

// PostHog/posthog-js#814, PostHog/posthog.com#11886: proxies of Vercel and Next.js take the last slash away.
test("every path of a capture works with and without its last slash", async () => {
  for (const path of ["/e", "/capture", "/batch", "/track", "/i/v0/e"]) {
    for (const slash of ["", "/"]) {
      const body =
        path === "/batch" ? `{"api_key":"${projectKey}","batch":[${single("slash")}]}` : single("slash");
      expect([path, slash, (await post(`${path}${slash}`, body)).status]).toEqual([path, slash, 200]);
    }
  }
  expect(await count("slash")).toBe(10);
});

// segmentio/analytics-node#81, PostHog/posthog-js#920: a host that was set with a slash at its end.
test("a second slash before the path is the same path", async () => {
  expect((await post("//e/", single("twice"))).status).toBe(200);
  expect((await post("//batch/", `{"api_key":"${projectKey}","batch":[${single("twice")}]}`)).status).toBe(
    200,
  );
  expect(await count("twice")).toBe(2);
});

// PostHog/posthog-ios#208: gzip whose header a proxy took away. PostHog/posthog-js#3564: gzip that a browser cut short.
test("gzip is found without its header, and a part of it is refused as a whole with the reason", async () => {
  const whole = gzipSync(`{"api_key":"${projectKey}","batch":[${single("zipped")},${single("zipped")}]}`);
  expect((await post("/batch", whole)).status).toBe(200);
  for (const length of [8, 20, whole.length - 1]) {
    const cut = await post("/batch", whole.subarray(0, length), { ...json, "content-encoding": "gzip" });
    expect([length, cut.status]).toEqual([length, 400]);
    expect(cut.text).toMatch(/gzip/i);
  }
  expect(await count("zipped")).toBe(2);
});

// PostHog/posthog#874, #855, PostHog/posthog-js#32, mixpanel/mixpanel-js#258: base64 in a form, escaped or not.
// PostHog/posthog#31422: without its padding.
test("base64 in a form is read with pluses that became spaces, escaped ones, and without padding", async () => {
  const text = single("form", { properties: { title: "ÿþ>>>???~~~ûûû" } });
  const data = Buffer.from(text).toString("base64");
  expect(data).toMatch(/[+/]/);
  const bodies = [data, encodeURIComponent(data), data.replaceAll("+", " "), data.replace(/=+$/, "")];
  for (const body of bodies)
    expect((await post("/e/?compression=base64", `data=${body}`, form)).status).toBe(200);
  const titles = await sql(
    "SELECT DISTINCT properties.title, count() OVER () FROM events WHERE distinct_id = 'form'",
  );
  expect(titles).toEqual([["ÿþ>>>???~~~ûûû", 4]]);
});

// subscriptions-project/swg-js#993, vesparny/fair-analytics#15: beacons; curl -d without a header calls JSON a form.
test("JSON is read whatever its content type says", async () => {
  for (const type of ["application/x-www-form-urlencoded", "text/plain;charset=UTF-8", "*/*"]) {
    const sent = await post("/e/", single("beacon"), { "content-type": type });
    expect([type, sent.status]).toEqual([type, 200]);
  }
  const blob = new Blob([single("beacon")]);
  expect((await fetch(`${app.url}/e/?beacon=1`, { method: "POST", body: blob })).status).toBe(204);
  expect(await count("beacon")).toBe(4);
});

// PostHog/posthog#10527: of four events without a time one appeared.
test("events of one batch without a time and with their id among the properties are all stored", async () => {
  const event = (i: number) => ({
    type: "capture",
    event: `step ${i}`,
    properties: { distinct_id: "manual", i },
  });
  await send([0, 1, 2, 3].map(event));
  expect(await count("manual")).toBe(4);
});

// PostHog/posthog#4276, #48888, #876, #17784, PostHog/posthog.com#20033: ids of no use cost their own event only.
test("an event whose id is empty, blank or null, or that is null, is ignored by itself and named", async () => {
  const event = (distinct_id: unknown) => ({ event: "e", distinct_id });
  const ids = ["", "  ", null, "\t\n"];
  const answer = await send([...ids.map(event), null, event("beside")]);
  expect(answer).toMatchObject({
    accepted: 1,
    ignored_by_reason: { empty_distinct_id: 3, missing_distinct_id: 1, malformed_event: 1 },
  });
  expect(await count("beside")).toBe(1);
  await send([event("undefined"), event("anonymous"), event("null")]);
  expect(await count("undefined")).toBe(1);
});

// PostHog/posthog-js#993: a number as id.
test("a number as id is the person of that text", async () => {
  await send([
    { event: "$identify", distinct_id: 993_001, properties: { $set: { plan: "pro" } } },
    { event: "e", distinct_id: "993001", $set: { age: 3 } },
  ]);
  await until(async () => (await personOf("993001"))?.["age"] === 3);
  expect(await personOf("993001")).toMatchObject({ plan: "pro", age: 3 });
});

// PostHog/posthog-js#2145: a wrong spelling of distinctId, whose 400 was sent again and again for ten seconds.
test("a single event without an id is answered at once, with the reason where it is asked for", async () => {
  const sent = await post(
    "/capture/?verbose=1",
    JSON.stringify({ api_key: projectKey, event: "e", distinctId: "x" }),
  );
  expect([sent.status, sent.text.includes("missing_distinct_id")]).toEqual([200, true]);
});

// whatthewhat/simple_segment#27, getlago/lago-api#160, mixpanel/mixpanel-android#522: properties that are null.
test("properties that are null are none", async () => {
  await send([
    {
      event: "e",
      distinct_id: "nil",
      properties: null,
      $set: null,
      $groups: null,
      uuid: null,
      timestamp: null,
    },
  ]);
  await importRows(
    [
      {
        type: "track",
        event: "e",
        userId: "nil",
        properties: null,
        context: null,
        traits: null,
        timestamp: iso(now() - 1e9),
      },
    ],
    "segment",
  );
  expect(await count("nil")).toBe(2);
});

// PostHog/posthog#2173, #30496, #13572: sent_at without a zone, null, empty, odd.
test("a sent_at that is no time moves nothing, and one without a zone is UTC", async () => {
  const at = now() - 3_600_000;
  for (const sent_at of [null, "", "soon", [], 0])
    await send([{ event: "e", distinct_id: "odd-sent", timestamp: iso(at) }], { sent_at });
  expect(await times("odd-sent")).toEqual([at, at, at, at, at]);
  const day = 86_400_000;
  const ahead = { sent_at: iso(now() + day).slice(0, -1) };
  await send([{ event: "e", distinct_id: "ahead", timestamp: iso(now() + day - 60_000) }], ahead);
  const [moved] = await times("ahead");
  expect(Math.abs(moved! - (now() - 60_000))).toBeLessThan(30_000);
});

// PostHog/posthog#535, PostHog/posthog-js#4901: an offset in place of a time, and the same offset once more on a retry.
test("an offset is how long ago an event was, and a retry later moves it no more", async () => {
  const event = { event: "e", distinct_id: "offset", uuid: crypto.randomUUID(), offset: 3_600_000 };
  await send([event]);
  const before = await times("offset");
  expect(Math.abs(before[0]! - (now() - 3_600_000))).toBeLessThan(30_000);
  await send([event]);
  expect(await times("offset")).toEqual(before);
});

// PostHog/posthog-java#59: events of one moment, shown in another order than they were sent in.
test("events of one moment are listed in the order in which they were sent", async () => {
  const timestamp = "2024-08-01T10:00:00.000Z";
  const names = Array.from({ length: 40 }, (_, i) => `java ${String(i).padStart(2, "0")}`);
  await send(names.map((event) => ({ event, distinct_id: "java", timestamp })));
  const { body } = await ask(
    app,
    "GET",
    '/api/projects/1/events/?distinct_id=java&limit=100&orderBy=["timestamp"]',
  );
  expect((body["results"] as { event: string }[]).map(({ event }) => event)).toEqual(names);
});

// PostHog/posthog-elixir#17, PostHog/posthog.com#6050, PostHog/posthog#22113.
test("groups of an event whose id is a property are read, and $groupidentify sets no person", async () => {
  await send([
    {
      event: "$groupidentify",
      properties: {
        distinct_id: "company_acme",
        $group_type: "company",
        $group_key: "acme",
        $group_set: { name: "Acme", user_count: 5 },
        $set: { wrong: true },
        $set_once: { wrong_too: true },
      },
    },
    { event: "e", properties: { distinct_id: "elixir", $groups: { company: "acme" } } },
  ]);
  await until(async () => (await sql("SELECT count() FROM groups"))[0]![0] === 1);
  expect(await sql("SELECT key, properties.name FROM groups")).toEqual([["acme", "Acme"]]);
  expect(await sql("SELECT $group_0 FROM events WHERE distinct_id = 'elixir'")).toEqual([["acme"]]);
  expect(Object.keys((await personOf("company_acme")) ?? {})).toEqual([]);
});

// PostHog/posthog-js#2086, #3845, #3009: $unset beside the properties, with names of no use; the event `$set`.
test("$unset beside the properties removes, whatever else is in its list", async () => {
  await send([
    {
      event: "$set",
      distinct_id: "unset",
      properties: { $set: { a: 1, b: 2, c: 3 }, $set_once: { first: 1 } },
    },
    { event: "e", distinct_id: "unset", $unset: ["a", "", " ", null, 5, "none"] },
    { event: "e", distinct_id: "unset", properties: { $unset: ["b"] } },
  ]);
  await until(async () => (await personOf("unset"))?.["b"] === undefined);
  expect(await personOf("unset")).toEqual({ c: 3, first: 1 });
});

// PostHog/posthog#876: an id that was empty before the sign-in.
test("$identify without a device of use merges nothing and keeps its properties", async () => {
  const identify = ($anon_distinct_id: unknown, i: number) => ({
    event: "$identify",
    distinct_id: `no-device-${i}`,
    properties: { $anon_distinct_id, $set: { i } },
  });
  await send([null, "", "  ", "undefined", "null", `no-device-5`].map(identify));
  await until(async () => (await personOf("no-device-5"))?.["i"] === 5);
  const persons = await sql("SELECT uniq(person_id) FROM events WHERE startsWith(distinct_id, 'no-device-')");
  expect(persons).toEqual([[6]]);
});

// segmentio/analytics-kotlin#170, getsentry/sentry-java#514, ACRA/acra#193: digits of the device's language.
test("a time in Arabic or Persian digits is that time", async () => {
  const written = ["٢٠٢٤-٠٥-٠٦T٠٨:١١:١٢.٥٠٠Z", "۲۰۲۴-۰۵-۰۶T۰۸:۱۱:۱۲.۵۰۰Z", "२०२४-०५-०६T०८:११:१२.५००Z"];
  await send(written.map((timestamp) => ({ event: "e", distinct_id: "digits", timestamp })));
  expect(await times("digits")).toEqual(written.map(() => Date.parse("2024-05-06T08:11:12.500Z")));
});

// mixpanel/mixpanel-iphone#144, mit-cml/appinventor-sources#3982: iPhones in the Buddhist or the Japanese calendar.
test("a device in another calendar is a clock that is off, and without sent_at its events have arrived now", async () => {
  for (const [id, years] of [
    ["buddhist", 543],
    ["reiwa", -2018],
  ] as const) {
    const inCalendar = (ms: number) => {
      const text = iso(ms);
      return `${String(Number(text.slice(0, 4)) + years).padStart(4, "0")}${text.slice(4)}`;
    };
    const timestamp = inCalendar(now() - 60_000);
    await send([{ event: "e", distinct_id: id, timestamp }], { sent_at: inCalendar(now()) });
    await send([{ event: "e", distinct_id: `${id}-unsent`, timestamp }]);
    for (const name of [id, `${id}-unsent`]) {
      const [time] = await times(name);
      expect([name, Math.abs(time! - now()) < 120_000]).toEqual([name, true]);
    }
  }
});

// rudderlabs/rudder-sdk-js#79, rudder-transformer#406, #750, jitsucom/jitsu#1122, rudder-server#466, jitsu#146.
test("calls of Rudder and Jitsu without a name are page views and screens, and alias joins", async () => {
  const timestamp = iso(now() - 1e9);
  const call = (type: string, more: Record<string, unknown>) => ({
    type,
    messageId: crypto.randomUUID(),
    originalTimestamp: timestamp,
    sentAt: timestamp,
    receivedAt: timestamp,
    channel: "web",
    integrations: { All: true },
    ...more,
  });
  await importRows(
    [
      call("page", {
        anonymousId: "rudder-anon",
        name: null,
        context: { page: { url: "https://a.example/x?y=1", path: "/x" } },
      }),
      call("page", {
        anonymousId: "rudder-anon",
        category: "docs",
        name: "Start",
        properties: { url: "https://a.example/start" },
      }),
      call("screen", { userId: "rudder-user", name: "Home", properties: {} }),
      call("screen", { userId: "rudder-user", properties: { name: "Cart" } }),
      call("alias", { userId: "rudder-user", previousId: "rudder-old" }),
      call("track", { userId: "rudder-old", event: "bought" }),
    ],
    "segment",
  );
  expect(
    await sql(
      "SELECT event, properties.$current_url FROM events WHERE distinct_id = 'rudder-anon' ORDER BY 2",
    ),
  ).toEqual([
    ["$pageview", "https://a.example/start"],
    ["$pageview", "https://a.example/x?y=1"],
  ]);
  expect(await sql("SELECT properties.$screen_name FROM events WHERE event = '$screen' ORDER BY 1")).toEqual([
    ["Cart"],
    ["Home"],
  ]);
  const joined = "SELECT uniq(person_id) FROM events WHERE distinct_id IN ('rudder-user', 'rudder-old')";
  await until(async () => (await sql(joined))[0]![0] === 1);
});

// mixpanel/mixpanel-android#817, ak--47/mpMigrate#10: times in seconds, later in ms.
test("Mixpanel's times in seconds, in ms and with a fraction are the same", async () => {
  const second = 1_714_983_072;
  const event = (time: number, i: number) => ({
    event: "opened",
    properties: { time, distinct_id: `mixpanel-time`, $insert_id: `insert-${i}` },
  });
  await importRows([second, second * 1000, second + 0.25, second * 1000 + 250].map(event), "mixpanel");
  expect(await times("mixpanel-time")).toEqual([0, 0, 250, 250].map((ms) => second * 1000 + ms));
});

// amplitude/amplitude-dev-center#103: rows with $insert_id, and exports by hour of upload that overlap.
test("a row of Amplitude's that comes in two files is one event by its $insert_id", async () => {
  const row = {
    event_type: "opened",
    event_time: "2024-02-01 10:00:00.123000",
    user_id: "amp-twice",
    $insert_id: "1f-a",
  };
  await importRows([row, { ...row, $insert_id: "1f-b" }], "amplitude");
  await importRows([row], "amplitude");
  expect(
    await sql("SELECT count() FROM events WHERE distinct_id = 'amp-twice' AND event = 'opened'"),
  ).toEqual([[2]]);
});

// PostHog/posthog.com#9019: Heap's users go by CSV, with times as its warehouse writes them.
test("a CSV of Heap's events with renamed columns keeps times, quotes and line breaks in texts", async () => {
  const text = `event,distinct_id,timestamp,properties.target_text,properties.count
click,heap,2024-07-23 10:00:00.123,"Say ""hi"", now",3
"page
view",heap,2024-07-23 10:00:01.000 UTC,"two
lines",
`;
  await importText(text, "csv", "heap.csv");
  expect(await times("heap")).toEqual([
    Date.parse("2024-07-23T10:00:00.123Z"),
    Date.parse("2024-07-23T10:00:01Z"),
  ]);
  const rows = await sql(
    "SELECT event, properties.target_text FROM events WHERE distinct_id = 'heap' ORDER BY timestamp",
  );
  expect(rows).toEqual([
    ["click", 'Say "hi", now'],
    ["page\nview", "two\nlines"],
  ]);
});
