// The v1 capture protocol on the wire, without a network: one answer for each event, and what is refused whole.

import { afterAll, expect, test } from "bun:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { captureLimits } from "../../../src/capture/limits.ts";
import { isCapture } from "../../../src/capture/route.ts";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import { limits } from "../../../src/core/limits.ts";
import { openBodyMemory } from "../../../src/work/bodies/memory_budget.ts";
import { type Desk, key, openDesk } from "../../support/capture.ts";
import { cleanUp } from "../../support/cleanup.ts";

afterAll(cleanUp);

const path = "/i/v1/analytics/events";
const moment = "2026-03-01T12:00:00.000Z";

function uuidOf(number: number): string {
  return `018f0000-0000-7000-8000-${String(number).padStart(12, "0")}`;
}

function eventOf(number: number, more: object = {}) {
  return {
    event: "e",
    uuid: uuidOf(number),
    distinct_id: "d",
    timestamp: moment,
    options: {},
    properties: {},
    ...more,
  };
}

const headers = {
  "content-type": "application/json",
  authorization: `Bearer ${key}`,
  "posthog-sdk-info": "posthog-node/5.70.0",
  "posthog-attempt": "1",
  "posthog-request-id": "018f0000-0000-7000-8000-aaaaaaaaaaaa",
};

function send(desk: Desk, batch: unknown, more: Record<string, string> = {}, envelope: object = {}) {
  return desk.send(path, { created_at: moment, batch, ...envelope }, { ...headers, ...more });
}

async function resultsOf(reply: Response | Promise<Response>): Promise<unknown> {
  const { status, headers: got } = await reply;
  expect([status, got.get("content-type")]).toEqual([200, "application/json"]);
  return ((await (await reply).json()) as { results: unknown }).results;
}

/** The properties of the only event that was kept. */
async function propertiesOf(desk: Desk): Promise<string> {
  await desk.kept();
  const rows = desk.rows();
  expect(rows.length).toBe(1);
  return String(rows[0]!["properties"]);
}

const sdk = `"$lib":"posthog-node","$lib_version":"5.70.0"`;

test("every event of a batch has its own answer under its uuid", async () => {
  const desk = openDesk();
  const reply = await send(desk, [
    eventOf(1),
    eventOf(2, { event: "" }),
    eventOf(3, { distinct_id: null }),
    eventOf(4, { distinct_id: "x".repeat(300) }),
    eventOf(5, { properties: [] }),
    eventOf(6, { timestamp: "soon" }),
    eventOf(7, { options: { process_person_profile: "no" } }),
    eventOf(8, { event: undefined }),
    eventOf(9, { properties: { long: "x".repeat(limits.eventBytesMax) } }),
  ]);
  expect(await resultsOf(reply)).toEqual({
    [uuidOf(1)]: { result: "ok" },
    [uuidOf(2)]: { result: "drop", details: "missing_event_name" },
    [uuidOf(3)]: { result: "drop", details: "missing_distinct_id" },
    [uuidOf(4)]: { result: "warning", details: "distinct_id_truncated" },
    [uuidOf(5)]: { result: "drop", details: "malformed_event_properties" },
    [uuidOf(6)]: { result: "warning", details: "ignored_invalid_timestamp" },
    [uuidOf(7)]: { result: "drop", details: "invalid_options" },
    [uuidOf(8)]: { result: "drop", details: "missing_event_name" },
    [uuidOf(9)]: { result: "drop", details: "message_size_too_large" },
  });
  expect(reply.headers.get("posthog-request-id")).toBe(headers["posthog-request-id"]);
  expect(reply.headers.get("retry-after")).toBeNull();
  expect(desk.counts).toMatchObject({ received: 9, accepted: 3, ignored: 6, invalid_options: 1 });
  await desk.kept();
  expect(desk.rows().map(({ uuid }) => uuid)).toEqual([uuidOf(1), uuidOf(4), uuidOf(6)]);
});

