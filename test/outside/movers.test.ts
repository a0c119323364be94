// What SDKs and plug-ins send and what movers find in their files, from further public threads: each case names its own;
// inputs are ours.

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

async function post(path: string, body: unknown, headers: Record<string, string> = json) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const sent = await fetch(`${app.url}${path}`, { method: "POST", body: text, headers });
  return { status: sent.status, text: await sent.text() };
}

/** Sends events, as objects or as JSON text; returns the verbose answer. */
async function send(events: readonly unknown[], more: Record<string, unknown> = {}) {
  const texts = events.map((event) => (typeof event === "string" ? event : JSON.stringify(event)));
  const head = JSON.stringify({ api_key: projectKey, ...more }).slice(0, -1);
  const sent = await post("/batch/?verbose=1", `${head},"batch":[${texts.join(",")}]}`);
  expect([sent.status, sent.status === 200 ? "" : sent.text]).toEqual([200, ""]);
  return JSON.parse(sent.text) as Record<string, unknown>;
}

async function sql(query: string): Promise<unknown[][]> {
  const asked = { query: { kind: "HogQLQuery", query } };
  for (;;) {
    const { status, body, text } = await ask(app, "POST", "/api/projects/1/query/", asked);
    // Busy, on a loaded machine.
    if (status === 503) continue;
    expect([status, status === 200 ? "" : text]).toEqual([200, ""]);
    return body["results"] as unknown[][];
  }
}

const eventsOf = async (id: string, columns = "event"): Promise<unknown[][]> =>
  await sql(`SELECT ${columns} FROM events WHERE distinct_id = '${id}' ORDER BY timestamp, event`);

/** The times of a sender's events, in ms since 1970. */
const times = async (id: string): Promise<unknown[]> =>
  (await eventsOf(id, "toUnixTimestamp64Milli(timestamp)")).map(([time]) => Number(time));

/** How many persons these ids are. */
const countPersons = async (...ids: string[]): Promise<unknown> =>
  (await sql(`SELECT uniq(person_id) FROM events WHERE distinct_id IN ('${ids.join("', '")}')`))[0]![0];

async function importFiles(files: Record<string, string | Uint8Array>, ...args: string[]) {
  const folder = makeFolder();
  for (const [name, bytes] of Object.entries(files)) await Bun.write(`${folder}/${name}`, bytes);
  const paths = Object.keys(files).map((name) => `${folder}/${name}`);
  return await runSluice(["import", ...paths, "--host", app.url, ...args], {});
}

/** Imports a file of which nothing is rejected. */
async function importFile(bytes: string | Uint8Array, format = "auto", name = "rows.jsonl"): Promise<void> {
  const ran = await importFiles({ [name]: bytes }, "--format", format);
  expect([ran.exitCode, ran.exitCode === 0 ? "" : ran.stderr]).toEqual([0, ""]);
}

