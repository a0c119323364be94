import { expect, test } from "bun:test";
import { firstKey, keyOfObject } from "../../../src/capture/receive/first_key.ts";
import { bytesOf } from "../../../src/core/bytes.ts";
import { receiveLimits } from "../../../src/capture/receive/limits.ts";
import { countTurns } from "../../support/turns.ts";

const first = (text: string) => firstKey(bytesOf(text));
const ofObject = (text: string) => keyOfObject(bytesOf(text));
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

test("SDKs' configuration requests name their key beside other members; the best known name counts", async () => {
  expect(await ofObject(`{"token":"k","distinct_id":"d","person_properties":{"token":"other"}}`)).toBe("k");
  expect(await ofObject(`{"person_properties":{"a":[{"token":"other"}]},"$token":"c","api_key":"b"}`)).toBe(
    "b",
  );
  expect(await ofObject(`{"api_key":"b","token":"a"}`)).toBe("a");
  expect(await ofObject(`{"token":"","api_key":null,"$token":"c"}`)).toBe("c");
  expect(await ofObject(` \n{ "tok\\u0065n" : "k" } `)).toBe("k");
  for (const text of ["", "7", "[]", '[{"token":"k"}]', "{", "{}", '{"a":"k"}', '{"token":7}', '{"token"']) {
    expect(await ofObject(text)).toBeUndefined();
  }
});

test("any megabyte is walked over in stretches, and others get their turn between them", async () => {
  const bytes = receiveLimits.keyBodyInflatedBytesMax;
  const bodies = [
    `{"a":[${"[],".repeat(bytes / 3)}[]],"token":"k"}`,
    `{"a":"${"\\u0041".repeat(bytes / 6)}","token":"k"}`,
    `{${'"b":1,'.repeat(bytes / 6)}"token":"k"}`,
    `{"${"c".repeat(bytes)}":1,"token":"k"}`,
    `{${" ".repeat(bytes)}"token":"k"}`,
    `{"d":${"1".repeat(bytes)},"token":"k"}`,
  ];
  for (const body of bodies) {
    let key: string | undefined;
    const turns = await countTurns(async () => (key = await ofObject(body)));
    expect(key).toBe("k");
    expect(turns).toBeGreaterThanOrEqual(3);
  }
  expect(await ofObject("[".repeat(bytes))).toBeUndefined();
  expect(await ofObject('{"a":'.repeat(bytes / 5))).toBeUndefined();
});