// PostHog's own tests of this protocol answer a page view without an address with ok.
test("what is only advised against is ok, and a uuid in another spelling is answered as that uuid", async () => {
  const desk = openDesk();
  const spelled = `{${uuidOf(3).toUpperCase()}}`;
  const reply = await send(desk, [
    eventOf(1, { event: "$pageview" }),
    eventOf(2, { event: "$screen" }),
    { ...eventOf(3), uuid: spelled },
  ]);
  expect(await resultsOf(reply)).toEqual(
    Object.fromEntries([1, 2, 3].map((n) => [uuidOf(n), { result: "ok" }])),
  );
});

test("properties stay as they were sent, and what v1 says beside them comes behind", async () => {
  const cases: [string, string][] = [
    [`"properties":{ "a" : 1.0,"b":[ ] }`, `{ "a" : 1.0,"b":[ ] ,${sdk}}`],
    [`"properties":{ }`, `{ ${sdk}}`],
    [`"other":1`, `{${sdk}}`],
    [`"properties":null`, `{${sdk}}`],
    [
      `"session_id":"s\\u00e9","properties":{"a":1},"window_id":"w"`,
      `{"a":1,"$session_id":"s\\u00e9","$window_id":"w",${sdk}}`,
    ],
    [`"session_id":null,"properties":{}`, `{${sdk}}`],
    [
      `"properties":{"a":1},"options":{"cookieless_mode":false,"disable_skew_correction":"1","product_tour_id":7,"process_person_profile":0,"new":[]}`,
      `{"a":1,"$cookieless_mode":false,"$ignore_sent_at":true,"$product_tour_id":"7","$process_person_profile":false,${sdk}}`,
    ],
    [
      `"options":{"process_person_profile":null},"properties":{"$process_person_profile":false}`,
      `{"$process_person_profile":false,${sdk}}`,
    ],
    // What is said beside the properties wins over the same name among them.
    [
      `"properties":{"$lib":"web","a":{"$lib":"inner"},"$session_id":"old","$window_id":"kept"},"session_id":"new"`,
      `{"a":{"$lib":"inner"},"$window_id":"kept","$session_id":"new",${sdk}}`,
    ],
  ];
  for (const [members, properties] of cases) {
    const desk = openDesk();
    const event = `{"event":"e","uuid":"${uuidOf(1)}","distinct_id":"d","timestamp":"${moment}",${members}}`;
    const body = `{"created_at":"${moment}","batch":[ ${event} ]}`;
    expect(await resultsOf(desk.send(path, body, headers))).toEqual({ [uuidOf(1)]: { result: "ok" } });
    expect(await propertiesOf(desk)).toBe(properties);
  }
});

test("a worker knows both addresses as its own", () => {
  for (const address of [path, `${path}/`, "/i/v1/ai/events"]) {
    expect(isCapture(new Request(`http://localhost${address}`, { method: "POST" }))).toBe(true);
  }
  expect(isCapture(new Request("http://localhost/i/v1/logs", { method: "POST" }))).toBe(false);
});

test("answered from memory, it is told the same", async () => {
  const desk = openDesk({ ack: "memory", bodyBytesMax: 8 << 20 });
  const batch = Array.from({ length: 5000 }, (_, i) => eventOf(i, i === 4000 ? { timestamp: "soon" } : {}));
  const results = (await resultsOf(send(desk, batch))) as Record<string, unknown>;
  expect(Object.keys(results).length).toBe(5000);
  expect(results[uuidOf(4000)]).toEqual({ result: "warning", details: "ignored_invalid_timestamp" });
  expect((await desk.kept())["live"]).toBe(5000);
});

test("an SDK that does not name itself adds nothing", async () => {
  for (const name of [
    "",
    "posthog",
    "/1",
    "posthog/",
    `posthog/${"9".repeat(captureLimits.v1SdkInfoCharsMax)}`,
  ]) {
    const desk = openDesk();
    await send(desk, [eventOf(1, { properties: { a: 1 } })], { "posthog-sdk-info": name });
    expect(await propertiesOf(desk)).toBe(`{"a":1}`);
  }
  const desk = openDesk();
  await send(desk, [eventOf(1)], { "posthog-sdk-info": 'my "sdk"/x/1.0' });
  expect(await propertiesOf(desk)).toBe(`{"$lib":"my \\"sdk\\"/x","$lib_version":"1.0"}`);
});

