// The wire, without a network: every way to say the same event, and every way to say it wrong.

import { afterAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { ArenaPool } from "../../src/capture/receive/received_body.ts";
import { firstKey } from "../../src/capture/route.ts";
import { toBytes } from "../../src/core/bytes.ts";
import type { Clock } from "../../src/core/clock.ts";
import { type Desk, key, openDesk } from "../support/capture.ts";
import { cleanUp, later } from "../support/cleanup.ts";

afterAll(cleanUp);

const event = { api_key: key, event: "e", distinct_id: "d" };
const base64 = Buffer.from(JSON.stringify(event)).toString("base64");

async function codeOf(reply: Response): Promise<[number, string]> {
  return [reply.status, ((await reply.json()) as { code: string }).code];
}

test("an event may come in the query, as a pixel or behind an empty body", async () => {
  const desk = openDesk();
  for (const data of [base64, base64.replaceAll("+", "-"), JSON.stringify(event)]) {
    const path = `/e/?data=${encodeURIComponent(data)}&ip=1&_=1700000000000&ver=1.2.3`;
    expect((await desk.send(path)).status).toBe(200);
    expect((await desk.send(path, "")).status).toBe(200);
  }
  expect(await desk.kept()).toEqual({ live: 6, historical: 0, warnings: 0 });
});

test("forms, in the body and with their hints in the query", async () => {
  const desk = openDesk();
  const form = { "content-type": "application/x-www-form-urlencoded" };
  expect((await desk.send("/e/?compression=base64", `data=${encodeURIComponent(base64)}`, form)).status).toBe(
    200,
  );
  expect((await desk.send("/track", `data=${encodeURIComponent(base64)}&verbose=1`, form)).status).toBe(200);
  // What curl -d sends unless told otherwise.
  expect((await desk.send("/capture/", JSON.stringify(event), form)).status).toBe(200);
  const gzipped = new Uint8Array(gzipSync(JSON.stringify(event)));
  expect((await desk.send("/e?compression=gzip-js", gzipped, { "content-type": "text/plain" })).status).toBe(
    200,
  );
  expect((await desk.kept())["live"]).toBe(4);
});

test("answers exactly 200 with a JSON object, or 204 to a beacon; HEAD and OPTIONS send nothing in", async () => {
  const desk = openDesk();
  const taken = await desk.send("/e/", event);
  expect([taken.status, taken.headers.get("content-type"), await taken.text()]).toEqual([
    200,
    "application/json",
    '{"status":"Ok"}',
  ]);
  const beacon = await desk.send("/e/?beacon=1", event);
  expect([beacon.status, await beacon.text()]).toEqual([204, ""]);
  for (const path of ["/e", "/e/", "/batch/", "/i/v0/e/"]) {
    const request = (method: string) => new Request(`http://localhost${path}?data=${base64}`, { method });
    expect((await desk.handle(request("HEAD"))).status).toBe(200);
    expect((await desk.handle(request("OPTIONS"))).status).toBe(200);
  }
  expect((await desk.kept())["live"]).toBe(2);
});

test("any page may send and read the answer, refusals included", async () => {
  const desk = openDesk();
  const origin = { origin: "https://shop.example" };
  const replies = [
    await desk.send("/e/", event, origin),
    await desk.send("/e/?beacon=1", event, origin),
    await desk.send("/e/", "{", origin),
    await desk.send("/batch/", { batch: [{ event: "e" }] }, origin),
    await desk.send("/e/", "x".repeat(2 << 20), origin),
  ];
  expect(replies.map(({ status }) => status)).toEqual([200, 204, 400, 401, 413]);
  for (const { headers } of replies) {
    expect(headers.get("access-control-allow-origin")).toBe("https://shop.example");
    expect(headers.get("access-control-allow-credentials")).toBe("true");
    expect(headers.get("vary")).toContain("origin");
  }
  const asked = "content-encoding, x-my-own, posthog-session-id";
  const preflight = await desk.handle(
    new Request("http://localhost/batch", {
      method: "OPTIONS",
      headers: {
        ...origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": asked,
      },
    }),
  );
  expect(preflight.status).toBe(200);
  expect(preflight.headers.get("access-control-allow-headers")).toBe(asked);
  expect(preflight.headers.get("access-control-allow-methods")).toContain("POST");
  expect((await desk.send("/e/", event)).headers.get("access-control-allow-origin")).toBeNull();
});

test("refusals say what is wrong, which bound it is, and what was measured", async () => {
  const desk = openDesk({ bodyBytesMax: 1000 });
  const cases: [string, unknown, number, string, string][] = [
    ["/e/", undefined, 405, "method_not_allowed", "data"],
    ["/batch/?verbose=1", undefined, 405, "method_not_allowed", "data"],
    ["/capture", undefined, 405, "method_not_allowed", "data"],
    ["/e/?data=", undefined, 405, "method_not_allowed", "data"],
    ["/e/", "", 400, "no_data", "no body"],
    ["/e/?data=", "", 400, "no_data", "no body"],
    ["/e/", "<xml/>", 400, "invalid_payload", `unexpected "<" at byte 0`],
    ["/e/", `{"event":"e",}`, 400, "invalid_payload", "at byte 13"],
    ["/e/", `{"event":"\\uZZZZ"}`, 400, "invalid_payload", "at byte 12"],
    ["/e/", "7", 400, "invalid_payload", "expected an object or an array"],
    ["/e/", "[]", 400, "invalid_payload", "no event"],
    ["/batch/", { api_key: key, batch: [] }, 400, "invalid_payload", "no event"],
    ["/batch/", { api_key: key, batch: 7 }, 400, "invalid_payload", "batch is not an array"],
    ["/batch/", { api_key: key }, 400, "invalid_payload", "no batch"],
    [
      "/batch?verbose=1",
      { api_key: key, historical_migration: true, events: [] },
      400,
      "invalid_payload",
      "no batch",
    ],
    ["/batch/", { batch: [{ event: "e" }] }, 401, "missing_api_key", "api_key"],
    ["/e/", new Uint8Array([0x7b, 0xff, 0x7d]), 400, "invalid_payload", "not UTF-8"],
    ["/e/", `[${"[".repeat(200)}`, 400, "invalid_payload", "ends too early"],
    ["/e/", "x".repeat(1000), 413, "payload_too_large", "smaller than 1000 bytes; 1000 bytes arrived"],
    ["/e/", new Uint8Array([0x1f, 0x8b, 1, 2]), 400, "invalid_payload", "4 bytes is no sound gzip"],
  ];
  for (const [path, body, status, code, detail] of cases) {
    const reply = await desk.send(path, body);
    const problem = (await reply.json()) as { code: string; detail: string; type: string; attr: null };
    expect([reply.status, problem.code]).toEqual([status, code]);
    expect(problem.detail).toContain(detail);
    expect(Object.keys(problem)).toEqual(["type", "code", "detail", "attr"]);
  }
  expect(desk.counts["refused"]).toBe(cases.length);
  expect(desk.counts["received"]).toBe(0);
  expect(await desk.kept()).toEqual({ live: 0, historical: 0, warnings: 0 });
});

test("a single event may go to /batch too, also one that is not taken", async () => {
  const desk = openDesk();
  for (const body of [event, { ...event, event: "" }, { api_key: key, event: "e" }]) {
    expect((await desk.send("/batch/", body)).status).toBe(200);
  }
  // Elsewhere an object without a name is such an event.
  expect((await desk.send("/capture/", { api_key: key, distinct_id: "d" })).status).toBe(200);
  expect((await desk.kept())["live"]).toBe(1);
});

test("what fails for no fault of the request is answered by who knows how, however it is addressed", async () => {
  const desk = openDesk();
  desk.journal.stamp = () => {
    throw new Error("the clock broke");
  };
  for (const path of ["/e", "/e/", "/e/?verbose=1"]) {
    const reply = await desk.send(path, event);
    expect([reply.status, await reply.text()]).toEqual([500, "Error: the clock broke"]);
  }
  expect(desk.counts["refused"]).toBe(0);
});

test("a body that stalls gets 408, its connection is not used again, and nothing of it is kept", async () => {
  const desk = openDesk({ uploadBounds: { stallMsMax: 20, wholeMsMax: 1000 } });
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(JSON.stringify(event))),
  });
  const reply = await desk.handle(new Request("http://localhost/batch/", { method: "POST", body }));
  expect(reply.headers.get("connection")).toBe("close");
  expect(await codeOf(reply)).toEqual([408, "upload_timeout"]);
  expect((await desk.kept())["live"]).toBe(0);
});

