import { expect, test } from "bun:test";
import { RepeatedKeys } from "../../../src/capture/event/repeated_keys.ts";
import { toBytes } from "../../../src/core/bytes.ts";

const keys = new RepeatedKeys();
const mayRepeat = (json: string): boolean => keys.mayRepeat(toBytes(json), 0);

test("a key that an object names twice is found at any depth, however it is written", () => {
  for (const json of [
    '{"a":1,"a":2}',
    '{ "a" : "\\"" , "b" : [ 1 , { "c" : {} , "c" : 2 } ] }',
    '{"$set":1,"\\u0024set":2}',
    '{"\\ud83d\\ude00é":1,"😀\\u00E9":2}',
    '{"a\\/b":1,"a/b":2}',
    '[{"x":1},{"x":1,"y":[],"x":1}]',
    '{"":1,"":2}',
  ]) {
    expect([json, mayRepeat(json)]).toEqual([json, true]);
  }
});

test("a key that comes once in each of several objects is none", () => {
  for (const json of [
    "{}",
    "[]",
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}],"c":"a"}',
    '{"a":"b","b":"a","\\"":1,"\\\\":2,"\\\\\\"":3}',
    '["a","a",["a"],{"a":"a"},"a"]',
    '{"a\\nb":"x\\"y","a\\\\nb":{"k":"}"},"k":"{"}',
  ]) {
    expect([json, mayRepeat(json)]).toEqual([json, false]);
  }
  const many = Array.from({ length: 250 }, (_, i) => `"\\u0024key ${i}":{"key":${i}}`);
  for (let i = 0; i < 50; i++) expect(mayRepeat(`{${many.join()}}`)).toBe(false);
  expect(mayRepeat(`{${many.join()},"$key 7":1}`)).toBe(true);
});

test("a value of more keys than are compared may repeat one, and a long key is compared", () => {
  const objects = (count: number) => `[${'{"a":1},'.repeat(count)}0]`;
  expect([mayRepeat(objects(512)), mayRepeat(objects(513))]).toEqual([false, true]);
  expect(mayRepeat(`{"${"a".repeat(5000)}":1}`)).toBe(false);
  expect(mayRepeat(`{"\\n${"a".repeat(5000)}":1}`)).toBe(false);
});