test("the options decide as their properties do", async () => {
  const desk = openDesk();
  const options = { process_person_profile: false };
  const reply = send(desk, [
    eventOf(1, { event: "$identify", options, properties: { $anon_distinct_id: "a" } }),
    eventOf(2, { options }),
  ]);
  expect(await resultsOf(reply)).toEqual({
    [uuidOf(1)]: { result: "drop", details: "invalid_event_when_process_person_profile_is_false" },
    [uuidOf(2)]: { result: "ok" },
  });
  await desk.kept();
  expect(desk.rows().map(({ person_mode }) => Number(person_mode))).toEqual([1]);
});

test("a clock that is ahead is corrected by the request's own timestamp, unless an option forbids it", async () => {
  const clock: Clock = { ...systemClock, now: () => Date.parse("2026-03-01T12:00:00Z") };
  const desk = openDesk({ clock });
  await send(
    desk,
    [
      eventOf(1, { timestamp: "2026-03-01T13:59:00Z" }),
      eventOf(2, { timestamp: "2026-03-01T13:59:00Z", options: { disable_skew_correction: true } }),
    ],
    { "posthog-request-timestamp": "2026-03-01T16:00:00+02:00" },
    { created_at: "2026-03-01T13:00:00Z", sent_at: "2020-01-01T00:00:00Z" },
  );
  await send(desk, [eventOf(3)], { "posthog-request-timestamp": "nonsense" });
  await desk.kept();
  expect(desk.rows().map(({ timestamp }) => Number(timestamp) / 1000)).toEqual(
    ["2026-03-01T11:59:00Z", "2026-03-01T13:59:00Z", moment].map((text) => Date.parse(text)),
  );
});

test("a migration takes the historical lane", async () => {
  const desk = openDesk();
  await send(desk, [eventOf(1), eventOf(2)], {}, { historical_migration: true });
  await send(desk, [eventOf(3)], {}, { historical_migration: false });
  expect(await desk.kept()).toMatchObject({ live: 1, historical: 2 });
});

test("the key is the one of the header, whatever the body names", async () => {
  const desk = openDesk({ projects: { phc_second: 8 } });
  const named = { api_key: "phc_nobodys", token: "phc_nobodys" };
  await send(
    desk,
    [eventOf(1, { ...named, properties: { token: "x" } })],
    { authorization: "bearer  phc_second" },
    named,
  );
  await desk.kept();
  expect(desk.rows().map(({ project_id }) => Number(project_id))).toEqual([8]);
});

