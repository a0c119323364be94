// A v1 batch written anew, against a plain model of what it means; and that long ones hold nobody up.

import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { captureLimits } from "../../../src/capture/limits.ts";
import { BodyScanner } from "../../../src/capture/scan/body_scanner.ts";
import { Translation } from "../../../src/capture/v1/translation.ts";
import { runAtOnce } from "../../../src/core/clock.ts";
import { key, openDesk } from "../../support/capture.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { countTurns } from "../../support/turns.ts";

afterAll(cleanUp);

const sdk = '"$lib":"sdk","$lib_version":"1"';

function translate(text: string, always = sdk) {
  const scanner = new BodyScanner(Buffer.from(text), { indexesAll: true });
  while (!scanner.advance(1000));
  const scan = scanner.index;
  const options = { key, sdk: always };
  const bytesMax = Translation.bytesMax(scan, options);
  const translation = new Translation(scan, options, Buffer.alloc(bytesMax));
  const bytes = runAtOnce(translation.write());
  const written = bytes.toString();
  const body = JSON.parse(written) as { api_key: string; batch: unknown[] };
  expect(body.api_key).toBe(key);
  return { batch: body.batch, refused: translation.refused, bytes: bytes.length, text: written };
}

/** The raw properties of events with these members, as the new body has them. */
function propertiesOf(events: string[], always = sdk): string[] {
  const uuid = (i: number) => `"uuid":"018f0000-0000-7000-8000-${String(i).padStart(12, "0")}"`;
  const text = `{"batch":[${events.map((members, i) => `{${members},${uuid(i)}}`).join(",")}]}`;
  const { text: written } = translate(text, always);
  const starts = events.map((_, i) => `${uuid(i)},"properties":`);
  return starts.map((start, i) => {
    const from = written.indexOf(start) + start.length;
    const next = starts[i + 1];
    return next === undefined ? written.slice(from, -3) : written.slice(from, written.indexOf(`},{${next}`));
  });
}

/** Properties sent as `text`, with a session id beside them. */
function spliced(text: string, session?: string): string {
  const beside = session === undefined ? "" : `"session_id":${session},`;
  return propertiesOf([`${beside}"properties":${text}`])[0]!;
}

type Sent = Record<string, unknown>;

/** What /batch is to read of an event; null for one that is refused. */
function modelOf(sent: Sent): unknown {
  const { session_id, window_id, options, properties, offset: _, ...rest } = sent;
  if (typeof rest["distinct_id"] === "string") rest["distinct_id"] = rest["distinct_id"].trim();
  const flags = { cookieless_mode: "$cookieless_mode", disable_skew_correction: "$ignore_sent_at" };
  const put: Sent = {};
  if (options !== undefined && options !== null) {
    if (typeof options !== "object" || Array.isArray(options)) return null;
    for (const [name, property] of Object.entries(flags)) {
      const value = (options as Sent)[name];
      if (value === undefined || value === null) continue;
      const flag = { true: true, "1": true, false: false, "0": false }[String(value)];
      if (flag === undefined) return null;
      put[property] = flag;
    }
  }
  if (session_id !== undefined && session_id !== null) put["$session_id"] = session_id;
  if (window_id !== undefined && window_id !== null) put["$window_id"] = window_id;
  const isObject = typeof properties === "object" && !Array.isArray(properties);
  const whole = { ...(properties as object), ...put, $lib: "sdk", $lib_version: "1" };
  return { ...rest, properties: properties === undefined || isObject ? whole : properties };
}