const toLines = (rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
const moment = "2024-05-06T08:11:12.000Z";
const momentMs = Date.parse(moment);

// allinurl/goaccess#1281, #1070, philhagen/sof-elk#375 (both logs), dimagi/commcare-cloud#223.
test("times of web servers' logs are times, in /batch and in CSV", async () => {
  const written = [
    "06/May/2024:10:11:12 +0200",
    "06/May/2024:08:11:12 +0000",
    "Mon May 06 08:11:12.000000 2024",
    "06-May-2024 08:11:12",
  ];
  await send(written.map((timestamp) => ({ event: "e", distinct_id: "log", timestamp })));
  expect(await times("log")).toEqual(written.map(() => momentMs));
  const rows = written.map((timestamp) => `e,log-csv,${timestamp}\n`);
  await importFile(`event,distinct_id,timestamp\n${rows.join("")}`, "csv", "log.csv");
  expect(await times("log-csv")).toEqual(written.map(() => momentMs));
});

// elastic/elasticsearch#130054, palantir/conjure#18: RFC 9557, here with further suffixes and without an offset.
test("a zone of RFC 9557 counts with or without an offset and a calendar, and so does one behind a blank", async () => {
  const written = [
    "2024-05-06T10:11:12+02:00[Europe/Berlin][u-ca=gregory]",
    "2024-05-06T08:11:12Z[u-ca=iso8601]",
    "2024-05-06T10:11:12[!Europe/Berlin]",
    "2024-05-06 10:11:12 Europe/Berlin",
    "2024-05-06T04:11:12.000 America/New_York",
  ];
  await send(written.map((timestamp) => ({ event: "e", distinct_id: "zones", timestamp })));
  expect(await times("zones")).toEqual(written.map(() => momentMs));
});

// cppisking/ffrk-inspector#72, themouette/jquery-week-calendar#103, googleanalytics/ga-dev-tools#1751,
// aws-solutions/centralized-logging-with-opensearch#198, Cap-go/capgo.app#3113, abarghoud/SentryGuard#210.
test("seconds, ms, µs and ns since 1970 are times, as numbers and as texts, and so are .NET's", async () => {
  const written = [1714983072, "1714983072", 1714983072000, "1714983072000", "1714983072000000"];
  const others = [
    "1714983072000000000",
    "/Date(1714983072000)/",
    "/Date(1714983072000+0200)/",
    "20240506T081112.000Z",
    "20240506T0811",
    `"${moment}"`,
    "2024-05-06T08:11:12.000000000Z",
  ];
  await send([...written, ...others].map((timestamp) => ({ event: "e", distinct_id: "epochs", timestamp })));
  const minute = momentMs - 12_000;
  expect(await times("epochs")).toEqual([minute, ...Array.from({ length: 11 }, () => momentMs)]);
});

// aws-amplify/aws-sdk-ios#197: a time since the phone's start, in ms, as if since 1970.
test("a time since a device's start is no second of 1970", async () => {
  const before = Date.now();
  const answer = await send([{ event: "e", distinct_id: "booted", timestamp: 5_427_383 }]);
  expect(answer).toMatchObject({ warnings: [{ reason: "ignored_invalid_timestamp" }] });
  expect(Number((await times("booted"))[0])).toBeGreaterThanOrEqual(before);
});

// snowplow/snowplow-ios-tracker#43, microsoft/appcenter-sdk-android#1558: sent days later, by a clock that is off.
test("an event that is sent days late keeps its age", async () => {
  const [day, off] = [86_400_000, 40 * 86_400_000];
  const age = (ms: number) => new Date(Date.now() - off - ms).toISOString();
  await send([{ event: "e", distinct_id: "late", timestamp: age(3 * day) }], { sent_at: age(0) });
  expect(Math.abs(Number((await times("late"))[0]) - (Date.now() - 3 * day))).toBeLessThan(60_000);
});

// QodeNL/Laravel-Posthog#12, PostHog/posthog-js#390, PostHog/posthog-flutter#531, PostHog/posthog-android#297.
test("times as Carbon, JavaScript, Dart and Java write them are that time", async () => {
  const written = [
    "2024-05-06T08:11:12.000000Z",
    "Mon May 06 2024 10:11:12 GMT+0200 (Central European Summer Time)",
    "2024-05-06T10:11:12.000+02:00",
    "Mon May 06 10:11:12 CEST 2024",
    "2024-05-06 08:11:12.000Z",
  ];
  await send(written.map((timestamp) => ({ event: "e", distinct_id: "runtimes", timestamp })));
  expect(await times("runtimes")).toEqual(written.map(() => momentMs));
});

// PostHog/posthog-go#65, PostHog/posthog-ruby#38, PostHog/posthog#35684, thunderbird/thunderbird-accounts#763.
test("a uuid that is empty, a number or a text of digits costs no event, and blanks around one none of its own", async () => {
  const uuid = crypto.randomUUID();
  const uuids = ["", "50172", 50_172, null, uuid, ` ${uuid} `, `{${uuid.toUpperCase()}}`];
  const event = (given: unknown) => ({ event: "e", distinct_id: "uuids", uuid: given, timestamp: moment });
  expect(await send(uuids.map(event))).toMatchObject({ accepted: uuids.length });
  expect(await eventsOf("uuids", "uuid")).toHaveLength(5);
});

// PostHog/posthog#4059, #1407: one event for /batch, and an id of digits among the properties.
test("one event posted to /batch is stored, and an id of digits stays a text", async () => {
  const sent = await post("/batch", {
    api_key: projectKey,
    type: "screen",
    event: "$screen",
    properties: { $screen_name: "Home", distinct_id: "845555992929291" },
  });
  expect(sent.status).toBe(200);
  expect(await eventsOf("845555992929291", "event, properties.$screen_name")).toEqual([["$screen", "Home"]]);
  const unknown = await post("/capture", { api_key: "invalid", event: "e", distinct_id: "x" });
  expect(unknown.status).toBe(401);
});

// mixpanel/mixpanel-iphone#725, honeycombio/libhoney-py#163, launchdarkly/python-server-sdk#56, drt-hub/drt#1076.
test("emoji, NaN, dates and decimals in one event cost neither it nor its batch", async () => {
  await send([
    '{"event":"meal","distinct_id":"values","properties":{"name":"000🍔","other":"000\\ud83c\\udf54"}}',
    '{"event":"nan","distinct_id":"values","properties":{"load":NaN,"at":"2016-09-14 12:00:00+00:00"}}',
    '{"event":"sum","distinct_id":"values","properties":{"price":"19.990","price_number":19.990}}',
  ]);
  const columns =
    "event, properties.name, properties.other, properties.load, JSONExtractString(properties, 'at'), properties.price";
  expect((await eventsOf("values", columns)).toSorted()).toEqual([
    ["meal", "000🍔", "000🍔", null, "", null],
    ["nan", null, null, null, "2016-09-14 12:00:00+00:00", null],
    ["sum", null, null, null, "", "19.990"],
  ]);
});

// netdata/dashboard#244, woocommerce/woocommerce-android#1284, amplitude/Amplitude-Swift#256, PostHog/posthog-flutter#380.
test("lists of objects, names with capitals and dashes, and properties named like members are kept", async () => {
  const properties = {
    collectors: [{ plugin: "python.d", module: "docker" }],
    "urlAfter-Redirects": "x",
    type: "something",
    timestamp: "yesterday",
    event: "inner",
    uuid: "no",
    $exception_list: [{ type: "Error", stacktrace: { frames: [{ lineno: 1 }] } }],
  };
  await send([{ event: "$exception", distinct_id: "names", properties }]);
  const [row] = await eventsOf("names", "properties");
  expect(JSON.parse(row![0] as string)).toEqual(properties);
});

// wordpress-mobile/WordPress-Android#12815, Automattic/jetpack#8296, #15028.
test("the user 0 is an id that joins nobody, and ids of a shop's plug-in stay as they are", async () => {
  await send([
    { event: "$identify", distinct_id: 0, properties: { $anon_distinct_id: "wp-a" } },
    { event: "e", distinct_id: "wp-a" },
    { event: "$identify", distinct_id: "0", properties: { $anon_distinct_id: "wp-b" } },
    { event: "e", distinct_id: "wp-b" },
    { event: "e", distinct_id: "1234:7" },
  ]);
  expect(await countPersons("0", "wp-a", "wp-b", "1234:7")).toBe(4);
});

// jitsucom/jitsu#1179, PostHog/posthog-js#2534, stephaniewilkinson/yonderbook#1276.
test("events without a profile go to the person that their id becomes, and an alias to itself changes nothing", async () => {
  await send([
    { event: "seen", distinct_id: "jitsu-anon", properties: { $process_person_profile: false } },
    { event: "$create_alias", distinct_id: "jitsu-user", properties: { alias: "jitsu-user" } },
    { event: "$identify", distinct_id: "jitsu-user", properties: { $anon_distinct_id: "jitsu-anon" } },
  ]);
  await until(async () => (await countPersons("jitsu-anon", "jitsu-user")) === 1);
});

// PostHog/posthog#44194: keys that come twice, here in objects within the values of $set and $group_set.
test("of a key that comes twice in an object of a person or group the last counts in SQL and the API", async () => {
  const twice = '{"address":{"city":"Old","city":"New"}}';
  await send([
    `{"event":"e","distinct_id":"twice","batch":"no list","properties":{"$set":${twice}}}`,
    `{"event":"e","distinct_id":"twice-own","$set":${twice}}`,
    `{"event":"$groupidentify","distinct_id":"twice","properties":{"$group_type":"company","$group_key":"twice",` +
      `"$group_set":${twice}}}`,
  ]);
  for (const id of ["twice", "twice-own"]) {
    const columns = "person.properties.address.city, person.properties.address";
    expect((await eventsOf(id, columns))[0]).toEqual(["New", '{"city":"New"}']);
  }
  await until(async () => (await sql("SELECT count() FROM groups WHERE key = 'twice'"))[0]![0] === 1);
  expect(await sql("SELECT properties.address.city FROM groups WHERE key = 'twice'")).toEqual([["New"]]);
});

// ClickHouse/ClickHouse#102930, #9209, #18099, #103875: one number too large, and JSON functions find nothing.
test("beside a number that neither 64 bits nor a double hold, members and JSON functions read what is there", async () => {
  const rest = '"plan":"pro","cart":{"id":7,"items":["a"]}';
  const numbers = ["1", "18446744073709551616", "-57783588950605040000000", "1e400"];
  await send(
    numbers.map(
      (number) =>
        `{"event":"e","distinct_id":"large","properties":{"large":${number},${rest}},"$set":{${rest}}}`,
    ),
  );
  const columns = [
    "properties.cart.id",
    "JSONExtractString(properties, 'plan')",
    "JSONExtractInt(properties, 'cart', 'id')",
    "JSONExtract(properties, 'cart', 'items', 'Array(String)')",
    "JSONHas(properties, 'cart')",
    "length(JSONExtractKeys(properties))",
    "isValidJSON(properties)",
    "JSON_VALUE(properties, '$.plan')",
  ];
  const rows = await eventsOf("large", columns.join(", "));
  expect(rows).toEqual(numbers.map(() => ["7", "pro", 7, ["a"], 1, 4, 1, "pro"]));
});

const amplitudeRow = (more: Record<string, unknown>) => ({
  event_type: "opened",
  event_time: "2024-02-01 10:00:00.123000",
  uuid: crypto.randomUUID(),
  ...more,
});

// mixpanel/mixpanel-utils#34, #54, PostHog/posthog.com#12653, #8946: a device's first events come before its user's, or
// behind them.
test("a device of Amplitude's is joined to its user, in either order of their rows", async () => {
  const before = amplitudeRow({ device_id: "amp-device", user_id: null });
  const after = amplitudeRow({ device_id: "amp-device", user_id: "amp-user" });
  await importFile(toLines([before, after]), "amplitude");
  await until(async () => (await countPersons("amp-device", "amp-user")) === 1);
  const later = (text: string) => text.replaceAll("amp-", "amp2-").replaceAll(/"uuid":"[^"]+",?/g, "");
  await importFile(later(toLines([after, before])), "amplitude");
  await until(async () => (await countPersons("amp2-device", "amp2-user")) === 1);
});

// NangoHQ/integration-templates#575, mixpanel/mixpanel-node#29.
test("Mixpanel's ids are read from the event, be they numbers, texts of digits or of its user alone", async () => {
  const row = (properties: object) => ({
    event: "opened",
    properties: { time: 1_714_983_072, ...properties },
  });
  await importFile(
    toLines([
      row({ distinct_id: 77_001, $insert_id: "a" }),
      row({ distinct_id: "77001", $insert_id: "b" }),
      row({ $user_id: "77001", $device_id: "d", $insert_id: "c" }),
    ]),
    "mixpanel",
  );
  expect(await eventsOf("77001")).toHaveLength(3);
});

// segmentio/analytics_flutter#105, #120, segmentio/analytics-react-native#977.
test("Segment's calls dated ahead take when they were received", async () => {
  const call = (timestamp: string, more: object = {}) => ({
    type: "track",
    event: "open",
    userId: "[id1,id2,id3]",
    messageId: crypto.randomUUID(),
    timestamp,
    receivedAt: moment,
    ...more,
  });
  await importFile(
    toLines([
      call("2098-06-04T11:36:12.799Z"),
      call("2098-01-01T00:00:00Z", { sentAt: "2097-01-01T00:00:00Z" }),
    ]),
    "segment",
  );
  expect(await times("[id1,id2,id3]")).toEqual([momentMs, momentMs]);
});

// SUI-Components/sui#615, littledata/shopify-tracker#5, segment-boneyard/segment-docs#5847.
test("ids among the traits of Segment's context are traits, and the call's own ids name its sender", async () => {
  const traits = { anonymousId: "sui-anon", userId: "sui-user", plan: "pro" };
  const call = { type: "track", event: "t", messageId: "sui-1", timestamp: moment, anonymousId: "sui-anon" };
  await importFile(toLines([{ ...call, userId: "sui-user", context: { traits } }]), "segment");
  await importFile(toLines([{ ...call, messageId: "sui-2", userId: null }]), "segment");
  expect(await eventsOf("sui-user", "person.properties.plan")).toEqual([["pro"]]);
  expect(await eventsOf("sui-anon")).toHaveLength(1);
});

// PostHog/posthog#80326, #19594, #16151, #41720, PostHog/posthog.com#6707: rows that a warehouse gives back.
test("PostHog's rows come back from a warehouse as JSON Lines and as CSV, with their persons", async () => {
  const properties = JSON.stringify({ plan: "pro", n: 5, $session_id: "s" });
  const person_properties = JSON.stringify({ email: "a@example.com" });
  const row = {
    uuid: crypto.randomUUID(),
    event: "bought",
    properties,
    elements_chain: "",
    set: null,
    set_once: null,
    distinct_id: "warehouse",
    team_id: "1",
    ip: null,
    site_url: "",
    timestamp: "2024-05-06 08:11:12.000000 UTC",
    bq_ingested_timestamp: "2024-05-06 09:00:00 UTC",
    person_properties,
  };
  await importFile(toLines([row]));
  const cell = (value: unknown) => `"${String(value ?? "").replaceAll('"', '""')}"`;
  const toCsv = (of: Record<string, unknown>, names: string[]) =>
    `${names.join(",")}\n${Object.values(of).map(cell).join(",")}\n`;
  const other = { ...row, uuid: crypto.randomUUID() };
  await importFile(toCsv(other, Object.keys(other)), "auto", "bq.csv");
  const upper = { ...row, uuid: crypto.randomUUID() };
  await importFile(
    toCsv(
      upper,
      Object.keys(upper).map((name) => name.toUpperCase()),
    ),
    "posthog",
    "snowflake.csv",
  );
  const columns = "event, properties.plan, properties.n, person.properties.email, properties.team_id";
  expect(await eventsOf("warehouse", columns)).toEqual(
    [0, 1, 2].map(() => ["bought", "pro", 5, "a@example.com", null]),
  );
  expect(await times("warehouse")).toEqual([momentMs, momentMs, momentMs]);
});

// tettusud/merge-jsons-webpack-plugin#22, salsify/jsonstreamingparser#36, juanjoDiaz/streamparser-json#40,
// get-convex/convex-backend#138.
test("lists with byte order marks between them, and events with commas between them, are read", async () => {
  const event = (name: string) => ({ event: name, distinct_id: "joined", timestamp: moment });
  const list = (name: string) => `\ufeff${JSON.stringify([event(name)], null, "\t")}\r\n`;
  await importFile(list("a") + list("b"), "auto", "lists.json");
  await importFile(`${JSON.stringify(event("c"))},\n${JSON.stringify(event("d"))},\n`, "auto", "commas.json");
  const pretty = (name: string) => JSON.stringify(event(name), null, 2);
  await importFile(`\ufeff${pretty("e")},\n\ufeff${pretty("f")}`, "auto", "pretty.json");
  expect((await eventsOf("joined")).flat()).toEqual(["a", "b", "c", "d", "e", "f"]);
});

// apostrophecms/uploadfs#94, redpangilinan/crikket#79, jschneier/django-storages#451, fluent/fluent-bit#3676.
test("a file of a bucket is read packed, packed twice, and unpacked under the name of a packed one", async () => {
  const line = (name: string) => toLines([{ event: name, distinct_id: "packed", timestamp: moment }]);
  await importFile(gzipSync(line("once")), "auto", "a.jsonl.gz");
  await importFile(gzipSync(gzipSync(line("twice"))), "auto", "b.jsonl.gz");
  await importFile(line("never"), "auto", "c.jsonl.gz");
  expect((await eventsOf("packed")).flat()).toEqual(["never", "once", "twice"]);
});

// plausible/website#1158, Islandora/documentation#1304.
test("a CSV without an event's columns, and days that are written first, are refused with what to do", async () => {
  const stats = await importFiles({ "visits.csv": "date,visitors,pageviews\n2024-05-06,3,9\n" });
  expect([stats.exitCode, /needs the columns event, distinct_id and timestamp/.test(stats.stderr)]).toEqual([
    1,
    true,
  ]);
  const rows = {
    "days.csv": "event,distinct_id,timestamp\ne,days,29/05/2025 8:47:18 AM\ne,days,05/06/2025\n",
  };
  const refused = await importFiles(rows);
  expect([refused.exitCode, refused.stderr.match(/say --dates day-first or month-first/g)?.length]).toEqual([
    1, 2,
  ]);
  const read = await importFiles(rows, "--dates", "day-first");
  expect([read.exitCode, await times("days")]).toEqual([
    0,
    [Date.UTC(2025, 4, 29, 8, 47, 18), Date.UTC(2025, 5, 5)],
  ]);
});

// The API's own CSV, as in moving_in.md: texts that look like other values, formulas, quotes.
test("a CSV of the API comes back with its names, ids and the types of its properties", async () => {
  const properties = {
    zip: "12345",
    word: "true",
    none: "null",
    empty: "",
    n: 5,
    yes: true,
    list: [1, "x,y"],
    formula: "=1+1",
    wide: "＝1",
    phone: "+49",
    quoted: 'say "hi"',
    lines: "a\nb",
  };
  await send([
    { event: "=cmd", distinct_id: "@csv", properties, timestamp: moment, uuid: crypto.randomUUID() },
  ]);
  const { text } = await ask(app, "GET", "/api/projects/1/events/?format=csv&distinct_id=@csv");
  await importFile(
    text.replaceAll("@csv", "@again").replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ""),
    "auto",
    "own.csv",
  );
  const [row] = await eventsOf("@again", "event, properties");
  expect([row![0], JSON.parse(row![1] as string)]).toEqual(["=cmd", properties]);
});