test("what is refused whole says why in both shapes of error, and nothing of it is kept", async () => {
  const desk = openDesk();
  const body = (batch: unknown) => JSON.stringify({ created_at: moment, batch });
  const cases: [string | Uint8Array, Record<string, string>, number, string, string, string][] = [
    [
      body([eventOf(1)]),
      { authorization: "" },
      401,
      "missing_api_key",
      "missing_authorization",
      "Authorization",
    ],
    [
      body([eventOf(1)]),
      { authorization: "Basic abc" },
      401,
      "missing_api_key",
      "missing_authorization",
      "Bearer",
    ],
    [
      body([eventOf(1)]),
      { authorization: "Bearer phc_nobodys" },
      401,
      "invalid_api_key",
      "invalid_api_token",
      "key",
    ],
    ["", {}, 400, "no_data", "empty_body", "no body"],
    ["nothing", {}, 400, "invalid_payload", "request_parsing_error", "byte 1"],
    [`{"batch":[{}`, {}, 400, "invalid_payload", "request_parsing_error", "byte 12"],
    [body({}), {}, 400, "invalid_payload", "request_parsing_error", "batch is not an array"],
    [JSON.stringify([eventOf(1)]), {}, 400, "invalid_payload", "request_parsing_error", "batch"],
    [JSON.stringify(eventOf(1)), {}, 400, "invalid_payload", "request_parsing_error", "batch"],
    [JSON.stringify({}), {}, 400, "invalid_payload", "request_parsing_error", "batch"],
    [body([]), {}, 400, "empty_batch", "empty_batch", "no event"],
    [body([eventOf(1), 7]), {}, 400, "missing_event_uuid", "missing_event_uuid", "batch[1]"],
    [
      body([eventOf(1), eventOf(2, { uuid: undefined })]),
      {},
      400,
      "missing_event_uuid",
      "missing_event_uuid",
      "batch[1]",
    ],
    [
      body([eventOf(1), eventOf(2, { uuid: "" })]),
      {},
      400,
      "missing_event_uuid",
      "missing_event_uuid",
      "batch[1]",
    ],
    [
      body([eventOf(1), eventOf(2, { uuid: null })]),
      {},
      400,
      "missing_event_uuid",
      "missing_event_uuid",
      "batch[1]",
    ],
    [
      body([eventOf(1), eventOf(2, { uuid: 5 })]),
      {},
      400,
      "invalid_event_uuid",
      "invalid_event_uuid",
      "batch[1]",
    ],
    [
      body([eventOf(1), eventOf(2, { uuid: "order-5" })]),
      {},
      400,
      "invalid_event_uuid",
      "invalid_event_uuid",
      "batch[1]",
    ],
    [body([eventOf(1), eventOf(1)]), {}, 400, "duplicate_event_uuid", "duplicate_event_uuid", "batch[1]"],
    ["x".repeat(2 << 20), {}, 413, "payload_too_large", "payload_too_large", "smaller than"],
  ];
  for (const [sent, more, status, code, error, detail] of cases) {
    const reply = await desk.handle(
      new Request(`http://localhost${path}`, {
        method: "POST",
        headers: { ...headers, ...more },
        body: sent,
      }),
    );
    const told = (await reply.json()) as Record<string, string>;
    expect([reply.status, told["code"], told["error"]]).toEqual([status, code, error]);
    expect(told["detail"]).toContain(detail);
    expect(told["error_description"]).toBe(told["detail"]!);
    expect(reply.headers.get("posthog-request-id")).toBe(headers["posthog-request-id"]);
  }
  expect(desk.counts["refused"]).toBe(cases.length);
  expect(desk.counts["received"]).toBe(0);
  expect(await desk.kept()).toEqual({ live: 0, historical: 0, warnings: 0 });
});

test("a uuid is answered as it was written, and its other spelling is the same event", async () => {
  const desk = openDesk();
  const upper = "018F0000-0000-7000-8000-ABCDEFABCDEF";
  expect(await resultsOf(send(desk, [eventOf(1, { uuid: upper })]))).toEqual({ [upper]: { result: "ok" } });
  const twice = await send(desk, [eventOf(1, { uuid: upper }), eventOf(2, { uuid: upper.toLowerCase() })]);
  expect(twice.status).toBe(400);
});

test("more events than one answer holds are refused", async () => {
  const desk = openDesk({ bodyBytesMax: 32 << 20 });
  const batchOf = (count: number) => Array.from({ length: count }, (_, i) => eventOf(i));
  const most = await resultsOf(send(desk, batchOf(captureLimits.v1EventsMax)));
  expect(Object.keys(most as object).length).toBe(captureLimits.v1EventsMax);
  const over = await send(desk, batchOf(captureLimits.v1EventsMax + 1));
  expect([over.status, await over.text()]).toEqual([
    413,
    expect.stringContaining(`${captureLimits.v1EventsMax} events`),
  ]);
  expect(desk.counts["accepted"]).toBe(captureLimits.v1EventsMax);
});

test("each of very many odd events has its answer, however many warnings there are", async () => {
  const desk = openDesk({ bodyBytesMax: 32 << 20 });
  const count = 30_000;
  const odd = { distinct_id: "x".repeat(201), timestamp: "soon", event: "$identify" };
  const batch = Array.from({ length: count }, (_, i) => eventOf(i, i % 3 === 0 ? { event: "" } : odd));
  const results = Object.values((await resultsOf(send(desk, batch))) as Record<string, { result: string }>);
  const fates = results.map(({ result }) => result);
  expect(fates.filter((fate) => fate === "drop").length).toBe(count / 3);
  expect(fates.filter((fate) => fate === "warning").length).toBe((count / 3) * 2);
});