test("any batch means what its model says, whatever its spaces and the order of its members", () => {
  const flag = fc.constantFrom(undefined, null, true, false, "1", "0", 1, 0, "maybe", [], {});
  const text = fc.oneof(fc.string(), fc.constantFrom(undefined, null, 7, "options", "{"));
  const event = fc.record(
    {
      event: fc.oneof(fc.string(), fc.constant(5)),
      distinct_id: fc.stringMatching(/^[ \t\n]{0,2}[ -~]*[ \t\n\\]{0,2}$/),
      timestamp: fc.string(),
      session_id: text,
      window_id: text,
      options: fc.oneof(
        fc.record(
          { cookieless_mode: flag, disable_skew_correction: flag, other: fc.jsonValue() },
          { requiredKeys: [] },
        ),
        fc.constantFrom(null, 5, "x", []),
      ),
      properties: fc.oneof(
        fc.dictionary(fc.constantFrom("$session_id", "$lib", "a", "b}"), fc.jsonValue(), {
          noNullPrototype: true,
        }),
        fc.constantFrom(null, 5, "x", [1]),
      ),
      $set: fc.constant({ plan: "free" }),
      other: fc.jsonValue(),
      offset: fc.constant(5000),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(
      fc.array(event, { minLength: 1, maxLength: 12 }),
      fc.constantFrom(undefined, 2),
      (events, space) => {
        const batch = events.map((one, i) => {
          const uuid = `018f0000-0000-7000-8000-${String(i).padStart(12, "0")}`;
          return i % 2 === 0 ? { ...one, uuid } : { uuid, ...one };
        });
        const sent = JSON.stringify({ created_at: "x", batch }, null, space);
        const parsed = (JSON.parse(sent) as { batch: Sent[] }).batch;
        const { batch: got, refused } = translate(sent);
        expect(got).toEqual(parsed.map(modelOf));
        expect([...refused.keys()]).toEqual(parsed.flatMap((one, i) => (modelOf(one) === null ? [i] : [])));
      },
    ),
    { numRuns: 300, seed: 7 },
  );
});

test("a batch never takes more than was acquired for it", () => {
  const uuid = (i: number) => `018f0000-0000-7000-8000-${String(i).padStart(12, "0")}`;
  const options =
    '{"cookieless_mode":1,"disable_skew_correction":0,"process_person_profile":1,"product_tour_id":1}';
  const events = Array.from(
    { length: 700 },
    (_, i) => `{"uuid":"${uuid(i)}","options":${options},"session_id":1}`,
  );
  const { bytes } = translate(`{"batch":[${events.join(",")}]}`);
  expect(bytes).toBeGreaterThan(700 * 200);
  const tour = JSON.stringify("\u0001".repeat(50_000));
  const long = `{"uuid":"${uuid(0)}","options":{"product_tour_id":${tour}},"session_id":${tour},"window_id":${tour}}`;
  expect(translate(`{"batch":[${long}]}`).bytes).toBeGreaterThan(long.length);
});

test("while a long batch is taken in, others have their turns", async () => {
  const desk = openDesk({ bodyBytesMax: 32 << 20 });
  const batch = Array.from({ length: 20_000 }, (_, i) => ({
    event: "e",
    uuid: `018f0000-0000-7000-8000-${String(i).padStart(12, "0")}`,
    distinct_id: "d",
    session_id: "s",
    properties: { text: "x".repeat(300) },
  }));
  const body = JSON.stringify({ batch });
  const headers = { authorization: `Bearer ${key}` };
  const turns = await countTurns(async () => {
    expect((await desk.send("/i/v1/analytics/events", body, headers)).status).toBe(200);
  });
  // One for each slice that is written anew, beside those of scanning and appending.
  expect(turns).toBeGreaterThan(batch.length / captureLimits.slowSliceRowsMax);
  expect(desk.counts["accepted"]).toBe(batch.length);
});

test("all of an object stays byte for byte, and the members come behind", () => {
  expect(spliced("{}")).toBe(`{${sdk}}`);
  expect(spliced("{\n\t}")).toBe(`{\n\t${sdk}}`);
  expect(spliced(`{ "a" : [ 1.0 ] , "b":"\\u0024lib" }`)).toBe(`{ "a" : [ 1.0 ] , "b":"\\u0024lib" ,${sdk}}`);
  expect(spliced(`{"a":1}`, `"s"`)).toBe(`{"a":1,"$session_id":"s",${sdk}}`);
  expect(spliced("null")).toBe(`{${sdk}}`);
});

test("a member of the same name gives way, wherever it stands; names deeper down and in texts stay", () => {
  expect(spliced(`{"$lib":1}`)).toBe(`{${sdk}}`);
  expect(spliced(`{"$lib":{"a":[]},"a":1}`)).toBe(`{"a":1,${sdk}}`);
  expect(spliced(`{"a":1 , "$lib":2,"$lib":3 }`)).toBe(`{"a":1,${sdk}}`);
  expect(spliced(`{"$session_id":"old"}`)).toBe(`{"$session_id":"old",${sdk}}`);
  expect(spliced(`{"$session_id":"old"}`, `"new"`)).toBe(`{"$session_id":"new",${sdk}}`);
  expect(spliced(`{"a":{"$lib":1},"b":"\\"$lib\\":","$libs":2}`)).toBe(
    `{"a":{"$lib":1},"b":"\\"$lib\\":","$libs":2,${sdk}}`,
  );
});

test("what is no object is written as it is, and puts nothing into the next one", () => {
  for (const text of ["[]", "7", '"text"', "true"]) expect(spliced(text, `"s"`)).toBe(text);
  const [list, object] = propertiesOf([`"session_id":"s","properties":[]`, `"properties":{"a":1}`], "");
  expect([list, object]).toEqual(["[]", `{"a":1}`]);
});

test("any object means the same afterwards, but for the members that were put", () => {
  const key = fc.oneof(fc.constantFrom("$lib", "$lib_version", "$session_id", "$libs", "a"), fc.string());
  const object = fc.dictionary(key, fc.jsonValue(), { noNullPrototype: true });
  fc.assert(
    fc.property(
      object,
      fc.constantFrom(undefined, 1, "\t"),
      fc.option(fc.string()),
      (properties, space, session) => {
        const text = JSON.stringify(properties, null, space);
        const added = { ...(session !== null && { $session_id: session }), $lib: "sdk", $lib_version: "1" };
        const raw = session === null ? undefined : JSON.stringify(session);
        const expected = { ...(JSON.parse(text) as object), ...added };
        expect(JSON.parse(spliced(text, raw))).toEqual(expected);
      },
    ),
    { numRuns: 500, seed: 1 },
  );
});