test("over a socket, too: the silent client hears 408, and its connection ends", async () => {
  const desk = openDesk({ uploadBounds: { stallMsMax: 30, wholeMsMax: 1000 }, bodyBytesMax: 4_000_000 });
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: desk.handle });
  later(() => server.stop(true));
  const body = JSON.stringify(event);
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n`;
  for (const [headers, sent] of [
    [`Content-Length: ${body.length + 1}`, body],
    ["Content-Length: 3000000", body],
    ["Transfer-Encoding: chunked", chunk],
  ] as const) {
    const { promise, resolve } = Promise.withResolvers<string>();
    let got = "";
    const socket = connect(server.port ?? 0, "127.0.0.1");
    socket.on("data", (bytes) => void (got += bytes.toString()));
    socket.on("close", () => resolve(got));
    socket.write(`POST /batch/ HTTP/1.1\r\nHost: sluice\r\n${headers}\r\n\r\n${sent}`);
    expect(await promise).toContain("HTTP/1.1 408");
  }
  expect((await desk.kept())["live"]).toBe(0);
});

test("a verbose answer lists what was ignored, what is odd, and why", async () => {
  const desk = openDesk();
  const batch = [
    7,
    { event: "e", distinct_id: "d", timestamp: "soon", uuid: "x" },
    { event: "e" },
    { event: "$pageview", distinct_id: "d" },
    { event: "e", distinct_id: "d", properties: [] },
  ];
  const reply = await desk.send("/batch/?verbose=1", { api_key: key, batch });
  expect(await reply.json()).toEqual({
    status: "Ok",
    accepted: 2,
    ignored: [
      { index: 0, reason: "malformed_event" },
      { index: 2, reason: "missing_distinct_id" },
      { index: 4, reason: "malformed_event_properties" },
    ],
    ignored_by_reason: { malformed_event: 1, missing_distinct_id: 1, malformed_event_properties: 1 },
    warnings: [
      { index: 1, reason: "ignored_invalid_timestamp" },
      { index: 1, reason: "invalid_event_uuid" },
      { index: 3, reason: "missing_current_url" },
    ],
    warnings_by_reason: { ignored_invalid_timestamp: 1, invalid_event_uuid: 1, missing_current_url: 1 },
  });
  expect(await desk.kept()).toEqual({ live: 2, historical: 0, warnings: 6 });
});

test("an event without a name is an identify call on /engage, and ignored elsewhere", async () => {
  const desk = openDesk();
  const person = { api_key: key, $distinct_id: "d", $set: { plan: "free" } };
  expect(await (await desk.send("/engage/?verbose=1", person)).json()).toMatchObject({ accepted: 1 });
  expect(await (await desk.send("/e/?verbose=1", person)).json()).toMatchObject({ accepted: 0 });
});

test("what the client's clock showed comes from the batch, or else from the query or form", async () => {
  const now = Date.UTC(2024, 5, 1);
  const clock: Clock = { now: () => now, elapsed: () => 0 };
  const [aligned, left] = [openDesk({ clock }), openDesk({ clock })];
  const behind = async (desk: Desk) => {
    await desk.kept();
    return desk.rows().map(({ timestamp }) => (now * 1000 - Number(timestamp)) / 1_000_000);
  };
  const own = { event: "e", distinct_id: "d", timestamp: new Date(now + 3_600_000).toISOString() };
  const ahead = now + 3_600_000;
  const iso = new Date(ahead).toISOString();
  const batch = { api_key: key, batch: [own] };
  await aligned.send("/batch/", { ...batch, sent_at: iso });
  await aligned.send(`/batch/?_=${ahead}`, batch);
  await aligned.send(`/batch/?sent_at=${ahead}`, batch);
  await aligned.send("/batch/", `data=${encodeURIComponent(JSON.stringify(batch))}&sent_at=${ahead}`);
  await aligned.send(`/batch/?_=${now}`, { ...batch, sent_at: iso });
  expect(await behind(aligned)).toEqual([0, 0, 0, 0, 0]);
  // Seconds, nonsense, less than ten seconds, or a single event's own: no correction.
  await left.send(`/batch/?_=${Math.floor(ahead / 1000)}`, batch);
  await left.send("/batch/?_=abc", batch);
  await left.send("/batch/", { ...batch, sent_at: "soon" });
  await left.send(`/batch/?_=${now + 9000}`, batch);
  await left.send("/e/", { ...own, api_key: key, sent_at: iso });
  expect(await behind(left)).toEqual([-3600, -3600, -3600, -3600, -3600]);
});

const first = (text: string) => firstKey(toBytes(text), new ArenaPool(1 << 20));
const long = "x".repeat(1_000_000);

test("a batch's own key is found before its events, and theirs do not count", () => {
  expect(first(`{"api_key":"k","batch":[{"event":"${long}`)).toBe("k");
  expect(first(`\ufeff { "sent_at" : null , "token" : "k" , "batch":[`)).toBe("k");
  expect(first(`{"a":{"api_key":"other"},"api_\\u006bey":"k\\u0031",`)).toBe("k1");
  expect(first(`{"batch":[{"api_key":"other","properties":{"token":"other"}}],"api_key":"k"}`)).toBe("k");
  expect(first(`{"batch":[{"api_key":"other","properties":{"token":"other"}}`)).toBeUndefined();
  expect(first(`{"batch":[{"event":"${long}"}],"api_key":"k"}`)).toBeUndefined();
  expect(first(`{"api_key":"","batch":[`)).toBeUndefined();
  expect(first(`{"api_key":7,"token":"k","batch":[`)).toBe("k");
});

test("an array's first event that names a key decides: its own before that of its properties", () => {
  expect(first(`[{"properties":{"token":"k"},"event":"e"},{"event":"${long}`)).toBe("k");
  expect(first(`[{"properties":{"token":"inner"},"api_key":"own"},{"event":"`)).toBe("own");
  expect(first(`[7,{"event":"e"},{"$token":"k"},{"token":"other"}]`)).toBe("k");
  // The event is not over: its own key may follow.
  expect(first(`[{"properties":{"token":"inner"},"event":"${long}`)).toBeUndefined();
  for (const text of ["[]", "[", "[{}]", "[{},", "[[[{}]]]", '[{"token":""}]']) {
    expect(first(text)).toBeUndefined();
  }
});

test("bytes that are no JSON, or nested deeper than events may be, name no key", () => {
  const none = ["", " ", "7", '"k"', "{", "{}", "{]", '{"api_key"', '{"api_key":', '{"api_key":"k', "}{"];
  for (const text of [...none, "[".repeat(100_000), '{"a":'.repeat(100_000), `{"api_key":"${long}"}`]) {
    expect(first(text)).toBeUndefined();
  }
});