test("any encoding that an SDK may choose, on both addresses, with and without a slash", async () => {
  const desk = openDesk();
  const encodings: [string, (text: string) => Uint8Array][] = [
    ["gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
    ["zstd", zstdCompressSync],
  ];
  let number = 0;
  for (const address of [path, `${path}/`, "/i/v1/ai/events", "/i/v1/ai/events/"]) {
    for (const [encoding, encode] of encodings) {
      const uuid = uuidOf(++number);
      const body = encode(JSON.stringify({ created_at: moment, batch: [eventOf(number)] }));
      const reply = await desk.send(address, new Uint8Array(body), {
        ...headers,
        "content-encoding": encoding,
      });
      expect(await resultsOf(reply)).toEqual({ [uuid]: { result: "ok" } });
    }
  }
  expect((await desk.kept())["live"]).toBe(number);
});

test("a long batch is the same as many short ones", async () => {
  const long = openDesk({ bodyBytesMax: 8 << 20 });
  const short = openDesk();
  const batch = Array.from({ length: 3000 }, (_, i) =>
    eventOf(i, {
      distinct_id: `d${i}`,
      properties: { i, text: "é".repeat(i % 50), ...(i % 7 === 0 && { $lib: "own" }) },
      ...(i % 3 === 0 && { session_id: `s${i}` }),
      ...(i % 5 === 0 && { options: { process_person_profile: false } }),
    }),
  );
  await resultsOf(send(long, batch));
  for (let i = 0; i < batch.length; i += 20) await resultsOf(send(short, batch.slice(i, i + 20)));
  await Promise.all([long.kept(), short.kept()]);
  const rowsOf = (desk: Desk) =>
    desk
      .rows()
      .map(({ uuid, distinct_id, properties, person_mode }) =>
        [uuid, distinct_id, properties, person_mode].join(" "),
      )
      .toSorted();
  expect(rowsOf(long).length).toBe(3000);
  expect(rowsOf(long)).toEqual(rowsOf(short));
});

test("any page may send and read the answer, refusals included; only POST sends", async () => {
  const desk = openDesk();
  const origin = { origin: "https://shop.example" };
  for (const reply of [await send(desk, [eventOf(1)], origin), await send(desk, [], origin)]) {
    expect(reply.headers.get("access-control-allow-origin")).toBe("https://shop.example");
  }
  const asked = "authorization, posthog-sdk-info, posthog-attempt";
  const preflight = await desk.handle(
    new Request(`http://localhost${path}`, {
      method: "OPTIONS",
      headers: { ...origin, "access-control-request-headers": asked },
    }),
  );
  expect(preflight.status).toBe(200);
  expect(preflight.headers.get("access-control-allow-headers")).toBe(asked);
  expect((await desk.handle(new Request(`http://localhost${path}`))).status).toBe(404);
});

test("a full journal answers 503 with Retry-After, and the same batch goes in later", async () => {
  const desk = openDesk({ journalBytesMax: 0 });
  const reply = await send(desk, [eventOf(1)]);
  expect([reply.status, Number(reply.headers.get("retry-after")) > 0]).toEqual([503, true]);
  expect(((await reply.json()) as { error: string }).error).toBe("service_unavailable");
});

test("all memory is given back, whatever became of the request", async () => {
  const memory = openBodyMemory(4 << 20, 1);
  const desk = openDesk({ bodyBytesMax: 4 << 20, memory });
  const long = Array.from({ length: 2000 }, (_, i) => eventOf(i, { properties: { text: "x".repeat(500) } }));
  await send(desk, long);
  await send(desk, [eventOf(1)]);
  await send(desk, [...long, ...long]);
  await send(desk, long, { authorization: "Bearer phc_nobodys" });
  expect(memory.held).toBe(0);
});
